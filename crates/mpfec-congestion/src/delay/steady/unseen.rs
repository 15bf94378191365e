//! A path that drops packets before any of them waits: behind a policer, or in a queue of a packet or
//! two.
//!
//! No delay tells when it is full. That shows in losses alone, and some sixty packets later, so that
//! little may be grown until then. Where several subflows of a connection find the like, it may be the
//! same place that drops their packets: then together they do what one would.

use super::{Drain, LOSS_FREE, QUIET, Steady, TCP_KEEPS};
use crate::delay::{Delay, MIN_WINDOW, Mode};

impl Steady {
    /// The last loss that was answered came without a delay, within so many rounds.
    fn overflows_unseen_for(&self, rounds: u32) -> bool {
        self.overflows_unseen && self.quiet_rounds < rounds
    }

    #[cfg(test)]
    pub(in crate::delay) fn forget_unseen(&mut self) {
        self.overflows_unseen = false;
    }

    /// A loss has been answered: what the answer leaves in flight, of which `drained` packets are let
    /// out for a round, shows what the link loses without a queue.
    pub(super) fn begin_answer(&mut self, drained: f64) {
        self.hold = 2;
        self.drain = Drain::First {
            window: drained,
            deep: true,
        };
        self.cycle = 0;
        self.low_rounds = 0;
        self.fresh = false;
        self.acceleration = 1.0;
    }

    /// Whether packets are held back because a loss has been answered.
    pub(in crate::delay) fn is_answering(&self) -> bool {
        self.hold > 0 && self.drain.window().is_some()
    }
}

impl Delay {
    /// Losses beyond the link's own are answered, a share `at_high_delay` of all packets among them
    /// where it was long.
    pub(super) fn note_answer(&mut self, at_high_delay: f64) {
        let waits = self.evidence.delay_max() * self.rate;
        if let Mode::Steady(steady) = &mut self.mode {
            steady.overflows_unseen = at_high_delay == 0.0 && waits < WAITS;
        }
    }

    /// Whether the path has dropped packets lately before any of them waited.
    pub(in crate::delay) fn overflows_unseen(&self) -> bool {
        matches!(&self.mode, Mode::Steady(steady) if steady.overflows_unseen_for(QUIET))
    }

    /// Part of the packets of one subflow that this one has where siblings may meet the same.
    pub(in crate::delay) fn part_unseen(&self) -> f64 {
        if self.overflows_unseen() {
            self.part
        } else {
            1.0
        }
    }

    /// Packets that one of several subflows may grow by in a round; any number if a delay will tell when
    /// it was too much, or else how regularly packets pass (see `policed`).
    pub(super) fn unseen_growth(&self) -> f64 {
        match &self.mode {
            Mode::Steady(steady) if steady.overflows_unseen_for(OVERRUN) && self.part < 1.0 => {
                GROWS * self.window * self.window / SHOWS
            }
            _ => f64::INFINITY,
        }
    }

    /// Fewest packets that are paced out in a round trip, those of a flow for all siblings together.
    pub(in crate::delay) fn fewest_paced(&self) -> f64 {
        (self.fewest() * self.part_unseen()).max(1.0)
    }

    /// Fewest packets that a round of a drain lets out.
    pub(in crate::delay) fn least_drained(&self) -> f64 {
        self.fewest_paced().min(MIN_WINDOW - 1.0)
    }

    /// A sibling answers losses where no delay shows. Of one flow, any packet that was dropped would
    /// have told: if ours were as well, on a path that loses none by itself, we answer with it.
    pub(super) fn answers_with_sibling(&self) -> bool {
        self.overflows_unseen()
            && self.evidence.knows_baseline()
            && self.evidence.baseline() < LOSS_FREE
            && self.evidence.lost_beyond_baseline() > 0.0
    }

    /// The answer to losses of a sibling and of ours, `drained` packets in a round.
    pub(super) fn answer_with_sibling(&mut self, drained: f64) {
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        steady.begin_answer(drained);
        steady.quiet_rounds = 0;
        steady.cautious_until = self.window;
        self.window *= TCP_KEEPS;
        steady.prior_window = self.window;
        self.evidence.answer();
    }
}

/// Packets whose delay is less than any queue's that tells.
const WAITS: f64 = 3.0;
/// Rounds after an answer in which the same place may soon overflow again.
const OVERRUN: u32 = 50;
/// Packets that an overflow takes to show, and part of the window to be grown by meanwhile.
const SHOWS: f64 = 60.0;
const GROWS: f64 = 0.1;
