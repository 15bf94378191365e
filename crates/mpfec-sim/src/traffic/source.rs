//! A source that sends at a fixed rate, always or at times.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::{Header, Pattern, Spread};
use crate::{Host, Packet, Rng};

/// What a [`Source`] does.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceConfig {
    /// Bits per second on the link while on, at least 1.
    pub rate: u64,
    /// When it is on; always if absent.
    pub times: Option<Times>,
    /// When it sends at all, and packets of which sizes.
    pub pattern: Pattern,
}

/// Times on and off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// Mean of the times on.
    pub on: Duration,
    /// How they vary.
    pub on_spread: Spread,
    /// Mean of the times off.
    pub off: Duration,
    /// How they vary.
    pub off_spread: Spread,
}

/// A UDP source without congestion control. It begins with a time on.
#[derive(Debug)]
pub struct Source {
    from: SocketAddr,
    to: SocketAddr,
    config: SourceConfig,
    rng: Rng,
    /// When the next packet leaves.
    due: Instant,
    /// When the time on ends that `due` lies in.
    on_until: Option<Instant>,
    stop: Option<Instant>,
    sent: u64,
}

impl Source {
    /// A source whose random times and sizes repeat from `seed`; `epoch` is what the times of
    /// its pattern count from.
    #[must_use]
    pub fn new(
        from: SocketAddr,
        to: SocketAddr,
        config: SourceConfig,
        epoch: Instant,
        seed: u64,
    ) -> Self {
        let mut rng = Rng::new(seed);
        let start = epoch + config.pattern.start;
        let on_until = config
            .times
            .map(|times| start + times.on_spread.draw(times.on, &mut rng));
        Self {
            from,
            to,
            stop: config.pattern.stop.map(|stop| epoch + stop),
            config,
            rng,
            due: start,
            on_until,
            sent: 0,
        }
    }

    /// Packets sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Moves on to the packet after one of `size` payload bytes.
    fn advance(&mut self, size: u16) {
        let bits = (u64::from(size) + u64::from(self.config.pattern.overhead)) * 8;
        let nanos = bits * NANOS_PER_SECOND / self.config.rate.max(1);
        self.due += Duration::from_nanos(nanos).max(SHORTEST_GAP);
        let (Some(times), Some(on_until)) = (self.config.times, self.on_until) else {
            return;
        };
        if self.due >= on_until {
            let off = times.off_spread.draw(times.off, &mut self.rng);
            let on = times.on_spread.draw(times.on, &mut self.rng);
            self.due = on_until + off;
            self.on_until = Some(self.due + on);
        }
    }
}

impl Host for Source {
    fn handle_datagram(&mut self, _now: Instant, _packet: Packet) {}

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if self.due > now || self.stop.is_some_and(|stop| self.due >= stop) {
            return None;
        }
        let size = self.config.pattern.draw(&mut self.rng);
        self.advance(size);
        self.sent += 1;
        Some(Packet {
            from: self.from,
            to: self.to,
            ecn: 0,
            payload: Header::Plain.payload(usize::from(size)),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.stop
            .is_none_or(|stop| self.due < stop)
            .then_some(self.due)
    }

    fn next_timer(&self) -> String {
        "the next datagram".to_owned()
    }
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// No source sends at an infinite rate.
const SHORTEST_GAP: Duration = Duration::from_nanos(100);
