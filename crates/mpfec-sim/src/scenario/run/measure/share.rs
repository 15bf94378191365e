//! Who has how much of an equal part of a bottleneck.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::LinkConfig;
use crate::scenario::{Plan, Route, Traffic, TrafficKind};
use crate::setup::PAYLOAD_SHARE;

/// The links of a plan towards the server, and who crosses them while it is measured.
pub(super) struct Shares<'a> {
    plan: &'a Plan,
    /// The paths of each connection under test.
    connections: Vec<&'a [usize]>,
}

/// A link, as a position in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Of this path alone.
    Own(usize),
    Shared(usize),
}

impl<'a> Shares<'a> {
    pub(super) fn new(plan: &'a Plan, connections: Vec<&'a [usize]>) -> Self {
        Self { plan, connections }
    }

    /// `share` and `share.<path>`: `arrived` is what has come over each path, in Mbit/s, headers
    /// included.
    pub(super) fn of_paths(&self, arrived: &[f64], metrics: &mut BTreeMap<String, f64>) {
        let mut bottlenecks: Vec<Place> = Vec::new();
        let (mut all, mut parts) = (0.0, 0.0);
        for (path, arrived) in arrived.iter().enumerate() {
            if !self.connections.iter().any(|paths| paths.contains(&path)) {
                continue;
            }
            let Some((place, part)) = self.part(&self.of_path(path)) else {
                return;
            };
            let name = &self.plan.setup.paths[path].name;
            metrics.insert(format!("share.{name}"), arrived / part);
            all += arrived;
            if !bottlenecks.contains(&place) {
                bottlenecks.push(place);
                parts += part;
            }
        }
        if parts > 0.0 {
            metrics.insert("share".to_owned(), all / parts);
        }
    }

    /// `traffic.<name>.share`: `goodput` is what has arrived of it, in Mbit/s without headers.
    /// `None` if it does not run while it is measured, or not towards the server.
    pub(super) fn of_traffic(&self, traffic: &Traffic, goodput: f64) -> Option<f64> {
        if traffic.is_backward || !self.runs(traffic) {
            return None;
        }
        let (place, part) = self.part(&self.of_route(&traffic.route))?;
        let headers = match traffic.kind {
            TrafficKind::Connection { .. } => 1.0 / PAYLOAD_SHARE,
            TrafficKind::Tcp { .. } | TrafficKind::Udp { .. } => {
                let bytes = traffic.sizes.mean();
                bytes / (bytes - f64::from(self.link(place).overhead)).max(1.0)
            }
        };
        Some(goodput * headers / part / f64::from(traffic.flows))
    }

    /// Of these links that which carries least, and an equal part of it in Mbit/s.
    fn part(&self, route: &[Place]) -> Option<(Place, f64)> {
        let carries = |place: &Place| {
            let link = self.link(*place);
            Some(link.carried_rate()? as f64 / 1e6 * (1.0 - link.mean_loss()))
        };
        let (place, mbps) = route
            .iter()
            .filter_map(|place| Some((*place, carries(place)?)))
            .min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        Some((place, mbps / f64::from(self.users(place).max(1))))
    }

    /// Connections and flows that cross a link, each once.
    fn users(&self, place: Place) -> u32 {
        let connections = self.connections.iter().filter(|paths| {
            let mut paths = paths.iter();
            paths.any(|path| self.of_path(*path).contains(&place))
        });
        let flows = self.plan.traffic.iter().filter(|traffic| {
            let crosses = self.of_route(&traffic.route).contains(&place);
            crosses && !traffic.is_backward && self.runs(traffic)
        });
        connections.count() as u32 + flows.map(|traffic| traffic.flows).sum::<u32>()
    }

    /// Whether it sends at some time of the measurement.
    fn runs(&self, traffic: &Traffic) -> bool {
        let begins: Duration = self.plan.start + self.plan.warmup;
        let ends = begins + self.plan.duration;
        traffic.start < ends && traffic.stop.is_none_or(|stop| stop > begins)
    }

    fn link(&self, place: Place) -> &LinkConfig {
        match place {
            Place::Own(path) => &self.plan.setup.paths[path].forward,
            Place::Shared(link) => &self.plan.links[link].forward,
        }
    }

    fn of_path(&self, path: usize) -> Vec<Place> {
        let shared = self.plan.via[path].iter().map(|link| Place::Shared(*link));
        std::iter::once(Place::Own(path)).chain(shared).collect()
    }

    fn of_route(&self, route: &Route) -> Vec<Place> {
        match route {
            Route::Path(path) => self.of_path(*path),
            Route::Links(links) => links.iter().map(|link| Place::Shared(*link)).collect(),
        }
    }
}
