//! What a TCP sender's application has to send, and where it goes.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::{Header, TcpConfig};
use crate::{Packet, Rng};

/// The application of a TCP sender.
#[derive(Debug)]
pub(super) struct Feed {
    from: SocketAddr,
    to: SocketAddr,
    config: TcpConfig,
    start: Instant,
    stop: Option<Instant>,
    rng: Rng,
    /// Payload bytes of new packets so far.
    written: u64,
    finished_at: Option<Instant>,
}

impl Feed {
    /// `epoch` is what the times of the pattern count from; sizes repeat from `seed`.
    pub(super) fn new(
        from: SocketAddr,
        to: SocketAddr,
        config: TcpConfig,
        epoch: Instant,
        seed: u64,
    ) -> Self {
        Self {
            from,
            to,
            start: epoch + config.pattern.start,
            stop: config.pattern.stop.map(|stop| epoch + stop),
            config,
            rng: Rng::new(seed),
            written: 0,
            finished_at: None,
        }
    }

    pub(super) fn start(&self) -> Instant {
        self.start
    }

    pub(super) fn has_stopped(&self, now: Instant) -> bool {
        self.stop.is_some_and(|stop| now >= stop)
    }

    /// `at`, unless all is over then.
    pub(super) fn before_stop(&self, at: Instant) -> Option<Instant> {
        self.stop.is_none_or(|stop| at < stop).then_some(at)
    }

    /// When all its bytes were acknowledged, if it has an end.
    pub(super) fn finished_at(&self) -> Option<Instant> {
        self.finished_at
    }

    /// When it has its next packet, after so many; `None` if it has none at all.
    pub(super) fn offered(&self, packets: u64) -> Option<Instant> {
        if self.has_written_all() {
            return None;
        }
        let Some(rate) = self.config.rate else {
            return Some(self.start);
        };
        // The packet is there when its first bit would be due.
        let link_bytes = self.written + packets * u64::from(self.config.pattern.overhead);
        Some(self.start + Duration::from_secs_f64(link_bytes as f64 * 8.0 / rate as f64))
    }

    /// UDP payload bytes of the next new packet.
    pub(super) fn draw(&mut self) -> u16 {
        let size = self.config.pattern.draw(&mut self.rng);
        self.written += u64::from(size);
        size
    }

    /// Everything that left has been acknowledged.
    pub(super) fn on_all_acknowledged(&mut self, now: Instant) {
        if self.has_written_all() {
            self.finished_at = self.finished_at.or(Some(now));
        }
    }

    fn has_written_all(&self) -> bool {
        self.config.bytes.is_some_and(|bytes| self.written >= bytes)
    }

    pub(super) fn packet(&self, header: Header, size: u16) -> Packet {
        Packet {
            from: self.from,
            to: self.to,
            ecn: 0,
            payload: header.payload(usize::from(size)),
        }
    }
}
