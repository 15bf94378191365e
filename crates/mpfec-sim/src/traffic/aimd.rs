//! A bulk flow that competes as TCP does.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::Header;
use crate::{Host, Packet};

/// Additive increase, multiplicative decrease (UC Eq. 7.2 relates the two).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aimd {
    /// Packets by which the window grows in a round trip without loss.
    pub increase: f64,
    /// What remains of the window after a loss, 0..1.
    pub decrease: f64,
}

impl Aimd {
    /// TCP NewReno (RFC 5681, RFC 6582): one packet more, or half.
    pub const NEW_RENO: Self = Self {
        increase: 1.0,
        decrease: 0.5,
    };
}

/// A greedy sender with slow start, congestion avoidance, loss detection by three later
/// acknowledgements or a timeout, and one decrease per round trip. It never sends a lost
/// datagram again but the next one in its place: for the links it is all the same.
#[derive(Debug)]
pub struct AimdFlow {
    from: SocketAddr,
    to: SocketAddr,
    size: usize,
    aimd: Aimd,
    start: Instant,
    /// Datagrams still to be acknowledged until it is done; `None` never is.
    left: Option<u64>,
    done_at: Option<Instant>,
    next_number: u64,
    outstanding: BTreeMap<u64, Instant>,
    /// In packets.
    window: f64,
    slow_start_until: f64,
    /// Losses before this number belong to a decrease that has happened.
    recovery_until: u64,
    smoothed_rtt: Option<Duration>,
    rtt_variation: Duration,
    last_ack_at: Option<Instant>,
    /// Timeouts in a row.
    backoff: u32,
    acknowledged: u64,
    lost: u64,
}

impl AimdFlow {
    /// A flow of datagrams of `size` payload bytes (at least 9) that begins at `start` and ends when
    /// `bytes` have arrived, if that is given.
    #[must_use]
    pub fn new(
        from: SocketAddr,
        to: SocketAddr,
        size: usize,
        aimd: Aimd,
        start: Instant,
        bytes: Option<u64>,
    ) -> Self {
        Self {
            from,
            to,
            size,
            aimd,
            start,
            left: bytes.map(|bytes| bytes.div_ceil(size.max(1) as u64)),
            done_at: None,
            next_number: 0,
            outstanding: BTreeMap::new(),
            window: INITIAL_WINDOW,
            slow_start_until: f64::INFINITY,
            recovery_until: 0,
            smoothed_rtt: None,
            rtt_variation: Duration::ZERO,
            last_ack_at: None,
            backoff: 0,
            acknowledged: 0,
            lost: 0,
        }
    }

    /// Datagrams that arrived, as far as it knows.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Datagrams it gave up.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Congestion window in packets.
    #[must_use]
    pub fn window(&self) -> f64 {
        self.window
    }

    /// When everything had arrived, if it has an end.
    #[must_use]
    pub fn done_at(&self) -> Option<Instant> {
        self.done_at
    }

    fn on_ack(&mut self, now: Instant, number: u64) {
        // Twice, or given up before.
        let Some(sent_at) = self.outstanding.remove(&number) else {
            return;
        };
        self.acknowledged += 1;
        self.last_ack_at = Some(now);
        self.backoff = 0;
        self.update_rtt(now - sent_at);
        self.window += if self.window < self.slow_start_until {
            1.0
        } else {
            self.aimd.increase / self.window
        };
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.done_at = self.done_at.or(Some(now));
                self.outstanding.clear();
                return;
            }
        }
        self.detect_losses(number);
    }

    /// RFC 6298 §2.
    fn update_rtt(&mut self, sample: Duration) {
        let Some(smoothed) = self.smoothed_rtt else {
            self.smoothed_rtt = Some(sample);
            self.rtt_variation = sample / 2;
            return;
        };
        self.rtt_variation = (self.rtt_variation * 3 + smoothed.abs_diff(sample)) / 4;
        self.smoothed_rtt = Some((smoothed * 7 + sample) / 8);
    }

    /// Whatever was sent three before what has just been acknowledged is lost.
    fn detect_losses(&mut self, acknowledged: u64) {
        let Some(bound) = (acknowledged + 1).checked_sub(REORDERING) else {
            return;
        };
        let later = self.outstanding.split_off(&bound);
        let lost = std::mem::replace(&mut self.outstanding, later);
        self.lost += lost.len() as u64;
        if lost
            .last_key_value()
            .is_some_and(|(&newest, _)| newest >= self.recovery_until)
        {
            self.recovery_until = self.next_number;
            self.window = (self.window * self.aimd.decrease).max(LEAST_WINDOW);
            self.slow_start_until = self.window;
        }
    }

    fn timeout(&self) -> Duration {
        let base = self
            .smoothed_rtt
            .map_or(Duration::from_secs(1), |rtt| rtt + self.rtt_variation * 4);
        base.max(LEAST_TIMEOUT) * (1 << self.backoff.min(MOST_BACKOFF))
    }

    /// Every acknowledgement starts the timer anew (RFC 6298 §5.3).
    fn timeout_at(&self) -> Option<Instant> {
        // Numbers leave in order of time.
        let (_, &oldest) = self.outstanding.first_key_value()?;
        Some(self.last_ack_at.map_or(oldest, |ack| ack.max(oldest)) + self.timeout())
    }

    fn has_more(&self) -> bool {
        self.left
            .is_none_or(|left| left > self.outstanding.len() as u64)
    }
}

impl Host for AimdFlow {
    fn handle_datagram(&mut self, now: Instant, packet: Packet) {
        if let Some(Header::Ack(number)) = Header::parse(&packet.payload) {
            self.on_ack(now, number);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.timeout_at().is_none_or(|at| at > now) {
            return;
        }
        // Everything is given up, and the window starts small (RFC 5681 §3.1).
        self.lost += self.outstanding.len() as u64;
        self.outstanding.clear();
        self.slow_start_until = (self.window * self.aimd.decrease).max(LEAST_WINDOW);
        self.window = 1.0;
        self.recovery_until = self.next_number;
        self.backoff += 1;
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let fits = (self.outstanding.len() as f64) < self.window.floor();
        if now < self.start || !fits || !self.has_more() {
            return None;
        }
        let number = self.next_number;
        self.next_number += 1;
        self.outstanding.insert(number, now);
        Some(Packet {
            from: self.from,
            to: self.to,
            ecn: 0,
            payload: Header::Data(number).payload(self.size),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.next_number == 0 {
            return Some(self.start);
        }
        self.timeout_at()
    }

    fn next_timer(&self) -> String {
        if self.next_number == 0 {
            "the start"
        } else {
            "the retransmission timeout"
        }
        .to_owned()
    }
}

/// RFC 6928.
const INITIAL_WINDOW: f64 = 10.0;

const LEAST_WINDOW: f64 = 2.0;

/// Later acknowledgements that tell of a loss (RFC 5681 §3.2).
const REORDERING: u64 = 3;

/// Linux's floor of the timeout; RFC 6298 has 1 s.
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

const MOST_BACKOFF: u32 = 8;
