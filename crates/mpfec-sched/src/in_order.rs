//! Symbols in delivery order, as a transport without a plan sends them.

use crate::scheduler::SymbolKind;
use crate::view::{BlockView, View};

/// Finds the first block that can be given something, and remembers which have no need of it.
#[derive(Debug, Default)]
pub(crate) struct InOrder {
    version: u64,
    /// Every block before this one needs nothing until the version changes.
    cursor: usize,
}

impl InOrder {
    /// The first block with lost or unsent symbols: which kind it gets, and how many.
    pub(crate) fn next(&mut self, view: &View<'_>) -> Option<(usize, SymbolKind, u32)> {
        if self.version != view.version {
            self.version = view.version;
            self.cursor = 0;
        }
        for (block, state) in view.blocks.iter().enumerate().skip(self.cursor) {
            if let Some((symbol, wanted)) = sendable_now(state, view) {
                return Some((block, symbol, wanted));
            }
            let is_settled = state.unsent == 0 && state.deficit() == 0;
            if is_settled && self.cursor == block {
                self.cursor += 1;
            }
        }
        None
    }
}

/// What a block needs on feedback alone, and how many of it.
fn sendable_now(block: &BlockView, view: &View<'_>) -> Option<(SymbolKind, u32)> {
    let deficit = block.deficit();
    if deficit > 0 && block.is_repairable(view.has_repair) {
        return Some((SymbolKind::Repair, deficit));
    }
    (block.unsent > 0 && !view.window_closed).then_some((SymbolKind::Source, block.unsent))
}
