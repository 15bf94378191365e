//! `[grid]`: cases drawn at random, from a seed.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;
use toml::{Table, Value};

use super::place::{Trouble, range, whole};
use super::{CaseTable, ScenarioTable};
use crate::Rng;
use crate::scenario::error::ScenarioProblem;

/// Ranges that the figures of each point are drawn from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GridTable {
    points: f64,
    seed: f64,
    rate_mbps: [f64; 2],
    rtt_ms: [f64; 2],
    loss_percent: [f64; 2],
    /// Share of the paths that lose nothing.
    lossless: f64,
    /// Mean length of a burst of losses, on every second path that loses something.
    burst: [f64; 2],
    queue_bdp: [f64; 2],
    queue_packets_least: f64,
}

impl ScenarioTable {
    /// The cases of the file, or of its grid.
    pub(super) fn take_grid(&mut self) -> Result<(), Trouble> {
        let Some(grid) = self.grid.take() else {
            return Ok(());
        };
        if !self.cases.is_empty() {
            let problem = "a file has either cases or a grid".to_owned();
            return Err(Trouble::at(["grid"], ScenarioProblem::Other(problem)));
        }
        let names: Vec<&str> = self.paths.iter().map(|path| path.name.as_str()).collect();
        self.cases = grid
            .cases(&names)
            .map_err(|problem| Trouble::at(["grid"], problem).named("grid"))?;
        Ok(())
    }
}

impl GridTable {
    /// Points with one path up to all of `names`.
    fn cases(&self, names: &[&str]) -> Result<Vec<CaseTable>, ScenarioProblem> {
        let points = whole("points", self.points, 1.0, 1000.0)?;
        let seed = whole("seed", self.seed, 0.0, 1e9)?;
        let between = |key, [least, most]: [f64; 2], floor, ceiling| {
            range(key, least, floor, ceiling)?;
            range(key, most, least, ceiling)
        };
        between("rate_mbps", self.rate_mbps, 0.01, 10_000.0)?;
        between("rtt_ms", self.rtt_ms, 0.1, 10_000.0)?;
        between("loss_percent", self.loss_percent, 0.01, 90.0)?;
        range("lossless", self.lossless, 0.0, 1.0)?;
        between("burst", self.burst, 1.0, 100.0)?;
        between("queue_bdp", self.queue_bdp, 0.01, 100.0)?;
        range("queue_packets_least", self.queue_packets_least, 1.0, 1e6)?;
        Ok((1..=points)
            .map(|point| {
                let rng = Rng::named(seed, &point.to_string());
                self.case(point, names, rng)
            })
            .collect())
    }

    fn case(&self, point: u64, names: &[&str], mut rng: Rng) -> CaseTable {
        let count = 1 + rng.up_to(names.len().saturating_sub(1) as u64) as usize;
        let mut name = format!("{point}:");
        let mut set = BTreeMap::new();
        for path in &names[..count.min(names.len())] {
            let rate = spread(&mut rng, self.rate_mbps);
            let rtt = spread(&mut rng, self.rtt_ms);
            let packets_of_bdp = rate * 1e3 * rtt / 8.0 / 1500.0;
            let queue = spread(&mut rng, self.queue_bdp) * packets_of_bdp;
            let queue = queue.max(self.queue_packets_least).round();
            let loses = !rng.chance(self.lossless);
            let loss = if loses {
                spread(&mut rng, self.loss_percent)
            } else {
                0.0
            };
            let in_bursts = rng.chance(0.5) && loses;
            let burst = if in_bursts {
                spread(&mut rng, self.burst).max(1.0)
            } else {
                1.0
            };
            let mut put = |key: &str, value: Value| {
                set.insert(format!("path.{path}.{key}"), value);
            };
            put("both.rate_mbps", rate.into());
            put("both.delay_ms", (rtt / 2.0).into());
            put("both.queue_packets", (queue as i64).into());
            // Writing to a string does not fail.
            let _ = write!(name, " {rate}/{rtt}");
            if burst > 1.0 {
                let mut table = Table::new();
                table.insert("percent".to_owned(), loss.into());
                table.insert("length".to_owned(), burst.into());
                put("forward.burst", table.into());
                let _ = write!(name, "/{loss}x{burst}");
            } else if loses {
                put("forward.loss_percent", loss.into());
                let _ = write!(name, "/{loss}");
            }
            let _ = write!(name, "@{queue}");
        }
        let used: Vec<Value> = names[..count].iter().map(|&name| name.into()).collect();
        set.insert("use_paths".to_owned(), used.into());
        CaseTable { name, x: None, set }
    }
}

/// A number between the two, small ones as likely as large ones, with two digits that matter:
/// people can repeat what they read.
fn spread(rng: &mut Rng, [least, most]: [f64; 2]) -> f64 {
    let value = least * (most / least).powf(rng.unit());
    let digit = 10f64.powf(value.log10().floor() - 1.0);
    // Twice rounded, for 0.1 is no binary fraction.
    let rounded = (value / digit).round() * digit;
    ((rounded * 1e6).round() / 1e6).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    const FILE: &str = r#"
        name = "grid"
        [grid]
        points = 50
        seed = 3
        rate_mbps = [1, 40]
        rtt_ms = [10, 400]
        loss_percent = [0.1, 30]
        lossless = 0.25
        burst = [1, 8]
        queue_bdp = [0.25, 4]
        queue_packets_least = 5
        [[path]]
        name = "a"
        both = { rate_mbps = 1, delay_ms = 1 }
        [[path]]
        name = "b"
        both = { rate_mbps = 1, delay_ms = 1 }
        [[variant]]
        profile = "auto"
        [[variant]]
        name = "best"
        profile = "auto"
        paths = "best"
    "#;

    #[test]
    fn every_point_lies_in_the_ranges_and_is_told_by_its_name() {
        let scenario = Scenario::from_toml(FILE, "grid.toml").expect("a grid");
        assert_eq!(scenario.cases.len(), 50);
        let mut counts = [0; 3];
        for case in 0..50 {
            let plan = scenario.plan(case, 0).expect("planned");
            counts[plan.paths.len()] += 1;
            for &path in &plan.paths {
                let path = &plan.setup.paths[path];
                let rate = path.forward.rate.expect("a rate") as f64 / 1e6;
                let rtt = path.rtt().as_secs_f64() * 1e3;
                assert!((1.0..=40.0).contains(&rate), "{rate}");
                assert!((9.99..=400.01).contains(&rtt), "{rtt}");
                assert!(path.forward.mean_loss() <= 0.3001);
                let name = &scenario.cases[case].name;
                assert!(name.contains(&format!(" {rate}/")), "{name}: {rate}");
            }
            let best = scenario.variants[1].paths.of(plan);
            let limit = |path: usize| plan.setup.paths[path].limit_mbps();
            assert_eq!(best.len(), 1);
            assert!(plan.paths.iter().all(|path| limit(*path) <= limit(best[0])));
        }
        assert!(counts[1] > 10 && counts[2] > 10, "{counts:?}");
        let again = Scenario::from_toml(FILE, "grid.toml").expect("a grid");
        assert_eq!(again, scenario);
    }

    #[test]
    fn a_range_that_is_none_is_an_error_with_its_key() {
        let text = FILE.replace("rtt_ms = [10, 400]", "rtt_ms = [400, 10]");
        let error = Scenario::from_toml(&text, "grid.toml").expect_err("upside down");
        assert!(error.to_string().contains("rtt_ms"), "{error}");
    }

    #[test]
    fn a_grid_without_paths_is_an_error() {
        let (grid, _) = FILE.split_once("[[path]]").expect("paths");
        let error = Scenario::from_toml(grid, "grid.toml").expect_err("no paths");
        assert_eq!(
            error.to_string(),
            "grid.toml: a setup has 1 to 8 paths, not 0"
        );
    }
}
