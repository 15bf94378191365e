//! Blocks that lost symbols, and what was sent for these as well.

use std::time::{Duration, Instant};

use super::supply::LOSS_DELAY;
use crate::memo::Target;
use crate::view::{BlockView, MAX_PATHS, View};

/// Whether a repair of a block got lost. The next is the third attempt: were it lost as well, the
/// reader would wait for three round trips, and all that is behind the block with it.
pub(super) fn has_lost_repair(block: &BlockView) -> bool {
    block.repairs_lost > 0 && block.closed && block.unsent == 0
}

/// Whether a block holds back delivery and misses symbols after it was repaired already: once a
/// loss and the fate of its repair are known, what is missing was lost again. Any sooner, bulk
/// data over short paths, where a block takes a round trip or more to leave, would be protected
/// while its first repairs are on their way, at twice the price of its losses.
pub(super) fn stops_reader(block: &BlockView, is_paced: bool, view: &View<'_>) -> bool {
    let Some(first_sent) = block.first_sent.filter(|_| block.head) else {
        return false;
    };
    let repaired = block.closed && block.unsent == 0 && block.repairs_sent() > 0;
    let leaves = if is_paced {
        Duration::ZERO
    } else {
        view.leaving_time(block.source_symbols)
    };
    let answered = view.slowest_rtt().mul_f64(2.0 * LOSS_DELAY) + leaves;
    repaired && view.now.saturating_duration_since(first_sent) > answered
}

/// Whether nothing of a block is on its way any more.
pub(super) fn is_stuck(flights: &[u16; MAX_PATHS]) -> bool {
    flights.iter().all(|&count| count == 0)
}

/// The block that was last found to lack symbols when all that was sent for it had been answered,
/// by when its first symbol left, and how often.
#[derive(Debug, Default)]
pub(super) struct Stuck(Option<(Instant, u32)>);

impl Stuck {
    /// How far the block is protected that stops the reader: what was protected and got lost all
    /// the same has done so for long.
    pub(super) fn target(&self, block: &BlockView, flights: &[u16; MAX_PATHS]) -> Target {
        let times = block.first_sent.map_or(0, |first| self.times(first));
        Target::repeated((times + u32::from(is_stuck(flights))).saturating_sub(1))
    }

    /// A repair left for the block whose first symbol left at `first`, and that was stuck.
    pub(super) fn on_sent(&mut self, first: Instant) {
        self.0 = Some((first, self.times(first) + 1));
    }

    fn times(&self, first: Instant) -> u32 {
        self.0
            .filter(|&(known, _)| known == first)
            .map_or(0, |(_, times)| times)
    }
}
