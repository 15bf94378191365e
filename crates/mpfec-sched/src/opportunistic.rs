//! What multipath TCP does against slow subflows that hold up a small receive window.
//!
//! Raiciu et al., "How Hard Can It Be? Designing and Implementing a Deployable Multipath TCP",
//! NSDI 2012, section 4.2: opportunistic retransmission (mechanism 1) and penalising slow
//! subflows (mechanism 2), on top of lowest RTT first.

use std::time::Instant;

use crate::lowest_rtt::better_is_free;
use crate::rtx_same::{RtxSame, count_on};
use crate::scheduler::{Assignment, Scheduler, SymbolKind};
use crate::view::{BlockView, MAX_PATHS, PathId, View};

/// [`RtxSame`] that helps itself: when the receive window stops the sender on a path, the path
/// carries the oldest data once more that a slower one has not delivered yet; and the slower
/// one's window is halved, at most once in each of its round trips.
#[derive(Debug, Default)]
pub struct Opportunistic {
    subflows: RtxSame,
    /// The version in which something was sent again: once per feedback.
    resent_in: Option<u64>,
    /// When a path was last penalised, by slot.
    penalised: [Option<(PathId, Instant)>; MAX_PATHS],
    /// Index of a path that is to be penalised.
    penalty: Option<usize>,
    /// The path whose data was given to another by the last answer.
    slow: Option<usize>,
}

impl Opportunistic {
    /// A scheduler without history.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The oldest data that a slower path than `paths[path]` has not delivered, and that path.
    fn held_up(&self, path: usize, view: &View<'_>) -> Option<(usize, usize)> {
        if !view.window_closed || self.resent_in == Some(view.version) {
            return None;
        }
        let (index, oldest) = view
            .blocks
            .iter()
            .enumerate()
            .find(|(_, block)| block.head && (block.closed || !view.has_repair))?;
        let mine = view.paths[path].srtt;
        view.paths
            .iter()
            .enumerate()
            .filter(|(_, other)| other.srtt > mine)
            .filter(|(_, other)| is_held_by(oldest, other.slot))
            .max_by_key(|&(j, other)| (other.srtt, j))
            .map(|(slow, _)| (index, slow))
    }
}

impl Scheduler for Opportunistic {
    fn select(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment> {
        self.slow = None;
        if budget == 0 || !view.is_usable(path) {
            return None;
        }
        if let Some((block, symbol, wanted)) = self.subflows.next(path, view) {
            return Some(Assignment {
                block,
                symbol,
                count: wanted.min(budget),
            });
        }
        if better_is_free(path, view) {
            return None;
        }
        let (block, slow) = self.held_up(path, view)?;
        self.slow = Some(slow);
        let of = view.paths[slow].slot;
        let symbol = if count_on(&view.blocks[block].lost_on, of) > 0 {
            SymbolKind::Retransmission { of }
        } else {
            SymbolKind::Reinjection { of }
        };
        Some(Assignment {
            block,
            symbol,
            count: 1,
        })
    }

    fn on_sent(&mut self, _path: usize, assignment: &Assignment, view: &View<'_>) {
        let Some(slow) = self.slow.take() else { return };
        if !assignment.symbol.is_again() {
            return;
        }
        self.resent_in = Some(view.version);
        let Some(path) = view.paths.get(slow) else {
            return;
        };
        let Some(last) = self.penalised.get_mut(path.slot) else {
            return;
        };
        let is_due = last.is_none_or(|(id, at)| {
            id != path.id || view.now.saturating_duration_since(at) >= path.srtt
        });
        if is_due {
            *last = Some((path.id, view.now));
            self.penalty = Some(slow);
        }
    }

    fn poll_penalty(&mut self) -> Option<usize> {
        self.penalty.take()
    }

    /// With a closed window there is nothing unsent, and that is when there is something to
    /// send again.
    fn sends_ahead(&self) -> bool {
        true
    }
}

/// Whether the block cannot be delivered without what is on its way, or lost, on the path of
/// `slot`.
fn is_held_by(block: &BlockView, slot: usize) -> bool {
    let flying = count_on(&block.in_flight, slot);
    let others = block.held + block.total_in_flight() - flying;
    flying + count_on(&block.lost_on, slot) > 0 && others < block.source_symbols
}
