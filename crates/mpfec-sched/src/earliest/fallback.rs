//! One path that could carry everything alone, as if the others were not there.
//!
//! How likely a block is to be decoded is reckoned from how paths lost symbols so far, and one
//! block in a hundred meets what was not reckoned with: a burst longer than most, a path that
//! falls silent. Where one path could carry all that is written, that need not delay a block
//! beyond what this path alone would take: in slots that nobody wants, it sends of each block as
//! many symbols as would be missing if all that is on its way elsewhere, where anything ever gets
//! lost or late (see `punctual`), got lost. Whichever `K`
//! of them come first decode the block, so the others still make it earlier.

use super::EarliestArrival;
use super::supply::SOUND_LOAD;
use crate::memo::Target;
use crate::scheduler::{Assignment, SymbolKind};
use crate::view::{MAX_PATHS, PathView, View};
use crate::worth::arriving_rate;

impl EarliestArrival {
    /// What an idle slot of `paths[path]` does for the first block that would have to wait for the
    /// others; `None` unless this is the path to fall back to. Repairs may leave before all
    /// source symbols have: these are on their way to where they are expected sooner.
    pub(super) fn back_up(
        &mut self,
        path: usize,
        budget: u32,
        view: &View<'_>,
    ) -> Option<Assignment> {
        if !self.load.is_paced(view.now) || fallback(self.load.get(view.now), view) != Some(path) {
            return None;
        }
        let slot = view.paths[path].slot.min(MAX_PATHS - 1);
        let blocks = view.blocks.iter().enumerate();
        for (index, block) in blocks.filter(|(_, block)| block.closed) {
            // What this path carries itself, and what is sure to arrive.
            let mut counted = self.flights(block);
            for (other, flights) in counted.iter_mut().enumerate() {
                if other != slot && self.losses.loses(other) {
                    *flights = 0;
                }
            }
            let lacking = block.source_symbols.saturating_sub(block.held);
            let need = self
                .memo
                .further(lacking, &counted, &self.losses, slot, Target::REPEATED);
            if need > 0 {
                return Some(Assignment {
                    block: index,
                    symbol: SymbolKind::Repair,
                    count: need.min(budget),
                });
            }
        }
        None
    }
}

/// The index of the path that delivers a block soonest of those that could carry `load` symbols
/// per second alone, at a sound share of their rate. A path without others needs none.
fn fallback(load: f64, view: &View<'_>) -> Option<usize> {
    let symbols = f64::from(view.blocks.first()?.source_symbols);
    if load <= 0.0 || view.usable().nth(1).is_none() {
        return None;
    }
    let delivered = |(index, path): (usize, &PathView)| {
        let rate = arriving_rate(path, path.lasting_symbol_seconds());
        let carries_all = SOUND_LOAD * rate >= load;
        carries_all.then(|| (path.one_way.as_secs_f64() + symbols / rate, index))
    };
    let candidates = view.usable().filter_map(delivered);
    let soonest = candidates.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(soonest.1)
}
