//! What every congestion controller is told, and what it answers.

use std::fmt;
use std::time::{Duration, Instant};

use crate::{RateSample, RttEstimator};

/// Decides how much may be in flight on one path.
///
/// All sizes are bytes of UDP payload (headers and tag of the packet included).
pub trait CongestionController: fmt::Debug + Send {
    /// A packet that counts in flight left. `in_flight` includes it.
    fn on_packet_sent(&mut self, _now: Instant, _bytes: u64, _in_flight: u64) {}

    /// An ACK frame acknowledged packets for the first time. If the same frame makes packets
    /// count as lost, [`Self::on_congestion_event`] comes before or after it.
    fn on_ack(&mut self, ack: &Ack<'_>);

    /// Packets were found lost, or marked with CE: called once per batch.
    fn on_congestion_event(&mut self, event: &CongestionEvent<'_>);

    /// Packets that had been found lost have arrived: others had overtaken them.
    fn on_spurious_loss(&mut self) {}

    /// A path opens beside others. Returns whether two packets are to leave together, to be told of in
    /// [`on_packet_pair`](Self::on_packet_pair).
    fn begin_packet_pair(&mut self) -> bool {
        false
    }

    /// Two full packets left together when the path was opened, and their answers came `apart` of
    /// each other: that is what the slower direction takes for a packet, unless something else held
    /// one of them up.
    fn on_packet_pair(&mut self, _apart: Duration, _rtt: &RttEstimator, _group: &Group<'_>) {}

    /// The probe timer expired for the `count`th time in a row without an answer (from 1), or
    /// the path became suspected. What was in flight may be declared lost without an event.
    /// RFC 9002 §7.5: this alone says nothing about the window.
    fn on_timeout(&mut self, _now: Instant, _count: u32) {}

    /// Whether a silence is most likely a burst of losses that takes more than the window, where
    /// losses are mostly the link's own: then what was in flight is declared lost with each
    /// timeout, so that more leaves, as far as the pacing rate goes.
    fn sends_through_silence(&self) -> bool {
        false
    }

    /// A suspected path answers again.
    fn on_return(&mut self, _now: Instant) {}

    /// All packets over a long period were lost (RFC 9002 §7.6).
    fn on_persistent_congestion(&mut self, now: Instant);

    /// The largest packet the path carries changed.
    fn on_mtu_update(&mut self, mtu: u16);

    /// The relay of the path announced its share (`rho_r`, UC Eq. 7.3; see
    /// [`share`](fn@crate::share)): a positive number, perhaps infinite.
    fn on_share(&mut self, _rho: f64) {}

    /// Whether [`CodingFeedback`] is to be kept for it, which costs a little per loss.
    fn wants_coding_feedback(&self) -> bool {
        false
    }

    /// So many packets leave for each packet of data, ahead of loss: at least 1.
    fn set_redundancy(&mut self, _redundancy: f64) {}

    /// The peer has decoded a group of coded packets: a block.
    fn on_group_decoded(&mut self) {}

    /// Whether it sends less than arrives for a while, to learn what the path loses without a
    /// queue. Siblings that share the queue had better do the same then.
    fn drains(&self) -> Drains {
        Drains::No
    }

    /// Whether a loss is told to the path with most in flight, not to the one that lost the
    /// packet (PNC §V). All paths of a connection have controllers of one kind.
    fn blames_fullest(&self) -> bool {
        false
    }

    /// Congestion window: bytes that may be in flight, but for those [overdue](Self::overdue), at least
    /// two packets (COUPLED: one).
    fn cwnd(&self) -> u64;

    /// Slow-start threshold in bytes, for controllers that have one and have set it.
    fn ssthresh(&self) -> Option<u64>;

    /// Bytes per second at which packets should leave. `None` leaves it to the caller, which
    /// paces a little above `cwnd / srtt` (RFC 9002 §7.7).
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// Bytes per second that the path has carried of late and is expected to carry again, if it
    /// lets out less now for a round trip or two only; 0 if that is not known.
    fn lasting_rate(&self) -> u64 {
        0
    }

    /// How long acknowledgements are held up on their way back by a queue there, the mean of late, as
    /// far as it is known and the window makes up for it.
    fn held_up(&self) -> Duration {
        Duration::ZERO
    }

    /// From when on packets that have not been answered hold no place in the window; `None` if all
    /// hold theirs until they are acknowledged or declared lost.
    fn overdue(&self) -> Option<Overdue> {
        None
    }

    /// Short lower-case name of the present state, for people.
    fn state(&self) -> &'static str;

    /// Lost packets so far by what the controller took them for.
    fn loss_verdicts(&self) -> LossVerdicts;
}

/// What one ACK frame acknowledged for the first time.
#[derive(Debug, Clone, Copy)]
pub struct Ack<'a> {
    /// When the frame was processed.
    pub now: Instant,
    /// When the newest packet among the newly acknowledged was sent.
    pub sent_at: Instant,
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// Packets newly acknowledged.
    pub packets: u32,
    /// Bytes still in flight after this frame.
    pub in_flight: u64,
    /// Whether lack of data, not the window or the pacer, has limited the sender.
    pub app_limited: bool,
    /// For how long, since the last acknowledgement, there was a lack of data.
    pub idle: Duration,
    /// The path's RTT, already updated by this frame.
    pub rtt: &'a RttEstimator,
    /// The way back on which the newest sample of it came: the number of a path, for
    /// acknowledgements come back on any.
    pub route: u32,
    /// How many microseconds the acknowledgement of that sample was on its way back beyond those of
    /// the path's first one, if the peer tells when packets arrive. Both clocks may drift.
    pub way_back: Option<i64>,
    /// The delivery rate this frame shows, if it shows one.
    pub rate: Option<RateSample>,
    /// What the code has made up for; zeros unless it was
    /// [asked for](CongestionController::wants_coding_feedback).
    pub coding: CodingFeedback,
    /// All paths of the connection.
    pub group: Group<'a>,
}

impl Ack<'_> {
    /// Whether the window, not the application, may have been what limited the sender, so that
    /// it may grow (RFC 9002 §7.8). More than half of the window in use is enough: pacing keeps
    /// the rest free for a while.
    pub(crate) fn fills(&self, cwnd: u64) -> bool {
        !self.app_limited || self.uses_half_of(cwnd)
    }

    /// Whether more than half of the window was in use, whatever limited the sender.
    pub(crate) fn uses_half_of(&self, cwnd: u64) -> bool {
        self.in_flight.saturating_add(self.bytes) > cwnd / 2
    }
}

/// Packets found lost together, or CE marks.
#[derive(Debug, Clone, Copy)]
pub struct CongestionEvent<'a> {
    /// When the loss was found.
    pub now: Instant,
    /// When the newest of the lost (or marked) packets was sent.
    pub sent_at: Instant,
    /// Packets lost; zero for marks.
    pub packets: u32,
    /// Runs of consecutive packet numbers among those lost; one that goes on from the event
    /// before was counted there.
    pub runs: u32,
    /// Marks (RFC 3168), not losses.
    pub ecn: bool,
    /// What the code has made up for, these losses included; as in [`Ack`].
    pub coding: CodingFeedback,
    /// The path's RTT.
    pub rtt: &'a RttEstimator,
    /// All paths of the connection.
    pub group: Group<'a>,
}

/// What the receiver's degrees of freedom say about the losses of a path (Couple+ §IV-A).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CodingFeedback {
    /// Symbols lost on this path whose blocks the peer cannot decode from what has arrived.
    pub undecoded: u32,
    /// Symbols were lost whose blocks neither what arrived nor what is on its way makes up for:
    /// something must be sent again.
    pub retransmits: bool,
    /// The peer's receive buffer has hardly any room left for the connection.
    pub receive_window_nearly_full: bool,
}

/// What coupled control knows of one path (RFC 6356 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subflow {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Smoothed RTT.
    pub srtt: Duration,
    /// Bytes per second really delivered; 0 while unknown.
    pub delivery_rate: u64,
    /// Its controller [holds packets back](CongestionController::drains).
    pub drains: Drains,
}

/// Whether a path holds packets back to see what it loses without a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drains {
    /// It does not, and would not.
    No,
    /// It would, as soon as one that may share its queue does.
    WithOthers,
    /// It does.
    Now,
    /// It does, and sends less from now on: the queue has dropped packets of it.
    Overrun,
}

impl Drains {
    /// Whether packets are held back.
    pub fn is_held(self) -> bool {
        matches!(self, Self::Now | Self::Overrun)
    }
}

/// The paths of one connection, and which of them is meant.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// All paths.
    pub subflows: &'a [Subflow],
    /// Index of this controller's own path; out of range means it is alone.
    pub me: usize,
}

impl Group<'_> {
    /// A path without siblings.
    pub const ALONE: Group<'static> = Group {
        subflows: &[],
        me: 0,
    };
}

/// Which packets that wait for an acknowledgement have most likely got lost, though nothing that
/// came later has shown it yet: a burst of losses takes whole windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdue {
    /// Those that left so long ago or longer,
    pub age: Duration,
    /// once nothing sent on the path has been acknowledged for so long,
    pub pause: Duration,
    /// the oldest of them, so many bytes at most.
    pub bytes: u64,
}

/// Lost packets by what a controller took them for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LossVerdicts {
    /// A full queue: answered.
    pub congestion: u64,
    /// Undecided: not answered yet.
    pub unknown: u64,
    /// Noise of the link: not answered.
    pub wireless: u64,
}
