//! One block on its way to the peer: its bytes, and what became of each symbol.

mod write;

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;
use mpfec_codec::pipeline::PipelineCode;
use mpfec_codec::{BlockEncoder, CodecKind, SymbolSize};
use mpfec_sched::BlockView;

use crate::id::StreamId;

pub(crate) use self::write::MIN_SYMBOL_ROOM;

/// Where a block belongs and how it is cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) stream: StreamId,
    /// Number of the block within the stream.
    pub(crate) sbn: u64,
    /// Where in the stream it starts, in bytes.
    pub(crate) offset: u64,
    /// T.
    pub(crate) symbol_size: SymbolSize,
    pub(crate) codec: CodecKind,
    /// Source symbols at most, of a code with small groups.
    pub(crate) group: Option<u32>,
}

/// Source bytes and symbols of one block. What schedulers need to know of it is in its
/// [`BlockView`], which every method is handed and keeps up to date.
pub(crate) struct BlockSender {
    origin: Origin,
    source: Source,
    /// What became of each source symbol.
    fates: Vec<Fate>,
    /// First source symbol that never left.
    next_source: u32,
    /// Repair symbols made so far, and combinations that left in place of source symbols.
    repairs: u32,
    combined: u32,
    /// Coefficients that left in symbols, in bytes.
    coefficients: u64,
    /// Distinct symbols that arrived, and how many of them are source symbols.
    held: u32,
    source_held: u32,
    /// Symbols that the peer needs beyond K because K of them did not decode.
    extra: u32,
    /// Without a code: source symbols to send again; some may have arrived late.
    lost: VecDeque<u32>,
    encoder: Option<Box<dyn BlockEncoder>>,
    /// How packets are coded before they leave, if they are.
    pipeline: Option<PipelineCode>,
    fin: Option<Fin>,
    /// How often it was cut anew after symbols had left; what becomes of those no longer matters.
    cuts: u8,
    /// Before it was last cut anew: source bytes that had left, and whether the peer could
    /// have had all of it.
    left_before: usize,
    was_decodable: bool,
}

/// Symbols that tell the peer that the stream ends here.
#[derive(Debug, Clone, Copy)]
struct Fin {
    /// Source symbols from here on tell it the first time they are sent.
    source_from: u32,
    /// Repair symbols from here on do.
    repair_from: u32,
}

/// Bytes of a block; they are shared with the encoder once no more are added.
enum Source {
    Open(Vec<u8>),
    Closed(Bytes),
}

/// What became of a source symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Unsent,
    /// A combination left in its place.
    Combined,
    /// Its latest copy is on the way on the path of this slot.
    InFlight(u8),
    /// Its latest copy was lost on the path of this slot.
    Lost(u8),
    Arrived,
}

/// What an acknowledgement told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The peer has the whole block.
    pub(crate) complete: bool,
    /// The peer knows from it that the stream ends with this block.
    pub(crate) fin: bool,
}

/// What of a block has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Source bytes, each counted once.
    pub(crate) source_bytes: u64,
    /// Repair symbols.
    pub(crate) repairs: u32,
    /// Bytes of coefficients.
    pub(crate) coefficients: u64,
}

impl Sent {
    /// What has left since `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            source_bytes: self.source_bytes - before.source_bytes,
            repairs: self.repairs - before.repairs,
            coefficients: self.coefficients - before.coefficients,
        }
    }
}

impl BlockSender {
    /// An empty block. `pipeline`: how its packets are coded before they leave, if they are.
    pub(crate) fn new(origin: Origin, pipeline: Option<PipelineCode>) -> Self {
        Self {
            origin,
            source: Source::Open(Vec::new()),
            fates: Vec::new(),
            next_source: 0,
            repairs: 0,
            combined: 0,
            coefficients: 0,
            held: 0,
            source_held: 0,
            extra: 0,
            lost: VecDeque::new(),
            encoder: None,
            pipeline,
            fin: None,
            cuts: 0,
            left_before: 0,
            was_decodable: false,
        }
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Bytes in it.
    pub(crate) fn len(&self) -> usize {
        self.source.as_slice().len()
    }

    /// Bytes of it that the peer is not known to have, at most: a short symbol counts in full.
    pub(crate) fn lacking(&self, view: &BlockView) -> u64 {
        let symbols = view.source_symbols.saturating_sub(view.held);
        let bytes = u64::from(symbols) * self.origin.symbol_size.bytes() as u64;
        bytes.min(self.len() as u64)
    }

    /// What has left so far.
    pub(crate) fn sent(&self) -> Sent {
        Sent {
            source_bytes: self.left().max(self.left_before) as u64,
            repairs: self.repairs,
            coefficients: self.coefficients,
        }
    }

    /// Source bytes that have left as the block is cut now.
    fn left(&self) -> usize {
        let size = self.origin.symbol_size.bytes();
        self.len().min(self.next_source as usize * size)
    }

    /// Whether no symbol of it has left.
    pub(crate) fn is_untouched(&self) -> bool {
        self.next_source == 0
    }

    /// Whether the peer may need further symbols, whatever is on the way.
    pub(crate) fn is_wanting(&self, view: &BlockView) -> bool {
        self.held < view.source_symbols + self.extra || !view.closed
    }

    /// Takes bytes up to `max_symbols` full symbols. Returns how many. A short symbol at the
    /// end can leave as well; that closes the block.
    pub(crate) fn append(&mut self, data: &[u8], max_symbols: u32, view: &mut BlockView) -> usize {
        let size = self.origin.symbol_size.bytes();
        let Source::Open(bytes) = &mut self.source else {
            return 0;
        };
        let capacity = size * max_symbols as usize;
        let taken = data.len().min(capacity.saturating_sub(bytes.len()));
        if bytes.capacity() - bytes.len() < taken {
            // Doubling, but never beyond what the block can hold.
            let more = taken.max(bytes.len()).min(capacity - bytes.len());
            bytes.reserve_exact(more);
        }
        bytes.extend_from_slice(&data[..taken]);
        let count = bytes.len().div_ceil(size) as u32;
        self.grow(count, view);
        taken
    }

    /// Whether it holds `max_symbols` full symbols.
    pub(crate) fn is_full(&self, max_symbols: u32) -> bool {
        self.len() >= self.origin.symbol_size.bytes() * max_symbols as usize
    }

    /// Ends the block at what it holds. Returns whether the peer has all of it already.
    pub(crate) fn close(&mut self, view: &mut BlockView) -> bool {
        if let Source::Open(bytes) = &mut self.source {
            self.source = Source::Closed(std::mem::take(bytes).into());
            view.closed = true;
            if self.origin.codec.is_batch() {
                // Every combination is one of the whole batch.
                view.unsent = view.source_symbols;
            }
        }
        self.is_complete(view)
    }

    /// Says that the stream ends with this block. Returns whether a symbol that was never
    /// sent will tell the peer.
    pub(crate) fn set_fin(&mut self, view: &mut BlockView) -> bool {
        self.fin = Some(Fin {
            source_from: self.next_source,
            repair_from: self.repairs + self.combined,
        });
        view.unsent > 0
    }

    /// Cuts the block into smaller symbols, at most `max_symbols`: those it has fit into no
    /// packet any more. If any of them left, everything has to be sent again.
    pub(crate) fn cut(&mut self, size: SymbolSize, max_symbols: u32, view: &mut BlockView) {
        let count = self.len().div_ceil(size.bytes());
        if size >= self.origin.symbol_size || count > max_symbols as usize || self.cuts == MAX_CUTS
        {
            return;
        }
        self.was_decodable = self.may_be_decoded(view);
        self.left_before = self.left_before.max(self.left());
        self.cuts += u8::from(!self.is_untouched());
        self.origin.symbol_size = size;
        self.fates.clear();
        self.lost.clear();
        self.encoder = None;
        self.fin = self.fin.map(|_| Fin {
            source_from: 0,
            repair_from: 0,
        });
        (self.next_source, self.repairs, self.combined) = (0, 0, 0);
        (self.held, self.source_held, self.extra) = (0, 0, 0);
        (view.source_symbols, view.unsent, view.held) = (0, 0, 0);
        (view.in_flight, view.lost_on) = Default::default();
        view.sources_on = Default::default();
        view.repairs_lost = 0;
        self.grow(count as u32, view);
    }

    fn grow(&mut self, count: u32, view: &mut BlockView) {
        let new = count.saturating_sub(view.source_symbols);
        self.fates.resize(count as usize, Fate::Unsent);
        view.source_symbols += new;
        if view.closed || !self.origin.codec.is_batch() {
            view.unsent += new;
        }
    }

    /// The symbol that a token names, unless the block was cut anew since it left.
    fn symbol_of(&self, token: u32) -> Option<u32> {
        (token >> ESI_BITS == u32::from(self.cuts)).then_some(token & ((1 << ESI_BITS) - 1))
    }

    /// A symbol arrived, named as in its token. `was_lost`: it had been declared lost before.
    pub(crate) fn on_acked(
        &mut self,
        token: u32,
        slot: usize,
        was_lost: bool,
        view: &mut BlockView,
    ) -> Arrival {
        let Some(esi) = self.symbol_of(token) else {
            return Arrival {
                complete: false,
                fin: false,
            };
        };
        let is_source = esi < view.source_symbols;
        let fin = self.fin.is_some_and(|fin| {
            if is_source {
                esi >= fin.source_from
            } else {
                esi - view.source_symbols >= fin.repair_from
            }
        });
        let is_new = if !is_source {
            if !was_lost {
                leave(view, slot);
            }
            true
        } else if self.is_repeated(view) {
            if !was_lost {
                leave(view, slot);
            }
            std::mem::replace(&mut self.fates[0], Fate::Arrived) != Fate::Arrived
        } else {
            let fate = &mut self.fates[esi as usize];
            match *fate {
                Fate::InFlight(slot) => leave(view, usize::from(slot)),
                Fate::Lost(slot) => forget_lost(view, slot),
                Fate::Unsent | Fate::Arrived | Fate::Combined => {}
            }
            std::mem::replace(fate, Fate::Arrived) != Fate::Arrived
        };
        if is_new {
            self.held += 1;
            self.source_held += u32::from(is_source);
            view.held = self.held.saturating_sub(self.extra);
        }
        Arrival {
            complete: self.is_complete(view),
            fin,
        }
    }

    /// A symbol was declared lost, named as in its token.
    pub(crate) fn on_lost(&mut self, token: u32, slot: usize, view: &mut BlockView) {
        let Some(esi) = self.symbol_of(token) else {
            return;
        };
        view.lost_once = view.lost_once.saturating_add(1);
        if esi >= view.source_symbols || self.is_repeated(view) {
            // The first copy of a single symbol is no repair.
            if esi >= view.source_symbols || view.lost_once > 1 {
                view.repairs_lost = view.repairs_lost.saturating_add(1);
            }
            leave(view, slot);
            return;
        }
        let fate = &mut self.fates[esi as usize];
        // A later copy may be on its way elsewhere.
        if *fate == Fate::InFlight(slot as u8) {
            *fate = Fate::Lost(slot as u8);
            leave(view, slot);
            if !self.origin.codec.has_repair() {
                self.lost.push_back(esi);
                view.lost_on[slot] = view.lost_on[slot].saturating_add(1);
            }
        }
    }

    /// The peer needs `extra` distinct symbols beyond K.
    pub(crate) fn set_extra(&mut self, extra: u32, view: &mut BlockView) {
        self.extra = self.extra.max(extra);
        view.held = self.held.saturating_sub(self.extra);
    }

    /// Whether so many symbols left that the peer could have decoded the block.
    pub(crate) fn may_be_decoded(&self, view: &BlockView) -> bool {
        self.was_decodable
            || (view.closed && self.next_source + self.repairs >= view.source_symbols)
    }

    /// Whether it is one symbol and stays so: every copy is on the way by itself.
    fn is_repeated(&self, view: &BlockView) -> bool {
        view.closed && view.source_symbols == 1
    }

    fn is_complete(&self, view: &BlockView) -> bool {
        view.closed && self.source_held == view.source_symbols
    }
}

impl fmt::Debug for BlockSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockSender")
            .field("origin", &self.origin)
            .field("len", &self.len())
            .field("held", &self.held)
            .field("repairs", &self.repairs)
            .finish_non_exhaustive()
    }
}

impl Source {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Open(bytes) => bytes,
            Self::Closed(bytes) => bytes,
        }
    }
}

/// A symbol that was lost on the path of `slot` needs nothing any more, or left again.
fn forget_lost(view: &mut BlockView, slot: u8) {
    let lost = &mut view.lost_on[usize::from(slot)];
    *lost = lost.saturating_sub(1);
}

fn leave(view: &mut BlockView, slot: usize) {
    view.in_flight[slot] = view.in_flight[slot].saturating_sub(1);
}

/// Tokens name a symbol by its ESI, which has 24 bits, and by how often the block had been
/// cut anew.
const ESI_BITS: u32 = 24;
/// Times that a block with symbols under way is cut anew at most; the peer counts as well.
pub(super) const MAX_CUTS: u8 = 8;

#[cfg(test)]
mod tests;
