//! How large symbols are, and blocks that are cut anew because theirs are too large.

use mpfec_codec::SymbolSize;

use super::Streams;

impl Streams {
    /// Bytes in a symbol from now on (T), from 1 to 9000: for new blocks, and for those of
    /// which nothing left yet.
    pub(crate) fn set_symbol_size(&mut self, bytes: u16) {
        let Some(size) = SymbolSize::new(u32::from(bytes)) else {
            return;
        };
        let is_smaller = size < self.sending.symbol_size;
        self.sending.symbol_size = size;
        self.largest_symbol = self.largest_symbol.max(size);
        if is_smaller {
            self.cut_blocks(SymbolSize::MAX);
        }
    }

    /// No path carries symbols of more than `bytes` any more: blocks of larger ones are cut
    /// anew and sent again.
    pub(crate) fn limit_symbol_size(&mut self, bytes: u16) {
        let Some(size) = SymbolSize::new(u32::from(bytes)) else {
            return;
        };
        if size < self.largest_symbol {
            self.sending.symbol_size = self.sending.symbol_size.min(size);
            self.cut_blocks(size);
            self.largest_symbol = size;
        }
    }

    /// Whether the symbols of the block that `blocks()[index]` describes are larger than `bytes`.
    pub(crate) fn has_larger_symbols(&self, index: usize, bytes: u16) -> bool {
        let queue = &self.sending.queue;
        let slot = queue.slot_at(index);
        slot.is_some_and(|slot| queue.get(slot).0.origin().symbol_size.bytes() > bytes.into())
    }

    /// Cuts the block that `blocks()[index]` describes anew if its symbols are larger than
    /// `bytes`. Returns whether it was cut.
    pub(crate) fn cut_to_fit(&mut self, index: usize, bytes: u16) -> bool {
        let is_larger = self.has_larger_symbols(index, bytes);
        let queue = &mut self.sending.queue;
        let (Some(slot), Some(size)) = (queue.slot_at(index), SymbolSize::new(u32::from(bytes)))
        else {
            return false;
        };
        if !is_larger {
            return false;
        }
        let max_symbols = self.sending.peer_max_symbols;
        queue.with(slot, |block, view| {
            block.cut(size, max_symbols, view);
            block.origin().symbol_size <= size
        })
    }

    fn cut_blocks(&mut self, largest: SymbolSize) {
        for stream in self.send.values() {
            stream.cut_blocks(largest, &mut self.sending);
        }
    }
}
