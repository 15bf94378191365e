//! Lowest RTT first, the default of multipath TCP: the reference to beat.

use crate::scheduler::{Assignment, Scheduler, SymbolKind};
use crate::view::{BlockView, View};

/// Gives every symbol to the usable path with the smallest smoothed RTT that can send now.
/// Lost symbols go first, by feedback only; nothing is protected ahead of loss.
#[derive(Debug, Default)]
pub struct LowestRtt {
    version: u64,
    /// Every block before this one needs nothing until the version changes.
    cursor: usize,
}

impl LowestRtt {
    /// A scheduler without history.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Scheduler for LowestRtt {
    fn select(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment> {
        if budget == 0 || !view.is_usable(path) || better_is_free(path, view) {
            return None;
        }
        if self.version != view.version {
            self.version = view.version;
            self.cursor = 0;
        }
        for (block, state) in view.blocks.iter().enumerate().skip(self.cursor) {
            if let Some((symbol, wanted)) = sendable_now(state, view) {
                return Some(Assignment {
                    block,
                    symbol,
                    count: wanted.min(budget),
                });
            }
            let is_settled = state.unsent == 0 && state.deficit() == 0;
            if is_settled && self.cursor == block {
                self.cursor += 1;
            }
        }
        None
    }

    fn on_sent(&mut self, _path: usize, _assignment: &Assignment, _view: &View<'_>) {}
}

/// What a block needs on feedback alone, and how many of it.
fn sendable_now(block: &BlockView, view: &View<'_>) -> Option<(SymbolKind, u32)> {
    let deficit = block.deficit();
    if deficit > 0 && block.is_repairable(view.has_repair) {
        return Some((SymbolKind::Repair, deficit));
    }
    (block.unsent > 0 && !view.window_closed).then_some((SymbolKind::Source, block.unsent))
}

/// Whether a usable path of smaller RTT could send now.
fn better_is_free(path: usize, view: &View<'_>) -> bool {
    let mine = (view.paths[path].srtt, path);
    view.usable().any(|(j, other)| {
        (other.srtt, j) < mine && other.has_window() && other.next_send <= view.now
    })
}
