//! One block as it arrives: its source bytes, and repair symbols as long as some are missing.

mod group;

use bytes::{Bytes, BytesMut};
use mpfec_codec::pipeline::PipelineCode;
use mpfec_codec::{CodecKind, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};

use self::group::Group;
use super::bitmap::Bitmap;
use super::sender::MAX_CUTS;
use super::{MAX_GROUP_SYMBOLS, MAX_LINEAR_SYMBOLS, MAX_SOURCE_SYMBOLS};
use crate::error::TransportError;

/// Puts a block together again.
///
/// Source symbols are copied to their place in one buffer; what is contiguous from the start
/// can be taken out at once, in one piece and without another copy. So a symbol never keeps
/// the datagram buffer alive that it came in, and memory is bounded by the positions that
/// flow control allows.
#[derive(Debug)]
pub(crate) struct BlockReceiver {
    /// Where in the stream it starts, in bytes.
    offset: u64,
    /// T.
    size: SymbolSize,
    /// Bytes in it, once known.
    length: Option<u32>,
    /// K, once known.
    source_symbols: Option<u32>,
    /// Where in the stream the next block begins at the latest.
    bound: u64,
    received: Bitmap,
    /// Source symbols here, and how many of them from the first on without a gap.
    count: u32,
    contiguous: u32,
    /// Bytes up to the end of the furthest source symbol.
    reach: usize,
    /// Source bytes from `taken` on; zeros where nothing arrived yet.
    data: BytesMut,
    /// Bytes taken out so far.
    taken: usize,
    /// What was taken out, for the decoder.
    handed: Vec<Bytes>,
    /// Repair symbols, of one length, and which they are. In one piece: an allocation for each would
    /// cost many times what a small one holds.
    repair: BytesMut,
    repair_esis: Vec<EncodingSymbolId>,
    /// The code of the repair symbols, if there are any.
    code: CodecKind,
    /// Times that enough symbols for decoding were here and did not suffice.
    failures: u32,
    /// Times that the peer cut it anew.
    cuts: u8,
    /// Its packets, if the peer codes them as a pipeline: `data` then has what is decoded.
    group: Option<Box<Group>>,
}

/// What a symbol did for its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// Nothing, it was here already.
    Redundant,
    /// It was missing.
    Useful,
    /// With it the block could be decoded.
    Decoded,
    /// K symbols and more are here but do not suffice; so many beyond K are needed.
    Undecodable(u32),
}

impl BlockReceiver {
    /// An empty block of symbols of `size` bytes that starts at `offset`, before `bound`.
    /// `pipeline`: how the peer codes its packets, if it does.
    pub(crate) fn new(
        offset: u64,
        size: SymbolSize,
        bound: u64,
        pipeline: Option<PipelineCode>,
    ) -> Self {
        Self {
            offset,
            size,
            length: None,
            source_symbols: None,
            bound,
            received: Bitmap::default(),
            count: 0,
            contiguous: 0,
            reach: 0,
            data: BytesMut::new(),
            taken: 0,
            handed: Vec::new(),
            repair: BytesMut::new(),
            repair_esis: Vec::new(),
            code: CodecKind::RaptorQ,
            failures: 0,
            cuts: 0,
            group: pipeline.map(|code| Box::new(Group::new(code))),
        }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn symbol_size(&self) -> SymbolSize {
        self.size
    }

    /// Bytes in the block, once known.
    pub(crate) fn length(&self) -> Option<u32> {
        self.length
    }

    /// Where in the stream it ends, as far as that is known.
    pub(crate) fn known_end(&self) -> u64 {
        self.offset + self.length.map_or(self.reach.max(1) as u64, u64::from)
    }

    /// Bytes from its start that are here without a gap.
    pub(crate) fn contiguous_bytes(&self) -> usize {
        let end = self.contiguous as usize * self.size.bytes();
        self.length.map_or(end, |length| end.min(length as usize))
    }

    /// Whether it waits to be taken out.
    pub(crate) fn has_ready(&self) -> bool {
        self.contiguous_bytes() > self.taken
    }

    /// Whether all source symbols are here.
    pub(crate) fn is_complete(&self) -> bool {
        self.source_symbols
            .is_some_and(|count| self.contiguous == count)
    }

    /// Symbols beyond K that it needs, as far as decoding has shown.
    pub(crate) fn extra(&self) -> u32 {
        self.failures
    }

    /// The next block begins at `bound` or before.
    pub(crate) fn set_bound(&mut self, bound: u64) -> Result<(), TransportError> {
        if self.known_end() > bound {
            return Err(TransportError::protocol_violation("blocks overlap"));
        }
        self.bound = self.bound.min(bound);
        Ok(())
    }

    /// The block is `length` bytes long.
    pub(crate) fn set_length(&mut self, length: u64) -> Result<(), TransportError> {
        match self.length {
            Some(known) if u64::from(known) == length => return Ok(()),
            Some(_) => return Err(TransportError::protocol_violation("block of two lengths")),
            None => {}
        }
        let length = u32::try_from(length).map_err(|_| too_many())?;
        let count = source_symbols(length, self.size, self.most())?;
        if self.reach > length as usize || self.offset + u64::from(length) > self.bound {
            return Err(TransportError::protocol_violation(
                "symbols beyond the end of their block",
            ));
        }
        self.length = Some(length);
        self.source_symbols = Some(count);
        self.bound = self.offset + u64::from(length);
        Ok(())
    }

    /// The peer has cut the block into smaller symbols: the old ones fitted into no packet any
    /// more. What is contiguous from the start remains, the rest comes again.
    pub(crate) fn cut(&mut self, size: SymbolSize) -> Result<(), TransportError> {
        self.cuts += 1;
        if self.cuts > MAX_CUTS {
            return Err(TransportError::protocol_violation(
                "block cut anew too often",
            ));
        }
        let end = self.contiguous_bytes().max(self.taken);
        if end / size.bytes() > self.most() as usize {
            return Err(too_many());
        }
        self.size = size;
        if let Some(length) = self.length {
            self.source_symbols = Some(source_symbols(length, size, self.most())?);
        }
        if let Some(group) = &mut self.group {
            group.cut(end, size);
        }
        self.data.truncate(end.saturating_sub(self.taken));
        self.reach = end;
        self.forget_repair_symbols();
        self.failures = 0;
        self.contiguous = (end / size.bytes()) as u32;
        self.count = self.contiguous;
        self.received = Bitmap::default();
        for esi in 0..self.contiguous {
            self.received.insert(esi);
        }
        Ok(())
    }

    /// Takes a symbol whose size is right and whose end flow control allows. Source symbols
    /// of a block of unknown length have T bytes. `code` is that of a repair symbol.
    pub(crate) fn insert(
        &mut self,
        esi: EncodingSymbolId,
        code: CodecKind,
        payload: &Bytes,
    ) -> Result<Insertion, TransportError> {
        if self.is_complete() {
            return Ok(Insertion::Redundant);
        }
        let inserted = match self.source_symbols {
            Some(count) if esi.value() >= count => self.insert_repair(esi, code, payload)?,
            _ => self.insert_source(esi.value(), payload)?,
        };
        if !inserted {
            return Ok(Insertion::Redundant);
        }
        if self.repair_esis.is_empty() {
            Ok(Insertion::Useful)
        } else {
            self.try_decode()
        }
    }

    fn insert_source(&mut self, esi: u32, payload: &[u8]) -> Result<bool, TransportError> {
        if esi >= self.most() {
            return Err(too_many());
        }
        let start = esi as usize * self.size.bytes();
        let end = start + payload.len();
        if end > self.reach {
            if self.offset + end as u64 > self.bound {
                return Err(TransportError::protocol_violation("blocks overlap"));
            }
            self.reach = end;
        }
        if !self.received.insert(esi) {
            return Ok(false);
        }
        self.count += 1;
        if esi == self.contiguous {
            self.contiguous = self.received.first_missing_from(esi + 1);
        }
        if self.group.is_some() {
            self.insert_coded(start, payload);
            return Ok(true);
        }
        // Of a block that was cut anew, part of a symbol may have been taken out before.
        let known = self.taken.saturating_sub(start).min(payload.len());
        let position = start + known - self.taken;
        let payload = &payload[known..];
        if position < self.data.len() {
            let len = self.data.len().max(position + payload.len());
            self.reserve(end);
            self.data.resize(len, 0);
            self.data[position..position + payload.len()].copy_from_slice(payload);
        } else {
            self.reserve(end);
            self.data.resize(position, 0);
            self.data.extend_from_slice(payload);
        }
        Ok(true)
    }

    /// Keeps a coded packet, and decodes what follows those decoded.
    fn insert_coded(&mut self, start: usize, payload: &[u8]) {
        if let Some(group) = &mut self.group {
            group.insert(start, payload);
        }
        self.decode_in_order();
    }

    /// Decodes packets that follow those decoded, for the reader.
    fn decode_in_order(&mut self) {
        let end = self.contiguous_bytes();
        let here = self.taken + self.data.len();
        self.reserve(end);
        if let Some(group) = &mut self.group {
            let decoded = group.decode(end, self.size);
            self.data
                .extend_from_slice(decoded.get(here..).unwrap_or_default());
        }
    }

    /// Most source symbols that it may have.
    fn most(&self) -> u32 {
        if self.group.is_some() || self.code == CodecKind::Batch {
            MAX_GROUP_SYMBOLS
        } else {
            MAX_SOURCE_SYMBOLS
        }
    }

    /// Room for bytes up to `end`: for the whole block if its length is known, as flow control
    /// allows that then; else twice as much as before.
    fn reserve(&mut self, end: usize) {
        if end.saturating_sub(self.taken) <= self.data.capacity() {
            return;
        }
        let wanted = match self.length {
            Some(length) => end.max(length as usize),
            None => {
                let few = FEW_SYMBOLS * self.size.bytes();
                end.max(self.taken + few.max(2 * self.data.len()))
            }
        };
        self.data.reserve(wanted - self.taken - self.data.len());
    }

    fn insert_repair(
        &mut self,
        esi: EncodingSymbolId,
        code: CodecKind,
        payload: &[u8],
    ) -> Result<bool, TransportError> {
        if self.group.is_some() && code != CodecKind::Linear {
            return Err(TransportError::protocol_violation(
                "redundant packet of another code than its group's",
            ));
        }
        if code == CodecKind::Linear && self.source_symbols > Some(MAX_LINEAR_SYMBOLS) {
            return Err(TransportError::protocol_violation(
                "repair symbol of the linear code for a block too large for it",
            ));
        }
        if self.repair_esis.is_empty() {
            self.code = code;
        } else if self.code != code {
            return Err(TransportError::protocol_violation(
                "repair symbols of two codes",
            ));
        }
        if self.repair_esis.contains(&esi) {
            return Ok(false);
        }
        if self.repair.len() != self.repair_esis.len() * payload.len() {
            return Err(TransportError::protocol_violation(
                "repair symbols of two lengths",
            ));
        }
        self.repair_esis.push(esi);
        self.repair.extend_from_slice(payload);
        Ok(true)
    }

    /// Decodes if as many symbols are here as it takes.
    fn try_decode(&mut self) -> Result<Insertion, TransportError> {
        if self.is_complete() {
            self.forget_repair();
            return Ok(Insertion::Useful);
        }
        let Some(count) = self.source_symbols else {
            return Ok(Insertion::Useful);
        };
        if self.count + (self.repair_esis.len() as u32) < count + self.failures {
            return Ok(Insertion::Useful);
        }
        let Some(source_symbols) = SourceSymbols::new(count) else {
            return Ok(Insertion::Useful);
        };
        let repair = std::mem::take(&mut self.repair).freeze();
        let recovered = match &self.group {
            Some(group) => self.decode(source_symbols, &group.coded(self.size), &repair),
            None => {
                let rest = std::mem::take(&mut self.data).freeze();
                let recovered = self.decode(source_symbols, &rest, &repair);
                self.data = into_mut(rest);
                recovered
            }
        };
        self.repair = into_mut(repair);
        let Some(recovered) = recovered else {
            self.failures += 1;
            if self.failures > MAX_FAILURES {
                return Err(TransportError::protocol_violation(
                    "repair symbols that do not repair",
                ));
            }
            return Ok(Insertion::Undecodable(self.failures));
        };
        self.contiguous = count;
        self.count = count;
        if let Some(group) = &mut self.group {
            let length = self.length.map_or(0, |length| length as usize);
            group.fill(&recovered, length, self.size);
            self.decode_in_order();
        } else {
            self.fill(&recovered);
        }
        self.forget_repair();
        Ok(Insertion::Decoded)
    }

    /// The source symbols that did not arrive, if the others and the repair symbols suffice.
    fn decode(
        &self,
        source_symbols: SourceSymbols,
        rest: &Bytes,
        repair: &Bytes,
    ) -> Option<Vec<(u32, Bytes)>> {
        let mut decoder = self.code.decoder(source_symbols, self.size);
        let size = self.size.bytes();
        let mut is_done = false;
        let mut push = |esi, symbol| match decoder.push(esi, symbol) {
            Ok(Progress::Complete) => is_done = true,
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "symbol refused by the decoder"),
        };
        let whole = if self.handed.is_empty() {
            rest.clone()
        } else {
            self.handed
                .iter()
                .chain([rest])
                .flatten()
                .copied()
                .collect()
        };
        for (esi, start) in (0..).zip((0..whole.len()).step_by(size)) {
            if self.received.contains(esi) {
                let symbol = whole.slice(start..whole.len().min(start + size));
                push(EncodingSymbolId::new(esi)?, symbol);
            }
        }
        let length = repair.len() / self.repair_esis.len().max(1);
        for (esi, start) in self.repair_esis.iter().zip((0..).step_by(length.max(1))) {
            push(*esi, repair.slice(start..start + length));
        }
        is_done.then(|| std::iter::from_fn(|| decoder.poll_recovered()).collect())
    }

    /// Puts decoded symbols to their places.
    fn fill(&mut self, recovered: &[(u32, Bytes)]) {
        let size = self.size.bytes();
        let length = self.length.map_or(0, |length| length as usize);
        self.data.resize(length - self.taken, 0);
        for (esi, symbol) in recovered {
            let start = *esi as usize * size;
            let end = length.min(start + symbol.len());
            let from = start.max(self.taken);
            let place = (end > from).then(|| &mut self.data[from - self.taken..end - self.taken]);
            if let Some(place) = place {
                place.copy_from_slice(&symbol[from - start..end - start]);
            }
        }
    }

    fn forget_repair_symbols(&mut self) {
        self.repair = BytesMut::new();
        self.repair_esis = Vec::new();
    }

    fn forget_repair(&mut self) {
        self.forget_repair_symbols();
        self.handed = Vec::new();
    }

    /// Takes out what is contiguous and was not taken before.
    pub(crate) fn take_ready(&mut self) -> Option<Bytes> {
        let ready = self
            .contiguous_bytes()
            .checked_sub(self.taken)
            .filter(|ready| *ready > 0)?;
        let is_complete = self.is_complete();
        let chunk = if is_complete {
            std::mem::take(&mut self.data)
        } else {
            self.data.split_to(ready)
        }
        .freeze();
        self.taken += ready;
        if !is_complete && self.group.is_none() {
            self.handed.push(chunk.clone());
        }
        Some(chunk)
    }
}

/// The same bytes, without a copy if nobody else has them.
fn into_mut(bytes: Bytes) -> BytesMut {
    bytes
        .try_into_mut()
        .unwrap_or_else(|shared| BytesMut::from(&shared[..]))
}

fn source_symbols(length: u32, size: SymbolSize, most: u32) -> Result<u32, TransportError> {
    let count = length.div_ceil(u32::from(size.value()));
    if count > most {
        Err(too_many())
    } else {
        Ok(count)
    }
}

fn too_many() -> TransportError {
    TransportError::protocol_violation("block of too many symbols")
}

/// Symbols for which room is made at least when the length of a block is unknown: what a peer makes
/// this end keep stays in proportion to what it sent.
const FEW_SYMBOLS: usize = 8;
/// Decodings that may fail before the peer is taken for hostile: each failure of random
/// symbols has a probability of about 1/256 after the one before.
const MAX_FAILURES: u32 = 8;

#[cfg(test)]
mod tests;
