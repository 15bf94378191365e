//! Earliest arrival with protection out of idle slots: the default.
//!
//! A path that may send knows when its symbol would arrive, and how many symbols the others
//! deliver before that. Blocks are walked in delivery order; what the others deliver first is
//! left to them, and the first block that still needs a symbol gets it. So bulk data fills
//! every path with blocks that are due when its symbols arrive, a lost symbol is replaced on
//! the path that delivers soonest, and a slow path stays out of what the fast ones finish
//! earlier. Slots that would stay idle protect blocks ahead of loss, and earn the right to do
//! so in busy slots later, and where one path could carry everything alone, nothing is read later
//! than that would take (see `fallback`). Messages and blocks that are due are protected in busy slots too, as
//! long as they are a small part of all data.

mod attempts;
mod fallback;
mod ledger;
mod load;
mod punctual;
mod shortage;
mod supply;

use std::time::Instant;

use crate::memo::{LossClasses, Memo, Target};
use crate::offer::{Offer, offer, youngest_unsent};
use crate::scheduler::{Assignment, Scheduler, SymbolKind};
use crate::view::{BlockView, MAX_PATHS, PathView, View};
use crate::worth::worth_having;

use attempts::{Stuck, has_lost_repair, is_stuck, stops_reader};
use ledger::{Idle, Ledger};
use load::Load;
use shortage::Shortage;
use supply::Outlook;

/// Symbols go where they arrive when they are needed.
#[derive(Debug)]
pub struct EarliestArrival {
    memo: Memo,
    losses: LossClasses,
    ledger: Ledger,
    /// Source symbols written per second, lately.
    load: Load,
    seen: Seen,
    /// Slots whose paths a small window is better off without.
    left_out: [bool; MAX_PATHS],
    stuck: Stuck,
    shortage: Shortage,
    /// The answer that was given last, to know in `on_sent` what it was for.
    decision: Option<Decision>,
}

/// What is worked out once per version of the blocks.
#[derive(Debug, Default)]
struct Seen {
    version: Option<u64>,
    /// Slots whose symbols in flight are expected to arrive.
    live: [bool; MAX_PATHS],
    /// Source symbols never sent, in all blocks.
    unsent: u64,
    /// No block before this one needs a symbol on feedback alone.
    cursor: usize,
    /// Blocks that lost what was sent for lost symbols, in order.
    lost_again: Vec<usize>,
    /// Somebody may be waiting for one of the blocks.
    has_sensitive: bool,
}

#[derive(Debug, Clone, Copy)]
struct Decision {
    path: usize,
    block: usize,
    mode: Mode,
    /// Somebody may be waiting for the block.
    sensitive: bool,
    /// Symbols of the block that are missing unless they are sent.
    missing: u32,
    /// It is protected for having lost repairs.
    again: bool,
    /// When the block's first symbol left, if nothing of it is on its way and it lost repairs.
    stuck: Option<Instant>,
}

/// Why a slot is given away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Something is needed by feedback, or protected at the price of other data.
    Busy,
    /// Nobody wanted the slot.
    Spare,
}

impl EarliestArrival {
    /// A scheduler without history: its first blocks are protected.
    #[must_use]
    pub fn new() -> Self {
        Self {
            memo: Memo::new(),
            losses: LossClasses::default(),
            ledger: Ledger::new(),
            load: Load::default(),
            seen: Seen::default(),
            left_out: [false; MAX_PATHS],
            stuck: Stuck::default(),
            shortage: Shortage::default(),
            decision: None,
        }
    }

    /// Catches up with feedback and new data.
    fn refresh(&mut self, view: &View<'_>) {
        let mut live = [false; MAX_PATHS];
        for path in view.paths {
            // Without a code nothing may be sent again before it is declared lost.
            if let Some(live) = live.get_mut(path.slot) {
                *live = !path.suspected || !view.has_repair;
            }
        }
        let seen = &mut self.seen;
        if seen.version == Some(view.version) && seen.live == live {
            return;
        }
        let expected = seen.unsent;
        let mut lost_again = std::mem::take(&mut seen.lost_again);
        lost_again.clear();
        *seen = Seen {
            version: Some(view.version),
            live,
            lost_again,
            ..Seen::default()
        };
        let is_paced = self.load.is_paced(view.now);
        for (index, block) in view.blocks.iter().enumerate() {
            seen.unsent += u64::from(block.unsent);
            let may_have_lost_again = view.may_protect && (block.head || block.repairs_lost > 0);
            if may_have_lost_again
                && (has_lost_repair(block) || stops_reader(block, is_paced, view))
            {
                seen.lost_again.push(index);
            }
            seen.has_sensitive |= block.is_sensitive();
        }
        if view.window_closed || view.writer_blocked {
            self.load.hold_back(view.now);
        }
        let written = seen.unsent.saturating_sub(expected);
        if written > 0 {
            self.load.add(view.now, written);
        }
        // Bulk data are repaired on feedback, which what is lost now decides.
        if self.load.is_paced(view.now) {
            let enough = punctual::enough(self.load.get(view.now), view);
            self.losses
                .refresh(view.paths, |path| punctual::losses(path, enough));
        } else {
            self.losses.refresh(view.paths, PathView::single_losses);
        }
    }

    /// In-flight symbols that are expected to be answered.
    fn flights(&self, block: &BlockView) -> [u16; MAX_PATHS] {
        let mut flights = block.in_flight;
        for (flight, live) in flights.iter_mut().zip(self.seen.live) {
            *flight *= u16::from(live);
        }
        flights
    }

    /// Whether there is so much data that no path has to be idle for being slow.
    fn is_bulk(&self, outlook: &Outlook, view: &View<'_>) -> bool {
        view.writer_blocked
            || self.seen.unsent as f64 >= outlook.rate * (outlook.spread + BULK_TIME) + BULK_SYMBOLS
    }

    /// Whether a path that others make dispensable for what there is takes data all the same.
    fn must_not_idle(
        &mut self,
        bulk: bool,
        slot: usize,
        outlook: &Outlook,
        view: &View<'_>,
    ) -> bool {
        if bulk {
            return true;
        }
        let block = view.blocks.first().map_or(0, |block| block.source_symbols);
        let waits = outlook.keeps_waiting(self.seen.unsent, block);
        outlook.is_needed(self.load.get(view.now))
            && (outlook.is_lossy() || self.shortage.is_needed(slot, waits, view.now))
    }

    /// Gives the slot to the first block, in delivery order, that needs more symbols than the
    /// other paths deliver before one sent here arrives.
    fn walk(
        &mut self,
        mode: Mode,
        bulk: bool,
        budget: u32,
        slot: usize,
        outlook: &Outlook,
        view: &View<'_>,
    ) -> Option<(Assignment, u32)> {
        let paced = match view.blocks.first() {
            Some(block) if outlook.is_paced => {
                self.load.get(view.now) / f64::from(block.source_symbols.max(1))
            }
            _ => 0.0,
        };
        let protection = match mode {
            _ if !view.may_protect => [Target::FEEDBACK; MAX_PATHS],
            Mode::Busy => outlook.protection(self.ledger.exponent(slot), paced, view),
            Mode::Spare => outlook
                .protection(1.0, paced, view)
                .map(|target| target.max(Target::SPARE)),
        };
        let hurries = self.seen.has_sensitive
            && view.may_protect
            && view.has_repair
            && self.ledger.affords_sensitive();
        let ahead = hurries || protection.iter().any(|&target| target > Target::FEEDBACK);
        let start = if ahead { 0 } else { self.seen.cursor };
        let lost_again = self.seen.lost_again.iter().copied();
        let mut left = outlook.supply;
        // A repair had better not get lost itself. Paced data are short of time, and in idle slots
        // nothing speaks against making up for what a burst takes along elsewhere.
        let mut left_for_repair = match mode {
            _ if bulk => outlook.repair_supply,
            Mode::Busy => outlook.supply,
            Mode::Spare => outlook.burst_supply,
        };
        let mut first_need = None;
        let mut found = None;
        for index in lost_again
            .take_while(|&index| index < start.min(view.blocks.len()))
            .chain(start..view.blocks.len())
        {
            let block = &view.blocks[index];
            let flights = self.flights(block);
            let flying: u32 = flights.iter().map(|&n| u32::from(n)).sum();
            let lacking = block.source_symbols.saturating_sub(block.held);
            // Source symbols are always sent: they can be read before the block decodes.
            let missing = lacking.saturating_sub(flying).max(block.unsent);
            let complete = block.closed && block.unsent == 0 && view.has_repair;
            let lost_again = complete && self.seen.lost_again.binary_search(&index).is_ok();
            if missing == 0 && !lost_again && !(complete && ahead) {
                continue;
            }
            if missing > 0 && index >= start {
                first_need.get_or_insert(index);
            }
            let Some(Offer { symbol, most }) = offer(block, view) else {
                continue;
            };
            let need = match mode {
                _ if complete => {
                    let mut target = worst_of(&protection, &flights);
                    if lost_again {
                        target = target.max(self.protection_again(&flights, bulk, block, view));
                    }
                    if hurries && outlook.is_repair_late(block, &flights, view) {
                        target = target.max(Target::SPARE);
                    }
                    self.memo
                        .further(lacking, &flights, &self.losses, slot, target)
                }
                Mode::Busy => missing.min(most),
                Mode::Spare => 0,
            };
            if need == 0 {
                continue;
            }
            // What is known to lack comes from where it is soonest, and a slow path that is not in
            // use stays so: others would wait for what it carries.
            let is_ahead = missing == 0 && block.sources_on[slot] > 0;
            let others = if complete && (bulk || is_ahead) {
                left_for_repair
            } else {
                left
            };
            if f64::from(need) <= others || outlook.is_for_faster(block, view) {
                left = (left - f64::from(need)).max(0.0);
                left_for_repair = (left_for_repair - f64::from(need)).max(0.0);
                continue;
            }
            let whole = bulk && symbol == SymbolKind::Source;
            let due = if whole {
                most
            } else {
                outlook.share(f64::from(need) - others)
            };
            let assignment = Assignment {
                block: index,
                symbol,
                count: due.min(most).min(need).min(budget).max(1),
            };
            found = Some((assignment, missing));
            break;
        }
        if !ahead && (first_need.is_some() || found.is_none()) {
            self.seen.cursor = first_need.unwrap_or(view.blocks.len());
        }
        found
    }

    /// How far a block is protected that lost symbols and what was sent for these.
    fn protection_again(
        &self,
        flights: &[u16; MAX_PATHS],
        bulk: bool,
        block: &BlockView,
        view: &View<'_>,
    ) -> Target {
        let mut target = Target::FEEDBACK;
        if self.affords_third_attempt(block, bulk) {
            target = Target::repeated(1);
        }
        if stops_reader(block, self.load.is_paced(view.now), view) {
            target = target.max(self.stuck.target(block, flights));
        }
        target
    }

    /// Whether a block is protected for having lost repairs; paced data are ahead of loss.
    fn affords_third_attempt(&self, block: &BlockView, bulk: bool) -> bool {
        bulk && has_lost_repair(block) && self.ledger.affords_again()
    }

    /// Fresh data from far enough ahead that it arrives when it is needed, or as far as there is.
    fn youngest(
        &self,
        budget: u32,
        outlook: &Outlook,
        view: &View<'_>,
    ) -> Option<(Assignment, u32)> {
        let index = youngest_unsent(view)?;
        if outlook.is_for_faster(&view.blocks[index], view) {
            return None;
        }
        let unsent = view.blocks[index].unsent;
        Some((
            Assignment {
                block: index,
                symbol: SymbolKind::Source,
                count: unsent.min(budget),
            },
            unsent,
        ))
    }
}

impl Default for EarliestArrival {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheduler for EarliestArrival {
    fn select(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment> {
        self.decision = None;
        if budget == 0 || !view.is_usable(path) {
            return None;
        }
        self.refresh(view);
        let asking = &view.paths[path];
        let slot = asking.slot.min(MAX_PATHS - 1);
        self.ledger.follow(slot, asking.id);
        // Through a small window more passes without the paths that hold it back.
        let worth = worth_having(view);
        self.left_out[slot] = !worth[path];
        let is_paced = self.load.is_paced(view.now);
        let redundancy = self.ledger.redundancy();
        let outlook = Outlook::new(path, &worth, redundancy, is_paced, view);
        let bulk = self.is_bulk(&outlook, view);

        let mut mode = Mode::Busy;
        let mut found = None;
        if worth[path] {
            found = self.walk(Mode::Busy, bulk, budget, slot, &outlook, view);
            if found.is_none()
                && self.seen.unsent > 0
                && self.must_not_idle(bulk, slot, &outlook, view)
            {
                found = self.youngest(budget, &outlook, view);
            }
        }
        if found.is_none() && view.has_repair && view.may_protect {
            mode = Mode::Spare;
            // Repairs in idle slots take nobody's place, so nothing counts as missing.
            let backed_up = self.back_up(path, budget, view).map(|repair| (repair, 0));
            found =
                backed_up.or_else(|| self.walk(Mode::Spare, bulk, budget, slot, &outlook, view));
        }
        let idle = if !bulk {
            Some(Idle::NoData)
        } else {
            Idle::closed(view.window_closed || self.seen.unsent == 0)
        };
        let Some((assignment, missing)) = found else {
            self.ledger.on_idle(slot, view.now, idle);
            return None;
        };
        if mode == Mode::Spare {
            self.ledger.note_spare(slot, idle);
        }
        let block = &view.blocks[assignment.block];
        let stuck = is_stuck(&self.flights(block)) && stops_reader(block, is_paced, view);
        self.decision = Some(Decision {
            path,
            block: assignment.block,
            mode,
            sensitive: block.is_sensitive(),
            missing,
            again: self.affords_third_attempt(block, bulk),
            stuck: block.first_sent.filter(|_| stuck),
        });
        Some(assignment)
    }

    fn on_sent(&mut self, path: usize, assignment: &Assignment, view: &View<'_>) {
        let Some(sent_on) = view.paths.get(path) else {
            return;
        };
        let slot = sent_on.slot.min(MAX_PATHS - 1);
        self.ledger
            .on_busy(slot, view.now, sent_on.symbol_seconds(), assignment.count);
        match assignment.symbol {
            SymbolKind::Source => {
                self.seen.unsent = self.seen.unsent.saturating_sub(u64::from(assignment.count));
                self.ledger.on_source(assignment.count);
            }
            SymbolKind::Repair
            | SymbolKind::Retransmission { .. }
            | SymbolKind::Reinjection { .. } => {
                let decision = self
                    .decision
                    .take()
                    .filter(|d| d.path == path && d.block == assignment.block);
                let Some(decision) = decision else { return };
                if let Some(first) = decision.stuck {
                    self.stuck.on_sent(first);
                }
                let ahead = assignment.count.saturating_sub(decision.missing);
                match decision.mode {
                    Mode::Spare => self.ledger.on_spare(slot, assignment.count),
                    Mode::Busy if decision.sensitive => self.ledger.on_sensitive(ahead),
                    Mode::Busy if decision.again => self.ledger.on_again(ahead),
                    Mode::Busy => self.ledger.on_ahead(slot, ahead),
                }
            }
        }
    }

    fn leaves_out(&self, slot: usize) -> bool {
        self.left_out.get(slot).is_some_and(|left_out| *left_out)
    }

    fn sends_ahead(&self) -> bool {
        true
    }
}

/// The strictest target of the slots that a block has symbols on: the last of its symbols
/// decides when a loss would be known.
fn worst_of(protection: &[Target; MAX_PATHS], flights: &[u16; MAX_PATHS]) -> Target {
    let targets = protection
        .iter()
        .zip(flights)
        .filter(|&(_, &count)| count > 0);
    targets
        .map(|(&target, _)| target)
        .max()
        .unwrap_or(Target::FEEDBACK)
}

/// Data for this long beyond the delay spread are bulk, in seconds.
const BULK_TIME: f64 = 0.020;

/// And so many symbols more.
const BULK_SYMBOLS: f64 = 48.0;

#[cfg(test)]
mod tests;
