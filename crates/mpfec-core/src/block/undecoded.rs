//! Which losses the code has not made up for: what congestion control of coded paths asks for
//! (Couple+ §IV-A).

use std::collections::BTreeMap;

use mpfec_sched::{BlockView, MAX_PATHS};

use super::queue::Slot;

/// Symbols lost, by path, of the blocks for which the peer lacks degrees of freedom.
#[derive(Debug, Default)]
pub(super) struct Undecoded {
    blocks: BTreeMap<Slot, [u32; MAX_PATHS]>,
    /// Sums over the blocks.
    paths: [u32; MAX_PATHS],
}

impl Undecoded {
    /// Symbols lost on the path of `slot` that nothing has made up for.
    pub(super) fn on_path(&self, slot: usize) -> u32 {
        self.paths[slot]
    }

    /// A symbol of a block was lost on the path of `slot`.
    pub(super) fn on_lost(&mut self, block: Slot, slot: usize, view: &BlockView) {
        if !is_decodable(view) {
            self.blocks.entry(block).or_default()[slot] += 1;
            self.paths[slot] += 1;
        }
    }

    /// A symbol of a block arrived.
    pub(super) fn on_acked(&mut self, block: Slot, view: &BlockView) {
        if is_decodable(view) {
            self.forget(block);
        }
    }

    /// The peer has a block, or needs it no more.
    pub(super) fn forget(&mut self, block: Slot) {
        if let Some(lost) = self.blocks.remove(&block) {
            for (sum, lost) in self.paths.iter_mut().zip(lost) {
                *sum -= lost;
            }
        }
    }
}

/// Whether as many distinct symbols arrived as the block has source symbols.
fn is_decodable(view: &BlockView) -> bool {
    view.closed && view.held >= view.source_symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(closed: bool, held: u32) -> BlockView {
        BlockView {
            source_symbols: 4,
            closed,
            held,
            ..BlockView::default()
        }
    }

    #[test]
    fn losses_count_until_as_many_symbols_arrived_as_the_block_has() {
        let mut undecoded = Undecoded::default();
        let (one, other) = (Slot(1), Slot(2));
        undecoded.on_lost(one, 0, &view(false, 1));
        undecoded.on_lost(one, 3, &view(true, 1));
        undecoded.on_lost(other, 0, &view(true, 2));
        assert_eq!((undecoded.on_path(0), undecoded.on_path(3)), (2, 1));
        undecoded.on_acked(one, &view(true, 3));
        assert_eq!(undecoded.on_path(0), 2);
        undecoded.on_acked(one, &view(true, 4));
        assert_eq!((undecoded.on_path(0), undecoded.on_path(3)), (1, 0));
        undecoded.on_lost(one, 0, &view(true, 4));
        undecoded.forget(other);
        assert_eq!(undecoded.on_path(0), 0);
    }
}
