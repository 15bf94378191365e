//! The same share of repair symbols with every block.

use super::RedundancyPolicy;
use crate::view::{BlockView, PathView};

/// So many repair symbols for each block as a share of its source symbols, rounded up.
#[derive(Debug, Clone, Copy)]
pub struct Fixed {
    milli_percent: u32,
}

impl Fixed {
    /// A share in thousandths of a percent.
    #[must_use]
    pub fn new(milli_percent: u32) -> Self {
        Self { milli_percent }
    }
}

impl RedundancyPolicy for Fixed {
    fn repair_due(&mut self, block: &BlockView, _paths: &[PathView]) -> u32 {
        let share = u64::from(block.source_symbols) * u64::from(self.milli_percent);
        let wanted = u32::try_from(share.div_ceil(100_000)).unwrap_or(u32::MAX);
        wanted.saturating_sub(block.repairs_sent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_64_symbols_gets_16_repair_symbols_at_25_percent_once() {
        let mut policy = Fixed::new(25_000);
        let mut block = BlockView {
            source_symbols: 64,
            closed: true,
            ..BlockView::default()
        };
        block.in_flight[0] = 64;
        assert_eq!(policy.repair_due(&block, &[]), 16);
        block.in_flight[1] = 10;
        assert_eq!(policy.repair_due(&block, &[]), 6);
        // Two source symbols are lost: two of the repair symbols make up for them.
        block.in_flight[0] -= 2;
        block.lost_once = 2;
        assert_eq!(policy.repair_due(&block, &[]), 6);
        block.in_flight[1] += 6;
        assert_eq!(policy.repair_due(&block, &[]), 0);
    }

    #[test]
    fn a_single_symbol_gets_one_repair_symbol_at_any_share() {
        let block = BlockView {
            source_symbols: 1,
            closed: true,
            held: 0,
            in_flight: [1, 0, 0, 0, 0, 0, 0, 0],
            ..BlockView::default()
        };
        assert_eq!(Fixed::new(1).repair_due(&block, &[]), 1);
    }
}
