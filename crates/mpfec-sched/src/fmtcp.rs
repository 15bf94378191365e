//! Data allocation of FMTCP (Algorithm 1).

use crate::arrival::{expected_arriving_time, expected_delivery_time, response_time};
use crate::memo::{LossClasses, Memo, Target};
use crate::offer::{Offer, offer, youngest_unsent};
use crate::scheduler::{Assignment, Scheduler};
use crate::view::{BlockView, MAX_PATHS, PathView, View};
use crate::worth::adds_throughput;

/// Gives virtual packets to the path of least expected arriving time until it is the asking
/// path's turn; each is filled from the first blocks that are not yet complete but for a
/// chance of 5 % (delta-hat).
///
/// The allocation is made once per feedback for a path's whole free window and used up as the
/// path sends. Where the paper's blocks never run out, ours may while a writer waits for room:
/// then a path takes the youngest data rather than idle.
#[derive(Debug)]
pub struct Fmtcp {
    memo: Memo,
    losses: LossClasses,
    plans: [Plan; MAX_PATHS],
    /// Blocks that needed symbols when the version changed; sending only makes them fewer.
    incomplete: Vec<usize>,
    /// The version of `incomplete`.
    seen: Option<u64>,
    /// Counts what was sent, to know which plans are older.
    sends: u64,
}

/// What a path carries next, up to its free window.
#[derive(Debug, Clone, Default)]
struct Plan {
    made_for: Option<PlanKey>,
    /// `Fmtcp::sends` when it was made.
    sends: u64,
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

/// One window of virtual packets of a path.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// Expected arrival in seconds from now.
    arrives: f64,
    path: usize,
    symbols: u32,
}

impl Fmtcp {
    /// A scheduler without history.
    #[must_use]
    pub fn new() -> Self {
        Self {
            memo: Memo::new(),
            losses: LossClasses::default(),
            plans: Default::default(),
            incomplete: Vec::new(),
            seen: None,
            sends: 0,
        }
    }

    /// The next step of the path's plan that still makes sense.
    fn next_step(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment> {
        let slot = view.paths[path].slot;
        while let Some(&(block, planned)) = self.plans.get(path)?.steps.get(self.plans[path].done) {
            if let Some(state) = view.blocks.get(block)
                && let Some(Offer { symbol, most }) = offer(state, view)
            {
                let need = need(
                    &mut self.memo,
                    &self.losses,
                    state,
                    &state.in_flight,
                    state.unsent,
                    slot,
                    view,
                );
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
        self.losses.refresh(view.paths);
        if self.seen == Some(view.version) {
            return;
        }
        self.seen = Some(view.version);
        self.incomplete.clear();
        for (index, block) in view.blocks.iter().enumerate() {
            let flights = &block.in_flight;
            if block.unsent > 0
                || need(&mut self.memo, &self.losses, block, flights, 0, 0, view) > 0
            {
                self.incomplete.push(index);
            }
        }
    }

    /// Algorithm 1 for the whole free window of `paths[path]`.
    fn plan(&mut self, path: usize, view: &View<'_>) {
        let mut windows = earlier_windows(path, view);
        windows.push(Window {
            arrives: f64::INFINITY,
            path,
            symbols: free_symbols(&view.paths[path]).clamp(1, MOST_PLANNED),
        });
        let steps = &mut self.plans[path].steps;
        let mut windows = windows.into_iter();
        let Some(mut window) = windows.next() else {
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
                let slot = view.paths[window.path].slot;
                let need = need(
                    &mut self.memo,
                    &self.losses,
                    block,
                    &flights,
                    unsent,
                    slot,
                    view,
                )
                .min(left);
                if need == 0 {
                    break;
                }
                let taken = need.min(window.symbols);
                left -= taken;
                unsent = unsent.saturating_sub(taken);
                window.symbols -= taken;
                if let Some(flight) = flights.get_mut(slot) {
                    *flight = flight.saturating_add(taken.min(u32::from(u16::MAX)) as u16);
                }
                if window.path == path {
                    steps.push((index, taken));
                }
                if window.symbols == 0 {
                    match windows.next() {
                        Some(next) => window = next,
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

impl Default for Fmtcp {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheduler for Fmtcp {
    fn select(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment> {
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
            if step.is_some() || self.plans[path].sends == self.sends {
                return step;
            }
        }
        self.refresh(view);
        let plan = &mut self.plans[path];
        plan.made_for = Some(key);
        plan.sends = self.sends;
        plan.steps.clear();
        plan.done = 0;
        self.plan(path, view);
        self.next_step(path, budget, view)
    }

    /// Blocks become complete but for delta-hat even when nothing else is to be sent.
    fn sends_ahead(&self) -> bool {
        true
    }

    fn on_sent(&mut self, path: usize, assignment: &Assignment, _view: &View<'_>) {
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
}

/// Symbols until the block is complete but for delta-hat; of an open block, or without a
/// code, what was never sent or got lost.
fn need(
    memo: &mut Memo,
    losses: &LossClasses,
    block: &BlockView,
    flights: &[u16; MAX_PATHS],
    unsent: u32,
    slot: usize,
    view: &View<'_>,
) -> u32 {
    let lacking = block.source_symbols.saturating_sub(block.held);
    let target = if block.closed && view.has_repair && view.may_protect {
        Target::FMTCP
    } else {
        Target::FEEDBACK
    };
    // Source symbols are always sent: they can be read before the block decodes.
    memo.further(lacking, flights, losses, slot, target)
        .max(unsent)
}

/// The windows of other paths that are expected to arrive before a packet of `paths[path]`,
/// which has room: first what is free, then a full window per response time.
fn earlier_windows(path: usize, view: &View<'_>) -> Vec<Window> {
    let delivery = |p: &PathView| expected_delivery_time(p.loss, p.srtt, p.rto);
    let mine = (delivery(&view.paths[path]).as_secs_f64(), path);
    let mut windows = Vec::new();
    for (j, other) in view.usable().filter(|&(j, _)| j != path) {
        let delivery = delivery(other);
        let response = response_time(other.loss, other.srtt, other.rto);
        if (delivery.as_secs_f64(), j) >= mine {
            continue;
        }
        let free = free_symbols(other);
        if free > 0 {
            windows.push(Window {
                arrives: delivery.as_secs_f64(),
                path: j,
                symbols: free,
            });
        }
        let full = (other.cwnd / other.symbol_bytes.max(1)).clamp(1, u64::from(u32::MAX)) as u32;
        let mut arrives =
            expected_arriving_time(delivery, response, false, other.since_oldest).as_secs_f64();
        let response = response.as_secs_f64().max(1e-6);
        let mut count = 0;
        while (arrives, j) < mine {
            count += 1;
            if count == MOST_WINDOWS {
                let rest = ((mine.0 - arrives) / response) as u32;
                windows.push(Window {
                    arrives,
                    path: j,
                    symbols: full.saturating_mul(rest.saturating_add(1)),
                });
                break;
            }
            windows.push(Window {
                arrives,
                path: j,
                symbols: full,
            });
            arrives += response;
        }
    }
    windows.sort_by(|a, b| a.arrives.total_cmp(&b.arrives).then(a.path.cmp(&b.path)));
    windows
}

/// Symbols of all blocks: what flow control and the send buffer let in.
fn window_of(view: &View<'_>) -> u64 {
    view.blocks
        .iter()
        .map(|block| u64::from(block.source_symbols))
        .sum()
}

/// `w_f`: full symbols that the window has room for.
fn free_symbols(path: &PathView) -> u32 {
    (path.cwnd.saturating_sub(path.in_flight) / path.symbol_bytes.max(1)).min(u64::from(u32::MAX))
        as u32
}

/// Windows of a path told apart; what follows counts as one.
const MOST_WINDOWS: u32 = 32;

/// Symbols planned at once.
const MOST_PLANNED: u32 = 1024;
