//! The window of the loss-based controllers: slow start, recovery periods and limits
//! (RFC 9002 §7.3).

use std::time::Instant;

use crate::Ack;
use crate::slow_start::SlowStart;

/// A congestion window in bytes that grows and is cut; by how much, the controller says.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// Real-valued: growth per ACK is often less than a byte.
    cwnd: f64,
    ssthresh: f64,
    mss: f64,
    initial_packets: f64,
    /// It never gets smaller than so many packets.
    floor_packets: f64,
    slow_start: SlowStart,
    /// Packets sent up to here belong to a loss that was answered already.
    recovery_start: Option<Instant>,
}

impl Window {
    pub(crate) fn new(mss: u16, initial_packets: u64) -> Self {
        let mss = f64::from(mss.max(1));
        let initial_packets = (initial_packets.max(MIN_PACKETS as u64) as f64).min(1e4);
        Self {
            cwnd: initial_packets * mss,
            ssthresh: f64::INFINITY,
            mss,
            initial_packets,
            floor_packets: MIN_PACKETS,
            slow_start: SlowStart::new(),
            recovery_start: None,
        }
    }

    /// Lets it shrink to one packet.
    pub(crate) fn down_to_one_packet(self) -> Self {
        Self {
            floor_packets: 1.0,
            ..self
        }
    }

    /// Grows by an ACK: in slow start by what was acknowledged, afterwards by
    /// `increase(cwnd, mss, bytes)` bytes. Nothing while in recovery or limited by the
    /// application.
    pub(crate) fn on_ack(&mut self, ack: &Ack<'_>, increase: impl FnOnce(f64, f64, f64) -> f64) {
        if self.is_in_recovery(ack.sent_at) || !ack.fills(self.bytes()) {
            return;
        }
        let bytes = ack.bytes as f64;
        if self.is_slow_start() {
            if self
                .slow_start
                .on_ack(ack.now, ack.sent_at, ack.rtt.latest())
            {
                self.ssthresh = self.cwnd;
                return;
            }
            let grown = self.cwnd + bytes * self.slow_start.growth();
            self.cwnd = grown.min(self.ssthresh.max(self.cwnd));
        } else {
            self.cwnd += increase(self.cwnd, self.mss, bytes).max(0.0);
        }
        self.clamp();
    }

    /// Starts a recovery period and cuts to `to` bytes, unless the loss belongs to one that
    /// was answered already. Returns whether it cut.
    pub(crate) fn cut(&mut self, now: Instant, sent_at: Instant, to: f64) -> bool {
        if self.is_in_recovery(sent_at) {
            return false;
        }
        self.recovery_start = Some(now);
        self.ssthresh = to.max(self.floor_packets * self.mss);
        self.cwnd = self.cwnd.min(self.ssthresh);
        self.clamp();
        true
    }

    /// Shrinks to `to` bytes without a loss, and stays in congestion avoidance from there (UC
    /// Algorithm 3).
    pub(crate) fn reduce(&mut self, to: f64) {
        self.cwnd = self.cwnd.min(to);
        self.clamp();
        self.ssthresh = self.ssthresh.min(self.cwnd);
    }

    /// Falls back to the smallest window and slow start up to half of the present one.
    pub(crate) fn collapse(&mut self) {
        self.ssthresh = self
            .ssthresh
            .min(self.cwnd / 2.0)
            .max(self.initial_packets * self.mss);
        self.cwnd = MIN_PACKETS * self.mss;
        self.recovery_start = None;
        self.slow_start = SlowStart::new();
    }

    /// Slow start from the smallest window up to half of the present one (PNC Eq. 22).
    pub(crate) fn time_out(&mut self) {
        self.ssthresh = (self.cwnd / 2.0).max(MIN_PACKETS * self.mss);
        self.cwnd = MIN_PACKETS * self.mss;
        self.slow_start = SlowStart::new();
    }

    pub(crate) fn on_mtu_update(&mut self, mtu: u16) {
        let mss = f64::from(mtu.max(1));
        // RFC 9002 §7.2: an initial window that was not used yet may be counted anew.
        if self.ssthresh.is_infinite() && self.cwnd <= self.initial_packets * self.mss {
            self.cwnd = self.initial_packets * mss;
        }
        self.mss = mss;
        self.clamp();
    }

    pub(crate) fn is_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether a packet sent then belongs to a loss that was answered already.
    pub(crate) fn is_in_recovery(&self, sent_at: Instant) -> bool {
        self.recovery_start.is_some_and(|start| sent_at <= start)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.cwnd as u64
    }

    /// The smallest window there may be, bytes.
    pub(crate) fn floor(&self) -> u64 {
        (self.floor_packets * self.mss) as u64
    }

    pub(crate) fn cwnd(&self) -> f64 {
        self.cwnd
    }

    pub(crate) fn mss(&self) -> f64 {
        self.mss
    }

    pub(crate) fn ssthresh(&self) -> Option<u64> {
        self.ssthresh.is_finite().then_some(self.ssthresh as u64)
    }

    pub(crate) fn state(&self) -> &'static str {
        if self.is_slow_start() {
            "slow-start"
        } else {
            "avoidance"
        }
    }

    fn clamp(&mut self) {
        self.cwnd = self.cwnd.clamp(self.floor_packets * self.mss, MAX_WINDOW);
    }
}

/// Smallest window in packets (RFC 9002 §7.2).
const MIN_PACKETS: f64 = 2.0;
/// Largest window in bytes: more than any path holds, and far from any overflow.
const MAX_WINDOW: f64 = (1_u64 << 32) as f64;
