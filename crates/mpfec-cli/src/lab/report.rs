//! What a lab tells about itself.

use mpfec_sim::{LinkCounters, PathSetup, RelayStats, Setup};
use serde::Serialize;

use super::plan::Plan;
use crate::output::{Event, Output};
use crate::units;

/// A lab that is ready.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LabReport {
    links: String,
    limit_mbps: Option<f64>,
    /// Threads in the namespaces, for `nsenter --target`.
    client_thread: i32,
    server_thread: i32,
    paths: Vec<LabPath>,
}

/// A path of it.
#[derive(Debug, Clone, Serialize)]
struct LabPath {
    name: String,
    interface: String,
    client: String,
    server: String,
}

/// What has crossed the links.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CrossedReport {
    paths: Vec<CrossedPath>,
}

/// A path's part.
#[derive(Debug, Clone, Serialize)]
struct CrossedPath {
    name: String,
    forward: Crossed,
    backward: Crossed,
}

/// What became of the packets of a link.
#[derive(Debug, Clone, Copy, Serialize)]
struct Crossed {
    packets: u64,
    bytes: u64,
    delivered: u64,
    lost: u64,
    queue_drops: u64,
    cut: u64,
    too_big: u64,
}

impl From<LinkCounters> for Crossed {
    fn from(counters: LinkCounters) -> Self {
        Self {
            packets: counters.submitted,
            bytes: counters.submitted_bytes,
            delivered: counters.delivered,
            lost: counters.dropped_loss,
            queue_drops: counters.dropped_queue,
            cut: counters.dropped_cut,
            too_big: counters.dropped_too_big,
        }
    }
}

/// Tells what there is, and how to get into it.
pub(super) fn ready(output: &Output, setup: &Setup, plan: &Plan, client: i32, server: i32) {
    let path = |path: &super::plan::PathPlan| LabPath {
        name: path.name.clone(),
        interface: path.interface.clone(),
        client: path.client.to_string(),
        server: path.server.to_string(),
    };
    output.event(&Event::Lab(LabReport {
        links: plan.links.clone(),
        limit_mbps: setup.limit_mbps().map(units::rounded),
        client_thread: client,
        server_thread: server,
        paths: plan.paths.iter().map(path).collect(),
    }));
    for (path, links) in plan.paths.iter().zip(&setup.paths) {
        output.say(&format!(
            "{:15} {} -> {}  {}",
            path.interface,
            path.client,
            path.server,
            nature(links)
        ));
    }
    for (side, thread) in [("client", client), ("server", server)] {
        output.say(&format!(
            "a shell at the {side}: nsenter --target {thread} --net --mount"
        ));
    }
}

/// Tells what has crossed the links.
pub(super) fn crossed(output: &Output, plan: &Plan, stats: &[RelayStats]) {
    let paths = plan.paths.iter().zip(stats);
    output.event(&Event::Crossed(CrossedReport {
        paths: paths
            .clone()
            .map(|(path, stats)| CrossedPath {
                name: path.name.clone(),
                forward: stats.forward.into(),
                backward: stats.backward.into(),
            })
            .collect(),
    }));
    for (path, stats) in paths {
        output.say(&format!(
            "{:15} to the server {}; back {}",
            path.interface,
            told(stats.forward.into()),
            told(stats.backward.into())
        ));
    }
}

/// A path in words.
fn nature(path: &PathSetup) -> String {
    let rate = path.forward.rate.map_or_else(
        || "any rate".to_owned(),
        |bits| units::rate(bits as f64 / 1e6),
    );
    let loss = 100.0 * path.forward.mean_loss();
    format!(
        "{rate}, RTT {} ms, loss {loss:.1} %",
        path.rtt().as_millis()
    )
}

fn told(link: Crossed) -> String {
    let mut words = format!("{} packets, {} lost", link.packets, link.lost);
    for (count, what) in [
        (link.queue_drops, "dropped by the queue"),
        (link.cut, "cut off"),
        (link.too_big, "too big"),
    ] {
        if count > 0 {
            words.push_str(&format!(", {count} {what}"));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_is_told() {
        let mut counters = LinkCounters {
            submitted: 10,
            dropped_loss: 2,
            ..LinkCounters::default()
        };
        assert_eq!(told(counters.into()), "10 packets, 2 lost");
        counters.dropped_queue = 3;
        assert_eq!(
            told(counters.into()),
            "10 packets, 2 lost, 3 dropped by the queue"
        );
    }
}
