//! What the paths deliver, and when.

use crate::memo::Target;
use crate::view::{BlockView, MAX_PATHS, PathView, View};
use crate::worth::arriving_rate;

/// The paths from the point of view of the one that asks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlook {
    /// Symbols that the other paths deliver before one sent here would arrive.
    pub(super) supply: f64,
    /// Symbols that they deliver before it is there in the mean over those that get lost and have
    /// to be repaired in their turn.
    pub(super) repair_supply: f64,
    /// The same as [`supply`](Self::supply), of what makes up for losses to come: where the
    /// application sets the pace, symbols of a path that loses them together count for less.
    pub(super) burst_supply: f64,
    /// The application sets the pace.
    pub(super) is_paced: bool,
    /// Symbols per second of all usable paths, losses taken off.
    pub(super) rate: f64,
    /// Between the shortest and the longest one-way delay, in seconds.
    pub(super) spread: f64,
    /// Symbols that the others deliver for each one sent here, once they come first.
    growth: f64,
    /// When the next symbol sent here arrives, in seconds from now.
    arrival: f64,
    /// One-way delay and symbol time of the path where they are the least.
    soonest: f64,
    /// Symbols per second of the paths with shorter delay, and those that get lost besides.
    faster: f64,
    faster_lost: f64,
}

impl Outlook {
    /// `worth` tells which paths carry source symbols at all, `redundancy` is the share of slots
    /// that go to repair ahead of loss. If the application sets the pace, `is_paced`, no path is taken
    /// for slow that holds packets back for a moment: bulk data move to the others meanwhile.
    pub(super) fn new(
        asking: usize,
        worth: &[bool; MAX_PATHS],
        redundancy: f64,
        is_paced: bool,
        view: &View<'_>,
    ) -> Self {
        let me = Estimate::of(&view.paths[asking], true, is_paced, view);
        let arrival = me.arrival();
        let mut outlook = Self {
            supply: 0.0,
            repair_supply: 0.0,
            burst_supply: 0.0,
            is_paced,
            rate: 0.0,
            spread: 0.0,
            growth: 0.0,
            arrival,
            soonest: me.delay + me.symbol,
            faster: 0.0,
            faster_lost: 0.0,
        };
        let (mut shortest, mut longest) = (me.delay, me.delay);
        for (j, path) in view.usable().filter(|&(j, _)| j == asking || worth[j]) {
            let other = if j == asking {
                me
            } else {
                Estimate::of(path, false, is_paced, view)
            };
            let rate = other.arriving / other.lasting;
            outlook.rate += rate;
            shortest = shortest.min(other.delay);
            longest = longest.max(other.delay);
            outlook.soonest = outlook.soonest.min(other.delay + other.symbol);
            if other.delay < me.delay {
                let arriving = arriving_rate(path, other.lasting);
                outlook.faster += arriving;
                outlook.faster_lost += arriving * path.loss_long;
            }
            // A strict order of the paths: the first of them finds that nobody else comes
            // first, so that never all paths wait for each other.
            if j != asking && (other.expected(), j) < (me.expected(), asking) {
                let before = other.symbols_in(me.expected() - other.expected()) + 1.0;
                outlook.repair_supply += before * other.arriving;
            }
            if j != asking && (other.arrival(), j) < (arrival, asking) {
                let before = other
                    .symbols_in(arrival - other.wait - other.delay)
                    .max(1.0);
                outlook.supply += before * other.arriving;
                outlook.burst_supply += before * other.arriving * other.weight;
                outlook.growth += me.symbol * other.arriving / other.symbol;
            }
        }
        outlook.supply /= 1.0 + redundancy;
        outlook.repair_supply /= 1.0 + redundancy;
        outlook.burst_supply /= 1.0 + redundancy;
        outlook.spread = longest - shortest;
        outlook
    }

    /// How many symbols to take here of `excess` that the others do not deliver in time: while
    /// this path sends them the others deliver more.
    pub(super) fn share(&self, excess: f64) -> u32 {
        (excess / (1.0 + self.growth))
            .ceil()
            .clamp(1.0, f64::from(u32::MAX)) as u32
    }

    /// Whether the paths with shorter delay cannot carry `load` symbols per second without
    /// this one, at a sound share of their rate.
    pub(super) fn is_needed(&self, load: f64) -> bool {
        SOUND_LOAD * self.faster < load
    }

    /// Whether the paths with shorter delay lose so much that what waits for them says little: repairs and
    /// protection take their slots as well.
    pub(super) fn is_lossy(&self) -> bool {
        self.faster_lost > LOSSY * self.faster
    }

    /// Whether more of `unsent` symbols wait than two blocks of `block` symbols, which may have been
    /// written at once, or as many as take the other paths a good part of the time in which one sent
    /// here would arrive.
    pub(super) fn keeps_waiting(&self, unsent: u64, block: u32) -> bool {
        let written = WRITTEN * f64::from(block);
        unsent as f64 > written.min(WAITING * self.supply)
    }

    /// Whether a symbol sent here arrives when the block is due already, and others are in time.
    pub(super) fn is_for_faster(&self, block: &BlockView, view: &View<'_>) -> bool {
        let Some(due) = block.due else {
            return false;
        };
        let left = due.saturating_duration_since(view.now).as_secs_f64();
        self.arrival > left && self.soonest <= left
    }

    /// Whether somebody waits for the block who would wait too long if what is lost of it were
    /// repaired after feedback only.
    pub(super) fn is_repair_late(
        &self,
        block: &BlockView,
        flights: &[u16; MAX_PATHS],
        view: &View<'_>,
    ) -> bool {
        let Some(due) = block.due else {
            return block.is_sensitive();
        };
        let used = |path: &&PathView| flights.get(path.slot).is_some_and(|&count| count > 0);
        let answered = view.paths.iter().filter(used).map(|path| path.srtt).max();
        let known = answered.unwrap_or_default().as_secs_f64() * LOSS_DELAY;
        let left = due.saturating_duration_since(view.now).as_secs_f64();
        left > 0.0 && known + self.soonest > left
    }

    /// The failure probability that a symbol sent here may bring a block down to, by the slot
    /// of the symbols that are waited for: one symbol's time over the stall that is avoided,
    /// to the power of `exponent` from 0 (on feedback only) to 1. Of `blocks_per_second` that
    /// are written those wait as well that come during the stall.
    pub(super) fn protection(
        &self,
        exponent: f64,
        blocks_per_second: f64,
        view: &View<'_>,
    ) -> [Target; MAX_PATHS] {
        let mut targets = [Target::FEEDBACK; MAX_PATHS];
        if !view.has_repair || exponent <= 0.0 {
            return targets;
        }
        for path in view.paths {
            let known = path.srtt.as_secs_f64() * LOSS_DELAY;
            let stall = known + self.soonest - self.arrival;
            let waiting = 1.0 + stall.max(0.0) * blocks_per_second;
            let avoided = stall * waiting * self.rate;
            let octaves = avoided.max(1.0).log2().min(MOST_OCTAVES);
            if let Some(target) = targets.get_mut(path.slot) {
                *target = Target::from_octaves(octaves * exponent);
            }
        }
        targets
    }
}

/// One path in seconds.
#[derive(Debug, Clone, Copy)]
struct Estimate {
    /// Until its next symbol can leave.
    wait: f64,
    symbol: f64,
    /// Time for a symbol once what holds the path back for a moment is over, and when that is.
    lasting: f64,
    moment: f64,
    delay: f64,
    /// By how much later a symbol is there on average for being lost.
    repair: f64,
    /// Share of symbols that arrive.
    arriving: f64,
    /// What each of its symbols counts for against losses to come, from 0 to 1.
    weight: f64,
}

impl Estimate {
    fn of(path: &PathView, asking: bool, is_paced: bool, view: &View<'_>) -> Self {
        let mut wait = path
            .next_send
            .saturating_duration_since(view.now)
            .as_secs_f64();
        if !asking && wait == 0.0 && !path.has_window() {
            // The acknowledgement that opens the window is overdue: it may take as long again.
            let overdue = path.since_oldest.saturating_sub(path.srtt).max(path.rttvar);
            wait = overdue.as_secs_f64();
        }
        let symbol = path.symbol_seconds();
        Self {
            wait,
            symbol,
            lasting: if is_paced {
                path.lasting_symbol_seconds()
            } else {
                symbol
            },
            moment: MOMENT * path.srtt.as_secs_f64(),
            delay: path.one_way.as_secs_f64(),
            repair: path.loss_bounded() * LOSS_DELAY * path.srtt.as_secs_f64(),
            arriving: 1.0 - path.loss_bounded(),
            weight: if is_paced {
                path.losses_to_expect().weight()
            } else {
                1.0
            },
        }
    }

    /// Whole symbols that leave within so many seconds after the wait.
    fn symbols_in(&self, seconds: f64) -> f64 {
        let later = (seconds - self.moment).max(0.0);
        let gained = later * (1.0 / self.lasting - 1.0 / self.symbol);
        (seconds / self.symbol + gained).floor()
    }

    fn arrival(&self) -> f64 {
        self.wait + self.symbol + self.delay
    }

    /// When its next symbol is there in the mean, the repair of lost ones included.
    fn expected(&self) -> f64 {
        self.arrival() + self.repair
    }
}

/// RFC 9002 §6.1.2: a packet is lost this many round trips after it left.
pub(super) const LOSS_DELAY: f64 = 9.0 / 8.0;

/// Round trips after which what holds a path back for a moment, such as a drain, is over.
const MOMENT: f64 = 2.0;

/// 1e-4, the least failure probability that is worth a busy slot.
const MOST_OCTAVES: f64 = 13.3;

/// Part of what others deliver before a symbol sent here arrives.
const WAITING: f64 = 0.5;

/// Blocks that may have been written at once.
const WRITTEN: f64 = 2.0;

/// Part of what leaves; a block of a few dozen symbols lacks one more often than one in ten.
const LOSSY: f64 = 0.005;

/// What share of their rate paths can carry without a queue.
pub(super) const SOUND_LOAD: f64 = 0.88;
