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
    /// T: bytes of each symbol of the block, from 1 to 9000. It follows from the payload.
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
        let esi = in_range(reader.varint()?, 0..=MAX_ESI, "symbol number out of range")? as u32;
        let end = closed.then(|| End::parse(reader)).transpose()?;
        let len = if ty & LEN != 0 {
            reader.varint()?
        } else {
            reader.remaining() as u64
        };
        let symbol_size = symbol_size(esi, code, end, len)?;
        let block_length = end.map(|end| end.block_length(symbol_size));
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
        symbol.check()?;
        symbol.payload = bytes.slice(reader.span(len)?);
        if symbol
            .coefficients()
            .is_some_and(|row| row.iter().all(|&c| c == 0))
        {
            return Err(Malformed("combination of nothing"));
        }
        Ok(symbol)
    }

    /// Whether the fields go together.
    fn check(&self) -> Result<(), Malformed> {
        let size = u64::from(self.symbol_size);
        let esi = u64::from(self.esi);
        let is_source = |count: u32| self.esi < count;
        if self.code != SymbolCode::RaptorQ && self.source_symbols().is_none_or(is_source) {
            return Err(Malformed("source symbol marked as one of a code"));
        }
        let is_too_many = |count| count > MAX_BATCH;
        if self.code == SymbolCode::Batch && self.source_symbols().is_some_and(is_too_many) {
            return Err(Malformed("combination of too many symbols"));
        }
        let block_end = match self.block_length {
            Some(length) => u64::from(length),
            None if esi >= MAX_SOURCE_SYMBOLS => {
                return Err(Malformed("repair symbol of a block without its length"));
            }
            None => (esi + 1) * size,
        };
        if self.offset + block_end > varint::MAX {
            return Err(Malformed("stream data beyond 2^62 bytes"));
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

    fn end(&self) -> Option<End> {
        self.block_length
            .map(|length| End::of(length, self.symbol_size))
    }

    /// Bytes that [`encode`](Self::encode) appends.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        1 + varint::size(self.stream.value())
            + varint::size(self.sbn)
            + varint::size(self.offset)
            + varint::size(u64::from(self.esi))
            + self.end().map_or(0, |end| {
                varint::size(u64::from(end.source_symbols)) + varint::size(u64::from(end.short))
            })
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
        varint::encode(u64::from(self.esi), out);
        if let Some(end) = self.end() {
            varint::encode(u64::from(end.source_symbols), out);
            varint::encode(u64::from(end.short), out);
        }
        if self.with_length {
            varint::encode(self.payload_len as u64, out);
        }
    }
}

/// Where a closed block ends, as frames tell it.
#[derive(Debug, Clone, Copy)]
struct End {
    /// K.
    source_symbols: u32,
    /// Bytes by which the last source symbol is shorter than T.
    short: u32,
}

impl End {
    #[inline]
    fn of(block_length: u32, symbol_size: u16) -> Self {
        let size = u32::from(symbol_size);
        let source_symbols = block_length.div_ceil(size);
        Self {
            source_symbols,
            short: source_symbols * size - block_length,
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let what = "number of source symbols out of range";
        let source_symbols = in_range(reader.varint()?, 1..=MAX_SOURCE_SYMBOLS, what)?;
        let what = "last source symbol is shorter than can be";
        let short = in_range(reader.varint()?, 0..=MAX_SYMBOL_SIZE - 1, what)?;
        Ok(Self {
            source_symbols: source_symbols as u32,
            short: short as u32,
        })
    }

    fn block_length(self, symbol_size: u16) -> u32 {
        self.source_symbols * u32::from(symbol_size) - self.short
    }
}

/// T, which follows from a payload of `len` bytes: all symbols have as many but the last
/// source symbol of a closed block, and combinations have K more.
fn symbol_size(esi: u32, code: SymbolCode, end: Option<End>, len: u64) -> Result<u16, Malformed> {
    let coefficients = match (code, end) {
        (SymbolCode::Batch, Some(end)) => u64::from(end.source_symbols),
        _ => 0,
    };
    let bytes = len
        .checked_sub(coefficients)
        .filter(|&bytes| bytes > 0)
        .ok_or(Malformed("symbol without a payload"))?;
    let missing = match end {
        Some(end) if esi + 1 == end.source_symbols => u64::from(end.short),
        _ => 0,
    };
    let what = "symbol size out of range";
    let size = in_range(bytes.saturating_add(missing), 1..=MAX_SYMBOL_SIZE, what)?;
    if end.is_some_and(|end| u64::from(end.short) >= size) {
        return Err(Malformed("last source symbol without a byte"));
    }
    Ok(size as u16)
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
/// Where the block ends follows.
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
