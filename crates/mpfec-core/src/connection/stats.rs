//! What a connection has measured and done so far.

use std::time::{Duration, Instant};

use mpfec_congestion::LossEvidence;

use crate::address::FourTuple;
use crate::path::Path;
use crate::stream::StreamStats;

/// Counters of a connection since it began, and its paths as they are now.
#[derive(Debug, Clone, Default)]
pub struct ConnectionStats {
    /// The data plane: bytes, symbols, repair.
    pub streams: StreamStats,
    /// Open paths, in the order they were opened.
    pub paths: Vec<PathStats>,
    /// UDP payload bytes sent, on all paths that ever were.
    pub sent_bytes: u64,
    /// UDP payload bytes received.
    pub received_bytes: u64,
    /// Packets that could not be authenticated or parsed and changed nothing.
    pub dropped_packets: u64,
    /// Datagrams (unreliable messages) that had to give way to newer ones.
    pub dropped_datagrams: u64,
    /// Datagrams that never left because it was too late.
    pub late_datagrams: u64,
    /// Copies of datagrams that left beside the first, ahead of loss or after it.
    pub repeated_datagrams: u64,
    /// Bytes that the peer may send now beyond what the application has read, on all streams;
    /// grows up to [`connection_window`](crate::TransportConfig::connection_window).
    pub receive_window: u64,
    /// Bytes that writers may be ahead now of what has left.
    pub send_lead: u64,
}

/// One path as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct PathStats {
    /// Its number within the connection.
    pub id: u32,
    /// Its addresses.
    pub tuple: FourTuple,
    /// What it is good for now.
    pub state: PathStatus,
    /// The scheduler gives it no source symbols, because more gets through the receive window
    /// without it; repair symbols keep it measured.
    pub left_out: bool,
    /// Smoothed RTT (RFC 9002 §5.3), the acknowledgement coming back on whichever path.
    pub srtt: Duration,
    /// Smallest RTT of late.
    pub min_rtt: Duration,
    /// How long acknowledgements are held up on their way back, by an upload's queue perhaps, as far
    /// as the window makes up for it.
    pub held_up: Duration,
    /// Congestion window in bytes.
    pub cwnd_bytes: u64,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// Bytes of these that hold no place in the window any more: a burst of losses has most likely
    /// taken them.
    pub overdue_bytes: u64,
    /// Pacing rate in bytes per second.
    pub pacing_rate: u64,
    /// Measured delivery rate in bytes per second, 0 before the first sample.
    pub delivery_rate: u64,
    /// Share of packets lost of late, all causes.
    pub loss: f64,
    /// Mean number of packets lost in a row, of the last few hundred that were lost; at least 1.
    pub loss_burst: f64,
    /// UDP payload bytes that the path is known to carry.
    pub mtu: u16,
    /// Packets sent.
    pub sent_packets: u64,
    /// UDP payload bytes sent.
    pub sent_bytes: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Packets received.
    pub received_packets: u64,
    /// UDP payload bytes received.
    pub received_bytes: u64,
    /// UDP payload bytes that the peer acknowledged.
    pub delivered_bytes: u64,
    /// The controller's own word for its state.
    pub controller: &'static str,
    /// Lost packets by verdict: congestion, unknown, wireless.
    pub loss_verdicts: [u64; 3],
    /// What spoke for the latest verdict, if there was one.
    pub loss_evidence: Option<LossEvidence>,
    /// What the peer says the path takes of a relay's link (`rho_r`, UC Eq. 7.3), if it does.
    pub share: Option<f64>,
    /// XOR parity over the packets of the path.
    pub parity: ParityStats,
}

/// XOR parity of one path, in both directions; all zero where neither end's profile has it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ParityStats {
    /// Data packets per parity packet as it is now (dFEC Eq. 3), from 4 to 256; `None` where
    /// no parity is sent, or time decides.
    pub ratio: Option<f64>,
    /// Parity packets sent.
    pub sent: u64,
    /// UDP payload bytes of these.
    pub sent_bytes: u64,
    /// Those that gave the peer a lost packet back, as it reports.
    pub useful: u64,
    /// Those that arrived for nothing: nothing was missing, or too much.
    pub useless: u64,
    /// Those that were lost themselves.
    pub lost: u64,
    /// Packets of the peer's that its parity gave back to this end.
    pub rebuilt: u64,
}

impl ParityStats {
    fn of(path: &Path) -> Self {
        let rebuilt = path
            .rebuilder
            .as_ref()
            .map_or(0, |rebuilder| rebuilder.rebuilt());
        let Some(parity) = &path.parity else {
            return Self {
                rebuilt,
                ..Self::default()
            };
        };
        let counters = &parity.counters;
        Self {
            ratio: parity.ratio(),
            sent: counters.sent,
            sent_bytes: counters.sent_bytes,
            useful: counters.useful,
            useless: counters.acked.saturating_sub(counters.useful),
            lost: counters.lost,
            rebuilt,
        }
    }
}

/// What a path is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStatus {
    /// Its address has not answered yet.
    Validating,
    /// It carries data.
    Active,
    /// It does not answer and is probed.
    Suspected,
    /// It carries data only when no other path does.
    Backup,
}

impl std::fmt::Display for PathStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Validating => "validating",
            Self::Active => "active",
            Self::Suspected => "suspected",
            Self::Backup => "backup",
        })
    }
}

impl PathStats {
    pub(crate) fn of(now: Instant, path: &Path, left_out: bool) -> Self {
        let verdicts = path.controller.loss_verdicts();
        Self {
            id: path.id,
            tuple: path.tuple,
            state: if !path.validation.is_validated() {
                PathStatus::Validating
            } else if path.liveness.is_suspected() {
                PathStatus::Suspected
            } else if path.backup {
                PathStatus::Backup
            } else {
                PathStatus::Active
            },
            left_out,
            srtt: path.srtt(),
            min_rtt: path.rtt.min(),
            held_up: path.controller.held_up(),
            cwnd_bytes: path.controller.cwnd(),
            in_flight_bytes: path.space.bytes_in_flight(),
            overdue_bytes: path.space.bytes_in_flight() - path.bytes_held(now),
            pacing_rate: path.pacing_rate(),
            delivery_rate: path.delivery_rate,
            loss: path.loss.get(),
            loss_burst: path.loss.burst(),
            mtu: path.mtu.current(),
            sent_packets: path.counters.sent_packets,
            sent_bytes: path.counters.sent_bytes,
            lost_packets: path.counters.lost_packets,
            received_packets: path.counters.received_packets,
            received_bytes: path.counters.received_bytes,
            delivered_bytes: path.counters.delivered_bytes,
            controller: path.controller.state(),
            loss_verdicts: [verdicts.congestion, verdicts.unknown, verdicts.wireless],
            loss_evidence: path.losses.evidence(),
            share: path.share,
            parity: ParityStats::of(path),
        }
    }
}
