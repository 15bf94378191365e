//! Unreliable messages (RFC 9221 §4).

use bytes::Bytes;

use super::{DATAGRAM, DATAGRAM_WITH_LENGTH};
use crate::wire::reader::{Malformed, Reader};
use crate::wire::varint;

/// A message that is sent once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatagramFrame {
    pub(crate) data: Bytes,
}

impl DatagramFrame {
    /// Bytes in front of a message of `len` bytes.
    pub(crate) fn header_size(len: usize) -> usize {
        1 + varint::size(len as u64)
    }

    /// Appends what goes in front of `len` bytes, which the caller appends.
    pub(crate) fn encode_header(len: usize, out: &mut Vec<u8>) {
        out.push(DATAGRAM_WITH_LENGTH);
        varint::encode(len as u64, out);
    }

    pub(super) fn parse(
        ty: u8,
        payload: &Bytes,
        reader: &mut Reader<'_>,
    ) -> Result<Self, Malformed> {
        let len = if ty == DATAGRAM {
            reader.remaining() as u64
        } else {
            reader.varint()?
        };
        Ok(Self {
            data: payload.slice(reader.span(len)?),
        })
    }

    /// Bytes that [`encode`](Self::encode) appends.
    pub(crate) fn size(&self) -> usize {
        Self::header_size(self.data.len()) + self.data.len()
    }

    /// Appends the frame, with its length.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        Self::encode_header(self.data.len(), out);
        out.extend_from_slice(&self.data);
    }
}
