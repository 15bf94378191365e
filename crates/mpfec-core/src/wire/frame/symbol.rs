//! Encoding symbols of a stream's blocks (RFC 5052, RFC 6330): what carries all data.

use bytes::Bytes;

use super::SYMBOL;
use crate::id::StreamId;
use crate::wire::reader::{Malformed, Reader};
use crate::wire::varint;

/// A symbol as it arrived. What is here is consistent: a payload of the length that the
/// other fields demand, and numbers within their ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) stream: StreamId,
    /// Number of the block within the stream, from 0.
    pub(crate) sbn: u64,
    /// Where in the stream the block starts, in bytes.
    pub(crate) offset: u64,
    /// T: bytes of each symbol of the block, from 1 to 9000.
    pub(crate) symbol_size: u16,
    /// Number of the symbol within the block, below 2^24.
    pub(crate) esi: u32,
    /// Bytes of the block, once it is closed: 1 to 1024 T.
    pub(crate) block_length: Option<u32>,
    /// Whether the stream ends with this block.
    pub(crate) fin: bool,
    /// Of which code it is.
    pub(crate) code: SymbolCode,
    /// T bytes; fewer only for the last source symbol of a closed block. A combination has
    /// its K coefficients in front, which are not all 0.
    pub(crate) payload: Bytes,
}

/// Of which code a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SymbolCode {
    /// A source symbol, or a repair symbol of RaptorQ.
    RaptorQ,
    /// A repair symbol of the linear code.
    Linear,
    /// A combination with its coefficients.
    Batch,
}

impl Symbol {
    /// K, the block's source symbols, if it is closed: 1 to 1024.
    pub(crate) fn source_symbols(&self) -> Option<u32> {
        self.block_length
            .map(|length| length.div_ceil(u32::from(self.symbol_size).max(1)))
    }

    pub(super) fn parse(ty: u8, bytes: &Bytes, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let closed = ty & CLOSED != 0;
        let fin = ty & FIN != 0;
        let code = match ty & (LINEAR | BATCH) {
            0 => SymbolCode::RaptorQ,
            LINEAR => SymbolCode::Linear,
            _ => SymbolCode::Batch,
        };
        if fin && !closed {
            return Err(Malformed("the last block of a stream without its length"));
        }
        let stream = StreamId(reader.varint()?);
        let sbn = reader.varint()?;
        let offset = reader.varint()?;
        let symbol_size = in_range(
            reader.varint()?,
            1..=MAX_SYMBOL_SIZE,
            "symbol size out of range",
        )? as u16;
        let esi = in_range(reader.varint()?, 0..=MAX_ESI, "symbol number out of range")? as u32;
        let block_length = if closed {
            let most = MAX_SOURCE_SYMBOLS * u64::from(symbol_size);
            Some(in_range(reader.varint()?, 1..=most, "block length out of range")? as u32)
        } else {
            None
        };
        let len = if ty & LEN != 0 {
            reader.varint()?
        } else {
            reader.remaining() as u64
        };
        let mut symbol = Self {
            stream,
            sbn,
            offset,
            symbol_size,
            esi,
            block_length,
            fin,
            code,
            payload: Bytes::new(),
        };
        symbol.check(len)?;
        symbol.payload = bytes.slice(reader.span(len)?);
        if symbol
            .coefficients()
            .is_some_and(|row| row.iter().all(|&c| c == 0))
        {
            return Err(Malformed("combination of nothing"));
        }
        Ok(symbol)
    }

    /// Whether the fields go together, and with a payload of `len` bytes.
    fn check(&self, len: u64) -> Result<(), Malformed> {
        let size = u64::from(self.symbol_size);
        let esi = u64::from(self.esi);
        let is_source = |count: u32| self.esi < count;
        if self.code != SymbolCode::RaptorQ && self.source_symbols().is_none_or(is_source) {
            return Err(Malformed("source symbol marked as one of a code"));
        }
        let coefficients = match (self.code, self.source_symbols()) {
            (SymbolCode::Batch, Some(count)) if count > MAX_BATCH => {
                return Err(Malformed("combination of too many symbols"));
            }
            (SymbolCode::Batch, Some(count)) => u64::from(count),
            _ => 0,
        };
        let (block_end, want) = match (self.block_length.map(u64::from), self.source_symbols()) {
            (Some(length), Some(count)) => {
                let is_last = self.esi + 1 == count;
                (length, if is_last { length - esi * size } else { size })
            }
            _ if esi >= MAX_SOURCE_SYMBOLS => {
                return Err(Malformed("repair symbol of a block without its length"));
            }
            _ => ((esi + 1) * size, size),
        };
        if self.offset + block_end > varint::MAX {
            return Err(Malformed("stream data beyond 2^62 bytes"));
        }
        if len != want + coefficients {
            return Err(Malformed("symbol of another length than its block demands"));
        }
        Ok(())
    }

    /// The coefficients in front of a combination.
    pub(crate) fn coefficients(&self) -> Option<&[u8]> {
        if self.code != SymbolCode::Batch {
            return None;
        }
        self.payload.get(..self.source_symbols()? as usize)
    }

    fn header(&self) -> SymbolHeader {
        let Self {
            stream,
            sbn,
            offset,
            symbol_size,
            esi,
            block_length,
            fin,
            code,
            ..
        } = *self;
        SymbolHeader {
            stream,
            sbn,
            offset,
            symbol_size,
            esi,
            block_length,
            fin,
            code,
            payload_len: self.payload.len(),
            with_length: true,
        }
    }

    /// Type on the wire, with the length present.
    pub(super) fn ty(&self) -> u8 {
        self.header().ty()
    }

    /// Bytes that [`encode`](Self::encode) appends.
    pub(crate) fn size(&self) -> usize {
        self.header().size() + self.payload.len()
    }

    /// Appends the frame, with the length of its payload.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        self.header().encode(out);
        out.extend_from_slice(&self.payload);
    }
}

/// All of a SYMBOL frame but its payload, for senders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SymbolHeader {
    pub(crate) stream: StreamId,
    pub(crate) sbn: u64,
    pub(crate) offset: u64,
    pub(crate) symbol_size: u16,
    pub(crate) esi: u32,
    /// Needed with repair symbols, with a last symbol shorter than T, and with `fin`.
    pub(crate) block_length: Option<u32>,
    pub(crate) fin: bool,
    /// Of which code it is.
    pub(crate) code: SymbolCode,
    /// Bytes that the caller appends.
    pub(crate) payload_len: usize,
    /// Whether other frames may follow; without it the payload fills the packet.
    pub(crate) with_length: bool,
}

impl SymbolHeader {
    fn ty(&self) -> u8 {
        let mut ty = SYMBOL;
        if self.with_length {
            ty |= LEN;
        }
        if self.block_length.is_some() {
            ty |= CLOSED;
        }
        if self.fin {
            ty |= FIN;
        }
        ty | match self.code {
            SymbolCode::RaptorQ => 0,
            SymbolCode::Linear => LINEAR,
            SymbolCode::Batch => BATCH,
        }
    }

    /// Bytes that [`encode`](Self::encode) appends.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        1 + varint::size(self.stream.value())
            + varint::size(self.sbn)
            + varint::size(self.offset)
            + varint::size(u64::from(self.symbol_size))
            + varint::size(u64::from(self.esi))
            + self
                .block_length
                .map_or(0, |length| varint::size(u64::from(length)))
            + if self.with_length {
                varint::size(self.payload_len as u64)
            } else {
                0
            }
    }

    /// Appends everything in front of the payload, which the caller appends.
    #[inline]
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(
            !self.fin || self.block_length.is_some(),
            "FIN implies CLOSED"
        );
        out.push(self.ty());
        varint::encode(self.stream.value(), out);
        varint::encode(self.sbn, out);
        varint::encode(self.offset, out);
        varint::encode(u64::from(self.symbol_size), out);
        varint::encode(u64::from(self.esi), out);
        if let Some(length) = self.block_length {
            varint::encode(u64::from(length), out);
        }
        if self.with_length {
            varint::encode(self.payload_len as u64, out);
        }
    }
}

fn in_range(
    value: u64,
    range: std::ops::RangeInclusive<u64>,
    what: &'static str,
) -> Result<u64, Malformed> {
    if range.contains(&value) {
        Ok(value)
    } else {
        Err(Malformed(what))
    }
}

/// The payload's length follows.
const LEN: u8 = 1;
/// The block's length follows.
const CLOSED: u8 = 2;
/// The stream ends with this block.
const FIN: u8 = 4;
/// It is a repair symbol of the linear code.
const LINEAR: u8 = 0x40;
/// It is a combination with its coefficients.
const BATCH: u8 = 0x80;
/// Largest T, in bytes.
const MAX_SYMBOL_SIZE: u64 = 9000;
/// Largest K.
const MAX_SOURCE_SYMBOLS: u64 = 1024;
/// Largest K of a block with combinations.
const MAX_BATCH: u32 = mpfec_codec::batch::MAX_BATCH;
/// Encoding symbol IDs have 24 bits (RFC 6330 §3.2).
const MAX_ESI: u64 = (1 << 24) - 1;

#[cfg(test)]
mod tests;
