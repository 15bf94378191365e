//! Conditions of a run: paths, shared links, changes, times and buffers.

use std::time::Duration;

use serde::Deserialize;
use toml::Table;

use super::application::Limits;
use super::change::check_rate;
use super::place::{Trouble, range, ranked, whole};
use super::traffic::{LONGEST_S, MOST_MBPS};
use super::{ScenarioTable, count};
use crate::scenario::error::ScenarioProblem;
use crate::scenario::topology::{Lent, SharedLink};
use crate::scenario::{Application, Plan, Traffic, TrafficKind};
use crate::toml::link::LinkTable;
use crate::toml::{ParseError, PathTable};
use crate::{Change, PathSetup, Setup, check};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathTables {
    pub(super) name: String,
    both: Option<LinkTable>,
    forward: Option<LinkTable>,
    backward: Option<LinkTable>,
    #[serde(default)]
    via: Vec<String>,
    lent: Option<LentTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LentTable {
    rate_mbps: f64,
    traffic: Vec<String>,
    every_s: Option<f64>,
    measured: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkTables {
    name: String,
    both: Option<LinkTable>,
    forward: Option<LinkTable>,
    backward: Option<LinkTable>,
}

impl ScenarioTable {
    pub(super) fn plan(&self) -> Result<Plan, Trouble> {
        let links = self.links()?;
        let (setup, via) = self.paths(&links)?;
        let used = match &self.use_paths {
            None => (0..setup.paths.len()).collect(),
            Some(names) => paths_called(&setup, names)
                .map_err(|problem| Trouble::at(["use_paths"], problem))?,
        };
        let mut plan = Plan {
            setup,
            paths: used,
            links,
            via,
            link_changes: Vec::new(),
            traffic: Vec::new(),
            lent: Vec::new(),
            application: Application::Bulk { bytes: None },
            start: seconds("start_s", self.start_s, 0.0, 0.0)?,
            warmup: seconds("warmup_s", self.warmup_s, 0.0, 0.0)?,
            duration: seconds("duration_s", self.duration_s, 60.0, 0.1)?,
            sample: seconds("sample_s", self.sample_s, 1.0, 0.01)?,
            recv_buffer: kib("recv_buffer_kib", self.recv_buffer_kib)?,
            send_buffer: kib("send_buffer_kib", self.send_buffer_kib)?,
            block_symbols: number("block_symbols", self.block_symbols, 1.0, 1024.0)?
                .map(|symbols| symbols as u16),
            // IPv4 and UDP headers are on the link besides.
            max_mtu: number("packet_bytes", self.packet_bytes, 1228.0, 9028.0)?
                .map(|bytes| bytes as u16 - 28),
            pauses: None,
        };
        if let Some(table) = &self.pauses {
            plan.pauses = Some(table.read(plan.time())?);
        }
        if let Some(table) = &self.application {
            plan.application = table.read(Limits {
                together: plan.limit_mbps(),
                best_path: plan.best_path_limit_mbps(),
            })?;
        }
        if plan.duration.as_secs_f64() / plan.sample.as_secs_f64() > MOST_SAMPLES {
            let problem = format!("a time series has at most {MOST_SAMPLES} steps of sample_s");
            return Err(Trouble::at(["sample_s"], ScenarioProblem::Other(problem)));
        }
        if plan.application.has_end() && !plan.warmup.is_zero() {
            let problem = "an application with an end is measured from its start: no warmup_s";
            return Err(Trouble::at(
                ["warmup_s"],
                ScenarioProblem::Other(problem.to_owned()),
            ));
        }
        count("changes", self.changes.len(), 0, MOST_CHANGES)?;
        for (index, change) in self.changes.iter().enumerate() {
            let place = format!("change {}", index + 1);
            change
                .read(&mut plan)
                .map_err(|trouble| trouble.under("change", index, &place))?;
        }
        if plan.most_blocks() > MOST_BLOCKS {
            let problem = format!(
                "a run has at most {MOST_BLOCKS} blocks or frames, and this one may have {:.0}",
                plan.most_blocks()
            );
            return Err(Trouble::at(
                ["application"],
                ScenarioProblem::Other(problem),
            ));
        }
        self.read_traffic(&mut plan)?;
        for (path, table) in self.paths.iter().enumerate() {
            let Some(lent) = &table.lent else { continue };
            let lent = lent.read(path, &plan.traffic).map_err(|trouble| {
                let place = format!("path {}, lent", table.name);
                trouble.inside("lent").under("path", path, &place)
            })?;
            plan.lent.push(lent);
        }
        Ok(plan)
    }

    fn links(&self) -> Result<Vec<SharedLink>, Trouble> {
        count("links", self.links.len(), 0, MOST_LINKS)?;
        let mut links: Vec<SharedLink> = Vec::new();
        for (index, table) in self.links.iter().enumerate() {
            let index = index.to_string();
            super::check_name(&table.name)
                .map_err(|problem| Trouble::at(["link", &index, "name"], problem))?;
            if links.iter().any(|link| link.name == table.name) {
                let (what, name) = ("links", table.name.clone());
                let problem = ScenarioProblem::Duplicate { what, name };
                return Err(Trouble::at(["link", &index, "name"], problem));
            }
            let place = format!("link {}", table.name);
            let path = checked(
                &place,
                PathTable {
                    name: table.name.clone(),
                    both: table.both,
                    forward: table.forward,
                    backward: table.backward,
                },
            )
            .map_err(|error| Trouble::of_key(["link", &index], error.into()))?;
            links.push(SharedLink {
                name: path.name,
                forward: path.forward,
                backward: path.backward,
            });
        }
        Ok(links)
    }

    fn paths(&self, links: &[SharedLink]) -> Result<(Setup, Vec<Vec<usize>>), Trouble> {
        let mut setup = Setup {
            // The limits of a set-up's name are its own.
            name: "scenario".to_owned(),
            summary: String::new(),
            paths: Vec::new(),
            changes: Vec::new(),
        };
        let mut via = Vec::new();
        for (index, table) in self.paths.iter().enumerate() {
            let index = index.to_string();
            let place = format!("path {}", table.name);
            let path = checked(
                &place,
                PathTable {
                    name: table.name.clone(),
                    both: table.both,
                    forward: table.forward,
                    backward: table.backward,
                },
            )
            .map_err(|error| Trouble::of_key(["path", &index], error.into()))?;
            setup.paths.push(path);
            via.push(
                links_called(links, &table.via)
                    .map_err(|problem| Trouble::at(["path", &index, "via"], problem))?,
            );
        }
        setup
            .check()
            .map_err(|error| Trouble::at(["path"], ScenarioProblem::Setup(error.into())))?;
        Ok((setup, via))
    }

    fn read_traffic(&self, plan: &mut Plan) -> Result<(), Trouble> {
        count("traffic tables", self.traffic.len(), 0, MOST_TRAFFIC)?;
        for (index, table) in self.traffic.iter().enumerate() {
            let place = format!("traffic {}", index + 1);
            let traffic = table
                .read(&plan.setup, &plan.links)
                .map_err(|trouble| trouble.under("traffic", index, &place))?;
            if plan.traffic.iter().any(|other| other.name == traffic.name) {
                let (what, name) = ("traffic tables", traffic.name);
                let problem = ScenarioProblem::Duplicate { what, name };
                return Err(Trouble::at(["name"], problem).under("traffic", index, &place));
            }
            plan.traffic.push(traffic);
        }
        let flows = |is_counted: fn(&Traffic) -> bool| {
            let counted = plan.traffic.iter().filter(|traffic| is_counted(traffic));
            counted.map(|traffic| traffic.flows as usize).sum()
        };
        count("flows", flows(|_| true), 0, MOST_FLOWS)?;
        let connections = flows(|traffic| matches!(traffic.kind, TrafficKind::Connection { .. }));
        count(
            "connections among the traffic",
            connections,
            0,
            MOST_CONNECTIONS,
        )
    }
}

impl LentTable {
    fn read(&self, path: usize, traffic: &[Traffic]) -> Result<Lent, Trouble> {
        let mbps = range("rate_mbps", self.rate_mbps, 1e-6, MOST_MBPS)
            .map_err(|problem| Trouble::at(["rate_mbps"], problem))?;
        let every = range("every_s", self.every_s.unwrap_or(EVERY_S), 0.1, LONGEST_S)
            .map_err(|problem| Trouble::at(["every_s"], problem))?;
        let mut flows = Vec::new();
        for name in &self.traffic {
            let flow =
                flow_called(traffic, name).map_err(|problem| Trouble::at(["traffic"], problem))?;
            if flows.contains(&flow) {
                let problem = format!("traffic {name:?} is named twice");
                return Err(Trouble::at(["traffic"], ScenarioProblem::Other(problem)));
            }
            flows.push(flow);
        }
        Ok(Lent {
            path,
            rate: (mbps * 1e6).round() as u64,
            flows,
            interval: Duration::from_secs_f64(every),
            measured: self.measured.unwrap_or(true),
        })
    }
}

impl Plan {
    /// Blocks or frames that a run can get through, 0 if it has none: when each of them began and
    /// ended is kept.
    fn most_blocks(&self) -> f64 {
        let seconds = (self.warmup + self.duration).as_secs_f64();
        match self.application {
            Application::Blocks {
                block_bytes,
                rate,
                count,
            } => {
                let rate = rate.map_or_else(|| self.most_bits_per_second(), |rate| rate as f64);
                let blocks = rate * seconds / 8.0 / block_bytes as f64;
                count.map_or(blocks, |count| blocks.min(count as f64))
            }
            Application::Video { fps, .. } => fps * seconds,
            Application::Bulk { .. } | Application::Web { .. } => 0.0,
        }
    }

    /// What all paths carry while each is at its fastest.
    fn most_bits_per_second(&self) -> f64 {
        let fastest = |(index, path): (usize, &PathSetup)| {
            let changed = self.setup.changes.iter().filter_map(|timed| {
                let Change::Rate(rate) = timed.change else {
                    return None;
                };
                rate.filter(|_| timed.path == index)
            });
            changed.chain(path.forward.rate).max().unwrap_or(0) as f64
        };
        self.setup.paths.iter().enumerate().map(fastest).sum()
    }

    /// Whether it has the very paths that a table has: variants name them by position.
    pub(super) fn has_paths_of(&self, table: &Table) -> bool {
        let names = table
            .get("path")
            .and_then(toml::Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|path| path.get("name")?.as_str());
        names.eq(self.setup.paths.iter().map(|path| path.name.as_str()))
    }
}

/// Paths by their names, each once.
pub(super) fn paths_called(setup: &Setup, names: &[String]) -> Result<Vec<usize>, ScenarioProblem> {
    let mut paths = Vec::new();
    for name in names {
        let path = path_called(setup, name)?;
        if paths.contains(&path) {
            return Err(ScenarioProblem::Other(format!(
                "path {name:?} is named twice"
            )));
        }
        paths.push(path);
    }
    if paths.is_empty() {
        let problem = "a run uses at least one path".to_owned();
        return Err(ScenarioProblem::Other(problem));
    }
    Ok(paths)
}

pub(super) fn path_called(setup: &Setup, name: &str) -> Result<usize, ScenarioProblem> {
    setup.path(name).ok_or_else(|| ScenarioProblem::Unknown {
        what: "path",
        name: name.to_owned(),
        known: ranked(name, setup.paths.iter().map(|path| path.name.as_str())),
    })
}

/// Traffic of a known rate.
fn flow_called(traffic: &[Traffic], name: &str) -> Result<usize, ScenarioProblem> {
    let position = traffic.iter().position(|flow| flow.name == name);
    let flow = position.ok_or_else(|| ScenarioProblem::Unknown {
        what: "traffic",
        name: name.to_owned(),
        known: ranked(name, traffic.iter().map(|flow| flow.name.as_str())),
    })?;
    if traffic[flow].rate().is_none() {
        let problem = format!("traffic {name:?} has no rate_mbps");
        return Err(ScenarioProblem::Other(problem));
    }
    Ok(flow)
}

pub(super) fn link_called(links: &[SharedLink], name: &str) -> Result<usize, ScenarioProblem> {
    let position = links.iter().position(|link| link.name == name);
    position.ok_or_else(|| ScenarioProblem::Unknown {
        what: "link",
        name: name.to_owned(),
        known: ranked(name, links.iter().map(|link| link.name.as_str())),
    })
}

pub(super) fn links_called(
    links: &[SharedLink],
    names: &[String],
) -> Result<Vec<usize>, ScenarioProblem> {
    let mut route = Vec::new();
    for name in names {
        let link = link_called(links, name)?;
        if route.contains(&link) {
            return Err(ScenarioProblem::Other(format!(
                "link {name:?} is named twice"
            )));
        }
        route.push(link);
    }
    Ok(route)
}

/// Both directions of a path or a link, all of whose figures are in their ranges. Time must pass
/// on the way, or a run would never end.
fn checked(place: &str, table: PathTable) -> Result<PathSetup, ParseError> {
    let path = table.read_as(place)?;
    for (direction, link) in [("forward", &path.forward), ("backward", &path.backward)] {
        let place = format!("{place}, {direction}");
        let rate = link.rate.ok_or_else(|| ParseError::Link {
            place: place.clone(),
            problem: "rate_mbps is missing: it is from 0.000001 to 10000",
        })?;
        check_rate(&place, rate as f64 / 1e6)?;
        check::link(&place, link)?;
    }
    Ok(path)
}

fn seconds(
    key: &'static str,
    value: Option<f64>,
    default: f64,
    least: f64,
) -> Result<Duration, Trouble> {
    range(key, value.unwrap_or(default), least, LONGEST_S)
        .map(Duration::from_secs_f64)
        .map_err(|problem| Trouble::at([key], problem))
}

fn kib(key: &'static str, value: Option<f64>) -> Result<Option<u64>, Trouble> {
    // What `TransportConfig` takes.
    let kib = number(key, value, 16.0, f64::from(1 << 22))?;
    Ok(kib.map(|kib| kib << 10))
}

fn number(
    key: &'static str,
    value: Option<f64>,
    least: f64,
    most: f64,
) -> Result<Option<u64>, Trouble> {
    value
        .map(|value| whole(key, value, least, most))
        .transpose()
        .map_err(|problem| Trouble::at([key], problem))
}

/// How often a destination measures (UC §7.3).
const EVERY_S: f64 = 2.0;
const MOST_LINKS: usize = 16;
const MOST_TRAFFIC: usize = 64;
const MOST_FLOWS: usize = 256;
/// Each has a network of its own.
const MOST_CONNECTIONS: usize = 64;
const MOST_CHANGES: usize = 1000;
const MOST_SAMPLES: f64 = 100_000.0;
const MOST_BLOCKS: f64 = 1e7;
