//! Drains: now and then the path is seen without our queue.

use std::time::Instant;

use super::Steady;
use crate::delay::round::Round;
use crate::delay::{Delay, Mode};

/// Packets are held back for a round or two to see the path without our queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::delay) enum Drain {
    No,
    /// No more than `window` packets are let out.
    First {
        window: f64,
        deep: bool,
    },
    Second {
        window: f64,
    },
    /// What was let out meanwhile is being acknowledged.
    Answered {
        deep: bool,
    },
}

impl Drain {
    /// The limit while packets are held back.
    pub(in crate::delay) fn window(&self) -> Option<f64> {
        match *self {
            Self::First { window, .. } | Self::Second { window } => Some(window),
            Self::No | Self::Answered { .. } => None,
        }
    }
}

impl Steady {
    /// Whether the queue is shorter than the window makes it, for a drain is on or just over.
    pub(in crate::delay) fn is_draining(&self) -> bool {
        self.drain != Drain::No || self.cycle < 2
    }

    /// The next ordinary round begins a drain.
    pub(in crate::delay) fn make_drain_due(&mut self) {
        self.cycle = DRAIN_EVERY;
    }
}

impl Delay {
    /// Every eighth round, or when the queue halves although we did nothing: somebody else is
    /// draining, and two who drain together both see the path empty.
    pub(in crate::delay) fn start_drain(&mut self) {
        let (floor, least) = (self.floor_seconds(), self.least_seconds());
        let shrink = floor / (floor + self.queue_delay);
        let p0 = self.evidence.baseline();
        let delay = self.queue_delay;
        let is_short = self.is_short();
        let fewest = self.least_drained();
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        let joins = steady.cycle >= 4
            && delay < 0.5 * steady.mean_delay
            && steady.mean_delay * self.rate > 4.0;
        steady.mean_delay += 0.3 * (delay - steady.mean_delay);
        let drained = DEEP * self.delivered_mean * least;
        let is_blind = drained < FEW && steady.drains < BLIND && self.evidence.is_blind();
        let repeats = self.evidence.take_repeat() || is_blind;
        if steady.cycle < DRAIN_EVERY && !joins && !repeats {
            return;
        }
        steady.cycle = 0;
        steady.delay_before = delay;
        steady.drains += 1;
        // A deep drain costs what it holds back of a round; one of ten rounds is a drain. So
        // often, it costs half a percent of the rate.
        let (rounds, least) = if is_short { (8.0, 2.0) } else { (20.0, 3.0) };
        let often: f64 = rounds * (1.0 - DEEP * (1.0 - p0));
        let often = often.ceil().max(least) as u32;
        let knows_well = self.evidence.knows_clean_loss_well();
        let is_unsure = !knows_well && drained < MANY && p0 > MUCH;
        let often = if is_unsure { often.min(UNSURE) } else { often };
        let knows = if is_short {
            knows_well
        } else {
            self.evidence.knows_clean_loss()
        };
        let is_due = !knows || repeats || steady.drains.is_multiple_of(often);
        // A few drains that lost nothing by chance must not be the last.
        let may_lose =
            p0 > 0.002 || !self.evidence.knows_baseline() || self.evidence.loses_at_low_delay();
        let deep = may_lose && is_due;
        let mut window = self.window * shrink - 1.0;
        if deep {
            window = window.min(drained);
        }
        steady.drain = Drain::First {
            window: window.max(fewest),
            deep,
        };
    }

    /// Whether the queue may be too short for its delay to show before it overflows.
    pub(in crate::delay) fn is_short(&self) -> bool {
        self.has_short_queue() || self.evidence.is_shallow(1.0 / self.rate.max(1.0))
    }

    /// A sibling drains its path deeply. If the bottleneck is shared and its queue short, our
    /// packets overflow it meanwhile, and it takes that for what the link loses: both drain.
    pub(in crate::delay) fn join_drain(&mut self, now: Instant, overruns: bool) {
        let least = self.least_seconds();
        let is_short = self.is_short();
        let answers = overruns && self.answers_with_sibling();
        let window = (DEEP * self.delivered_mean * least).max(self.least_drained());
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        if is_short && steady.drain == Drain::No && steady.hold == 0 && steady.cycle >= 2 {
            steady.cycle = 0;
            steady.drains += 1;
            steady.drain = Drain::First { window, deep: true };
            if answers {
                self.answer_with_sibling(window);
            }
            self.round = Round::starting(now);
        }
    }
}

/// Rounds between two drains.
const DRAIN_EVERY: u32 = 8;
/// Drains at most that follow each other at once until the link's own loss is known, where each
/// lets out fewer packets than it takes to know it.
const BLIND: u32 = 8;
const FEW: f64 = 20.0;
/// Drains of which one is deep while few packets have shown what the link loses, each shows less
/// than so many more, and it is so much that what refills the window hangs on it.
const UNSURE: u32 = 4;
const MANY: f64 = 64.0;
const MUCH: f64 = 0.4;
/// Part of what is delivered that a deep drain lets out: the queue empties even if nothing is lost.
pub(in crate::delay) const DEEP: f64 = 0.9;
