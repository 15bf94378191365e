//! Repair ahead of loss as a policy says, on paths that the scheduler chooses.

use super::RedundancyPolicy;
use super::on_loss::without_protection;
use crate::scheduler::{Assignment, Scheduler, SymbolKind};
use crate::view::View;

/// A scheduler whose blocks get the repair symbols of a policy as soon as their source symbols
/// have left: in slots that the scheduler gives to later blocks, or else on the path of
/// smallest RTT among those it uses.
#[derive(Debug)]
pub struct Planned<P> {
    inner: Box<dyn Scheduler>,
    policy: P,
    version: Option<u64>,
    /// No block before this one is due until the version changes.
    cursor: usize,
}

impl<P: RedundancyPolicy> Planned<P> {
    /// Puts `policy` in the place of what `inner` would send ahead of loss.
    #[must_use]
    pub fn new(inner: Box<dyn Scheduler>, policy: P) -> Self {
        Self {
            inner,
            policy,
            version: None,
            cursor: 0,
        }
    }

    /// The first block that is due repair, and how many symbols.
    fn first_due(&mut self, view: &View<'_>) -> Option<(usize, u32)> {
        if self.version != Some(view.version) {
            self.version = Some(view.version);
            self.cursor = 0;
        }
        for (index, block) in view.blocks.iter().enumerate().skip(self.cursor) {
            if block.unsent == 0 && block.is_repairable(view.has_repair) {
                let due = self.policy.repair_due(block, view.paths);
                if due > 0 {
                    return Some((index, due));
                }
                if self.cursor == index {
                    self.cursor += 1;
                }
            }
        }
        None
    }

    /// Whether no path that the scheduler uses has a smaller RTT and could send now.
    fn is_best_free(&self, path: usize, view: &View<'_>) -> bool {
        let mine = (view.paths[path].srtt, path);
        !view.paths.iter().enumerate().any(|(j, other)| {
            (other.srtt, j) < mine
                && other.has_window()
                && other.next_send <= view.now
                && self.inner.may_carry(j, view)
        })
    }
}

impl<P: RedundancyPolicy> Scheduler for Planned<P> {
    fn select(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment> {
        if budget == 0 || !self.inner.may_carry(path, view) {
            return None;
        }
        let chosen = self.inner.select(path, budget, &without_protection(view));
        let Some((block, due)) = self.first_due(view) else {
            return chosen;
        };
        let has_turn = match &chosen {
            Some(chosen) => block < chosen.block,
            None => self.is_best_free(path, view),
        };
        if !has_turn {
            return chosen;
        }
        Some(Assignment {
            block,
            symbol: SymbolKind::Repair,
            count: due.min(budget),
        })
    }

    fn on_sent(&mut self, path: usize, assignment: &Assignment, view: &View<'_>) {
        self.inner
            .on_sent(path, assignment, &without_protection(view));
    }

    fn poll_penalty(&mut self) -> Option<usize> {
        self.inner.poll_penalty()
    }

    fn may_carry(&self, path: usize, view: &View<'_>) -> bool {
        self.inner.may_carry(path, view)
    }

    fn leaves_out(&self, slot: usize) -> bool {
        self.inner.leaves_out(slot)
    }

    fn sends_ahead(&self) -> bool {
        true
    }
}
