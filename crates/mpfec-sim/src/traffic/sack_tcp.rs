//! The sending half of a TCP connection with selective acknowledgements.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::cubic::Cubic;
use super::feed::Feed;
use super::round_trip::RoundTrip;
use super::tcp::{DUPLICATES, INITIAL_WINDOW, LEAST_WINDOW};
use super::{Header, TcpConfig, WindowLaw};
use crate::{Host, Packet};

/// A TCP sender that hears of each packet that arrived (RFC 2018): what left three packets
/// before one that arrived is lost (RFC 6675, and in the order of departure as RFC 8985), is
/// sent again first, and reduces the window once per round trip; the retransmission timeout is
/// that of RFC 6298. With [`WindowLaw::Cubic`], slow start ends when the delay rises (HyStart++,
/// RFC 9406).
#[derive(Debug)]
pub struct SackTcp {
    feed: Feed,
    law: WindowLaw,
    /// Packets from `acknowledged` on that were sent at least once.
    segments: VecDeque<Segment>,
    /// Number of the first packet that is not acknowledged.
    acknowledged: u64,
    /// Departures whose fate is not known, in their order.
    departures: VecDeque<Departure>,
    /// Packets that are to be sent again.
    again: VecDeque<u64>,
    flight: u64,
    /// Order of the next departure.
    order: u64,
    /// Losses of earlier departures have been answered.
    answered_before: u64,
    window: f64,
    slow_start_until: f64,
    cubic: Cubic,
    delay: DelayRise,
    /// Whether the window was used up when last looked at.
    is_full: bool,
    /// Its time is over.
    is_over: bool,
    round_trip: RoundTrip,
    timer_from: Option<Instant>,
    sent: u64,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    size: u16,
    is_received: bool,
    /// Order of its last departure.
    order: u64,
}

#[derive(Debug, Clone, Copy)]
struct Departure {
    order: u64,
    number: u64,
    at: Instant,
    /// It left for the first time.
    is_first: bool,
}

/// Whether the smallest of some round trips is above the smallest ever (RFC 9406 §4.2).
#[derive(Debug, Default)]
struct DelayRise {
    least: Option<Duration>,
    recent: Option<Duration>,
    samples: u32,
}

impl DelayRise {
    fn sample(&mut self, rtt: Duration) -> bool {
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        let recent = self.recent.map_or(rtt, |recent| recent.min(rtt));
        self.samples += 1;
        if self.samples < RTT_SAMPLES {
            self.recent = Some(recent);
            return false;
        }
        self.recent = None;
        self.samples = 0;
        recent >= least + (least / 8).clamp(LEAST_RISE, MOST_RISE)
    }
}

impl SackTcp {
    /// As [`Tcp::new`](super::Tcp::new).
    #[must_use]
    pub fn new(
        from: SocketAddr,
        to: SocketAddr,
        config: TcpConfig,
        epoch: Instant,
        seed: u64,
    ) -> Self {
        Self {
            law: config.law,
            feed: Feed::new(from, to, config, epoch, seed),
            segments: VecDeque::new(),
            acknowledged: 0,
            departures: VecDeque::new(),
            again: VecDeque::new(),
            flight: 0,
            order: 0,
            answered_before: 0,
            window: INITIAL_WINDOW,
            slow_start_until: f64::INFINITY,
            cubic: Cubic::default(),
            delay: DelayRise::default(),
            is_full: false,
            is_over: false,
            round_trip: RoundTrip::default(),
            timer_from: None,
            sent: 0,
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

    /// When all its bytes were acknowledged, if it has an end.
    #[must_use]
    pub fn finished_at(&self) -> Option<Instant> {
        self.feed.finished_at()
    }

    fn segment(&mut self, number: u64) -> Option<&mut Segment> {
        let index = number.checked_sub(self.acknowledged)?;
        self.segments.get_mut(usize::try_from(index).ok()?)
    }

    /// `next` is next in order at the receiver, and `received` has just arrived.
    fn on_ack(&mut self, now: Instant, next: u64, received: u64) {
        let end = self.acknowledged + self.segments.len() as u64;
        if next > end || received >= end {
            return;
        }
        let mut newly = 0.0;
        let mut newest = None;
        if let Some(segment) = self.segment(received).filter(|found| !found.is_received) {
            segment.is_received = true;
            newest = Some(segment.order);
            newly += 1.0;
        }
        while self.acknowledged < next {
            // Its own acknowledgement got lost if this is the first that is heard of it.
            let popped = self.segments.pop_front();
            newly += f64::from(popped.is_some_and(|segment| !segment.is_received));
            self.acknowledged += 1;
        }
        if newly == 0.0 {
            return;
        }
        self.timer_from = Some(now);
        self.round_trip.restart();
        let mut may_grow = false;
        if let Some(order) = newest {
            may_grow = order >= self.answered_before;
            self.on_departure_arrived(now, order);
        }
        self.settle(newest);
        if may_grow && self.is_full {
            self.grow(now, newly);
        }
        if self.segments.is_empty() {
            self.feed.on_all_acknowledged(now);
        }
    }

    fn on_departure_arrived(&mut self, now: Instant, order: u64) {
        let Ok(index) = self
            .departures
            .binary_search_by_key(&order, |departure| departure.order)
        else {
            return;
        };
        let Departure { at, is_first, .. } = self.departures[index];
        if !is_first {
            return;
        }
        self.round_trip.sample(now - at);
        let is_cubic = self.law == WindowLaw::Cubic;
        if self.delay.sample(now - at)
            && is_cubic
            && self.window < self.slow_start_until
            && self.window >= HYSTART_WINDOW
        {
            self.slow_start_until = self.window;
            self.cubic.begin(self.window);
        }
    }

    /// Departures that arrived, or left three before one that arrived, are no longer in flight.
    fn settle(&mut self, newest: Option<u64>) {
        let mut is_loss = false;
        while let Some(&Departure { order, number, .. }) = self.departures.front() {
            let fate = self
                .segment(number)
                .map(|found| (found.is_received, found.order));
            match fate {
                Some((false, last)) if last == order => {
                    if newest.is_none_or(|newest| order + u64::from(DUPLICATES) > newest) {
                        break;
                    }
                    self.again.push_back(number);
                    is_loss |= order >= self.answered_before;
                }
                _ => {}
            }
            self.departures.pop_front();
        }
        self.flight = self.departures.len() as u64;
        if is_loss {
            self.answered_before = self.order;
            self.slow_start_until = self.reduced();
            self.window = self.slow_start_until;
        }
    }

    fn reduced(&mut self) -> f64 {
        match self.law {
            WindowLaw::Aimd(aimd) => (self.window * aimd.decrease).max(LEAST_WINDOW),
            WindowLaw::Cubic => self.cubic.reduced(self.window, LEAST_WINDOW),
        }
    }

    fn grow(&mut self, now: Instant, acked: f64) {
        if self.window < self.slow_start_until {
            self.window += acked;
            return;
        }
        self.window = match self.law {
            WindowLaw::Aimd(aimd) => self.window + aimd.increase * acked / self.window,
            WindowLaw::Cubic => {
                let rtt = self.round_trip.smoothed().unwrap_or_default();
                self.cubic.grown(now, rtt, self.window, acked)
            }
        };
    }

    fn on_timeout(&mut self, now: Instant) {
        // Of several in a row, the first one decides (RFC 5681 §3.1).
        if self.round_trip.back_off() {
            self.slow_start_until = self.reduced();
        }
        self.window = 1.0;
        self.departures.clear();
        self.flight = 0;
        self.answered_before = self.order;
        let first = self.acknowledged;
        self.again = (self.segments.iter().zip(first..))
            .filter(|(segment, _)| !segment.is_received)
            .map(|(_, number)| number)
            .collect();
        self.timer_from = Some(now);
    }

    fn timeout_at(&self) -> Option<Instant> {
        if self.segments.is_empty() {
            return None;
        }
        Some(self.timer_from? + self.round_trip.timeout())
    }

    /// When the application has its next packet, if it has one at all.
    fn offered(&self) -> Option<Instant> {
        self.feed
            .offered(self.acknowledged + self.segments.len() as u64)
    }

    fn has_window(&self) -> bool {
        (self.flight as f64) < self.window.floor()
    }

    fn data(&mut self, now: Instant, number: u64, is_first: bool) -> Packet {
        let order = self.order;
        self.order += 1;
        let size = if is_first {
            let size = self.feed.draw();
            self.segments.push_back(Segment {
                size,
                is_received: false,
                order,
            });
            size
        } else {
            self.segment(number).map_or(0, |segment| {
                segment.order = order;
                segment.size
            })
        };
        self.departures.push_back(Departure {
            order,
            number,
            at: now,
            is_first,
        });
        self.flight += 1;
        self.sent += 1;
        if self.timer_from.is_none() || self.segments.len() == 1 {
            self.timer_from = Some(now);
        }
        self.feed.packet(Header::Selective(number), size)
    }
}

impl Host for SackTcp {
    fn handle_datagram(&mut self, now: Instant, packet: Packet) {
        if let Some(Header::SelectiveAck { next, received }) = Header::parse(&packet.payload) {
            self.on_ack(now, next, received);
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
        self.is_full = !self.has_window();
        if self.is_full {
            return None;
        }
        while let Some(number) = self.again.pop_front() {
            if self.segment(number).is_some_and(|found| !found.is_received) {
                return Some(self.data(now, number, false));
            }
        }
        self.offered().filter(|at| *at <= now)?;
        let number = self.acknowledged + self.segments.len() as u64;
        Some(self.data(now, number, true))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.is_over {
            return None;
        }
        let offered = if self.has_window() {
            self.offered()
        } else {
            None
        };
        let next = self.timeout_at().into_iter().chain(offered).min()?;
        self.feed.before_stop(next)
    }

    fn next_timer(&self) -> String {
        "the retransmission timeout, or the application".to_owned()
    }
}

/// RFC 9406 §4.2: `N_RTT_SAMPLE`, `MIN_RTT_THRESH`, `MAX_RTT_THRESH`.
const RTT_SAMPLES: u32 = 8;
const LEAST_RISE: Duration = Duration::from_millis(4);
const MOST_RISE: Duration = Duration::from_millis(16);

/// Below this many packets a rise of the delay does not end slow start, as in Linux.
const HYSTART_WINDOW: f64 = 16.0;
