//! TLS handshake messages (RFC 9000 §19.6).

use bytes::Bytes;

use super::CRYPTO;
use crate::wire::reader::{Malformed, Reader};
use crate::wire::varint;

/// A piece of the handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Crypto {
    /// Where in the messages of this encryption level it belongs.
    pub(crate) offset: u64,
    pub(crate) data: Bytes,
}

impl Crypto {
    /// Bytes in front of `len` bytes of data.
    pub(crate) fn header_size(offset: u64, len: usize) -> usize {
        1 + varint::size(offset) + varint::size(len as u64)
    }

    /// Appends what goes in front of `len` bytes of data, which the caller appends.
    pub(crate) fn encode_header(offset: u64, len: usize, out: &mut Vec<u8>) {
        out.push(CRYPTO);
        varint::encode(offset, out);
        varint::encode(len as u64, out);
    }

    pub(super) fn parse(payload: &Bytes, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let offset = reader.varint()?;
        let len = reader.varint()?;
        if offset + len > varint::MAX {
            return Err(Malformed("handshake data beyond 2^62 bytes"));
        }
        Ok(Self {
            offset,
            data: payload.slice(reader.span(len)?),
        })
    }

    /// Bytes that [`encode`](Self::encode) appends.
    pub(crate) fn size(&self) -> usize {
        Self::header_size(self.offset, self.data.len()) + self.data.len()
    }

    /// Appends the frame.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        Self::encode_header(self.offset, self.data.len(), out);
        out.extend_from_slice(&self.data);
    }
}
