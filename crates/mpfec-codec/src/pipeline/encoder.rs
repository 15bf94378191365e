//! Codes the packets of a group.

use std::ops::Range;

use bytes::Bytes;

use super::code::{MAX_GROUP, MAX_REDUNDANT, PipelineCode};
use crate::source::SourceBlock;
use crate::{EncodeError, EncodingSymbolId, SymbolSize, gf256};

/// Encoder of one group.
#[derive(Debug)]
pub struct PipelineEncoder {
    code: PipelineCode,
    group: SourceBlock,
}

impl PipelineEncoder {
    /// An encoder of an empty group of packets of `size` bytes.
    #[must_use]
    pub fn new(code: PipelineCode, size: SymbolSize) -> Self {
        Self {
            code,
            group: SourceBlock::new(size),
        }
    }

    /// Takes the next packet. It has `size` bytes; only the last one may be shorter, and
    /// counts as filled with zeros.
    ///
    /// # Errors
    /// If it is empty or too large, or the group is full or has ended.
    pub fn push(&mut self, packet: Bytes) -> Result<(), EncodeError> {
        if self.group.len() as usize == MAX_GROUP {
            return Err(EncodeError::Full {
                source_symbols: self.group.len(),
            });
        }
        self.group.push(packet)
    }

    /// Fixes the group's size; redundant packets exist from here on.
    pub fn close(&mut self) {
        self.group.close();
    }

    /// Packets pushed so far.
    #[must_use]
    pub fn packets(&self) -> u32 {
        self.group.len()
    }

    /// Appends `symbols`, of `size` bytes each, to `out`: coded packets, which may be
    /// asked for as soon as the packet with that number was pushed, and from the group's
    /// size on redundant ones. Several together cost less than one by one.
    ///
    /// # Errors
    /// If one of them does not exist (yet), with its number; `out` is as it was then.
    pub fn encode(&self, symbols: Range<u32>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if symbols.is_empty() {
            return Ok(());
        }
        self.check(symbols.end - 1)?;
        let packets = self.group.len();
        let coded = symbols.start.min(packets)..symbols.end.min(packets);
        let redundant = symbols.start.max(packets)..symbols.end.max(packets);
        let bytes = self.group.symbol_size().bytes();
        out.reserve(symbols.len() * bytes);
        let (first, rows) = (
            coded.start as usize,
            coded.start as usize..coded.end as usize,
        );
        let lower = self.code.lower(first);
        gf256::append_lower(out, rows, bytes, lower, MAX_GROUP, self.sources());
        for index in redundant {
            let row = self.code.redundant(index - packets, packets as usize);
            gf256::append_dot(out, 1, bytes, &row, MAX_GROUP, self.sources());
        }
        Ok(())
    }

    fn sources(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let packets = self.group.symbols().iter();
        packets.map(|packet| &packet[..]).enumerate()
    }

    fn check(&self, last: u32) -> Result<(), EncodeError> {
        let packets = self.group.len();
        // Numbers of 24 bits and more are beyond the last redundant packet.
        let esi = EncodingSymbolId::new(last).unwrap_or(EncodingSymbolId::MAX);
        if self.group.get(esi)?.is_some() {
            return Ok(());
        }
        if packets == 0 {
            return Err(EncodeError::Empty);
        }
        if esi.value() - packets >= MAX_REDUNDANT {
            return Err(EncodeError::NoRepair {
                esi,
                source_symbols: packets,
            });
        }
        Ok(())
    }
}
