//! `[application]`: what the client sends.

use std::time::Duration;

use serde::Deserialize;

use super::place::{Trouble, range, whole};
use super::traffic::{Kinds, rate};
use crate::scenario::Application;
use crate::scenario::error::ScenarioProblem;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApplicationTable {
    kind: Kind,
    bytes: Option<f64>,
    block_bytes: Option<f64>,
    rate_mbps: Option<f64>,
    load_percent: Option<f64>,
    best_path_load_percent: Option<f64>,
    blocks: Option<f64>,
    fps: Option<f64>,
    deadline_ms: Option<f64>,
    objects: Option<f64>,
    object_bytes: Option<f64>,
    page_bytes: Option<f64>,
    pages: Option<f64>,
    parallel: Option<f64>,
    pause_s: Option<f64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Bulk,
    Blocks,
    Video,
    Web,
}

/// What the paths of a case carry, in Mbit/s; `None` if they cross shared links.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) together: Option<f64>,
    pub(super) best_path: Option<f64>,
}

impl ApplicationTable {
    pub(super) fn read(&self, limits: Limits) -> Result<Application, Trouble> {
        self.check_keys()?;
        self.read_kind(limits)
            .map_err(|problem| Trouble::of_key(["application"], problem).named("application"))
    }

    fn check_keys(&self) -> Result<(), Trouble> {
        let kinds = Kinds {
            table: "application",
            what: match self.kind {
                Kind::Bulk => "a bulk application",
                Kind::Blocks => "an application of blocks",
                Kind::Video => "a video",
                Kind::Web => "a web application",
            },
            allowed: match self.kind {
                Kind::Bulk => &["bytes"],
                Kind::Blocks => &[
                    "block_bytes",
                    "rate_mbps",
                    "load_percent",
                    "best_path_load_percent",
                    "blocks",
                ],
                Kind::Video => &["fps", "rate_mbps", "deadline_ms"],
                Kind::Web => &[
                    "objects",
                    "object_bytes",
                    "page_bytes",
                    "pages",
                    "parallel",
                    "pause_s",
                ],
            },
        };
        kinds.check(&[
            ("bytes", self.bytes.is_some()),
            ("block_bytes", self.block_bytes.is_some()),
            ("rate_mbps", self.rate_mbps.is_some()),
            ("load_percent", self.load_percent.is_some()),
            (
                "best_path_load_percent",
                self.best_path_load_percent.is_some(),
            ),
            ("blocks", self.blocks.is_some()),
            ("fps", self.fps.is_some()),
            ("deadline_ms", self.deadline_ms.is_some()),
            ("objects", self.objects.is_some()),
            ("object_bytes", self.object_bytes.is_some()),
            ("page_bytes", self.page_bytes.is_some()),
            ("pages", self.pages.is_some()),
            ("parallel", self.parallel.is_some()),
            ("pause_s", self.pause_s.is_some()),
        ])
    }

    fn read_kind(&self, limits: Limits) -> Result<Application, ScenarioProblem> {
        Ok(match self.kind {
            Kind::Bulk => Application::Bulk {
                bytes: optional("bytes", self.bytes, 1.0, MOST_BYTES)?,
            },
            Kind::Blocks => Application::Blocks {
                block_bytes: whole(
                    "block_bytes",
                    self.block_bytes.unwrap_or(32_768.0),
                    1.0,
                    1e9,
                )?,
                rate: self.block_rate(limits)?,
                count: optional("blocks", self.blocks, 1.0, 1e9)?,
            },
            Kind::Video => {
                let missing = |key, why| ScenarioProblem::Missing { key, why };
                let mbps = self
                    .rate_mbps
                    .ok_or(missing("rate_mbps", "the rate of the video"))?;
                let deadline = self
                    .deadline_ms
                    .ok_or(missing("deadline_ms", "when a frame comes too late"))?;
                let deadline = range("deadline_ms", deadline, 1.0, 600_000.0)?;
                Application::Video {
                    fps: range("fps", self.fps.unwrap_or(25.0), 1.0, 1000.0)?,
                    rate: rate("rate_mbps", mbps)?,
                    deadline: Duration::from_secs_f64(deadline / 1000.0),
                }
            }
            Kind::Web => self.read_web()?,
        })
    }

    fn block_rate(&self, limits: Limits) -> Result<Option<u64>, ScenarioProblem> {
        let loads = [
            ("load_percent", self.load_percent, limits.together),
            (
                "best_path_load_percent",
                self.best_path_load_percent,
                limits.best_path,
            ),
        ];
        let mut rates = Vec::new();
        if let Some(mbps) = self.rate_mbps {
            rates.push(rate("rate_mbps", mbps)?);
        }
        for (key, load, limit) in loads {
            let Some(load) = load else { continue };
            let load = range(key, load, 0.1, 1000.0)?;
            let limit = limit.ok_or_else(|| {
                ScenarioProblem::Other(format!("{key} is of paths that cross no shared link"))
            })?;
            rates.push(rate(key, load / 100.0 * limit)?);
        }
        if rates.len() > 1 {
            return Err(ScenarioProblem::Other(
                "blocks come at one of rate_mbps, load_percent and best_path_load_percent"
                    .to_owned(),
            ));
        }
        Ok(rates.pop())
    }

    fn read_web(&self) -> Result<Application, ScenarioProblem> {
        let objects = self.objects.ok_or(ScenarioProblem::Missing {
            key: "objects",
            why: "how many objects a page has",
        })?;
        let objects = whole("objects", objects, 1.0, 10_000.0)?;
        let page_bytes = match (self.object_bytes, self.page_bytes) {
            (Some(object), None) => whole("object_bytes", object, 1.0, 1e9)? * objects,
            (None, Some(page)) => whole("page_bytes", page, objects as f64, 1e12)?,
            _ => {
                return Err(ScenarioProblem::Other(
                    "a web application has either object_bytes or page_bytes".to_owned(),
                ));
            }
        };
        let pause = range("pause_s", self.pause_s.unwrap_or(0.0), 0.0, 1e5)?;
        Ok(Application::Web {
            objects: objects as u32,
            page_bytes,
            pages: optional("pages", self.pages, 1.0, 1e9)?,
            parallel: whole("parallel", self.parallel.unwrap_or(100.0), 1.0, 100.0)? as u32,
            pause: Duration::from_secs_f64(pause),
        })
    }
}

fn optional(
    key: &str,
    value: Option<f64>,
    least: f64,
    most: f64,
) -> Result<Option<u64>, ScenarioProblem> {
    value
        .map(|value| whole(key, value, least, most))
        .transpose()
}

/// 1 PB.
const MOST_BYTES: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::*;

    fn block_rate(keys: &str) -> Result<Option<u64>, ScenarioProblem> {
        let table: ApplicationTable =
            toml::from_str(&format!("kind = \"blocks\"\n{keys}")).expect("TOML");
        table.block_rate(Limits {
            together: Some(40.0),
            best_path: Some(30.0),
        })
    }

    #[test]
    fn blocks_come_at_a_rate_or_at_a_share_of_what_all_paths_or_the_best_one_carry() {
        assert_eq!(block_rate("").expect("as fast as it goes"), None);
        assert_eq!(
            block_rate("rate_mbps = 8").expect("a rate"),
            Some(8_000_000)
        );
        let of_all = block_rate("load_percent = 70").expect("a share");
        assert_eq!(of_all, Some(28_000_000));
        let of_best = block_rate("best_path_load_percent = 70").expect("a share");
        assert_eq!(of_best, Some(21_000_000));
        let error = block_rate("load_percent = 70\nbest_path_load_percent = 70");
        let error = error.expect_err("two rates").to_string();
        assert!(error.contains("one of rate_mbps, load_percent"), "{error}");
    }
}
