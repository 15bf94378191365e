//! Paths, what they are like, and what happens to them when: the scene of a run.

use std::time::Duration;

use crate::{Change, GilbertElliott, LinkConfig, Policer, QueueLimit};

/// The paths between a client and a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// How it is called on the command line and in reports.
    pub name: String,
    /// One line for people.
    pub summary: String,
    /// At least one.
    pub paths: Vec<PathSetup>,
    /// What changes while it runs, in any order; at the same time, the earlier entry first.
    pub changes: Vec<TimedChange>,
}

/// One path: a link in each direction.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSetup {
    /// Unique within the setup.
    pub name: String,
    /// From the client, which sends the data in all built-in setups, to the server.
    pub forward: LinkConfig,
    /// From the server to the client.
    pub backward: LinkConfig,
}

/// A change to a path at a certain time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedChange {
    /// Time since the start of the run.
    pub at: Duration,
    /// Position in [`Setup::paths`].
    pub path: usize,
    /// Which links of the path.
    pub direction: Direction,
    /// What changes.
    pub change: Change,
}

/// Which of a path's two links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Client to server.
    Forward,
    /// Server to client.
    Backward,
    /// Each of them.
    Both,
}

impl Setup {
    /// The built-in setup called `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::built_in()
            .into_iter()
            .find(|setup| setup.name == name)
    }

    /// Every built-in setup, in the order of a listing.
    #[must_use]
    pub fn built_in() -> Vec<Self> {
        let mut setups: Vec<_> = (1..=FMTCP_PATH_2.len()).map(fmtcp).collect();
        for loss in [0, 1, 2, 3, 5] {
            setups.extend([25, 100, 400].map(|rtt| dfec(loss, rtt)));
        }
        setups.extend([pnc(), path_death(), demo(), loopback_clean()]);
        setups
    }

    /// What the paths can carry at the start, from client to server, in Mbit/s of
    /// payload: the sum of rate x (1 - loss) x 0.957, the payload's share of a full
    /// encrypted packet. `None` if a path has no rate.
    #[must_use]
    pub fn limit_mbps(&self) -> Option<f64> {
        self.paths.iter().map(PathSetup::limit_mbps).sum()
    }

    /// The same of the other direction, for a server that sends.
    #[must_use]
    pub fn limit_mbps_back(&self) -> Option<f64> {
        let limits = self.paths.iter().map(|path| carried_mbps(&path.backward));
        limits.sum()
    }

    /// The same with every rate, and every queue in bytes, times `factor`, also in the changes.
    #[must_use]
    pub fn with_rates_times(mut self, factor: f64) -> Self {
        for path in &mut self.paths {
            for link in [&mut path.forward, &mut path.backward] {
                link.rate = link.rate.map(|rate| scale(rate, factor));
                link.queue = scale_queue(link.queue, factor);
            }
        }
        for timed in &mut self.changes {
            match &mut timed.change {
                Change::Rate(rate) => *rate = rate.map(|rate| scale(rate, factor)),
                Change::Queue(queue) => *queue = scale_queue(*queue, factor),
                Change::Policer(policer) => *policer = policer.map(|it| scale_policer(it, factor)),
                _ => {}
            }
        }
        self
    }

    /// The position of the path called `name`.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<usize> {
        self.paths.iter().position(|path| path.name == name)
    }
}

impl PathSetup {
    /// A path with the same rate and half of `rtt` in each direction, a drop-tail queue of
    /// one bandwidth-delay product, and `loss` (0..=1) from client to server only.
    #[must_use]
    pub fn symmetric(name: &str, rate_bps: u64, rtt: Duration, loss: f64) -> Self {
        let queue = QueueLimit::bandwidth_delay(rate_bps, rtt, 1.0);
        let backward = LinkConfig::new(rate_bps, rtt / 2).with_queue(queue);
        let forward = backward.clone().with_loss(loss);
        Self {
            name: name.to_owned(),
            forward,
            backward,
        }
    }

    /// Propagation delay there and back, without queues and transmission.
    #[must_use]
    pub fn rtt(&self) -> Duration {
        self.forward.delay + self.backward.delay
    }

    /// What the path can carry from client to server, in Mbit/s of payload
    /// ([`Setup::limit_mbps`]).
    #[must_use]
    pub fn limit_mbps(&self) -> Option<f64> {
        carried_mbps(&self.forward)
    }
}

fn carried_mbps(link: &LinkConfig) -> Option<f64> {
    let rate = link.carried_rate()? as f64 / 1e6;
    Some(rate * (1.0 - link.mean_loss()) * PAYLOAD_SHARE)
}

/// FMTCP Table II: 10 Mbit/s each (the paper names no rate), path 1 with 100 ms one way
/// and 0.1 % loss, path 2 by case.
fn fmtcp(case: usize) -> Setup {
    let (delay_ms, loss) = FMTCP_PATH_2[case - 1];
    let path = |name, delay_ms, loss| PathSetup::symmetric(name, 10 * MBIT, ms(2 * delay_ms), loss);
    Setup {
        name: format!("fmtcp-{case}"),
        summary: format!(
            "FMTCP Table II, case {case}: 100 ms one way 0.1 %, {delay_ms} ms one way {} %",
            loss * 100.0
        ),
        paths: vec![path("path-1", 100, 0.001), path("path-2", delay_ms, loss)],
        changes: Vec::new(),
    }
}

/// MPTCP-dFEC Table III: B1 lossy, B2 of the given round trip.
fn dfec(loss_percent: u32, rtt_ms: u64) -> Setup {
    Setup {
        name: format!("dfec-l{loss_percent}-r{rtt_ms}"),
        summary: format!(
            "dFEC Table III: 20 Mbit/s RTT 25 ms {loss_percent} %, 10 Mbit/s RTT {rtt_ms} ms"
        ),
        paths: vec![
            PathSetup::symmetric("b1", 20 * MBIT, ms(25), f64::from(loss_percent) / 100.0),
            PathSetup::symmetric("b2", 10 * MBIT, ms(rtt_ms), 0.0),
        ],
        changes: Vec::new(),
    }
}

/// PNC Table II at the middle of its loss ranges; the paper gives no burst length.
fn pnc() -> Setup {
    let path = |name, rate_mbit: u64, delay_ms: u64, loss| {
        let mut path = PathSetup::symmetric(name, rate_mbit * MBIT, ms(2 * delay_ms), loss);
        path.forward.bursts = Some(GilbertElliott::bursts(0.01, 4.0));
        path.forward.queue = QueueLimit::Packets(50);
        path.backward.queue = QueueLimit::Packets(50);
        path
    };
    Setup {
        name: "pnc".to_owned(),
        summary: "PNC Table II: 4/10/8 Mbit/s, 220/120/70 ms one way, 1.5/5/15 % and 1 % in bursts, 50-packet queues".to_owned(),
        paths: vec![path("a", 4, 220, 0.015), path("b", 10, 120, 0.05), path("c", 8, 70, 0.15)],
        changes: Vec::new(),
    }
}

/// The better of two paths dies without a word for five seconds.
fn path_death() -> Setup {
    let at = |at_s, change| TimedChange {
        at: Duration::from_secs(at_s),
        path: 0,
        direction: Direction::Both,
        change,
    };
    Setup {
        name: "path-death".to_owned(),
        summary: "20 Mbit/s RTT 20 ms, dead from 5 s to 10 s; 10 Mbit/s RTT 60 ms".to_owned(),
        paths: vec![
            PathSetup::symmetric("dies", 20 * MBIT, ms(20), 0.0),
            PathSetup::symmetric("lives", 10 * MBIT, ms(60), 0.0),
        ],
        changes: vec![at(5, Change::Cut), at(10, Change::Restore)],
    }
}

/// What `mpfec demo` shows: 64 MiB take about 20 s.
fn demo() -> Setup {
    Setup {
        name: "demo".to_owned(),
        summary: "Wi-Fi 20 Mbit/s RTT 25 ms 3 %, LTE 10 Mbit/s RTT 60 ms, satellite 2 Mbit/s RTT 300 ms 5 %".to_owned(),
        paths: vec![
            PathSetup::symmetric("wifi", 20 * MBIT, ms(25), 0.03),
            PathSetup::symmetric("lte", 10 * MBIT, ms(60), 0.0),
            PathSetup::symmetric("satellite", 2 * MBIT, ms(300), 0.05),
        ],
        changes: Vec::new(),
    }
}

/// Two paths that pass everything on at once: what the relay itself costs.
fn loopback_clean() -> Setup {
    let link = LinkConfig {
        mtu: 65_535,
        ..LinkConfig::default()
    };
    let path = |name: &str| PathSetup {
        name: name.to_owned(),
        forward: link.clone(),
        backward: link.clone(),
    };
    Setup {
        name: "loopback-clean".to_owned(),
        summary: "two paths without rate, delay and loss".to_owned(),
        paths: vec![path("path-1"), path("path-2")],
        changes: Vec::new(),
    }
}

fn scale(rate: u64, factor: f64) -> u64 {
    (rate as f64 * factor).round() as u64
}

fn scale_queue(queue: QueueLimit, factor: f64) -> QueueLimit {
    match queue {
        QueueLimit::Bytes(bytes) => QueueLimit::Bytes(scale(bytes, factor)),
        other => other,
    }
}

fn scale_policer(policer: Policer, factor: f64) -> Policer {
    Policer {
        rate: scale(policer.rate, factor),
        burst: scale(policer.burst, factor),
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const MBIT: u64 = 1_000_000;

/// Payload bytes per byte on the link of a full encrypted packet.
pub(crate) const PAYLOAD_SHARE: f64 = 0.957;

/// Delay one way in milliseconds and loss of path 2 (FMTCP Table II).
const FMTCP_PATH_2: [(u64, f64); 8] = [
    (100, 0.02),
    (100, 0.05),
    (100, 0.2),
    (100, 0.5),
    (100, 0.01),
    (200, 0.01),
    (300, 0.01),
    (500, 0.01),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(name: &str) -> f64 {
        Setup::named(name)
            .and_then(|setup| setup.limit_mbps())
            .expect("built in, with rates")
    }

    #[test]
    fn limits_are_those_of_the_measured_tables() {
        let golden = [
            ("fmtcp-1", 18.9),
            ("fmtcp-2", 18.7),
            ("fmtcp-3", 17.2),
            ("fmtcp-4", 14.3),
            ("fmtcp-5", 19.0),
            ("fmtcp-8", 19.0),
            ("dfec-l0-r25", 28.7),
            ("dfec-l1-r100", 28.5),
            ("dfec-l3-r400", 28.1),
            ("dfec-l5-r25", 27.8),
            ("pnc", 19.2),
        ];
        for (name, want) in golden {
            assert!(
                (limit(name) - want).abs() <= 0.051,
                "{name}: {} for {want}",
                limit(name)
            );
        }
        assert_eq!(
            Setup::named("loopback-clean").and_then(|setup| setup.limit_mbps()),
            None
        );
    }

    #[test]
    fn the_other_direction_has_a_limit_of_its_own() {
        let mut setup = Setup::named("dfec-l5-r25").expect("built in");
        let back = |setup: &Setup| setup.limit_mbps_back().expect("with rates");
        // Acknowledgements are not lost there.
        assert!((back(&setup) - 28.7).abs() <= 0.051, "{}", back(&setup));
        setup.paths[0].backward.rate = Some(1_000_000);
        assert!((back(&setup) - 10.5).abs() <= 0.051, "{}", back(&setup));
    }

    #[test]
    fn loss_hits_data_only_and_queues_hold_one_round_trip() {
        let setup = Setup::named("dfec-l3-r100").expect("built in");
        let [b1, b2] = &setup.paths[..] else {
            panic!("two paths")
        };
        assert_eq!(
            (b1.forward.loss, b1.backward.loss, b2.forward.loss),
            (0.03, 0.0, 0.0)
        );
        assert_eq!(b1.forward.queue, QueueLimit::Bytes(62_500));
        assert_eq!(b2.forward.queue, QueueLimit::Bytes(125_000));
        assert_eq!((b1.rtt(), b2.rtt()), (ms(25), ms(100)));
    }

    #[test]
    fn names_are_unique_and_changes_name_paths_that_exist() {
        let setups = Setup::built_in();
        for (index, setup) in setups.iter().enumerate() {
            assert!(
                setups[..index].iter().all(|other| other.name != setup.name),
                "{}",
                setup.name
            );
            assert!(
                setup
                    .changes
                    .iter()
                    .all(|timed| timed.path < setup.paths.len())
            );
        }
        assert_eq!(setups.len(), 8 + 15 + 4);
    }

    #[test]
    fn scaling_keeps_the_queueing_delay() {
        let setup = Setup::named("demo")
            .expect("built in")
            .with_rates_times(0.5);
        assert_eq!(setup.paths[0].forward.rate, Some(10 * MBIT));
        assert_eq!(setup.paths[0].forward.queue, QueueLimit::Bytes(31_250));
    }
}
