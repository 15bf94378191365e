//! What losses at high delay, and of late, say about the queue.

use super::super::count::Count;
use super::super::steady::SHORT_QUEUE;
use super::Evidence;

impl Evidence {
    /// Whether more was lost at high delay than the baseline explains. A path without a baseline
    /// also needs more than a loss or two.
    fn shows_congestion(&self) -> bool {
        let Count { packets, lost } = self.high;
        if lost <= 0.0 {
            return false;
        }
        if !self.knows_baseline() {
            return lost > 4.0 + GUESSED_LOSS * packets;
        }
        lost > self.explained(self.baseline, self.dispersion())
    }

    /// How many of the packets at high delay a link may lose that loses the share `p` of all, with
    /// losses that vary by so much more than independent ones:
    /// `e + k sqrt(dispersion e (1 + n / (n_low + 10))) + c n + (60 n / (n_low + 20) + 80) / (n_low + 20) + 2 d`
    /// with `e = p n`. The quotient is what so few packets at low delay cannot show, `d` the doubt
    /// whether delays tell a queue: where they vary by as much as a short one makes, many packets have a
    /// high one at all times, and two of them lost are no sign.
    fn explained(&self, p: f64, dispersion: f64) -> f64 {
        let packets = self.high.packets;
        let expected = p * packets;
        let spread = (expected * dispersion * (1.0 + packets / (self.low.packets + 10.0))).sqrt();
        let sigmas = if self.baseline > 0.005 { 4.0 } else { 3.0 };
        let slack = if self.baseline > 0.003 {
            0.01 * packets
        } else {
            0.0
        };
        let ignorance =
            (packets * 60.0 / (self.low.packets + 20.0) + 80.0) / (self.low.packets + 20.0);
        expected + sigmas * spread + slack + ignorance + BY_CHANCE * self.doubt()
    }

    /// Whether more was lost at high delay than a link explains that loses packets in bursts, of
    /// which drains show few, or none by chance: where the delay would show a queue before it is
    /// full, one more counts as seen.
    fn exceeds_bursts(&self) -> bool {
        let dispersion = self.dispersion();
        let burst = if self.is_doubtful {
            (dispersion - 1.0).min(0.5 * (dispersion + 1.0))
        } else {
            0.0
        };
        let seen = self.low.packets.max(1.0);
        let share = (self.baseline * seen + burst) / (seen + 2.0 * burst);
        self.high.lost > self.explained(share.max(self.baseline), dispersion)
    }

    /// How doubtful it is that the last loss at high delay met a queue, 0..1: the more packets' worth
    /// delays vary by without one, unless it was later by several times that.
    pub(in crate::delay) fn doubt(&self) -> f64 {
        let may_be_noise = self.loss_delay < FAR * self.swing;
        let doubt = (self.swing_packets / SHORT_QUEUE).min(1.0);
        if may_be_noise { doubt } else { 0.0 }
    }

    /// Whether losses at high delay are too many runs for the link's own, too. A queue drops one
    /// packet here and one there, or two; what takes many together is the link, which may do so
    /// once if it does so at all.
    fn shows_runs(&self) -> bool {
        let lost = self.high.lost;
        let loses_together = (self.dispersion() - 1.0).min(1.0);
        let too_many = (lost - RUN_OF_QUEUE * self.high_runs).max(0.0);
        let overflowed = lost - loses_together * (too_many + RUN_OF_QUEUE);
        overflowed > self.explained(self.baseline, 1.0)
    }

    /// As [`Self::shows_congestion`], beyond doubt: in start-up there is no baseline yet.
    pub(in crate::delay) fn shows_clear_congestion(&self) -> bool {
        self.shows_congestion() && self.high.lost > (0.1 * self.high.packets).max(4.0)
    }

    /// Share of the packets that congestion takes; 0 if none shows.
    pub(in crate::delay) fn congestion(&self) -> f64 {
        self.at_high_delay().max(self.overload()).clamp(0.0, 1.0)
    }

    /// The same, of losses at high delay only: 0 if they do not show it.
    pub(in crate::delay) fn at_high_delay(&self) -> f64 {
        if self.shows_congestion() {
            (self.high.share() - self.baseline).max(0.0)
        } else {
            0.0
        }
    }

    /// The same, of an application that pauses: its packets are too few, and at high delay too
    /// seldom, for bursts of the link to be told by how often they come.
    pub(in crate::delay) fn at_high_delay_of_pauses(&self) -> f64 {
        let is_queue = !self.knows_baseline() || (self.shows_runs() && self.exceeds_bursts());
        if is_queue { self.at_high_delay() } else { 0.0 }
    }

    /// Share of the packets that was lost at high delay of late, for whatever reason: 0 if that is
    /// less than one.
    pub(in crate::delay) fn lost_at_high_delay(&self) -> f64 {
        if self.high.lost >= 1.0 {
            self.high.share()
        } else {
            0.0
        }
    }

    /// As [`Self::lost_beyond`], by the link's own share of loss.
    pub(in crate::delay) fn lost_beyond_baseline(&self) -> f64 {
        self.lost_beyond(self.baseline)
    }

    /// Share of the packets that was lost of late, at whatever delay: 0 if it is less than one, or less
    /// than twice what a link loses that loses the part `p0` by itself, in bursts as long as its losses have.
    pub(in crate::delay) fn lost_beyond(&self, p0: f64) -> f64 {
        let own = 2.0 * p0 * self.recent.packets;
        if self.recent.lost >= self.dispersion() * (1.0 + own) {
            self.recent.share()
        } else {
            0.0
        }
    }

    /// Whether the share of the packets that was lost of late, at whatever delay, exceeds what the link loses
    /// by itself, in bursts as long as its losses have, by more than `tolerated` and chance.
    pub(in crate::delay) fn loses_beyond_chance(&self, tolerated: f64) -> bool {
        let own = self.low.lost / (self.low.packets + UNPROVEN);
        let explained = (self.baseline.min(own) + tolerated) * self.recent.packets;
        let dispersion = self.dispersion();
        self.recent.lost > explained + SIGMAS * (dispersion * explained).sqrt() + dispersion
    }

    /// Share of the packets lost beyond what deep drains lose, whatever the delay: a queue of
    /// a few packets overflows before its delay shows. It must exceed 2 % and two standard
    /// deviations of the difference, 3.5 where the delay would show a queue.
    pub(in crate::delay) fn overload(&self) -> f64 {
        if !self.knows_clean_loss() || self.recent.packets < 60.0 {
            return 0.0;
        }
        let (clean, variance) = self.clean();
        let excess = self.recent.share() - clean;
        let variance = variance * (1.0 / self.deep.packets + 1.0 / self.recent.packets);
        let sigmas = if self.is_doubtful { 3.5 } else { 2.0 };
        if excess > 0.02 + sigmas * variance.sqrt() {
            excess
        } else {
            0.0
        }
    }
}

/// Packets that count as seen besides, none of them lost: one of a few that start-up overran proves little.
const UNPROVEN: f64 = 100.0;
/// Standard deviations that are no chance.
const SIGMAS: f64 = 3.0;
/// Losses at high delay that are soon there by chance where delays vary.
const BY_CHANCE: f64 = 2.0;
/// Times what delays vary by that a delay is more than that.
const FAR: f64 = 3.0;
/// Packets that a queue drops in a row.
const RUN_OF_QUEUE: f64 = 1.5;
/// Loss that a path nothing is known of may have by itself.
const GUESSED_LOSS: f64 = 0.3;
