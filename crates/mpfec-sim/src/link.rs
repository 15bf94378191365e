//! One direction of an emulated path: datagrams in, datagrams out later, or never.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::config::MAX_DELAY;
use crate::fault::FaultDraws;
use crate::loss::Losses;
use crate::policer::TokenBucket;
use crate::queue::Queue;
use crate::{Change, DropReason, LinkConfig, LinkCounters, Rng};

/// A queue, a transmitter of a certain rate, and a wire of a certain length with its
/// faults. It knows no clock and no socket; `T` is whatever its owner wants back with
/// each payload.
///
/// What it does is a function of its configuration, its seed, and what was submitted
/// when: how often it is polled makes no difference.
#[derive(Debug)]
pub struct Link<T> {
    config: LinkConfig,
    is_cut: bool,
    bucket: TokenBucket,
    queue: Queue<Packet<T>>,
    transmitter: Option<Transmission<T>>,
    /// When the first packet was submitted: slots count from then.
    first: Option<Instant>,
    /// Fraction of a nanosecond owed to the next packet, in bits per `rate`.
    carry: u128,
    /// In the order of arrival; at the same time, in that of departure.
    in_flight: VecDeque<(Instant, Packet<T>)>,
    in_flight_bytes: u64,
    last_arrival: Option<Instant>,
    losses: Losses,
    jitter: Rng,
    faults: FaultDraws,
    counters: LinkCounters,
}

/// A datagram at the far end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered<T> {
    /// When it arrived: now or earlier.
    pub at: Instant,
    /// Its bytes.
    pub payload: Bytes,
    /// What was submitted with it.
    pub tag: T,
}

#[derive(Debug, Clone)]
struct Packet<T> {
    payload: Bytes,
    tag: T,
}

#[derive(Debug)]
struct Transmission<T> {
    packet: Packet<T>,
    ends_at: Instant,
}

impl<T: Clone> Link<T> {
    /// An idle link whose faults repeat from `seed`.
    #[must_use]
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        Self::with_rng(config, Rng::new(seed))
    }

    /// An idle link called `name` in a simulation with `seed`.
    #[must_use]
    pub fn named(config: LinkConfig, seed: u64, name: &str) -> Self {
        Self::with_rng(config, Rng::named(seed, name))
    }

    fn with_rng(config: LinkConfig, mut rng: Rng) -> Self {
        Self {
            is_cut: false,
            bucket: TokenBucket::default(),
            queue: Queue::new(config.queue),
            transmitter: None,
            first: None,
            carry: 0,
            in_flight: VecDeque::new(),
            in_flight_bytes: 0,
            last_arrival: None,
            losses: Losses::new(&mut rng),
            jitter: rng.fork(),
            faults: FaultDraws::new(&mut rng),
            counters: LinkCounters::default(),
            config,
        }
    }

    /// Hands a datagram to the link. An error says why it is gone at once; without one it
    /// may still be lost on the way, as [`counters`](Self::counters) will tell.
    pub fn submit(&mut self, now: Instant, payload: Bytes, tag: T) -> Result<(), DropReason> {
        self.advance(now);
        self.counters.submitted += 1;
        self.counters.submitted_bytes += payload.len() as u64;
        let accepted = self.accept(now, Packet { payload, tag });
        match accepted {
            // An infinitely fast transmitter has already finished.
            Ok(()) => self.advance(now),
            Err(reason) => self.counters.on_dropped(reason, 1),
        }
        accepted
    }

    /// The next datagram that has arrived by `now`, in order of arrival.
    pub fn poll_delivery(&mut self, now: Instant) -> Option<Delivered<T>> {
        self.advance(now);
        if self.in_flight.front()?.0 > now {
            return None;
        }
        let (at, Packet { payload, tag }) = self.in_flight.pop_front()?;
        self.in_flight_bytes -= payload.len() as u64;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += payload.len() as u64;
        Some(Delivered { at, payload, tag })
    }

    /// When to call [`poll_delivery`](Self::poll_delivery) next; there may be nothing
    /// then, if what was to arrive got lost. `None` until something is submitted.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let arrival = self.in_flight.front().map(|(at, _)| *at);
        let departure = self
            .transmitter
            .as_ref()
            .map(|sending| self.leaves(sending.ends_at) + self.delay());
        arrival.into_iter().chain(departure).min()
    }

    /// Changes the link from `now` on.
    pub fn apply(&mut self, now: Instant, change: Change) {
        self.advance(now);
        let old_rate = self.config.rate;
        change.apply_to(&mut self.config);
        match change {
            Change::Rate(rate) if rate != old_rate => self.change_rate(now, old_rate),
            Change::Queue(limit) => self.queue.set_limit(limit),
            Change::Cut => self.cut(now),
            Change::Restore => self.restore(),
            _ => {}
        }
    }

    /// Makes everything vanish from `now` on, also what waits ([`Change::Cut`]).
    pub fn cut(&mut self, now: Instant) {
        self.advance(now);
        self.is_cut = true;
        let sending = u64::from(self.transmitter.take().is_some());
        let waiting = self.queue.clear();
        self.counters.on_dropped(DropReason::Cut, sending + waiting);
    }

    /// Ends a cut.
    pub fn restore(&mut self) {
        self.is_cut = false;
    }

    /// Whether the link is cut.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The figures of now.
    #[must_use]
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// What became of the packets so far.
    #[must_use]
    pub fn counters(&self) -> LinkCounters {
        self.counters
    }

    /// Packets that wait, are being transmitted or are on the way.
    #[must_use]
    pub fn held(&self) -> u64 {
        (self.queue.len() + usize::from(self.transmitter.is_some()) + self.in_flight.len()) as u64
    }

    /// Bytes that wait for the transmitter, overhead included.
    #[must_use]
    pub fn queued_bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Bytes in memory, roughly: what waits and what is on the way.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.queue.bytes() + self.in_flight_bytes
    }

    fn accept(&mut self, now: Instant, packet: Packet<T>) -> Result<(), DropReason> {
        if self.is_cut {
            return Err(DropReason::Cut);
        }
        let size = self.size_on_link(&packet);
        if size > u64::from(self.config.mtu) {
            return Err(DropReason::TooBig);
        }
        if self.held_bytes() + size > MOST_HELD_BYTES {
            return Err(DropReason::Queue);
        }
        if let Some(policer) = self.config.policer
            && !self.bucket.take(now, policer, size)
        {
            return Err(DropReason::Queue);
        }
        self.first.get_or_insert(now);
        if self.transmitter.is_none() {
            self.carry = 0;
            self.transmit(now, size, packet);
            return Ok(());
        }
        if self.queue.push(now, size, packet) {
            Ok(())
        } else {
            Err(DropReason::Queue)
        }
    }

    /// Lets time pass: every transmission that has ended by `now` is on the wire.
    pub(crate) fn advance(&mut self, now: Instant) {
        while let Some(sending) = self.transmitter.take_if(|sending| sending.ends_at <= now) {
            self.launch(sending.ends_at, sending.packet);
            let head = self.queue.pop(sending.ends_at, self.config.codel);
            self.counters.on_dropped(DropReason::Queue, head.dropped);
            if let Some((size, packet)) = head.next {
                self.transmit(sending.ends_at, size, packet);
            }
        }
    }

    fn transmit(&mut self, at: Instant, size: u64, packet: Packet<T>) {
        let takes = self.transmission_time(size * 8);
        self.transmitter = Some(Transmission {
            packet,
            ends_at: at + takes,
        });
    }

    /// How long `bits` take, in whole nanoseconds; the rest is carried over to the next
    /// packet so that a long run keeps the rate exactly.
    fn transmission_time(&mut self, bits: u64) -> Duration {
        let Some(rate) = self.config.rate else {
            return Duration::ZERO;
        };
        let rate = u128::from(rate.max(1));
        let work = u128::from(bits) * NANOS_PER_SECOND + self.carry;
        self.carry = work % rate;
        // A jumbogram at 1 bit/s takes 2^49 ns.
        Duration::from_nanos((work / rate) as u64)
    }

    fn change_rate(&mut self, now: Instant, old_rate: Option<u64>) {
        self.carry = 0;
        let Some(sending) = self.transmitter.as_ref() else {
            return;
        };
        // Only a finite rate leaves a transmission unfinished at `now`.
        let left = sending.ends_at.saturating_duration_since(now).as_nanos();
        let bits =
            (left * u128::from(old_rate.unwrap_or(0).max(1))).div_ceil(NANOS_PER_SECOND) as u64;
        let takes = self.transmission_time(bits);
        if let Some(sending) = self.transmitter.as_mut() {
            sending.ends_at = now + takes;
        }
        self.advance(now);
    }

    /// Puts a packet that has left the transmitter on the wire, with whatever happens to
    /// it there.
    fn launch(&mut self, at: Instant, mut packet: Packet<T>) {
        // Every fault is drawn for every packet: turning one on leaves the others alone.
        let jitter = self
            .jitter
            .up_to(self.config.jitter.min(MAX_DELAY).as_nanos() as u64);
        let fate = self.faults.draw(&self.config.faults);
        if self
            .losses
            .is_lost(self.config.loss, self.config.bursts.as_ref())
        {
            self.counters.on_dropped(DropReason::Loss, 1);
            return;
        }
        let mut arrival = self.leaves(at) + self.delay() + Duration::from_nanos(jitter);
        if fate.is_reordered {
            self.counters.reordered += 1;
            arrival += self.config.faults.reorder_delay.min(MAX_DELAY);
        } else if !self.config.jitter_reorders {
            arrival = arrival.max(self.last_arrival.unwrap_or(arrival));
            self.last_arrival = Some(arrival);
        }
        if fate.is_corrupted {
            self.counters.corrupted += 1;
            packet.payload = self.faults.corrupt(&packet.payload);
        }
        if fate.is_duplicated {
            self.counters.duplicated += 1;
            self.arrive(arrival, packet.clone());
        }
        self.arrive(arrival, packet);
    }

    fn arrive(&mut self, at: Instant, packet: Packet<T>) {
        self.in_flight_bytes += packet.payload.len() as u64;
        // Almost always the end: only what is reordered goes before others.
        let is_last = self.in_flight.back().is_none_or(|(last, _)| *last <= at);
        if is_last {
            self.in_flight.push_back((at, packet));
        } else {
            let place = self.in_flight.partition_point(|(other, _)| *other <= at);
            self.in_flight.insert(place, (at, packet));
        }
    }

    /// When a packet whose transmission has ended at `at` is on its way: at the end of the slot.
    fn leaves(&self, at: Instant) -> Instant {
        let slot = self.config.slot.min(MAX_DELAY).as_nanos();
        let Some(first) = self.first.filter(|_| slot > 0) else {
            return at;
        };
        let into = at.saturating_duration_since(first).as_nanos() % slot;
        let left = if into == 0 { 0 } else { slot - into };
        at + Duration::from_nanos(left as u64)
    }

    fn size_on_link(&self, packet: &Packet<T>) -> u64 {
        packet.payload.len() as u64 + u64::from(self.config.overhead)
    }

    fn delay(&self) -> Duration {
        self.config.delay.min(MAX_DELAY)
    }
}

/// Bytes that wait or are on the way at the most, whatever the queue's limit and the delay: they
/// are memory of this machine.
pub const MOST_HELD_BYTES: u64 = 256 << 20;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

#[cfg(test)]
mod tests;
