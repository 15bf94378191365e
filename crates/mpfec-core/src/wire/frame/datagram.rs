//! Unreliable messages (RFC 9221 §4), some of them with a number, because they may leave more
//! than once.

use bytes::Bytes;

use super::{DATAGRAM, DATAGRAM_WITH_LENGTH, NUMBERED_DATAGRAM};
use crate::wire::reader::{Malformed, Reader};
use crate::wire::varint;

/// A message that is not repeated unless it has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatagramFrame {
    /// Tells copies of one message from other messages.
    pub(crate) number: Option<u64>,
    pub(crate) data: Bytes,
}

impl DatagramFrame {
    /// Type on the wire.
    pub(crate) fn ty(&self) -> u8 {
        match self.number {
            Some(_) => NUMBERED_DATAGRAM,
            None => DATAGRAM_WITH_LENGTH,
        }
    }

    /// Bytes in front of a message of `len` bytes whose number takes `number`.
    pub(crate) fn header_size(len: usize, number: usize) -> usize {
        1 + number + varint::size(len as u64)
    }

    /// Appends what goes in front of `len` bytes, which the caller appends.
    pub(crate) fn encode_header(len: usize, number: Option<u64>, out: &mut Vec<u8>) {
        match number {
            Some(number) => {
                out.push(NUMBERED_DATAGRAM);
                varint::encode(number, out);
            }
            None => out.push(DATAGRAM_WITH_LENGTH),
        }
        varint::encode(len as u64, out);
    }

    pub(super) fn parse(
        ty: u8,
        payload: &Bytes,
        reader: &mut Reader<'_>,
    ) -> Result<Self, Malformed> {
        let number = match ty {
            NUMBERED_DATAGRAM => Some(reader.varint()?),
            _ => None,
        };
        let len = if ty == DATAGRAM {
            reader.remaining() as u64
        } else {
            reader.varint()?
        };
        Ok(Self {
            number,
            data: payload.slice(reader.span(len)?),
        })
    }

    /// Bytes that [`encode`](Self::encode) appends.
    pub(crate) fn size(&self) -> usize {
        let number = self.number.map_or(0, varint::size);
        Self::header_size(self.data.len(), number) + self.data.len()
    }

    /// Appends the frame, with its length.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        Self::encode_header(self.data.len(), self.number, out);
        out.extend_from_slice(&self.data);
    }
}
