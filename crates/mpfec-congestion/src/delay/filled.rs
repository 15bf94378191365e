//! Whether an application that pauses fills its path all the same.
//!
//! A block is read sooner if repair goes along in slots that would be idle, so that a path may be full
//! although the application pauses. Then its queue does not empty between two blocks: nothing is left
//! that finds no queue, what that drops cannot be told from what the link loses, and the window that
//! nothing seems to fill is never measured. So where losses, too many for the link, come with a queue
//! that stands for rounds and is ours, it is the path that limits.

use super::round::Round;
use super::{Delay, HOST_NOISE};

/// How steadily the path has been full.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Filled {
    /// Full rounds, less some for each other one.
    rounds: u32,
}

impl Filled {
    /// A round has passed, with a full path or not. Whether the path has been full for longer than a block
    /// of the application takes.
    pub(super) fn on_round(&mut self, is_full: bool) -> bool {
        self.rounds = if is_full {
            (self.rounds + 1).min(2 * LONG)
        } else {
            self.rounds.saturating_sub(EMPTIED)
        };
        self.rounds >= LONG
    }
}

impl Delay {
    /// Whether the path was full in all of a round of `length` seconds, with nothing of others, and more
    /// has been lost of late than the link explains.
    pub(super) fn fills_path(&self, round: &Round, length: f64) -> bool {
        let carried = self.carried.own().max(1.0);
        let least = (HALF_A_PACKET / carried).max(HOST_NOISE).max(self.swing());
        round.delay_min() > least
            && round.acked >= MOST * carried * length
            && self.evidence.loses_beyond_chance(LITTLE_LOSS)
    }
}

/// Rounds for which a path is full at least, and how many one takes back in which it was not: a load of
/// four fifths leaves some without a queue.
const LONG: u32 = 8;
const EMPTIED: u32 = 4;
/// Packets in the queue that are not those of a moment.
const HALF_A_PACKET: f64 = 0.5;
/// Part of what the path carries that leaves less than an equal share to others.
const MOST: f64 = 0.7;
/// Loss beyond the link's own that is less than what a window makes which is too large for good.
const LITTLE_LOSS: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_full_in_three_of_four_rounds_is_not_always_full() {
        let mut filled = Filled::default();
        assert!((0..200).all(|round| !filled.on_round(round % 4 != 0)));
    }

    #[test]
    fn a_path_that_is_full_for_eight_rounds_remains_so_if_it_seldom_is_not() {
        let mut filled = Filled::default();
        assert_eq!((1..=8).filter(|_| filled.on_round(true)).count(), 1);
        for round in 0..200 {
            filled.on_round(round % 10 != 0);
        }
        assert!(filled.on_round(true));
        for _ in 0..4 {
            filled.on_round(false);
        }
        assert!(!filled.on_round(true));
    }
}
