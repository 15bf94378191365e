//! When received packets are acknowledged (RFC 9000 §13.2): soon enough for the peer's
//! congestion control and loss detection, seldom enough to cost little.

use std::time::{Duration, Instant};

use crate::wire::frame::{BlockAck, Frame};

/// Counts what waits for an acknowledgement.
#[derive(Debug)]
pub(super) struct AckPolicy {
    max_ack_delay: Duration,
    /// How long those wait that tell only of complete blocks, if that is longer.
    patience: Duration,
    /// An eighth of the RTT, or as long as an acknowledgement may wait if that is shorter.
    horizon: Duration,
    /// Ack-eliciting packets since the last ACK.
    pending: u32,
    /// Those of them that may wait as long as any may.
    unhurried: u32,
    /// When the first of them arrived.
    pending_since: Option<Instant>,
    urgent: bool,
    /// Ack-eliciting packets so far, up to [`EAGER_PACKETS`].
    total: u32,
    /// Packets that arrive within the horizon at the rate last measured.
    per_horizon: u32,
    measured_since: Option<Instant>,
    measured: u32,
    was_marked: bool,
    /// When a gap last made an ACK urgent.
    last_gap: Option<Instant>,
}

/// Whether a packet asks for an acknowledgement (RFC 9000 §13.2), and how soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Eliciting {
    /// It is not ack-eliciting.
    No,
    /// As late as is allowed, or later on a slow path: all that it tells is that blocks are
    /// complete, and symbols that the peer need not have sent have that told again. Such packets
    /// come by the block's repair, and acknowledged like others they would fill a slow path that
    /// is the nearest.
    Late,
    /// As data.
    Soon,
}

impl Eliciting {
    /// Whether the packet must be acknowledged at all.
    pub(crate) fn is_eliciting(self) -> bool {
        self != Self::No
    }

    /// What a packet of this frame alone asks for; of several, the soonest counts.
    pub(crate) fn of(frame: &Frame) -> Self {
        match frame {
            frame if !frame.is_ack_eliciting() => Self::No,
            Frame::BlockAck(BlockAck { missing: 0, .. }) => Self::Late,
            _ => Self::Soon,
        }
    }
}

/// What is special about a packet that arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) eliciting: Eliciting,
    /// Its ECN mark says congestion.
    pub(super) congested: bool,
    /// It is not the number after the largest one.
    pub(super) out_of_order: bool,
}

impl AckPolicy {
    pub(super) fn new(max_ack_delay: Duration) -> Self {
        Self {
            max_ack_delay,
            patience: Duration::ZERO,
            horizon: max_ack_delay,
            pending: 0,
            unhurried: 0,
            pending_since: None,
            urgent: false,
            total: 0,
            per_horizon: 0,
            measured_since: None,
            measured: 0,
            was_marked: false,
            last_gap: None,
        }
    }

    pub(super) fn set_rtt(&mut self, rtt: Duration) {
        self.horizon = (rtt / 8).min(self.max_ack_delay);
    }

    /// The path that carries acknowledgements takes `packet_time` for a full packet. As many of
    /// them as of these would fill a queue that holds a few packets, however small they are.
    pub(super) fn set_packet_time(&mut self, packet_time: Duration) {
        self.patience = (PATIENT * packet_time).min(LATE_ACK_DELAY);
    }

    pub(super) fn on_received(&mut self, now: Instant, arrival: Arrival) {
        let newly_marked = arrival.congested && !self.was_marked;
        self.was_marked = arrival.congested;
        if arrival.eliciting == Eliciting::No {
            return;
        }
        self.pending += 1;
        self.pending_since.get_or_insert(now);
        self.urgent |= newly_marked;
        if arrival.eliciting == Eliciting::Late && self.total >= EAGER_PACKETS {
            self.unhurried += 1;
            return;
        }
        self.measure(now);
        self.total = (self.total + 1).min(EAGER_PACKETS);
        // While every packet is marked, as by a queue that stays full, two share an ACK.
        self.urgent |= arrival.congested && self.pending >= MIN_PACKETS;
        if arrival.out_of_order && self.last_gap.is_none_or(|last| now >= last + self.horizon) {
            // One per horizon: random loss opens a gap at every other packet.
            self.urgent = true;
            self.last_gap = Some(now);
        }
    }

    pub(super) fn on_ack_sent(&mut self) {
        (self.pending, self.unhurried) = (0, 0);
        self.pending_since = None;
        self.urgent = false;
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|at| now >= at)
    }

    /// When an acknowledgement is due: in the past if it is.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let since = self.pending_since?;
        let hurried = self.pending - self.unhurried;
        let due = self.urgent || hurried >= self.threshold() || self.pending >= MAX_PACKETS;
        Some(if due {
            since
        } else if hurried > 0 {
            since + self.max_ack_delay
        } else {
            since + self.max_ack_delay.max(self.patience)
        })
    }

    pub(super) fn has_pending(&self) -> bool {
        self.pending > 0
    }

    /// Packets that share an acknowledgement.
    fn threshold(&self) -> u32 {
        if self.total < EAGER_PACKETS {
            return MIN_PACKETS;
        }
        self.per_horizon.clamp(MIN_PACKETS, MAX_PACKETS)
    }

    fn measure(&mut self, now: Instant) {
        let since = *self.measured_since.get_or_insert(now);
        let elapsed = now.saturating_duration_since(since);
        if elapsed >= MEASURING {
            let share = self.horizon.as_secs_f64() / elapsed.as_secs_f64();
            self.per_horizon = (f64::from(self.measured) * share) as u32;
            self.measured_since = Some(now);
            self.measured = 0;
        }
        self.measured = self.measured.saturating_add(1);
    }
}

/// RFC 9000 §13.2.2: at least every second packet, until the rate is known.
const MIN_PACKETS: u32 = 2;
/// The sender's window opens in steps of this many packets at most.
const MAX_PACKETS: u32 = 32;
/// Slow start needs its acknowledgements soon, and who sends little its first round trips.
const EAGER_PACKETS: u32 = 100;
/// Full packets that leave for an acknowledgement of what may wait.
const PATIENT: u32 = 2;
/// Acknowledgements of packets that may wait are held back for so long at most, or for
/// `max_ack_delay` if that is longer (its default, RFC 9000 §18.2).
pub(crate) const LATE_ACK_DELAY: Duration = Duration::from_millis(25);
/// Rates are measured over this long at least.
const MEASURING: Duration = Duration::from_millis(10);
