//! As many repair symbols as make a block likely enough to decode.

use super::RedundancyPolicy;
use crate::memo::{LossClasses, Memo, Target};
use crate::view::{BlockView, PathView};

/// FMTCP's completeness (Eq. 4): a block is given repair symbols until it fails to decode from
/// what is on its way with probability delta-hat at most.
#[derive(Debug)]
pub struct DeltaHat {
    memo: Memo,
    losses: LossClasses,
    target: Target,
}

impl DeltaHat {
    /// A probability in thousandths of a percent, taken to the next eighth of an octave, but
    /// for the paper's 5 %, which is exact.
    #[must_use]
    pub fn new(milli_percent: u32) -> Self {
        Self {
            memo: Memo::new(),
            losses: LossClasses::default(),
            target: Target::from_milli_percent(milli_percent),
        }
    }
}

impl RedundancyPolicy for DeltaHat {
    fn repair_due(&mut self, block: &BlockView, paths: &[PathView]) -> u32 {
        self.losses.refresh(paths, PathView::single_losses);
        // Which path the repair will take is not known yet: most likely the fastest.
        let fastest = paths
            .iter()
            .filter(|path| !path.suspected)
            .min_by_key(|path| (path.srtt, path.id));
        let lacking = block.source_symbols.saturating_sub(block.held);
        let slot = fastest.map_or(0, |path| path.slot);
        self.memo
            .further(lacking, &block.in_flight, &self.losses, slot, self.target)
    }
}
