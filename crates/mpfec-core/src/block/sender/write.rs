//! Symbols of a block as frames.

use std::time::Instant;

use bytes::Bytes;
use mpfec_codec::batch::BatchEncoder;
use mpfec_codec::{BlockEncoder, CodecKind, EncodingSymbolId};
use mpfec_sched::{BlockView, SymbolKind};

use super::{BlockSender, ESI_BITS, Fate, Origin, Source, forget_lost, leave};
use crate::component::FrameWriter;
use crate::recovery::Token;
use crate::wire::frame::{SymbolCode, SymbolHeader};

impl BlockSender {
    /// Appends the next symbol of a kind. `None` if there is none or it does not fit.
    /// `is_coded`: of a batch, the path carries combinations in place of source symbols.
    pub(crate) fn write(
        &mut self,
        now: Instant,
        kind: SymbolKind,
        slot: usize,
        is_coded: bool,
        writer: &mut FrameWriter<'_>,
        view: &mut BlockView,
    ) -> Option<()> {
        match kind {
            SymbolKind::Source if is_coded && self.has_combinations(view) => {
                self.write_combination(writer, view)?;
                self.fates[self.next_source as usize] = Fate::Combined;
                self.combined += 1;
                self.next_source += 1;
                view.unsent -= 1;
            }
            SymbolKind::Source => self.write_source(slot, writer, view)?,
            SymbolKind::Repair => self.write_repair(slot, writer, view)?,
            SymbolKind::Retransmission { of } if !self.origin.codec.has_repair() => {
                self.write_lost(Some(of), slot, writer, view)?;
            }
            SymbolKind::Retransmission { .. } => self.write_repair(slot, writer, view)?,
            SymbolKind::Reinjection { of } => self.write_again(of, slot, writer, view)?,
        }
        if kind == SymbolKind::Source {
            view.sources_on[slot] = view.sources_on[slot].saturating_add(1);
        }
        view.in_flight[slot] = view.in_flight[slot].saturating_add(1);
        view.first_sent.get_or_insert(now);
        Some(())
    }

    /// Appends a symbol that is of use whatever else arrives: for when a path is to answer.
    pub(crate) fn write_probe(
        &mut self,
        now: Instant,
        slot: usize,
        is_coded: bool,
        writer: &mut FrameWriter<'_>,
        view: &mut BlockView,
    ) -> Option<()> {
        if view.unsent > 0 {
            return self.write(now, SymbolKind::Source, slot, is_coded, writer, view);
        }
        if self
            .write(now, SymbolKind::Repair, slot, is_coded, writer, view)
            .is_some()
        {
            return Some(());
        }
        // No code, or the block is still open: one more copy of what is on its way.
        let esi = self
            .fates
            .iter()
            .position(|fate| matches!(fate, Fate::InFlight(_)))?;
        self.write_copy(esi as u32, writer)?;
        if let Fate::InFlight(before) = self.fates[esi] {
            leave(view, usize::from(before));
        }
        self.fates[esi] = Fate::InFlight(slot as u8);
        view.in_flight[slot] = view.in_flight[slot].saturating_add(1);
        Some(())
    }

    fn write_source(
        &mut self,
        slot: usize,
        writer: &mut FrameWriter<'_>,
        view: &mut BlockView,
    ) -> Option<()> {
        if view.unsent == 0 {
            return None;
        }
        let esi = self.next_source;
        let is_short = (esi as usize + 1) * self.origin.symbol_size.bytes() > self.len();
        if is_short && !view.closed {
            // Its turn has come before more data did: waiting would only delay what is there.
            let header = self.header(esi, self.symbol(esi).len());
            let block_length = Some(self.len() as u32);
            if !(SymbolHeader {
                block_length,
                ..header
            })
            .fits(writer.room())
            {
                return None;
            }
            self.close(view);
        }
        self.write_copy(esi, writer)?;
        self.fates[esi as usize] = Fate::InFlight(slot as u8);
        self.next_source += 1;
        view.unsent -= 1;
        Some(())
    }

    fn write_repair(
        &mut self,
        slot: usize,
        writer: &mut FrameWriter<'_>,
        view: &mut BlockView,
    ) -> Option<()> {
        if self.is_repeated(view) {
            // The only symbol is as good as any repair symbol, and shorter.
            if self.next_source == 0 || writer.carries(&self.token(0)) {
                // A copy in the same packet would be lost with it.
                return None;
            }
            return self.write_copy(0, writer);
        }
        if !self.origin.codec.has_repair() {
            return self.write_lost(None, slot, writer, view);
        }
        if !view.closed {
            return None;
        }
        self.write_combination(writer, view)?;
        self.repairs += 1;
        Some(())
    }

    /// Whether combinations leave in place of source symbols. A single symbol needs none.
    fn has_combinations(&self, view: &BlockView) -> bool {
        self.origin.codec.is_batch() && view.unsent > 0 && !self.is_repeated(view)
    }

    /// A symbol of the code of a closed block that was never sent before.
    fn write_combination(&mut self, writer: &mut FrameWriter<'_>, view: &BlockView) -> Option<()> {
        let esi = EncodingSymbolId::new(view.source_symbols + self.repairs + self.combined)?;
        let size = self.origin.symbol_size.bytes();
        let codec = self.origin.codec.for_block(view.source_symbols);
        let coefficients = if codec.is_batch() {
            view.source_symbols as usize
        } else {
            0
        };
        let header = SymbolHeader {
            code: match codec {
                CodecKind::Linear => SymbolCode::Linear,
                codec if codec.is_batch() => SymbolCode::Batch,
                _ => SymbolCode::RaptorQ,
            },
            ..self.header(esi.value(), coefficients + size)
        };
        if !header.fits(writer.room()) {
            return None;
        }
        if self.encoder.is_none() {
            self.encoder = self.build_encoder(codec, view.deficit());
        }
        let encoder = self.encoder.as_mut()?;
        let start = writer.buf().len();
        header.write(writer)?;
        let out = writer.buf();
        if let Err(error) = encoder.encode(esi, out) {
            out.truncate(start);
            tracing::debug!(%error, "no repair symbol");
            return None;
        }
        writer.wrote(Some(self.token(esi.value())));
        self.coefficients += coefficients as u64;
        Some(())
    }

    /// Without a code: a lost source symbol again, of those that the path of slot `of` lost if
    /// that is given.
    fn write_lost(
        &mut self,
        of: Option<usize>,
        slot: usize,
        writer: &mut FrameWriter<'_>,
        view: &mut BlockView,
    ) -> Option<()> {
        let is_lost = |esi: &u32| matches!(self.fates[*esi as usize], Fate::Lost(_));
        while self.lost.front().is_some_and(|esi| !is_lost(esi)) {
            self.lost.pop_front();
        }
        let position = self
            .lost
            .iter()
            .position(|esi| match self.fates[*esi as usize] {
                Fate::Lost(on) => of.is_none_or(|of| of == usize::from(on)),
                _ => false,
            })?;
        let esi = *self.lost.get(position)?;
        self.write_copy(esi, writer)?;
        if let Fate::Lost(on) = self.fates[esi as usize] {
            forget_lost(view, on);
        }
        self.fates[esi as usize] = Fate::InFlight(slot as u8);
        self.lost.remove(position);
        Some(())
    }

    /// The oldest symbol on its way on the path of slot `of` once more, or what replaces it.
    fn write_again(
        &mut self,
        of: usize,
        slot: usize,
        writer: &mut FrameWriter<'_>,
        view: &mut BlockView,
    ) -> Option<()> {
        if self.origin.codec.has_repair() || self.is_repeated(view) {
            return self.write_repair(slot, writer, view);
        }
        let on_slot = |fate: &Fate| matches!(fate, Fate::InFlight(on) if usize::from(*on) == of);
        let esi = self.fates.iter().position(on_slot)?;
        self.write_copy(esi as u32, writer)?;
        leave(view, of);
        self.fates[esi] = Fate::InFlight(slot as u8);
        Some(())
    }

    fn write_copy(&self, esi: u32, writer: &mut FrameWriter<'_>) -> Option<()> {
        let payload = self.symbol(esi);
        self.header(esi, payload.len()).write(writer)?;
        match &self.pipeline {
            Some(code) => {
                let size = self.origin.symbol_size;
                code.code(self.source.as_slice(), size, esi as usize, writer.buf());
            }
            None => writer.buf().extend_from_slice(payload),
        }
        writer.wrote(Some(self.token(esi)));
        Some(())
    }

    fn symbol(&self, esi: u32) -> &[u8] {
        let size = self.origin.symbol_size.bytes();
        let bytes = self.source.as_slice();
        let start = esi as usize * size;
        &bytes[start..bytes.len().min(start + size)]
    }

    fn header(&self, esi: u32, payload_len: usize) -> SymbolHeader {
        let Origin {
            stream,
            sbn,
            offset,
            symbol_size,
            ..
        } = self.origin;
        SymbolHeader {
            stream,
            sbn,
            offset,
            symbol_size: symbol_size.value(),
            esi,
            block_length: match &self.source {
                Source::Open(_) => None,
                Source::Closed(bytes) => Some(bytes.len() as u32),
            },
            fin: self.fin.is_some(),
            code: SymbolCode::RaptorQ,
            payload_len,
            with_length: true,
        }
    }

    fn token(&self, esi: u32) -> Token {
        Token::Symbol {
            stream: self.origin.stream,
            sbn: self.origin.sbn,
            esi: esi | u32::from(self.cuts) << ESI_BITS,
        }
    }

    fn build_encoder(&self, codec: CodecKind, repair: u32) -> Option<Box<dyn BlockEncoder>> {
        let Source::Closed(bytes) = &self.source else {
            return None;
        };
        let size = self.origin.symbol_size.bytes();
        let mut encoder = if codec.is_batch() {
            let seed = self.origin.stream.value().rotate_left(32) ^ self.origin.sbn;
            Box::new(BatchEncoder::new(self.origin.symbol_size, seed))
        } else {
            codec.encoder(self.origin.symbol_size)
        };
        let bytes = match &self.pipeline {
            Some(code) => {
                let mut coded = Vec::with_capacity(bytes.len());
                for packet in 0..bytes.len().div_ceil(size) {
                    code.code(bytes, self.origin.symbol_size, packet, &mut coded);
                }
                Bytes::from(coded)
            }
            None => bytes.clone(),
        };
        for start in (0..bytes.len()).step_by(size) {
            let symbol = bytes.slice(start..bytes.len().min(start + size));
            if let Err(error) = encoder.push_source(symbol) {
                tracing::debug!(%error, "block refused by its encoder");
                return None;
            }
        }
        encoder.close();
        encoder.expect_repair(repair);
        Some(encoder)
    }
}

impl SymbolHeader {
    /// Appends the header if it and the payload fit. Without its length, and so as the end of the
    /// packet, where hardly anything would fit behind it.
    fn write(mut self, writer: &mut FrameWriter<'_>) -> Option<()> {
        let room = writer.room();
        if self.size() + self.payload_len + MIN_SYMBOL_ROOM > room {
            self.with_length = false;
            let size = self.size() + self.payload_len;
            if size > room {
                return None;
            }
            writer.end_after(size);
        }
        self.encode(writer.buf());
        Some(())
    }

    /// Whether [`write`](Self::write) would find room.
    fn fits(mut self, room: usize) -> bool {
        self.with_length = false;
        self.size() + self.payload_len <= room
    }
}

/// Symbols are not worth a place of fewer bytes behind other frames.
pub(crate) const MIN_SYMBOL_ROOM: usize = 64;
