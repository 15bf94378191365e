//! Laying blocks end to end as their symbols arrive.

use mpfec_codec::{CodecKind, EncodingSymbolId, SymbolSize};

use super::{Effect, RecvState, RecvStream, Shared};
use crate::block::{BlockReceiver, Insertion, MAX_SOURCE_SYMBOLS};
use crate::error::TransportError;
use crate::wire::frame::{Symbol, SymbolCode};

impl RecvStream {
    /// A symbol of one of its blocks. `max_pending` bounds the blocks of all streams.
    pub(in crate::stream) fn on_symbol(
        &mut self,
        symbol: &Symbol,
        shared: &mut Shared,
        max_pending: usize,
    ) -> Result<Effect, TransportError> {
        let size = SymbolSize::new(u32::from(symbol.symbol_size)).ok_or_else(malformed)?;
        let esi = EncodingSymbolId::new(symbol.esi).ok_or_else(malformed)?;
        self.on_extent(symbol, shared)?;
        if self.state != RecvState::Open {
            return Ok(Effect::Redundant);
        }
        if symbol.sbn < self.head_sbn {
            return Ok(needless_if_repair(symbol));
        }
        // Most symbols belong to a block that is known and learn it nothing about its place.
        let is_known = if symbol.sbn == self.head_sbn {
            self.head.is_some()
        } else {
            self.later.contains_key(&symbol.sbn)
        };
        if !is_known {
            self.add_block(symbol, size, shared, max_pending)?;
        }
        let is_head = symbol.sbn == self.head_sbn;
        let block = if is_head {
            self.head.as_mut()
        } else {
            self.later.get_mut(&symbol.sbn)
        };
        let Some(block) = block else {
            // The block was completed by what its neighbours told.
            return Ok(Effect::Redundant);
        };
        if block.offset() != symbol.offset {
            return Err(TransportError::protocol_violation("block of two places"));
        }
        if block.symbol_size() < size {
            // It left before the peer cut the block anew.
            return Ok(Effect::Redundant);
        }
        if block.symbol_size() > size && !block.is_complete() {
            block.cut(size)?;
        }
        match (symbol.block_length, block.length()) {
            (Some(length), None) => block.set_length(u64::from(length))?,
            (Some(length), Some(known)) if length != known => {
                return Err(TransportError::protocol_violation("block of two lengths"));
            }
            // Not a repair symbol: those tell the length.
            (None, Some(known))
                if u64::from(symbol.esi) * u64::from(symbol.symbol_size) >= u64::from(known) =>
            {
                return Err(TransportError::protocol_violation(
                    "symbols beyond the end of their block",
                ));
            }
            _ => {}
        }
        if block.is_complete() {
            let effect = needless_if_repair(symbol);
            self.advance(shared)?;
            return Ok(effect);
        }
        let code = match symbol.code {
            SymbolCode::RaptorQ => CodecKind::RaptorQ,
            SymbolCode::Linear => CodecKind::Linear,
            SymbolCode::Batch => CodecKind::Batch,
        };
        let insertion = block.insert(esi, code, &symbol.payload)?;
        let is_complete = block.is_complete();
        if is_head && (is_complete || self.final_size.is_some()) {
            self.advance(shared)?;
        }
        Ok(match insertion {
            Insertion::Redundant => Effect::Redundant,
            Insertion::Useful => Effect::Useful,
            Insertion::Decoded => Effect::Decoded,
            Insertion::Undecodable(_) => Effect::Undecodable,
        })
    }

    /// Counts what a symbol uses of the window, and checks it against the end of the stream.
    fn on_extent(&mut self, symbol: &Symbol, shared: &mut Shared) -> Result<(), TransportError> {
        let end = match symbol.block_length {
            Some(length) => symbol.offset + u64::from(length),
            None if symbol.esi >= MAX_SOURCE_SYMBOLS => return Err(malformed()),
            None => {
                symbol.offset
                    + u64::from(symbol.esi) * u64::from(symbol.symbol_size)
                    + symbol.payload.len() as u64
            }
        };
        if end > self.credit.received() {
            if self.final_size.is_some_and(|size| end > size) {
                return Err(TransportError::final_size(
                    "data beyond the end of the stream",
                ));
            }
            self.receive_up_to(end, shared)?;
        }
        if symbol.fin {
            self.on_final_size(end)
        } else {
            Ok(())
        }
    }

    /// Makes room for a block of which nothing was known, between its neighbours.
    fn add_block(
        &mut self,
        symbol: &Symbol,
        size: SymbolSize,
        shared: &mut Shared,
        max_pending: usize,
    ) -> Result<(), TransportError> {
        if shared.pending_blocks >= max_pending {
            return Err(TransportError::protocol_violation(
                "more incomplete blocks than allowed",
            ));
        }
        let Symbol { sbn, offset, .. } = *symbol;
        // No block is empty, so unknown ones in between have a byte each at least.
        let later = self
            .later
            .range(sbn..)
            .next()
            .map(|(next, block)| (*next, block.offset()));
        let bound = later.map_or(u64::MAX, |(next, start)| {
            start.saturating_sub(next - sbn - 1)
        });
        if sbn == self.head_sbn {
            if offset != self.head_offset {
                return Err(TransportError::protocol_violation(
                    "block that does not start where the one before ends",
                ));
            }
        } else {
            let before = self.later.range_mut(..sbn).next_back();
            let before = match before {
                Some((before, block)) => Some((*before, block)),
                None => self.head.as_mut().map(|block| (self.head_sbn, block)),
            };
            match before {
                Some((before, block)) if before + 1 == sbn => {
                    let length = offset
                        .checked_sub(block.offset())
                        .filter(|length| *length > 0)
                        .ok_or_else(overlap)?;
                    block.set_length(length)?;
                }
                Some((before, block)) => {
                    block.set_bound(offset.checked_sub(sbn - before - 1).ok_or_else(overlap)?)?;
                }
                None if offset
                    .checked_sub(self.head_offset)
                    .is_none_or(|gap| gap < sbn - self.head_sbn) =>
                {
                    return Err(overlap());
                }
                None => {}
            }
        }
        let mut block = BlockReceiver::new(offset, size, bound, shared.pipeline.clone());
        match later {
            Some((next, start)) if next == sbn + 1 => {
                block.set_length(
                    start
                        .checked_sub(offset)
                        .filter(|length| *length > 0)
                        .ok_or_else(overlap)?,
                )?;
            }
            Some(_) => block.set_bound(bound)?,
            None => {}
        }
        shared.pending_blocks += 1;
        if sbn == self.head_sbn {
            self.head = Some(block);
        } else {
            self.later.insert(sbn, block);
            // The block before may have turned out to be complete.
            self.advance(shared)?;
        }
        Ok(())
    }

    /// Moves complete blocks to the reader's queue.
    pub(super) fn advance(&mut self, shared: &mut Shared) -> Result<(), TransportError> {
        while let Some(head) = &mut self.head {
            if head.length().is_none() {
                let end = head.offset() + head.contiguous_bytes() as u64;
                if self.final_size == Some(end) && self.later.is_empty() {
                    head.set_length(end - head.offset())?;
                }
            }
            if !head.is_complete() {
                return Ok(());
            }
            if let Some(chunk) = head.take_ready() {
                shared.ready += chunk.len() as u64;
                self.ready.push(chunk);
            }
            self.head_offset = head.known_end();
            self.head_sbn += 1;
            shared.pending_blocks -= 1;
            self.head = self.later.remove(&self.head_sbn);
        }
        Ok(())
    }
}

fn needless_if_repair(symbol: &Symbol) -> Effect {
    match symbol.source_symbols() {
        Some(count) if symbol.esi >= count => Effect::Needless,
        _ => Effect::Redundant,
    }
}

fn malformed() -> TransportError {
    TransportError::protocol_violation("symbol that no block can have")
}

fn overlap() -> TransportError {
    TransportError::protocol_violation("blocks overlap")
}
