//! `[[traffic]]`: what else uses the links.

use std::time::Duration;

use serde::Deserialize;

use super::place::{Trouble, range, whole};
use super::variant::profile_called;
use crate::Setup;
use crate::scenario::error::ScenarioProblem;
use crate::scenario::topology::SharedLink;
use crate::scenario::traffic::{Route, Traffic, TrafficKind};
use crate::traffic::{Aimd, PacketSizes, Spread, Times, WindowLaw};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrafficTable {
    kind: Kind,
    name: String,
    path: Option<String>,
    via: Option<Vec<String>>,
    #[serde(default)]
    direction: DirectionName,
    start_s: Option<f64>,
    stop_s: Option<f64>,
    flows: Option<f64>,
    delay_ms: Option<f64>,
    packet_bytes: Option<f64>,
    packet_mix: Option<Vec<[f64; 2]>>,
    rate_mbps: Option<f64>,
    bytes: Option<f64>,
    increase: Option<f64>,
    decrease: Option<f64>,
    on_s: Option<f64>,
    off_s: Option<f64>,
    distribution: Option<Distribution>,
    off_distribution: Option<Distribution>,
    shape: Option<f64>,
    sack: Option<bool>,
    profile: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Newreno,
    Cubic,
    Aimd,
    Udp,
    OnOff,
    Connection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DirectionName {
    #[default]
    Forward,
    Backward,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Distribution {
    Constant,
    Exponential,
    Pareto,
}

/// Which keys mean something for which kind of a table.
pub(super) struct Kinds {
    pub(super) table: &'static str,
    pub(super) what: &'static str,
    pub(super) allowed: &'static [&'static str],
}

impl Kinds {
    /// Every key that is there must be allowed.
    pub(super) fn check(&self, given: &[(&'static str, bool)]) -> Result<(), Trouble> {
        let unknown = given
            .iter()
            .find(|(key, is_given)| *is_given && !self.allowed.contains(key));
        let Some((key, _)) = unknown else {
            return Ok(());
        };
        let problem = ScenarioProblem::NoSuchKey {
            what: self.what.to_owned(),
            key,
            known: self.allowed.to_vec(),
        };
        Err(Trouble::at(
            [self.table, *key]
                .into_iter()
                .filter(|step| !step.is_empty()),
            problem,
        ))
    }
}

impl TrafficTable {
    pub(super) fn read(&self, setup: &Setup, links: &[SharedLink]) -> Result<Traffic, Trouble> {
        super::check_name(&self.name).map_err(|problem| Trouble::at(["name"], problem))?;
        self.check_keys()?;
        let seconds = |key: &'static str, value: Option<f64>| {
            value
                .map(|value| range(key, value, 0.0, LONGEST_S).map(Duration::from_secs_f64))
                .transpose()
                .map_err(|problem| Trouble::at([key], problem))
        };
        let start = seconds("start_s", self.start_s)?.unwrap_or_default();
        let stop = seconds("stop_s", self.stop_s)?;
        if stop.is_some_and(|stop| stop <= start) {
            let problem = ScenarioProblem::Other(format!(
                "it stops at {} s, and starts at {} s",
                self.stop_s.unwrap_or_default(),
                start.as_secs_f64()
            ));
            return Err(Trouble::at(["stop_s"], problem));
        }
        let flows = whole("flows", self.flows.unwrap_or(1.0), 1.0, MOST_FLOWS)
            .map_err(|problem| Trouble::at(["flows"], problem))?;
        let delay = range("delay_ms", self.delay_ms.unwrap_or(0.0), 0.0, 60_000.0)
            .map_err(|problem| Trouble::at(["delay_ms"], problem))?;
        let (kind, route) = (self.kind()?, self.route(setup, links)?);
        let is_connection = matches!(kind, TrafficKind::Connection { .. });
        let is_plain = matches!(route, Route::Path(_))
            && self.direction == DirectionName::Forward
            && delay == 0.0;
        if is_connection && !is_plain {
            let problem = "a connection goes forward over a path, without a delay of its own";
            return Err(Trouble::new(ScenarioProblem::Other(problem.to_owned())));
        }
        Ok(Traffic {
            name: self.name.clone(),
            kind,
            route,
            is_backward: self.direction == DirectionName::Backward,
            start,
            stop,
            flows: flows as u32,
            delay: Duration::from_secs_f64(delay / 1000.0),
            sizes: self.sizes()?,
        })
    }

    fn check_keys(&self) -> Result<(), Trouble> {
        let kinds = Kinds {
            table: "",
            what: match self.kind {
                Kind::Newreno => "newreno traffic",
                Kind::Cubic => "cubic traffic",
                Kind::Aimd => "aimd traffic",
                Kind::Udp => "udp traffic",
                Kind::OnOff => "on-off traffic",
                Kind::Connection => "traffic of a connection",
            },
            allowed: match self.kind {
                Kind::Newreno => &["packet_bytes", "packet_mix", "rate_mbps", "bytes", "sack"],
                Kind::Cubic => &["packet_bytes", "packet_mix", "rate_mbps", "bytes"],
                Kind::Aimd => &[
                    "packet_bytes",
                    "packet_mix",
                    "rate_mbps",
                    "bytes",
                    "sack",
                    "increase",
                    "decrease",
                ],
                Kind::Udp => &["packet_bytes", "packet_mix", "rate_mbps"],
                Kind::OnOff => &[
                    "packet_bytes",
                    "packet_mix",
                    "rate_mbps",
                    "on_s",
                    "off_s",
                    "distribution",
                    "off_distribution",
                    "shape",
                ],
                Kind::Connection => &["profile"],
            },
        };
        kinds.check(&[
            ("packet_bytes", self.packet_bytes.is_some()),
            ("packet_mix", self.packet_mix.is_some()),
            ("rate_mbps", self.rate_mbps.is_some()),
            ("bytes", self.bytes.is_some()),
            ("sack", self.sack.is_some()),
            ("increase", self.increase.is_some()),
            ("decrease", self.decrease.is_some()),
            ("on_s", self.on_s.is_some()),
            ("off_s", self.off_s.is_some()),
            ("distribution", self.distribution.is_some()),
            ("off_distribution", self.off_distribution.is_some()),
            ("shape", self.shape.is_some()),
            ("profile", self.profile.is_some()),
        ])
    }

    fn kind(&self) -> Result<TrafficKind, Trouble> {
        let at = |key: &'static str| move |problem| Trouble::at([key], problem);
        let optional_rate = self
            .rate_mbps
            .map(|mbps| rate("rate_mbps", mbps))
            .transpose()
            .map_err(at("rate_mbps"))?;
        let needed_rate = || {
            optional_rate.ok_or_else(|| {
                Trouble::new(ScenarioProblem::Missing {
                    key: "rate_mbps",
                    why: "the rate on the link while it sends",
                })
            })
        };
        let bytes = self
            .bytes
            .map(|bytes| whole("bytes", bytes, 1.0, 1e15))
            .transpose()
            .map_err(at("bytes"))?;
        let sack = self.sack.unwrap_or(false);
        let tcp = |law: WindowLaw, sack| TrafficKind::Tcp {
            law,
            sack,
            rate: optional_rate,
            bytes,
        };
        Ok(match self.kind {
            Kind::Newreno => tcp(Aimd::NEW_RENO.into(), sack),
            Kind::Cubic => tcp(WindowLaw::Cubic, true),
            Kind::Aimd => {
                let increase = self.increase.unwrap_or(Aimd::NEW_RENO.increase);
                let decrease = self.decrease.unwrap_or(Aimd::NEW_RENO.decrease);
                let aimd = Aimd {
                    increase: range("increase", increase, 0.001, 1000.0).map_err(at("increase"))?,
                    decrease: range("decrease", decrease, 0.01, 0.99).map_err(at("decrease"))?,
                };
                tcp(aimd.into(), sack)
            }
            Kind::Udp => TrafficKind::Udp {
                rate: needed_rate()?,
                times: None,
            },
            Kind::OnOff => TrafficKind::Udp {
                rate: needed_rate()?,
                times: Some(self.times()?),
            },
            Kind::Connection => TrafficKind::Connection {
                profile: self.profile.as_deref().map(profile_called).transpose()?,
            },
        })
    }

    fn times(&self) -> Result<Times, Trouble> {
        let mean = |key: &'static str, value: Option<f64>, why| {
            let value = value.ok_or_else(|| Trouble::new(ScenarioProblem::Missing { key, why }))?;
            range(key, value, 0.001, LONGEST_S)
                .map(Duration::from_secs_f64)
                .map_err(|problem| Trouble::at([key], problem))
        };
        let shape = range("shape", self.shape.unwrap_or(1.5), 1.01, 100.0)
            .map_err(|problem| Trouble::at(["shape"], problem))?;
        let spread = |distribution| match distribution {
            Distribution::Constant => Spread::Constant,
            Distribution::Exponential => Spread::Exponential,
            Distribution::Pareto => Spread::Pareto { shape },
        };
        let on_spread = self.distribution.unwrap_or(Distribution::Exponential);
        let off_spread = self.off_distribution.unwrap_or(on_spread);
        Ok(Times {
            on: mean("on_s", self.on_s, "how long it sends, on average")?,
            on_spread: spread(on_spread),
            off: mean("off_s", self.off_s, "how long it pauses, on average")?,
            off_spread: spread(off_spread),
        })
    }

    fn route(&self, setup: &Setup, links: &[SharedLink]) -> Result<Route, Trouble> {
        match (&self.path, &self.via) {
            (Some(path), None) => super::plan::path_called(setup, path)
                .map(Route::Path)
                .map_err(|problem| Trouble::at(["path"], problem)),
            (None, Some(via)) => {
                let links = super::plan::links_called(links, via)
                    .map_err(|problem| Trouble::at(["via"], problem))?;
                if links.is_empty() {
                    let problem = "via names at least one link".to_owned();
                    return Err(Trouble::at(["via"], ScenarioProblem::Other(problem)));
                }
                Ok(Route::Links(links))
            }
            _ => Err(Trouble::new(ScenarioProblem::Other(
                "traffic has either a path or via".to_owned(),
            ))),
        }
    }

    fn sizes(&self) -> Result<PacketSizes, Trouble> {
        let size = |key, bytes| {
            whole(key, bytes, SMALLEST_PACKET, LARGEST_PACKET)
                .map(|bytes| bytes as u16)
                .map_err(|problem| Trouble::at([key], problem))
        };
        match (self.packet_bytes, &self.packet_mix) {
            (Some(_), Some(_)) => Err(Trouble::new(ScenarioProblem::Other(
                "only one of packet_bytes and packet_mix".to_owned(),
            ))),
            (bytes, None) => Ok(PacketSizes::fixed(size(
                "packet_bytes",
                bytes.unwrap_or(1500.0),
            )?)),
            (None, Some(mix)) => {
                super::count("sizes in packet_mix", mix.len(), 1, 32)?;
                let sizes: Result<Vec<_>, _> = mix
                    .iter()
                    .map(|[bytes, weight]| Ok((size("packet_mix", *bytes)?, *weight)))
                    .collect();
                PacketSizes::mixed(sizes?).ok_or_else(|| {
                    Trouble::at(
                        ["packet_mix"],
                        ScenarioProblem::Other(
                            "the shares in packet_mix are 0 or more, and not all 0".to_owned(),
                        ),
                    )
                })
            }
        }
    }
}

/// Bits per second of a figure in Mbit/s.
pub(super) fn rate(key: &str, mbps: f64) -> Result<u64, ScenarioProblem> {
    range(key, mbps, 0.001, MOST_MBPS).map(|mbps| (mbps * 1e6).round() as u64)
}

/// Mbit/s: a run should end some day.
pub(super) const MOST_MBPS: f64 = 10_000.0;

/// Seconds.
pub(super) const LONGEST_S: f64 = 100_000.0;

const MOST_FLOWS: f64 = 64.0;

/// IPv4 and UDP headers, and what tells one packet from the other.
const SMALLEST_PACKET: f64 = 40.0;

const LARGEST_PACKET: f64 = 9028.0;
