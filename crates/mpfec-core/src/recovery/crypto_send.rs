//! The sending half of a stream of CRYPTO frames (RFC 9000 §19.6).

use bytes::Bytes;

use super::range_set::RangeSet;

/// Handshake bytes to send, kept until they are acknowledged. There are a few KiB of them,
/// and no flow control.
#[derive(Debug, Default)]
pub(crate) struct CryptoSend {
    /// Bytes from offset `base` on.
    data: Vec<u8>,
    /// Everything below is acknowledged.
    base: u64,
    /// Offset of the first byte that was never sent.
    unsent: u64,
    /// Sent, and lost since.
    lost: RangeSet,
    /// Acknowledged, from `base` on.
    acked: RangeSet,
}

impl CryptoSend {
    /// Appends what TLS wants to send.
    pub(crate) fn write(&mut self, data: &[u8]) {
        self.data.extend_from_slice(data);
    }

    /// Whether bytes wait to be sent, for the first time or again.
    pub(crate) fn has_pending(&self) -> bool {
        !self.lost.is_empty() || self.unsent < self.end()
    }

    /// The next bytes to send, at most `room` of them, with their offset; what was lost
    /// comes first. They count as sent.
    pub(crate) fn next_chunk(&mut self, room: usize) -> Option<(u64, Bytes)> {
        if room == 0 {
            return None;
        }
        let range = match self.lost.first() {
            Some(lost) => lost.start..lost.end.min(lost.start + room as u64),
            None => self.unsent..self.end().min(self.unsent + room as u64),
        };
        if range.is_empty() {
            return None;
        }
        self.lost.remove(range.clone());
        self.unsent = self.unsent.max(range.end);
        let (from, to) = (
            (range.start - self.base) as usize,
            (range.end - self.base) as usize,
        );
        Some((range.start, Bytes::copy_from_slice(&self.data[from..to])))
    }

    /// A chunk arrived.
    pub(crate) fn on_acked(&mut self, offset: u64, length: u32) {
        let range = offset.max(self.base)..offset + u64::from(length);
        self.lost.remove(range.clone());
        self.acked.insert(range);
        if let Some(first) = self.acked.first().filter(|first| first.start == self.base) {
            self.acked.pop_first();
            self.data.drain(..(first.end - self.base) as usize);
            self.base = first.end;
        }
    }

    /// A chunk did not arrive: it is to be sent again.
    pub(crate) fn on_lost(&mut self, offset: u64, length: u32) {
        self.lost
            .insert(offset.max(self.base)..offset + u64::from(length));
        for acked in self.acked.iter() {
            self.lost.remove(acked);
        }
    }

    fn end(&self) -> u64 {
        self.base + self.data.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::CryptoReceive;
    use super::*;

    #[test]
    fn what_is_lost_goes_out_again_before_what_is_new() {
        let mut send = CryptoSend::default();
        send.write(b"client hello");
        assert_eq!(send.next_chunk(6), Some((0, Bytes::from_static(b"client"))));
        assert_eq!(send.next_chunk(3), Some((6, Bytes::from_static(b" he"))));
        send.on_lost(0, 6);
        assert_eq!(
            send.next_chunk(100),
            Some((0, Bytes::from_static(b"client")))
        );
        assert_eq!(send.next_chunk(100), Some((9, Bytes::from_static(b"llo"))));
        assert!(!send.has_pending());
    }

    #[test]
    fn what_arrived_after_all_is_not_sent_again() {
        let mut send = CryptoSend::default();
        send.write(b"abcdef");
        send.next_chunk(6);
        send.on_lost(0, 6);
        send.on_acked(2, 2);
        assert_eq!(send.next_chunk(9), Some((0, Bytes::from_static(b"ab"))));
        send.on_acked(0, 2);
        send.on_lost(0, 2);
        assert_eq!(send.next_chunk(9), Some((4, Bytes::from_static(b"ef"))));
        assert!(!send.has_pending());
        send.on_acked(4, 2);
        assert_eq!((send.base, send.data.len()), (6, 0));
    }

    #[test]
    fn an_empty_chunk_is_no_chunk() {
        let mut send = CryptoSend::default();
        assert_eq!(send.next_chunk(9), None);
        send.write(b"abc");
        assert_eq!(send.next_chunk(0), None);
        assert!(send.has_pending());
    }

    proptest! {
        #[test]
        fn every_byte_arrives_once_in_order_over_a_bad_link(
            data in prop::collection::vec(any::<u8>(), 1..3000),
            fates in prop::collection::vec((1_usize..400, 0_u8..10, any::<prop::sample::Index>()), 400),
        ) {
            let (mut send, mut receive) = (CryptoSend::default(), CryptoReceive::default());
            let (first, second) = data.split_at(data.len() / 2);
            send.write(first);
            let mut second = Some(second);
            let (mut under_way, mut got) = (Vec::new(), Vec::new());
            for (room, fate, pick) in fates {
                under_way.extend(send.next_chunk(room));
                if under_way.is_empty() {
                    send.write(second.take().unwrap_or_default());
                    continue;
                }
                let (offset, bytes) = under_way.swap_remove(pick.index(under_way.len()));
                if fate < 5 {
                    send.on_lost(offset, bytes.len() as u32);
                }
                if fate > 3 {
                    receive.on_received(offset, &bytes).unwrap();
                    send.on_acked(offset, bytes.len() as u32);
                    while let Some(chunk) = receive.read() {
                        got.extend_from_slice(&chunk);
                    }
                }
            }
            prop_assert!(data.starts_with(&got));
            if second.is_none() && under_way.is_empty() && !send.has_pending() {
                prop_assert_eq!(got.len(), data.len());
            }
        }
    }
}
