//! Filling virtual packets with symbols: what follows for a path from what is allocated to the
//! others before it.

use std::time::Instant;

use crate::memo::{LossClasses, Memo, Target};
use crate::offer::{Offer, offer, youngest_unsent};
use crate::scheduler::Assignment;
use crate::view::{BlockView, MAX_PATHS, PathView, View};
use crate::worth::adds_throughput;

/// Hands virtual packets out to the first blocks that need symbols, in the order of the paths'
/// turns, which the scheduler says.
///
/// The allocation is made once per feedback for a path's whole free window and used up as the
/// path sends. Where the papers' blocks never run out, ours may while a writer waits for room:
/// then a path takes the youngest data rather than idle.
#[derive(Debug)]
pub(crate) struct Allocator {
    protection: Protection,
    plans: [Plan; MAX_PATHS],
    /// Blocks that needed symbols when the version changed; sending only makes them fewer.
    incomplete: Vec<usize>,
    /// The version of `incomplete`.
    seen: Option<u64>,
    /// Counts what was sent, to know which plans are older.
    sends: u64,
}

/// How far closed blocks are protected ahead of loss.
#[derive(Debug)]
struct Protection {
    target: Target,
    memo: Memo,
    losses: LossClasses,
}

/// What a path carries next, up to its free window.
#[derive(Debug, Clone, Default)]
struct Plan {
    made_for: Option<PlanKey>,
    /// `Allocator::sends` when it was made, and the time.
    sends: u64,
    at: Option<Instant>,
    /// Blocks by index and how many symbols of each.
    steps: Vec<(usize, u32)>,
    /// Steps used up.
    done: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PlanKey {
    version: u64,
    usable: u8,
    window_closed: bool,
    writer_blocked: bool,
}

/// Virtual packets of one path in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) path: usize,
    pub(crate) symbols: u32,
}

impl Allocator {
    /// Protects closed blocks ahead of loss up to `target`.
    pub(crate) fn new(target: Target) -> Self {
        Self {
            protection: Protection {
                target,
                memo: Memo::new(),
                losses: LossClasses::default(),
            },
            plans: Default::default(),
            incomplete: Vec::new(),
            seen: None,
            sends: 0,
        }
    }

    /// What `paths[path]` carries next, where `turns` gives the order of virtual packets up to
    /// the end of its free window.
    pub(crate) fn select(
        &mut self,
        path: usize,
        budget: u32,
        view: &View<'_>,
        turns: impl FnOnce() -> Vec<Turn>,
    ) -> Option<Assignment> {
        if budget == 0 || path >= MAX_PATHS || !view.is_usable(path) {
            return None;
        }
        let usable = view.usable().fold(0u8, |mask, (j, _)| {
            mask | 1u8.checked_shl(j as u32).unwrap_or(0)
        });
        let key = PlanKey {
            version: view.version,
            usable,
            window_closed: view.window_closed,
            writer_blocked: view.writer_blocked,
        };
        if self.plans[path].made_for == Some(key) {
            let step = self.next_step(path, budget, view);
            // Which path is the best may have changed though nothing is known of any block: if it
            // is this one now, no other takes what waits.
            let plan = &self.plans[path];
            if step.is_some() || (plan.sends == self.sends && plan.at == Some(view.now)) {
                return step;
            }
        }
        self.refresh(view);
        let plan = &mut self.plans[path];
        plan.made_for = Some(key);
        (plan.sends, plan.at) = (self.sends, Some(view.now));
        plan.steps.clear();
        plan.done = 0;
        self.plan(path, turns(), view);
        self.next_step(path, budget, view)
    }

    /// The symbols of `assignment` left on `paths[path]`.
    pub(crate) fn on_sent(&mut self, path: usize, assignment: &Assignment) {
        self.sends += 1;
        let Some(plan) = self.plans.get_mut(path) else {
            return;
        };
        if let Some((block, left)) = plan.steps.get_mut(plan.done)
            && *block == assignment.block
        {
            *left = left.saturating_sub(assignment.count);
        }
    }

    /// The next step of the path's plan that still makes sense.
    fn next_step(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment> {
        let slot = view.paths[path].slot;
        while let Some(&(block, planned)) = self.plans.get(path)?.steps.get(self.plans[path].done) {
            if let Some(state) = view.blocks.get(block)
                && let Some(Offer { symbol, most }) = offer(state, view)
            {
                let (flights, unsent) = (&state.in_flight, state.unsent);
                let need = self.protection.need(state, flights, unsent, slot, view);
                let count = planned.min(most).min(need).min(budget);
                if count > 0 {
                    return Some(Assignment {
                        block,
                        symbol,
                        count,
                    });
                }
            }
            self.plans[path].done += 1;
        }
        None
    }

    /// Catches up with feedback. Whether a block is complete does not depend on who asks.
    fn refresh(&mut self, view: &View<'_>) {
        self.protection
            .losses
            .refresh(view.paths, PathView::single_losses);
        if self.seen == Some(view.version) {
            return;
        }
        self.seen = Some(view.version);
        self.incomplete.clear();
        for (index, block) in view.blocks.iter().enumerate() {
            let flights = &block.in_flight;
            if block.unsent > 0 || self.protection.need(block, flights, 0, 0, view) > 0 {
                self.incomplete.push(index);
            }
        }
    }

    /// Fills the turns up to the end of the free window of `paths[path]`.
    fn plan(&mut self, path: usize, turns: Vec<Turn>, view: &View<'_>) {
        let steps = &mut self.plans[path].steps;
        let mut turns = turns.into_iter();
        let Some(mut turn) = turns.next() else {
            return;
        };
        'blocks: for &index in &self.incomplete {
            let Some(block) = view.blocks.get(index) else {
                break;
            };
            let Some(Offer { most, .. }) = offer(block, view) else {
                continue;
            };
            let mut flights = block.in_flight;
            // Repair follows a closed block's source symbols at once.
            let unlimited =
                view.has_repair && block.closed && !(block.unsent > 0 && view.window_closed);
            let mut unsent = block.unsent;
            let mut left = if unlimited { u32::MAX } else { most };
            while left > 0 {
                let slot = view.paths[turn.path].slot;
                let need = self.protection.need(block, &flights, unsent, slot, view);
                let need = need.min(left);
                if need == 0 {
                    break;
                }
                let taken = need.min(turn.symbols);
                left -= taken;
                unsent = unsent.saturating_sub(taken);
                turn.symbols -= taken;
                if let Some(flight) = flights.get_mut(slot) {
                    *flight = flight.saturating_add(taken.min(u32::from(u16::MAX)) as u16);
                }
                if turn.path == path {
                    match steps.last_mut() {
                        Some((block, planned)) if *block == index => *planned += taken,
                        _ => steps.push((index, taken)),
                    }
                }
                if turn.symbols == 0 {
                    match turns.next() {
                        Some(next) => turn = next,
                        None => break 'blocks,
                    }
                }
            }
        }
        if steps.is_empty() && view.writer_blocked && adds_throughput(path, window_of(view), view) {
            steps.extend(youngest_unsent(view).map(|block| (block, view.blocks[block].unsent)));
        }
    }
}

impl Protection {
    /// Symbols until the block is protected far enough; of an open block, or without a code,
    /// what was never sent or got lost.
    fn need(
        &mut self,
        block: &BlockView,
        flights: &[u16; MAX_PATHS],
        unsent: u32,
        slot: usize,
        view: &View<'_>,
    ) -> u32 {
        let lacking = block.source_symbols.saturating_sub(block.held);
        let target = if block.closed && view.has_repair && view.may_protect {
            self.target
        } else {
            Target::FEEDBACK
        };
        // Source symbols are always sent: they can be read before the block decodes.
        self.memo
            .further(lacking, flights, &self.losses, slot, target)
            .max(unsent)
    }
}

/// Symbols of all blocks: what flow control and the send buffer let in.
fn window_of(view: &View<'_>) -> u64 {
    view.blocks
        .iter()
        .map(|block| u64::from(block.source_symbols))
        .sum()
}

/// `w_f`: full symbols that the window has room for.
pub(crate) fn free_symbols(path: &PathView) -> u32 {
    (path.cwnd.saturating_sub(path.in_flight) / path.symbol_bytes.max(1)).min(u64::from(u32::MAX))
        as u32
}
