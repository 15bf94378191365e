//! The receiving half of a stream: blocks laid end to end, and what the application has read
//! of them.

use std::collections::{BTreeMap, VecDeque};

use bytes::{Bytes, BytesMut};
use mpfec_codec::{EncodingSymbolId, SymbolSize};

use super::event::ReadError;
use super::flow::ReceiveCredit;
use crate::block::{BlockReceiver, Insertion, MAX_SOURCE_SYMBOLS};
use crate::error::TransportError;
use crate::wire::frame::Symbol;

/// What the streams of a connection share on the receiving side.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) credit: ReceiveCredit,
    /// Blocks of which something is here and that are not yet in the reader's queue.
    pub(super) pending_blocks: usize,
}

/// One stream that the peer writes.
#[derive(Debug)]
pub(super) struct RecvStream {
    credit: ReceiveCredit,
    state: RecvState,
    /// The next block to be read, its number, and where in the stream it starts.
    head: Option<BlockReceiver>,
    head_sbn: u64,
    head_offset: u64,
    /// Blocks that came before their turn.
    later: BTreeMap<u64, BlockReceiver>,
    ready: ReadyQueue,
    final_size: Option<u64>,
    /// Whether the application waits to hear that there is something to read.
    pub(super) notify: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecvState {
    /// Data arrive and are read.
    Open,
    /// The application does not want the rest; the peer has not yet confirmed that.
    Stopped { code: u64 },
    /// The peer abandoned it; the application does not know yet.
    Reset { code: u64 },
    /// Everything was read. `known`: the peer knows; `told`: the application saw the end.
    Ended { known: bool, told: bool },
}

/// What a symbol brought about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing new.
    Redundant,
    /// A repair symbol of a block that is complete: the peer should be told so.
    Needless,
    /// Something new.
    Useful,
    /// A block was decoded: the peer should be told.
    Decoded,
    /// A block could not be decoded with K symbols: the peer should be told.
    Undecodable,
}

impl RecvStream {
    pub(super) fn new(window: u64) -> Self {
        Self {
            credit: ReceiveCredit::new(window),
            state: RecvState::Open,
            head: None,
            head_sbn: 0,
            head_offset: 0,
            later: BTreeMap::new(),
            ready: ReadyQueue::default(),
            final_size: None,
            notify: true,
        }
    }

    /// A symbol of one of its blocks. `max_pending` bounds the blocks of all streams.
    pub(super) fn on_symbol(
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
        let insertion = block.insert(esi, &symbol.payload)?;
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

    fn receive_up_to(&mut self, end: u64, shared: &mut Shared) -> Result<(), TransportError> {
        let new = end.saturating_sub(self.credit.received());
        self.credit.receive(new)?;
        shared.credit.receive(new)?;
        if matches!(self.state, RecvState::Stopped { .. }) {
            self.credit.consume(new);
            shared.credit.consume(new);
        }
        Ok(())
    }

    fn on_final_size(&mut self, size: u64) -> Result<(), TransportError> {
        if self.final_size.is_some_and(|known| known != size) || size < self.credit.received() {
            return Err(TransportError::final_size("the end of the stream moved"));
        }
        self.final_size = Some(size);
        Ok(())
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
        let mut block = BlockReceiver::new(offset, size, bound);
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
    fn advance(&mut self, shared: &mut Shared) -> Result<(), TransportError> {
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
                self.ready.push(chunk);
            }
            self.head_offset = head.known_end();
            self.head_sbn += 1;
            shared.pending_blocks -= 1;
            self.head = self.later.remove(&self.head_sbn);
        }
        Ok(())
    }

    /// STREAM_FIN.
    pub(super) fn on_fin(&mut self, size: u64, shared: &mut Shared) -> Result<(), TransportError> {
        self.on_final_size(size)?;
        // Windows bound what may be announced as well.
        self.receive_up_to(size, shared)?;
        if self.state == RecvState::Open {
            self.advance(shared)
        } else {
            Ok(())
        }
    }

    /// RESET_STREAM. Returns whether the stream can be forgotten.
    pub(super) fn on_reset(
        &mut self,
        code: u64,
        size: u64,
        shared: &mut Shared,
    ) -> Result<bool, TransportError> {
        let had_all = self.has_all();
        self.on_final_size(size)?;
        self.receive_up_to(size, shared)?;
        match self.state {
            RecvState::Stopped { .. } => Ok(true),
            RecvState::Open if !had_all => {
                self.discard(shared);
                self.state = RecvState::Reset { code };
                Ok(false)
            }
            // All of it is here, and its end was known: that is better than to know that the peer gave up.
            RecvState::Open | RecvState::Reset { .. } => Ok(false),
            RecvState::Ended { told, .. } => {
                self.state = RecvState::Ended { known: true, told };
                Ok(told)
            }
        }
    }

    /// The application does not want the rest. Returns whether the peer must be told; if not,
    /// the stream can be forgotten once nothing is due to the peer.
    pub(super) fn stop(&mut self, code: u64, shared: &mut Shared) -> bool {
        match self.state {
            RecvState::Open => {
                self.discard(shared);
                self.state = RecvState::Stopped { code };
                true
            }
            RecvState::Reset { .. } => {
                self.state = RecvState::Ended {
                    known: true,
                    told: true,
                };
                false
            }
            RecvState::Ended { known, .. } => {
                self.state = RecvState::Ended { known, told: true };
                false
            }
            RecvState::Stopped { .. } => false,
        }
    }

    fn discard(&mut self, shared: &mut Shared) {
        let unread = self.credit.received() - self.credit.consumed();
        self.credit.consume(unread);
        shared.credit.consume(unread);
        shared.pending_blocks -= self.later.len() + usize::from(self.head.is_some());
        self.head = None;
        self.later.clear();
        self.ready = ReadyQueue::default();
    }

    /// The next bytes, at most `max`; `None` at the end.
    pub(super) fn read(&mut self, max: usize) -> Result<Option<Bytes>, ReadError> {
        match self.state {
            RecvState::Open => {}
            RecvState::Stopped { .. } => return Err(ReadError::Closed),
            RecvState::Reset { code } => {
                self.state = RecvState::Ended {
                    known: true,
                    told: true,
                };
                return Err(ReadError::Reset(code));
            }
            RecvState::Ended { known, .. } => {
                self.state = RecvState::Ended { known, told: true };
                return Ok(None);
            }
        }
        if self.ready.is_empty() {
            if let Some(chunk) = self.head.as_mut().and_then(BlockReceiver::take_ready) {
                self.ready.push(chunk);
            }
        }
        let Some(chunk) = self.ready.take(max) else {
            if self.final_size == Some(self.credit.consumed()) {
                self.state = RecvState::Ended {
                    known: false,
                    told: true,
                };
                return Ok(None);
            }
            self.notify = true;
            return Err(ReadError::Blocked);
        };
        self.credit.consume(chunk.len() as u64);
        if self.final_size == Some(self.credit.consumed()) {
            self.state = RecvState::Ended {
                known: false,
                told: false,
            };
        }
        Ok(Some(chunk))
    }

    /// Whether a read would not be blocked.
    pub(super) fn is_readable(&self) -> bool {
        match self.state {
            RecvState::Open => {
                !self.ready.is_empty()
                    || self.head.as_ref().is_some_and(BlockReceiver::has_ready)
                    || self.final_size == Some(self.credit.consumed())
            }
            RecvState::Stopped { .. } => false,
            RecvState::Reset { .. } | RecvState::Ended { .. } => true,
        }
    }

    /// Whether everything was read, and the peer does not know for sure.
    pub(super) fn is_delivered(&self) -> bool {
        matches!(self.state, RecvState::Ended { known: false, .. })
    }

    /// The peer knows that everything was read.
    pub(super) fn on_delivery_known(&mut self) {
        if let RecvState::Ended { known, .. } = &mut self.state {
            *known = true;
        }
    }

    /// Whether neither the application nor the peer has anything left to learn of it.
    pub(super) fn is_over(&self) -> bool {
        matches!(
            self.state,
            RecvState::Ended {
                known: true,
                told: true
            }
        )
    }

    /// The code that the peer is to be told, while it has not answered.
    pub(super) fn stop_code(&self) -> Option<u64> {
        match self.state {
            RecvState::Stopped { code } => Some(code),
            _ => None,
        }
    }

    /// The stream's window, while it matters to the peer.
    pub(super) fn credit(&mut self) -> Option<&mut ReceiveCredit> {
        (self.state == RecvState::Open && self.final_size.is_none()).then_some(&mut self.credit)
    }

    /// What a BLOCK_ACK says of a block: symbols needed beyond K, 0 if it is complete, and
    /// nothing if it is neither.
    pub(super) fn block_ack(&self, sbn: u64) -> Option<u32> {
        if sbn < self.head_sbn || matches!(self.state, RecvState::Ended { .. }) {
            return Some(0);
        }
        let block = if sbn == self.head_sbn {
            self.head.as_ref()
        } else {
            self.later.get(&sbn)
        }?;
        if block.is_complete() {
            Some(0)
        } else {
            Some(block.extra()).filter(|extra| *extra > 0)
        }
    }

    fn has_all(&self) -> bool {
        self.final_size == Some(self.head_offset)
    }
}

/// What can be read, in order. Small pieces are put together, so that many small blocks that
/// nobody reads occupy little more than their bytes.
#[derive(Debug, Default)]
struct ReadyQueue {
    chunks: VecDeque<Bytes>,
    /// Comes after all chunks.
    small: BytesMut,
}

impl ReadyQueue {
    fn push(&mut self, chunk: Bytes) {
        if chunk.len() < SMALL && (!self.chunks.is_empty() || !self.small.is_empty()) {
            self.small.extend_from_slice(&chunk);
            return;
        }
        if !self.small.is_empty() {
            self.chunks
                .push_back(std::mem::take(&mut self.small).freeze());
        }
        self.chunks.push_back(chunk);
    }

    fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.small.is_empty()
    }

    fn take(&mut self, max: usize) -> Option<Bytes> {
        if self.chunks.is_empty() && !self.small.is_empty() {
            self.chunks.push_back(self.small.split().freeze());
        }
        let front = self.chunks.front_mut()?;
        if front.len() > max {
            return Some(front.split_to(max));
        }
        self.chunks.pop_front()
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

/// Chunks below this size are put together while others wait to be read.
const SMALL: usize = 4096;
