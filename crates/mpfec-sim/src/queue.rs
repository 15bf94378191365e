//! The queue in front of a link's transmitter.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::codel::Codel;

/// How much may wait in a link's queue. The packet being transmitted has left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueLimit {
    /// No limit but [`MOST_HELD_BYTES`](crate::MOST_HELD_BYTES): a delay that grows instead of
    /// loss.
    #[default]
    Unlimited,
    /// Bytes on the link, overhead included.
    Bytes(u64),
    /// Packets of whatever size.
    Packets(u64),
}

impl QueueLimit {
    /// `factor` times what a link of `rate_bps` carries in `rtt`, in bytes: the
    /// bandwidth-delay product for a factor of 1.
    #[must_use]
    pub fn bandwidth_delay(rate_bps: u64, rtt: std::time::Duration, factor: f64) -> Self {
        Self::Bytes((rate_bps as f64 / 8.0 * rtt.as_secs_f64() * factor).round() as u64)
    }
}

/// A first-in first-out queue that refuses what does not fit, and may drop what waited too long.
#[derive(Debug)]
pub(crate) struct Queue<P> {
    limit: QueueLimit,
    packets: VecDeque<Waiting<P>>,
    bytes: u64,
    codel: Codel,
}

#[derive(Debug)]
struct Waiting<P> {
    since: Instant,
    size: u64,
    packet: P,
}

/// What is next for the transmitter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head<P> {
    /// The packet and its size, if there is one.
    pub(crate) next: Option<(u64, P)>,
    /// Packets that were dropped ahead of it.
    pub(crate) dropped: u64,
}

impl<P> Queue<P> {
    pub(crate) fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            packets: VecDeque::new(),
            bytes: 0,
            codel: Codel::default(),
        }
    }

    /// Packets that wait stay, even beyond a lower limit.
    pub(crate) fn set_limit(&mut self, limit: QueueLimit) {
        self.limit = limit;
    }

    /// Takes a packet of `size` bytes; false, and the packet is gone, if it does not fit.
    pub(crate) fn push(&mut self, now: Instant, size: u64, packet: P) -> bool {
        let fits = match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Bytes(limit) => self.bytes.saturating_add(size) <= limit,
            QueueLimit::Packets(limit) => (self.packets.len() as u64) < limit,
        };
        if fits {
            self.bytes += size;
            self.packets.push_back(Waiting {
                since: now,
                size,
                packet,
            });
        }
        fits
    }

    /// Takes the packet at the head. Where packets may wait for `target` at most for good, some
    /// before it may be dropped.
    pub(crate) fn pop(&mut self, now: Instant, target: Option<Duration>) -> Head<P> {
        let mut dropped = 0;
        while let Some(Waiting {
            since,
            size,
            packet,
        }) = self.packets.pop_front()
        {
            self.bytes -= size;
            let sojourn = now.saturating_duration_since(since);
            let is_last = self.packets.len() <= 1;
            if !target.is_some_and(|target| self.codel.drops(now, target, sojourn, is_last)) {
                let next = Some((size, packet));
                return Head { next, dropped };
            }
            dropped += 1;
        }
        self.codel.on_empty();
        Head {
            next: None,
            dropped,
        }
    }

    /// Forgets everything that waits; returns how many packets that was.
    pub(crate) fn clear(&mut self) -> u64 {
        let packets = self.packets.len() as u64;
        self.packets.clear();
        self.bytes = 0;
        packets
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn epoch() -> Instant {
        Instant::now()
    }

    #[test]
    fn a_byte_limit_is_filled_to_the_byte() {
        let now = epoch();
        let mut queue = Queue::new(QueueLimit::Bytes(3000));
        assert!(queue.push(now, 1500, 'a') && queue.push(now, 1400, 'b'));
        assert!(!queue.push(now, 101, 'c'));
        assert!(queue.push(now, 100, 'd'));
        assert_eq!((queue.len(), queue.bytes()), (3, 3000));
        assert_eq!(queue.pop(now, None).next, Some((1500, 'a')));
        assert_eq!(queue.bytes(), 1500);
    }

    #[test]
    fn a_packet_limit_counts_packets() {
        let now = epoch();
        let mut queue = Queue::new(QueueLimit::Packets(2));
        assert!(queue.push(now, 1, 'a') && queue.push(now, 9000, 'b'));
        assert!(!queue.push(now, 1, 'c'));
        assert_eq!(queue.clear(), 2);
        assert_eq!((queue.len(), queue.bytes()), (0, 0));
    }

    #[test]
    fn a_bandwidth_delay_product_is_in_bytes() {
        let limit = QueueLimit::bandwidth_delay(20_000_000, Duration::from_millis(25), 1.0);
        assert_eq!(limit, QueueLimit::Bytes(62_500));
    }
}
