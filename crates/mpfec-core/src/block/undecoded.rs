//! Which losses the code has not made up for: what congestion control of coded paths asks for
//! (Couple+ §IV-A).

use std::collections::BTreeMap;

use mpfec_sched::{BlockView, MAX_PATHS};

use super::queue::Slot;

/// Symbols lost, by path, of the blocks for which the peer lacks degrees of freedom.
#[derive(Debug, Default)]
pub(super) struct Undecoded {
    blocks: BTreeMap<Slot, [u32; MAX_PATHS]>,
}

impl Undecoded {
    /// A symbol of a block was lost on the path of `slot`.
    pub(super) fn on_lost(&mut self, block: Slot, slot: usize, view: &BlockView) {
        if !is_decodable(view) {
            self.blocks.entry(block).or_default()[slot] += 1;
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
        self.blocks.remove(&block);
    }

    /// Symbols lost on the path of `slot` of blocks that lack symbols even when all arrive that
    /// are under way on other paths: how long those take says nothing about this one.
    pub(super) fn on_path<'a>(&self, slot: usize, view: impl Fn(Slot) -> &'a BlockView) -> u32 {
        let lost_here = self.blocks.iter().filter(|(_, lost)| lost[slot] > 0);
        let open = lost_here.filter(|(block, _)| !is_made_up_for(view(**block), slot));
        open.map(|(_, lost)| lost[slot]).sum()
    }
}

/// Whether as many distinct symbols arrived as the block has source symbols.
fn is_decodable(view: &BlockView) -> bool {
    view.closed && view.held >= view.source_symbols
}

/// The same if what is under way on other paths than that of `slot` counts as arrived.
fn is_made_up_for(view: &BlockView, slot: usize) -> bool {
    let elsewhere = view.total_in_flight() - u32::from(view.in_flight[slot]);
    view.closed && view.held + elsewhere >= view.source_symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(closed: bool, held: u32, in_flight: &[u16]) -> BlockView {
        let mut view = BlockView {
            source_symbols: 4,
            closed,
            held,
            ..BlockView::default()
        };
        view.in_flight[..in_flight.len()].copy_from_slice(in_flight);
        view
    }

    #[test]
    fn losses_count_until_as_many_symbols_arrived_as_the_block_has() {
        let mut undecoded = Undecoded::default();
        let (one, other) = (Slot(1), Slot(2));
        let open = view(false, 1, &[]);
        undecoded.on_lost(one, 0, &open);
        undecoded.on_lost(one, 3, &open);
        undecoded.on_lost(other, 0, &open);
        let on = |undecoded: &Undecoded, slot| undecoded.on_path(slot, |_| &open);
        assert_eq!((on(&undecoded, 0), on(&undecoded, 3)), (2, 1));
        undecoded.on_acked(one, &view(true, 3, &[]));
        assert_eq!(on(&undecoded, 0), 2);
        undecoded.on_acked(one, &view(true, 4, &[]));
        assert_eq!((on(&undecoded, 0), on(&undecoded, 3)), (1, 0));
        undecoded.on_lost(one, 0, &view(true, 4, &[]));
        undecoded.forget(other);
        assert_eq!(on(&undecoded, 0), 0);
    }

    #[test]
    fn what_other_paths_will_bring_is_made_up_for_and_what_this_one_may_is_not() {
        let mut undecoded = Undecoded::default();
        let block = Slot(1);
        undecoded.on_lost(block, 0, &view(true, 2, &[1, 1]));
        for (in_flight, open) in [([1, 1], 1), ([0, 2], 0), ([2, 0], 1)] {
            let view = view(true, 2, &in_flight);
            assert_eq!(undecoded.on_path(0, |_| &view), open, "{in_flight:?}");
        }
    }
}
