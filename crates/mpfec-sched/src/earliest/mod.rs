//! Earliest arrival with protection out of idle slots: the default.
//!
//! A path that may send knows when its symbol would arrive, and how many symbols the others
//! deliver before that. Blocks are walked in delivery order; what the others deliver first is
//! left to them, and the first block that still needs a symbol gets it. So bulk data fills
//! every path with blocks that are due when its symbols arrive, a lost symbol is replaced on
//! the path that delivers soonest, and a slow path stays out of what the fast ones finish
//! earlier. Slots that would stay idle protect blocks ahead of loss, and earn the right to do
//! so in busy slots later. Messages and blocks that are due are protected in busy slots too, as
//! long as they are a small part of all data.

mod ledger;
mod load;
mod supply;

use std::time::Instant;

use crate::memo::{LossClasses, Memo, Target};
use crate::offer::{Offer, offer, youngest_unsent};
use crate::scheduler::{Assignment, Scheduler, SymbolKind};
use crate::view::{BlockView, MAX_PATHS, View};
use crate::worth::worth_having;

use ledger::{Idle, Ledger};
use load::Load;
use supply::{LOSS_DELAY, Outlook};

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
    /// The block that was last found to lack symbols when all that was sent for it had been
    /// answered, by when its first symbol left, and how often.
    stuck: Option<(Instant, u32)>,
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
    /// A block that holds back delivery misses repairs: it is protected whatever it takes.
    has_lost_again: bool,
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
            stuck: None,
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
        *seen = Seen {
            version: Some(view.version),
            live,
            ..Seen::default()
        };
        for block in view.blocks {
            seen.unsent += u64::from(block.unsent);
            seen.has_lost_again |= view.may_protect && block.head && lost_again(block, view);
            seen.has_sensitive |= block.is_sensitive();
        }
        let written = seen.unsent.saturating_sub(expected);
        if written > 0 {
            self.load.add(view.now, written);
        }
        self.losses.refresh(view.paths);
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
    fn must_not_idle(&self, bulk: bool, outlook: &Outlook, view: &View<'_>) -> bool {
        bulk || outlook.is_needed(self.load.get(view.now))
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
        let protection = match mode {
            _ if !view.may_protect => [Target::FEEDBACK; MAX_PATHS],
            Mode::Busy => outlook.protection(self.ledger.exponent(slot), view),
            Mode::Spare => [Target::SPARE; MAX_PATHS],
        };
        let hurries = self.seen.has_sensitive
            && view.may_protect
            && view.has_repair
            && self.ledger.affords_sensitive();
        let ahead = self.seen.has_lost_again
            || hurries
            || protection.iter().any(|&target| target > Target::FEEDBACK);
        let start = if ahead { 0 } else { self.seen.cursor };
        let mut left = outlook.supply;
        let mut first_need = None;
        let mut found = None;
        for (index, block) in view.blocks.iter().enumerate().skip(start) {
            let flights = self.flights(block);
            let flying: u32 = flights.iter().map(|&n| u32::from(n)).sum();
            let lacking = block.source_symbols.saturating_sub(block.held);
            // Source symbols are always sent: they can be read before the block decodes.
            let missing = lacking.saturating_sub(flying).max(block.unsent);
            let complete = block.closed && block.unsent == 0 && view.has_repair;
            if missing == 0 && !(complete && ahead) {
                continue;
            }
            if missing > 0 {
                first_need.get_or_insert(index);
            }
            let Some(Offer { symbol, most }) = offer(block, view) else {
                continue;
            };
            let need = match mode {
                _ if complete => {
                    let mut target = self.target(&protection, &flights, block, view);
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
            if f64::from(need) <= left || outlook.is_for_faster(block, view) {
                left = (left - f64::from(need)).max(0.0);
                continue;
            }
            let whole = bulk && symbol == SymbolKind::Source;
            let due = if whole {
                most
            } else {
                outlook.share(f64::from(need) - left)
            };
            let assignment = Assignment {
                block: index,
                symbol,
                count: due.min(most).min(need).min(budget).max(1),
            };
            found = Some((assignment, missing));
            break;
        }
        if !ahead {
            self.seen.cursor = first_need.unwrap_or(view.blocks.len());
        }
        found
    }

    /// How far a block whose source symbols were all sent is protected.
    fn target(
        &self,
        protection: &[Target; MAX_PATHS],
        flights: &[u16; MAX_PATHS],
        block: &BlockView,
        view: &View<'_>,
    ) -> Target {
        let target = worst_of(protection, flights);
        if self.seen.has_lost_again && block.head && lost_again(block, view) {
            // What was protected and got lost all the same has stopped the reader for long.
            let stuck = self.times_stuck(block) + u32::from(is_stuck(flights));
            return target.max(Target::repeated(stuck.saturating_sub(1)));
        }
        target
    }

    /// How often all that was sent for the block had been answered, and it lacked symbols.
    fn times_stuck(&self, block: &BlockView) -> u32 {
        let known = self
            .stuck
            .filter(|(first, _)| block.first_sent == Some(*first));
        known.map_or(0, |(_, times)| times)
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
        let outlook = Outlook::new(path, &worth, self.ledger.redundancy(), view);
        let bulk = self.is_bulk(&outlook, view);

        let mut mode = Mode::Busy;
        let mut found = None;
        if worth[path] {
            found = self.walk(Mode::Busy, bulk, budget, slot, &outlook, view);
            if found.is_none() && self.seen.unsent > 0 && self.must_not_idle(bulk, &outlook, view) {
                found = self.youngest(budget, &outlook, view);
            }
        }
        if found.is_none() && view.has_repair && view.may_protect {
            mode = Mode::Spare;
            found = self.walk(Mode::Spare, bulk, budget, slot, &outlook, view);
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
        let stuck = is_stuck(&self.flights(block)) && block.head && lost_again(block, view);
        self.decision = Some(Decision {
            path,
            block: assignment.block,
            mode,
            sensitive: block.is_sensitive(),
            missing,
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
                    let known = self.stuck.filter(|(known, _)| *known == first);
                    self.stuck = Some((first, known.map_or(1, |(_, times)| times + 1)));
                }
                let ahead = assignment.count.saturating_sub(decision.missing);
                match decision.mode {
                    Mode::Spare => self.ledger.on_spare(slot, assignment.count),
                    Mode::Busy if decision.sensitive => self.ledger.on_sensitive(ahead),
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

/// Whether nothing of a block is on its way any more.
fn is_stuck(flights: &[u16; MAX_PATHS]) -> bool {
    flights.iter().all(|&count| count == 0)
}

/// Whether a block misses symbols after it was repaired already: once a loss and the fate of its
/// repair are known, what is missing was lost again. Any sooner, bulk data over short paths would
/// be protected while its first repairs are on their way, at twice the price of its losses.
fn lost_again(block: &BlockView, view: &View<'_>) -> bool {
    let Some(first_sent) = block.first_sent else {
        return false;
    };
    let repaired = block.closed && block.unsent == 0 && block.repairs_sent() > 0;
    let answered = view.slowest_rtt().mul_f64(2.0 * LOSS_DELAY);
    repaired && view.now.saturating_duration_since(first_sent) > answered
}

/// Data for this long beyond the delay spread are bulk, in seconds.
const BULK_TIME: f64 = 0.020;

/// And so many symbols more.
const BULK_SYMBOLS: f64 = 48.0;
