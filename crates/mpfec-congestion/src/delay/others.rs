//! Whether others fill the queue, and whether they leave us our share, seen while we keep a
//! small queue ourselves.

use super::steady::TCP_SURVIVES;
use super::{Delay, Mode, QUEUE_NOISE};

/// What shows others from round to round.
#[derive(Debug, Clone, Default)]
pub(super) struct Others {
    /// Drains that left a standing queue, each that did not taking one back.
    stands: u32,
    /// Rounds in a row in which we gave way to a queue that is not ours.
    given_way: u32,
    /// Least and most delay of the queue in these rounds, seconds.
    least: f64,
    most: f64,
}

impl Delay {
    /// Packets per second that an equal share of the path would give us beside one other, as far as
    /// what it carried at best tells.
    fn equal_share(&self) -> f64 {
        0.5 * self.carried.part(self.part)
    }

    /// Whether we have less than an equal share.
    pub(super) fn is_weak(&self) -> bool {
        self.delivered_mean < self.equal_share()
    }

    /// The window of an equal share: where one returns to quickly that had given way for too long.
    pub(super) fn share_of_peak(&self) -> f64 {
        self.window.max(self.equal_share() * self.srtt)
    }

    /// Whether a queue stands that our drains do not take away: three drains in a row left half
    /// of one that is longer than what flows like ours make together.
    pub(super) fn is_contended(&mut self) -> bool {
        let floor = self.floor_seconds();
        let packets = (self.rate_max * floor).sqrt().max(2.0);
        let ours = (packets / self.rate_max).min(self.target() / self.rate.max(1.0));
        let delay = self.queue_delay;
        let Mode::Steady(steady) = &mut self.mode else {
            return false;
        };
        let stands = floor >= QUEUE_NOISE
            && steady.delay_before > MORE * ours
            && delay > STANDS * steady.delay_before;
        let others = &mut steady.others;
        others.stands = if stands {
            others.stands + 1
        } else {
            others.stands.saturating_sub(1)
        };
        others.stands >= STANDING_DRAINS
    }

    /// Whether for some rounds we had far less than an equal share, in a queue that has grown
    /// meanwhile: if the path carried less than before, it would be our own and shrink with our
    /// window, and if it were longer, the delay would stay.
    pub(super) fn gives_way(&mut self, limited: bool) -> bool {
        let floor = self.floor_seconds();
        let carried = self.carried.own();
        let ours = MORE * (carried * floor).sqrt().max(2.0);
        let delay = self.queue_delay;
        let is_behind = limited
            && floor >= QUEUE_NOISE
            && self.evidence.baseline() < TCP_SURVIVES
            && self.delivered_mean < FAR_LESS * self.equal_share()
            && delay * carried > ours;
        let Mode::Steady(steady) = &mut self.mode else {
            return false;
        };
        let others = &mut steady.others;
        if !is_behind {
            others.given_way = 0;
            return false;
        }
        others.given_way += 1;
        if others.given_way <= 2 {
            // Part of the first round may have passed before the path became longer.
            (others.least, others.most) = (delay, delay);
        }
        others.least = others.least.min(delay);
        others.most = others.most.max(delay);
        let has_grown = delay > GROWN * others.least && delay >= 0.95 * others.most;
        others.given_way >= ROUNDS && has_grown
    }
}

/// By how much a queue is longer than what flows that keep a small one make.
const MORE: f64 = 1.5;
/// Part of the queue that a drain leaves if somebody else fills it.
const STANDS: f64 = 0.5;
/// Once may be chance, and somebody of our kind who drains at other times.
const STANDING_DRAINS: u32 = 3;
/// Part of an equal share that no flow like ours would leave us.
const FAR_LESS: f64 = 0.8;
/// Rounds in which a queue of our own would have shrunk.
const ROUNDS: u32 = 4;
/// By how much a queue that others fill grows meanwhile.
const GROWN: f64 = 1.2;
