//! The JSON objects, one per line, told apart by `type`.

use std::fmt;

use serde::Serialize;

use super::{LossReport, ParityCounts};

/// Everything that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Event {
    /// What the other end needs.
    Ticket(TicketReport),
    /// How far it is, at most ten times a second.
    Progress(Progress),
    /// A path carries data from now on.
    PathUp(PathChangeReport),
    /// A path does not answer; what it carried moves to the others.
    PathSuspected(PathChangeReport),
    /// A suspected path answers again.
    PathBack(PathChangeReport),
    /// A path is closed for good.
    PathDown(PathChangeReport),
    /// What the sender has decided, and why.
    Decision {
        /// A line for people.
        text: String,
    },
    /// The demo cuts a link.
    LinkCut(LinkReport),
    /// The demo restores it.
    LinkRestored(LinkReport),
    /// Something in a directory that is neither file nor directory was left out.
    Skipped(SkippedReport),
    /// A receiver that was killed has left a temporary file.
    LeftOver(LeftOverReport),
    /// A transfer is complete and verified.
    Done(Done),
    /// A listing is complete, or a measurement whose result the client has.
    #[serde(rename = "done")]
    Complete {
        ok: bool,
        /// Who measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<String>,
    },
    /// A measurement is complete.
    Result(Box<PerfResult>),
    /// The interfaces of this host.
    Interface(crate::paths::InterfaceReport),
    /// An emulated set-up that `--links` knows.
    Links {
        /// For `--links`.
        name: String,
        /// One line about it.
        summary: String,
        /// What its paths can carry, where that is limited.
        limit_mbps: Option<f64>,
    },
    /// A lab is ready.
    #[cfg(target_os = "linux")]
    Lab(crate::lab::LabReport),
    /// What has crossed a lab's links.
    #[cfg(target_os = "linux")]
    Crossed(crate::lab::CrossedReport),
    /// A built-in scenario.
    Scenario(crate::sim::ScenarioReport),
    /// How far scenarios are.
    #[serde(rename = "progress")]
    Runs(RunsProgress),
    /// A variant in a case of a scenario, over all seeds.
    Run(crate::sim::RunReport),
    /// A run that gave nothing.
    Failure(crate::sim::FailureReport),
    /// What a paper says, and whether it holds.
    Claim(crate::sim::ClaimReport),
    /// Scenarios have been run.
    #[serde(rename = "done")]
    Simulated(crate::sim::SimulatedReport),
    /// It failed.
    Error {
        /// The exit code.
        code: u8,
        /// Its name.
        kind: &'static str,
        /// What is wrong.
        message: String,
        /// What to try.
        hint: String,
    },
}

/// A ticket and what it says.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TicketReport {
    pub(crate) ticket: String,
    pub(crate) addresses: Vec<String>,
    pub(crate) fingerprint: String,
    /// Seconds since 1970, if it expires.
    pub(crate) expires: Option<u64>,
}

/// How far a transfer is.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Progress {
    /// What is transferred, for people.
    #[serde(skip)]
    pub(crate) label: String,
    /// Bytes that the receiving application has.
    pub(crate) bytes: u64,
    /// Bytes in all, if known.
    pub(crate) total: Option<u64>,
    pub(crate) seconds: f64,
    /// Over the last second or so, on all paths together, repair included.
    pub(crate) rate_mbps: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seconds_left: Option<u64>,
    /// Set while nothing at all arrives from the peer.
    #[serde(flatten)]
    pub(crate) silence: Option<Silence>,
    pub(crate) paths: Vec<PathProgress>,
}

/// Nothing arrives from the peer.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Silence {
    /// Who is silent, for people.
    #[serde(skip)]
    pub(crate) peer: &'static str,
    pub(crate) silent_seconds: u64,
    /// After which the connection is given up, at the latest.
    pub(crate) gives_up_in_seconds: u64,
}

/// What a path does at the moment.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PathProgress {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) rate_mbps: f64,
    pub(crate) srtt_ms: f64,
    pub(crate) loss: f64,
    pub(crate) state: String,
}

/// How far scenarios are.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RunsProgress {
    /// The one that is under way.
    pub(crate) scenario: String,
    /// Runs that have ended.
    pub(crate) done: usize,
    /// Runs, all in all.
    pub(crate) total: usize,
    /// Runs that gave nothing.
    pub(crate) failed: usize,
    pub(crate) seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seconds_left: Option<u64>,
}

/// What happened to a path.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PathChangeReport {
    pub(crate) path: u32,
    pub(crate) name: String,
    pub(crate) local: String,
    pub(crate) remote: String,
    pub(crate) interface: Option<String>,
    pub(crate) reason: String,
}

/// What the demo did to a link.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LinkReport {
    pub(crate) link: String,
    /// Since the transfer began.
    pub(crate) seconds: f64,
}

/// What was not sent.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SkippedReport {
    pub(crate) path: String,
    pub(crate) reason: String,
}

/// What a receiver has left behind.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LeftOverReport {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// Since it was last written.
    pub(crate) age_seconds: Option<u64>,
}

/// What a path has done in all.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PathReport {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) local: String,
    pub(crate) remote: String,
    pub(crate) interface: Option<String>,
    pub(crate) srtt_ms: f64,
    pub(crate) min_rtt_ms: f64,
    pub(crate) sent_packets: u64,
    pub(crate) lost_packets: u64,
    /// Payload bytes that the peer acknowledged.
    pub(crate) delivered_bytes: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) cwnd_bytes: u64,
    /// The lost packets by verdict, and what spoke for the latest.
    pub(crate) losses: LossReport,
    /// Where parity was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parity: Option<ParityCounts>,
    pub(crate) state: String,
}

/// A transfer that is complete.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Done {
    pub(crate) ok: bool,
    pub(crate) bytes: u64,
    pub(crate) files: u64,
    pub(crate) seconds: f64,
    pub(crate) goodput_mbps: f64,
    /// Of the one file; of several, of their names and hashes in order.
    pub(crate) blake3: String,
    /// Against what the best path can carry alone (demo), or has carried; `null` where so
    /// little was transferred that it says nothing.
    pub(crate) gain_over_best_path: Option<f64>,
    /// Longest time in which nothing arrived at the receiver.
    pub(crate) longest_pause_ms: f64,
    /// Repair symbols per source symbol, where this end sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repair_ratio: Option<f64>,
    /// Bytes of coefficients in the headers of symbols, where this end sent with a code that has
    /// them there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) coefficient_bytes: Option<u64>,
    pub(crate) paths: Vec<PathReport>,
}

/// A measurement that is complete.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PerfResult {
    pub(crate) profile: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) links: Option<String>,
    pub(crate) reverse: bool,
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
    pub(crate) goodput_mbps: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit_mbps: Option<f64>,
    /// Absent if no block began and ended in the measured time.
    pub(crate) block_delay_ms: Option<BlockDelay>,
    /// `same` for one clock, else `estimated`.
    pub(crate) clock: &'static str,
    pub(crate) longest_pause_ms: f64,
    /// `null` if the end that sent has not told in time.
    pub(crate) repair_ratio: Option<f64>,
    /// Bytes of coefficients in the headers of symbols, with a code that has them there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) coefficient_bytes: Option<u64>,
    pub(crate) duplicate_bytes: u64,
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_rss_bytes: u64,
    pub(crate) paths: Vec<PathReport>,
}

/// From the write of a block's first byte to the read of its last, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, serde::Deserialize)]
pub(crate) struct BlockDelay {
    pub(crate) mean: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
    /// Mean difference between one block and the next.
    pub(crate) jitter: f64,
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            peer,
            silent_seconds,
            gives_up_in_seconds,
        } = self;
        write!(f, "nothing from {peer} for {silent_seconds} s, giving up ")?;
        match gives_up_in_seconds {
            0 => f.write_str("soon"),
            seconds => write!(f, "in {seconds} s"),
        }
    }
}
