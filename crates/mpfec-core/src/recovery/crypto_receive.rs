//! The receiving half of a stream of CRYPTO frames (RFC 9000 §19.6).

use bytes::{Bytes, BytesMut};

use super::range_set::RangeSet;
use crate::error::TransportError;

/// Handshake bytes that arrived, put in order.
#[derive(Debug, Default)]
pub(crate) struct CryptoReceive {
    /// Bytes from offset `read` on; those outside of `received` mean nothing.
    buffer: BytesMut,
    /// Everything below was read.
    read: u64,
    received: RangeSet,
}

impl CryptoReceive {
    /// A CRYPTO frame arrived.
    ///
    /// # Errors
    /// It reaches more than 64 KiB beyond what was read, or leaves more than 64 pieces with gaps between them.
    pub(crate) fn on_received(&mut self, offset: u64, data: &[u8]) -> Result<(), TransportError> {
        let end = offset.saturating_add(data.len() as u64);
        if end > self.read + MAX_BUFFER {
            return Err(TransportError::crypto_buffer(
                "handshake data too far ahead",
            ));
        }
        let start = offset.max(self.read);
        if start >= end {
            return Ok(());
        }
        let (from, to) = ((start - self.read) as usize, (end - self.read) as usize);
        if self.buffer.len() < to {
            self.buffer.resize(to, 0);
        }
        self.buffer[from..to].copy_from_slice(&data[(start - offset) as usize..]);
        self.received.insert(start..end);
        if self.received.len() > MAX_PIECES {
            return Err(TransportError::crypto_buffer(
                "handshake data with too many gaps",
            ));
        }
        Ok(())
    }

    /// The next bytes in order, if they are there.
    pub(crate) fn read(&mut self) -> Option<Bytes> {
        let next = self
            .received
            .first()
            .filter(|range| range.start == self.read)?;
        self.received.pop_first();
        self.read = next.end;
        Some(
            self.buffer
                .split_to((next.end - next.start) as usize)
                .freeze(),
        )
    }
}

/// More than any handshake needs (RFC 9000 §7.5 asks for 4096 bytes).
const MAX_BUFFER: u64 = 64 << 10;
/// A piece is a packet of 1200 bytes at least: of so many bytes there are no more pieces, and to
/// put one between thousands takes long.
const MAX_PIECES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_in_order_however_they_arrive() {
        let mut receive = CryptoReceive::default();
        receive.on_received(4, b"ef").unwrap();
        assert_eq!(receive.read(), None);
        receive.on_received(0, b"abcd").unwrap();
        assert_eq!(receive.read(), Some(Bytes::from_static(b"abcdef")));
        receive.on_received(2, b"cdefgh").unwrap();
        assert_eq!(receive.read(), Some(Bytes::from_static(b"gh")));
        receive.on_received(0, b"abcd").unwrap();
        assert_eq!(receive.read(), None);
    }

    #[test]
    fn a_peer_cannot_make_us_buffer_more_than_the_limit() {
        let mut receive = CryptoReceive::default();
        receive.on_received(MAX_BUFFER - 1, b"x").unwrap();
        for offset in [MAX_BUFFER, 1 << 40, u64::MAX] {
            let error = receive.on_received(offset, b"x").unwrap_err();
            assert_eq!(error.code, TransportError::CRYPTO_BUFFER_EXCEEDED);
        }
        receive.on_received(0, b"a").unwrap();
        assert_eq!(receive.read(), Some(Bytes::from_static(b"a")));
        receive.on_received(MAX_BUFFER, b"x").unwrap();
    }

    #[test]
    fn a_peer_cannot_make_us_sort_more_pieces_than_a_handshake_has() {
        let mut receive = CryptoReceive::default();
        let mut odd = (0..).map(|piece| 2 * piece + 1);
        for offset in odd.by_ref().take(MAX_PIECES) {
            receive.on_received(offset, b"x").unwrap();
        }
        let error = receive.on_received(odd.next().unwrap(), b"x").unwrap_err();
        assert_eq!(error.code, TransportError::CRYPTO_BUFFER_EXCEEDED);
    }
}
