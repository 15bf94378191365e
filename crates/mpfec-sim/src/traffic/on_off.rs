//! A source that sends at a fixed rate for a while, and then not.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::Header;
use crate::{Host, Packet, Rng};

/// What an [`OnOff`] source does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnOffConfig {
    /// UDP payload bits per second while on, at least 1.
    pub rate: u64,
    /// UDP payload bytes per datagram, at least 9.
    pub size: usize,
    /// How long it is on, on average.
    pub on: Duration,
    /// How long it is off, on average; zero for a source that never stops.
    pub off: Duration,
    /// Whether those times are drawn from an exponential distribution, or always the same.
    pub is_random: bool,
}

/// A UDP source without congestion control. It begins with a time on.
#[derive(Debug)]
pub struct OnOff {
    from: SocketAddr,
    to: SocketAddr,
    config: OnOffConfig,
    rng: Rng,
    /// When the next datagram leaves.
    due: Instant,
    /// When the time on ends that `due` lies in.
    on_until: Instant,
    sent: u64,
}

impl OnOff {
    /// A source that starts at `start` and whose random times repeat from `seed`.
    #[must_use]
    pub fn new(
        from: SocketAddr,
        to: SocketAddr,
        config: OnOffConfig,
        start: Instant,
        seed: u64,
    ) -> Self {
        let mut source = Self {
            from,
            to,
            config,
            rng: Rng::new(seed),
            due: start,
            on_until: start,
            sent: 0,
        };
        source.on_until = start + source.draw(config.on);
        source
    }

    /// Datagrams sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    fn draw(&mut self, mean: Duration) -> Duration {
        if !self.config.is_random {
            return mean;
        }
        // Inverse of the exponential distribution; a draw of 0 would be infinitely long.
        let factor = -(1.0 - self.rng.unit()).ln();
        mean.mul_f64(factor.min(LONGEST_DRAW))
    }

    /// Moves on to the next datagram.
    fn advance(&mut self) {
        let bits = self.config.size as u64 * 8;
        self.due +=
            Duration::from_nanos(bits * 1_000_000_000 / self.config.rate.max(1)).max(SHORTEST_GAP);
        if self.due >= self.on_until && !self.config.off.is_zero() {
            let (off, on) = (self.draw(self.config.off), self.draw(self.config.on));
            self.due = self.on_until + off;
            self.on_until = self.due + on;
        }
    }
}

impl Host for OnOff {
    fn handle_datagram(&mut self, _now: Instant, _packet: Packet) {}

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if self.due > now {
            return None;
        }
        self.advance();
        self.sent += 1;
        let payload = Header::Plain.payload(self.config.size);
        Some(Packet {
            from: self.from,
            to: self.to,
            ecn: 0,
            payload,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.due)
    }

    fn next_timer(&self) -> String {
        "the next datagram".to_owned()
    }
}

/// No source sends at an infinite rate.
const SHORTEST_GAP: Duration = Duration::from_nanos(100);

/// Times the mean: reached once in 10^13 draws.
const LONGEST_DRAW: f64 = 30.0;
