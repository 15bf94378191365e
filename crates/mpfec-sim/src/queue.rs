//! The drop-tail queue in front of a link's transmitter.

use std::collections::VecDeque;

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

/// A first-in first-out queue that refuses what does not fit.
#[derive(Debug)]
pub(crate) struct DropTail<P> {
    limit: QueueLimit,
    packets: VecDeque<(u64, P)>,
    bytes: u64,
}

impl<P> DropTail<P> {
    pub(crate) fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            packets: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Packets that wait stay, even beyond a lower limit.
    pub(crate) fn set_limit(&mut self, limit: QueueLimit) {
        self.limit = limit;
    }

    /// Takes a packet of `size` bytes; false, and the packet is gone, if it does not fit.
    pub(crate) fn push(&mut self, size: u64, packet: P) -> bool {
        let fits = match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Bytes(limit) => self.bytes.saturating_add(size) <= limit,
            QueueLimit::Packets(limit) => (self.packets.len() as u64) < limit,
        };
        if fits {
            self.bytes += size;
            self.packets.push_back((size, packet));
        }
        fits
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, P)> {
        let (size, packet) = self.packets.pop_front()?;
        self.bytes -= size;
        Some((size, packet))
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
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_byte_limit_is_filled_to_the_byte() {
        let mut queue = DropTail::new(QueueLimit::Bytes(3000));
        assert!(queue.push(1500, 'a') && queue.push(1400, 'b'));
        assert!(!queue.push(101, 'c'));
        assert!(queue.push(100, 'd'));
        assert_eq!((queue.len(), queue.bytes()), (3, 3000));
        assert_eq!(queue.pop(), Some((1500, 'a')));
        assert_eq!(queue.bytes(), 1500);
    }

    #[test]
    fn a_packet_limit_counts_packets() {
        let mut queue = DropTail::new(QueueLimit::Packets(2));
        assert!(queue.push(1, 'a') && queue.push(9000, 'b') && !queue.push(1, 'c'));
        assert_eq!(queue.clear(), 2);
        assert_eq!((queue.len(), queue.bytes()), (0, 0));
    }

    #[test]
    fn a_bandwidth_delay_product_is_in_bytes() {
        let limit = QueueLimit::bandwidth_delay(20_000_000, Duration::from_millis(25), 1.0);
        assert_eq!(limit, QueueLimit::Bytes(62_500));
    }
}
