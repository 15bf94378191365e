//! What a block can be given now.

use crate::scheduler::SymbolKind;
use crate::view::{BlockView, View};

/// Symbols that a block may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) symbol: SymbolKind,
    /// At most so many of them.
    pub(crate) most: u32,
}

/// The next symbols of a block, or `None` if it can be given none: without code a lost symbol
/// again before new ones; with a code source symbols first, then repair, which needs a final
/// K. A closed window holds back source symbols, not repairs of what was sent.
pub(crate) fn offer(block: &BlockView, view: &View<'_>) -> Option<Offer> {
    let source = Offer {
        symbol: SymbolKind::Source,
        most: block.unsent,
    };
    let repair = |most| {
        Some(Offer {
            symbol: SymbolKind::Repair,
            most,
        })
    };
    let may_send_source = block.unsent > 0 && !view.window_closed;
    if !view.has_repair {
        let deficit = block.deficit();
        return if deficit > 0 {
            repair(deficit)
        } else {
            may_send_source.then_some(source)
        };
    }
    if may_send_source {
        return Some(source);
    }
    if !block.closed {
        return None;
    }
    if block.unsent == 0 {
        return repair(u32::MAX);
    }
    let deficit = block.deficit();
    if deficit > 0 { repair(deficit) } else { None }
}

/// The last block with source symbols that may leave.
pub(crate) fn youngest_unsent(view: &View<'_>) -> Option<usize> {
    if view.window_closed {
        return None;
    }
    view.blocks.iter().rposition(|block| {
        block.unsent > 0
            && offer(block, view).is_some_and(|offer| offer.symbol == SymbolKind::Source)
    })
}
