//! A short queue behind random loss that is full round by round.

use super::{MIN_TARGET, SHORT_QUEUE};
use crate::delay::round::Round;
use crate::delay::{Delay, Mode};

impl Delay {
    /// What a short queue drops drowns in what a noisy link loses. But a queue that overflows round
    /// by round has the same largest delay in all of them, which without overflow would vary as
    /// the losses do: the target then becomes half of it, and if that is in vain, for on a long
    /// path the delay of a short queue hardly moves the window, this becomes what is delivered, what
    /// refills the losses, and half of that target, for others may have their part of the queue.
    /// An application that pauses counts as well while the queue never empties.
    pub(in crate::delay) fn heed_ceiling(&mut self, round: &Round, limited: bool) {
        let ceiling = self.evidence.delay_max();
        let carried = self.refilled(self.delivered_mean);
        let packets = ceiling * self.rate.min(carried);
        let p0 = self.evidence.baseline();
        // The more is lost, the longer are queues whose drops hide behind it.
        let longest = SHORT_QUEUE * (1.0 + 10.0 * p0).min(2.0);
        let is_always_full = limited || round.delay_min() >= STANDING * ceiling;
        let is_full = is_always_full
            && p0 > NOISY
            && packets < longest
            && round.delay_max() >= AT_CEILING * ceiling;
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        steady.full_rounds = if is_full { steady.full_rounds + 1 } else { 0 };
        // The longer the queue, the more often it is full by chance.
        let enough = if packets < SHORT_QUEUE {
            FULL_ROUNDS
        } else {
            2 * FULL_ROUNDS
        };
        if steady.full_rounds < enough {
            return;
        }
        steady.full_rounds = 0;
        let half = (0.5 * packets).max(MIN_TARGET);
        if self.target_cap <= 1.05 * half {
            let needed = carried * self.floor_seconds() + 0.5 * self.target();
            self.window = self.window.min(needed);
        }
        self.target_cap = self.target_cap.min(half);
    }
}

/// With more random loss than this, some percent dropped by a queue do not show.
const NOISY: f64 = 0.03;
/// Part of the largest delay that counts as the same.
const AT_CEILING: f64 = 0.93;
/// Part of it that the bursts of an application which pauses do not leave behind.
const STANDING: f64 = 0.5;
/// Rounds in a row in which the queue overflows and not by chance.
const FULL_ROUNDS: u32 = 4;
