//! The sending half of a TCP connection that competes for the links.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Instant;

use super::feed::Feed;
use super::round_trip::RoundTrip;
use super::{Header, Pattern};
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

/// How the window of a TCP flow grows and shrinks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WindowLaw {
    /// By fixed factors.
    Aimd(Aimd),
    /// As a cubic function of the time since the last loss (RFC 9438).
    Cubic,
}

impl From<Aimd> for WindowLaw {
    fn from(aimd: Aimd) -> Self {
        Self::Aimd(aimd)
    }
}

/// What a [`Tcp`] or [`SackTcp`](super::SackTcp) sender does.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpConfig {
    /// How its window grows and shrinks; a [`Tcp`] sender takes CUBIC for NewReno.
    pub law: WindowLaw,
    /// When it sends, and packets of which sizes.
    pub pattern: Pattern,
    /// Bits per second on the link that its application has to send, from the start on; as
    /// much as it can if absent.
    pub rate: Option<u64>,
    /// UDP payload bytes that its application has to send; without an end if absent.
    pub bytes: Option<u64>,
}

/// A TCP sender that counts in packets: slow start and congestion avoidance (RFC 5681), limited
/// transmit (RFC 3042), NewReno's fast retransmit and recovery without SACK (RFC 6582), and the
/// retransmission timeout with Karn's rule and exponential back-off (RFC 6298).
/// A [`Sink`](super::Sink) is its receiver, which acknowledges every packet.
#[derive(Debug)]
pub struct Tcp {
    feed: Feed,
    aimd: Aimd,
    /// It has noticed that it is over: there are no more timers.
    is_over: bool,
    /// Packets from `acknowledged` on that were sent at least once.
    segments: VecDeque<Segment>,
    /// Number of the first packet that is not acknowledged.
    acknowledged: u64,
    /// Number of the packet that leaves next; below the end of `segments` after a timeout.
    next: u64,
    /// Congestion window in packets.
    window: f64,
    /// Packets below this number left under a window that was used up.
    full_until: u64,
    slow_start_until: f64,
    duplicates: u32,
    /// In fast recovery, until everything below this number is acknowledged.
    recovering_until: Option<u64>,
    /// No fast retransmit for packets below this number: duplicates of what was sent before a
    /// timeout or a recovery are no sign of a new loss (RFC 6582 §3.2, step 1).
    no_recovery_before: u64,
    /// A packet to be sent again before anything else.
    again: Option<u64>,
    round_trip: RoundTrip,
    /// When the retransmission timer was started last.
    timer_from: Option<Instant>,
    /// Whether a partial acknowledgement of this recovery has restarted the timer.
    has_restarted: bool,
    sent: u64,
    sent_again: u64,
    timeouts: u64,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    /// UDP payload bytes.
    size: u16,
    sent_at: Instant,
    is_sent_again: bool,
}

impl Tcp {
    /// A sender at `from` whose receiver is at `to`. Its packets' sizes repeat from `seed`;
    /// `epoch` is what the times of its pattern count from.
    #[must_use]
    pub fn new(
        from: SocketAddr,
        to: SocketAddr,
        config: TcpConfig,
        epoch: Instant,
        seed: u64,
    ) -> Self {
        Self {
            is_over: false,
            aimd: match config.law {
                WindowLaw::Aimd(aimd) => aimd,
                WindowLaw::Cubic => Aimd::NEW_RENO,
            },
            feed: Feed::new(from, to, config, epoch, seed),
            segments: VecDeque::new(),
            acknowledged: 0,
            next: 0,
            window: INITIAL_WINDOW,
            full_until: 0,
            slow_start_until: f64::INFINITY,
            duplicates: 0,
            recovering_until: None,
            no_recovery_before: 0,
            again: None,
            round_trip: RoundTrip::default(),
            timer_from: None,
            has_restarted: false,
            sent: 0,
            sent_again: 0,
            timeouts: 0,
        }
    }

    /// Congestion window in packets.
    #[must_use]
    pub fn window(&self) -> f64 {
        self.window
    }

    /// Packets that left, whether for the first time or not.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Packets that left once more.
    #[must_use]
    pub fn sent_again(&self) -> u64 {
        self.sent_again
    }

    /// How often the retransmission timer has expired.
    #[must_use]
    pub fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// When all its bytes were acknowledged, if it has an end.
    #[must_use]
    pub fn finished_at(&self) -> Option<Instant> {
        self.feed.finished_at()
    }

    /// The number after that of the last packet that was ever sent.
    fn end(&self) -> u64 {
        self.acknowledged + self.segments.len() as u64
    }

    /// Packets in flight, as TCP sees it.
    fn flight(&self) -> u64 {
        self.next - self.acknowledged
    }

    fn on_ack(&mut self, now: Instant, number: u64) {
        if number > self.end() {
            return;
        }
        if number > self.acknowledged {
            self.on_new_ack(now, number);
        } else if number == self.acknowledged && self.flight() > 0 {
            self.on_duplicate();
        }
    }

    fn on_new_ack(&mut self, now: Instant, number: u64) {
        let newly = number - self.acknowledged;
        let mut latest = None;
        for _ in 0..newly {
            latest = self.segments.pop_front();
        }
        if let Some(segment) = latest.filter(|segment| !segment.is_sent_again) {
            self.round_trip.sample(now - segment.sent_at);
        }
        self.acknowledged = number;
        self.next = self.next.max(number);
        self.again = None;
        let is_partial = self.recovering_until.is_some_and(|end| number < end);
        // RFC 6298 §5.3; in recovery for the first partial one only (RFC 6582 §3.2, step 3).
        if !is_partial || !std::mem::replace(&mut self.has_restarted, true) {
            self.timer_from = Some(now);
        }
        self.round_trip.restart();
        if is_partial {
            self.again = Some(number);
            self.window = (self.window - newly as f64 + 1.0).max(1.0);
        } else if self.recovering_until.take().is_some() {
            let flight = self.flight() as f64;
            self.window = self.slow_start_until.min(flight.max(1.0) + 1.0);
            self.duplicates = 0;
        } else {
            self.duplicates = 0;
            // A window that was not used says nothing about the path (RFC 7661).
            if number <= self.full_until {
                self.grow();
            }
        }
        if self.segments.is_empty() {
            self.feed.on_all_acknowledged(now);
        }
    }

    fn grow(&mut self) {
        self.window += if self.window < self.slow_start_until {
            1.0
        } else {
            self.aimd.increase / self.window
        };
    }

    fn on_duplicate(&mut self) {
        self.duplicates += 1;
        if self.recovering_until.is_some() {
            self.window += 1.0;
        } else if self.duplicates == DUPLICATES && self.acknowledged >= self.no_recovery_before {
            self.shrink();
            self.window = self.slow_start_until + f64::from(DUPLICATES);
            self.recovering_until = Some(self.next);
            self.no_recovery_before = self.next;
            self.has_restarted = false;
            self.again = Some(self.acknowledged);
        }
    }

    fn shrink(&mut self) {
        let flight = self.flight() as f64;
        self.slow_start_until = (flight * self.aimd.decrease).max(LEAST_WINDOW);
    }

    fn on_timeout(&mut self, now: Instant) {
        self.timeouts += 1;
        // Of several in a row, the first one decides (RFC 5681 §3.1).
        if self.round_trip.back_off() {
            self.shrink();
        }
        self.window = 1.0;
        self.recovering_until = None;
        self.no_recovery_before = self.end();
        self.duplicates = 0;
        self.again = None;
        self.next = self.acknowledged;
        self.timer_from = Some(now);
    }

    fn timeout_at(&self) -> Option<Instant> {
        if self.flight() == 0 {
            return None;
        }
        Some(self.timer_from? + self.round_trip.timeout())
    }

    fn has_window(&self) -> bool {
        let mut window = self.window.floor();
        if self.recovering_until.is_none() {
            // Limited transmit: each of the first two duplicates lets a new packet out.
            window += f64::from(self.duplicates.min(DUPLICATES - 1));
        }
        (self.flight() as f64) < window
    }

    fn data(&mut self, now: Instant, number: u64) -> Packet {
        let index = (number - self.acknowledged) as usize;
        let end = self.segments.len();
        let size = if let Some(segment) = self.segments.get_mut(index) {
            segment.is_sent_again = true;
            segment.sent_at = now;
            self.sent_again += 1;
            segment.size
        } else {
            debug_assert_eq!(index, end, "packets leave in order");
            let size = self.feed.draw();
            self.segments.push_back(Segment {
                size,
                sent_at: now,
                is_sent_again: false,
            });
            size
        };
        self.sent += 1;
        if self.timer_from.is_none() || self.flight() == 0 {
            self.timer_from = Some(now);
        }
        self.feed.packet(Header::Data(number), size)
    }
}

impl Host for Tcp {
    fn handle_datagram(&mut self, now: Instant, packet: Packet) {
        if let Some(Header::Ack(number)) = Header::parse(&packet.payload) {
            self.on_ack(now, number);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if !self.feed.has_stopped(now) && self.timeout_at().is_some_and(|at| at <= now) {
            self.on_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.is_over |= self.feed.has_stopped(now);
        if now < self.feed.start() || self.is_over {
            return None;
        }
        if let Some(number) = self.again.take() {
            return Some(self.data(now, number));
        }
        if !self.has_window() {
            self.full_until = self.next;
            return None;
        }
        let number = self.next;
        if number == self.end() {
            self.feed.offered(self.end()).filter(|at| *at <= now)?;
        }
        let packet = self.data(now, number);
        self.next += 1;
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.is_over {
            return None;
        }
        if self.end() == 0 {
            return Some(self.feed.start());
        }
        let timeout = self.timeout_at();
        let offered = if self.has_window() && self.next == self.end() {
            // What is there already has been sent: only a time ahead matters.
            let offered = self.feed.offered(self.end());
            offered.filter(|at| *at > self.feed.start())
        } else {
            None
        };
        let next = timeout.into_iter().chain(offered).min()?;
        self.feed.before_stop(next)
    }

    fn next_timer(&self) -> String {
        if self.end() == 0 {
            "the start"
        } else {
            "the retransmission timeout, or the application"
        }
        .to_owned()
    }
}

/// RFC 6928.
pub(super) const INITIAL_WINDOW: f64 = 10.0;

/// RFC 5681 §3.1.
pub(super) const LEAST_WINDOW: f64 = 2.0;

/// Duplicate acknowledgements that tell of a loss (RFC 5681 §3.2).
pub(super) const DUPLICATES: u32 = 3;
