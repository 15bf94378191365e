//! Two challenges that leave together on a new path: how far apart their answers come tells how
//! long the path takes for a packet, before any data depend on it (packet pair, Keshav 1991).

use std::time::{Duration, Instant};

/// Challenges beside those that validate the address.
#[derive(Debug)]
pub(crate) struct PacketPair {
    data: [u8; 8],
    sent: u8,
    /// When the first answer came.
    answered: Option<Instant>,
}

impl PacketPair {
    pub(crate) fn new(data: [u8; 8]) -> Self {
        Self {
            data,
            sent: 0,
            answered: None,
        }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.sent < 2
    }

    /// The challenge of one packet, if one of the two has not left.
    pub(crate) fn take(&mut self) -> Option<[u8; 8]> {
        let is_due = self.is_due();
        self.sent += u8::from(is_due);
        is_due.then(|| self.challenge(self.sent - 1))
    }

    /// A PATH_RESPONSE arrived. Returns how long after the other one it came, if it is the second.
    pub(crate) fn on_response(&mut self, now: Instant, answer: [u8; 8]) -> Option<Duration> {
        let mut sent = (0..self.sent).map(|index| self.challenge(index));
        if !sent.any(|data| data == answer) {
            return None;
        }
        let first = self.answered.replace(now)?;
        Some(now.saturating_duration_since(first))
    }

    fn challenge(&self, index: u8) -> [u8; 8] {
        let mut data = self.data;
        data[7] ^= index;
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_to_two_packets_tell_how_far_apart_they_came() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let now = Instant::now();
        let apart = Duration::from_millis(100);
        let mut pair = PacketPair::new([7; 8]);
        assert_eq!(pair.on_response(now, [7; 8]), None, "nobody asked yet");
        let first = pair.take().expect("one");
        let second = pair.take().expect("another");
        assert!(pair.take().is_none() && first != second);
        assert_eq!(pair.on_response(now, first), None);
        assert_eq!(pair.on_response(now, [9; 8]), None);
        assert_eq!(pair.on_response(now + apart, second), Some(apart));
    }
}
