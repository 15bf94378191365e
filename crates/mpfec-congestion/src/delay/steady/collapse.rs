//! A path that at once lets pass a small part of what it did, and lets nothing wait.
//!
//! A policer whose bucket is empty does that, and a radio link that fades. What the path carried before
//! fades by some percent a round, and loss without delay passes for the link's own: refilled, it would be
//! a flood for hundreds of rounds. So the path is taken for what it lets pass now.

use super::{Drain, MIN_TARGET};
use crate::delay::round::Round;
use crate::delay::{Delay, Mode};

impl Delay {
    /// A round has ended in which `delivered` packets per second arrived. Whether it shows, as the one
    /// before, that the path has collapsed: then only that many are sent from now on.
    pub(super) fn heed_collapse(&mut self, round: &Round, delivered: f64) -> bool {
        let is_collapsed = round.lost >= MANY
            && round.loss() > MOST
            && delivered < SMALL * self.delivered_max
            && self.evidence.at_high_delay() == 0.0;
        let Mode::Steady(steady) = &mut self.mode else {
            return false;
        };
        if steady.drain != Drain::No {
            // What is held back says nothing about what would pass.
            return false;
        }
        steady.collapsed = if is_collapsed {
            steady.collapsed + 1
        } else {
            0
        };
        if steady.collapsed < ROUNDS {
            return false;
        }
        steady.collapsed = 0;
        (self.rate, self.rate_max) = (delivered, delivered);
        (self.delivered_max, self.delivered_mean) = (delivered, delivered);
        self.evidence.forget_loss();
        self.target_cap = MIN_TARGET;
        self.window = (delivered * self.floor_seconds()).max(self.fewest_paced());
        self.answer_collapse();
        true
    }
}

/// Packets lost in a round, and part of all that left in it: more than any burst of a link takes.
const MANY: f64 = 64.0;
const MOST: f64 = 0.6;
/// Part of what passed before.
const SMALL: f64 = 0.25;
/// Rounds in a row: one may be a moment in which a radio link is silent.
const ROUNDS: u32 = 2;
