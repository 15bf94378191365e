//! Watches a connection while something is transferred over it: progress and paths.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mpfec_core::net::Connection;
use mpfec_core::{ConnectionStats, PathChange, PathEvent, PathStats};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::clock;
use crate::explain::Explainer;
use crate::names::Names;
use crate::output::{
    Event, LossReport, Output, ParityCounts, PathChangeReport, PathProgress, PathReport, Progress,
    Silence,
};
use crate::units::{mbps, ms, rounded};

/// Reports until it is finished or dropped.
#[derive(Debug)]
pub(crate) struct Monitor {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Vec<PathReport>>,
}

/// What is watched.
#[derive(Debug)]
pub(crate) struct Watched {
    /// What paths are called.
    pub(crate) names: Names,
    /// What is transferred, for people.
    pub(crate) label: String,
    /// Bytes that the receiving application has.
    pub(crate) done: Arc<AtomicU64>,
    /// Bytes in all, if known.
    pub(crate) total: Option<u64>,
    /// Whether this end sends.
    pub(crate) is_sender: bool,
    /// After how long a silence of the peer's the connection is given up.
    pub(crate) patience: Duration,
    /// Whether decisions are to be explained.
    pub(crate) explain: bool,
}

impl Monitor {
    pub(crate) fn start(connection: Connection, output: Output, watched: Watched) -> Self {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(run(connection, output, watched, stopped));
        Self { stop, task }
    }

    /// Stops, and tells what each path that ever was has done.
    pub(crate) async fn finish(self) -> Vec<PathReport> {
        // If the task is gone, it has nothing to tell.
        let _ = self.stop.send(());
        self.task.await.unwrap_or_default()
    }
}

async fn run(
    connection: Connection,
    output: Output,
    mut watched: Watched,
    mut stopped: oneshot::Receiver<()>,
) -> Vec<PathReport> {
    let mut ledger = BTreeMap::new();
    let mut history = History::new(clock::now());
    let mut hearing = Hearing::new(clock::now());
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut events = connection.path_events();
    let mut has_events = true;
    let mut explainer = watched.explain.then(Explainer::default);
    loop {
        tokio::select! {
            biased;
            _ = &mut stopped => break,
            event = events.next(), if has_events => match event {
                Ok(event) => report(&connection, &output, &mut watched.names, &event),
                Err(_) => has_events = false,
            },
            _ = ticks.tick() => {
                let stats = connection.stats();
                if let Some(explainer) = &mut explainer {
                    explain(explainer, &stats, &connection, &output, &mut watched.names);
                }
                let paths = stats.paths;
                note(&connection, &mut watched.names, &mut ledger, &paths);
                let now = clock::now();
                let silence = hearing.silence(now, stats.received_bytes, &watched);
                let mut progress = history.progress(now, &watched, &ledger, &paths);
                progress.silence = silence;
                output.progress(&progress);
            }
        }
    }
    note(
        &connection,
        &mut watched.names,
        &mut ledger,
        &connection.paths(),
    );
    output.end_progress();
    ledger.into_values().collect()
}

fn explain(
    explainer: &mut Explainer,
    stats: &ConnectionStats,
    connection: &Connection,
    output: &Output,
    names: &mut Names,
) {
    let lines = explainer.look(stats, |path| {
        names.ends(connection, path.id, &path.tuple).name
    });
    for text in lines {
        output.say(&text);
        output.event(&Event::Decision { text });
    }
}

/// The latest of each path, also of those that are gone.
fn note(
    connection: &Connection,
    names: &mut Names,
    ledger: &mut BTreeMap<u32, PathReport>,
    paths: &[PathStats],
) {
    for entry in ledger.values_mut() {
        if paths.iter().all(|path| path.id != entry.id) {
            entry.state = "closed".to_owned();
        }
    }
    for path in paths {
        ledger.insert(path.id, path_report(connection, names, path));
    }
}

/// A path's figures with its names.
pub(crate) fn path_report(
    connection: &Connection,
    names: &mut Names,
    path: &PathStats,
) -> PathReport {
    let ends = names.ends(connection, path.id, &path.tuple);
    PathReport {
        id: path.id,
        name: ends.name,
        local: ends.local,
        remote: ends.remote,
        interface: ends.interface,
        srtt_ms: rounded(ms(path.srtt)),
        min_rtt_ms: rounded(ms(path.min_rtt)),
        sent_packets: path.sent_packets,
        lost_packets: path.lost_packets,
        delivered_bytes: path.delivered_bytes,
        sent_bytes: path.sent_bytes,
        received_bytes: path.received_bytes,
        cwnd_bytes: path.cwnd_bytes,
        losses: LossReport::from(path),
        parity: ParityCounts::of(path),
        state: path.state.to_string(),
    }
}

fn report(connection: &Connection, output: &Output, names: &mut Names, event: &PathEvent) {
    let ends = names.ends(connection, event.path, &event.tuple);
    if event.change == PathChange::Down {
        names.free(event.path);
    }
    let verb = match event.change {
        PathChange::Up => "up",
        PathChange::Suspected => "suspected",
        PathChange::Back => "back",
        PathChange::Down => "down",
    };
    output.say(&format!("{} {verb}: {}", ends.name, event.reason));
    let report = PathChangeReport {
        path: event.path,
        name: ends.name,
        local: ends.local,
        remote: ends.remote,
        interface: ends.interface,
        reason: event.reason.to_string(),
    };
    output.event(&match event.change {
        PathChange::Up => Event::PathUp(report),
        PathChange::Suspected => Event::PathSuspected(report),
        PathChange::Back => Event::PathBack(report),
        PathChange::Down => Event::PathDown(report),
    });
}

/// When something was last heard of the peer.
#[derive(Debug)]
struct Hearing {
    at: Instant,
    received: u64,
}

impl Hearing {
    fn new(now: Instant) -> Self {
        Self {
            at: now,
            received: 0,
        }
    }

    /// Whether the peer is silent, if `received` bytes have come from it so far.
    fn silence(&mut self, now: Instant, received: u64, watched: &Watched) -> Option<Silence> {
        if std::mem::replace(&mut self.received, received) != received {
            self.at = now;
        }
        let silent = Some(now - self.at).filter(|silent| *silent >= SILENT)?;
        Some(Silence {
            peer: if watched.is_sender {
                "the receiver"
            } else {
                "the sender"
            },
            silent_seconds: silent.as_secs(),
            gives_up_in_seconds: watched.patience.saturating_sub(silent).as_secs(),
        })
    }
}

/// The last second, for rates.
#[derive(Debug)]
struct History {
    began: Instant,
    samples: VecDeque<Sample>,
}

#[derive(Debug)]
struct Sample {
    at: Instant,
    done: u64,
    paths: BTreeMap<u32, u64>,
}

impl History {
    fn new(now: Instant) -> Self {
        Self {
            began: now,
            samples: VecDeque::new(),
        }
    }

    fn progress(
        &mut self,
        now: Instant,
        watched: &Watched,
        ledger: &BTreeMap<u32, PathReport>,
        paths: &[PathStats],
    ) -> Progress {
        let carried = |path: &PathStats| {
            if watched.is_sender {
                path.delivered_bytes
            } else {
                path.received_bytes
            }
        };
        let done = watched.done.load(Ordering::Relaxed);
        let current = Sample {
            at: now,
            done,
            paths: paths.iter().map(|path| (path.id, carried(path))).collect(),
        };
        let oldest = self.samples.front().unwrap_or(&current);
        let span = now - oldest.at;
        let views: Vec<PathProgress> = paths
            .iter()
            .map(|path| {
                let before = oldest.paths.get(&path.id).copied().unwrap_or_default();
                PathProgress {
                    id: path.id,
                    name: ledger
                        .get(&path.id)
                        .map(|entry| entry.name.clone())
                        .unwrap_or_default(),
                    rate_mbps: rounded(mbps(carried(path).saturating_sub(before), span)),
                    srtt_ms: rounded(ms(path.srtt)),
                    loss: rounded(path.loss),
                    state: path.state.to_string(),
                }
            })
            .collect();
        // The application gets its bytes in bursts, as gaps close: no sum of what paths carry.
        let rate_mbps = views.iter().map(|view| view.rate_mbps).sum();
        let goodput_mbps = mbps(done.saturating_sub(oldest.done), span);
        let seconds_left = watched
            .total
            .filter(|_| goodput_mbps > 0.0)
            .map(|total| (total.saturating_sub(done) as f64 * 8e-6 / goodput_mbps) as u64);
        self.samples.push_back(current);
        while self.samples.len() > SAMPLES {
            self.samples.pop_front();
        }
        Progress {
            label: watched.label.clone(),
            bytes: done,
            total: watched.total,
            seconds: rounded((now - self.began).as_secs_f64()),
            rate_mbps: rounded(rate_mbps),
            seconds_left,
            silence: None,
            paths: views,
        }
    }
}

/// Below ten reports a second.
const INTERVAL: Duration = Duration::from_millis(125);
/// Peers that are well answer sooner: they are asked every two seconds.
pub(crate) const SILENT: Duration = Duration::from_secs(3);
/// About a second of them.
const SAMPLES: usize = 8;
