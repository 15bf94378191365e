//! Whether an application's bursts overrun the queue, and what pace they are given for it.

use super::count::Count;

/// What was lost with and without a queue of an application that pauses.
///
/// Bursts find the queue empty and leave it empty, so that no round's smallest delay shows what
/// they do in between: more of their packets get lost behind others than in front of them. Pauses
/// tell what the link itself loses, without a drain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overruns {
    lately: Split,
    /// Since a loss was last answered.
    unanswered: Split,
    /// Some that waited were found lost since the last round that the application limited.
    is_new: bool,
    /// Times what the path carries.
    pace: f64,
}

/// Packets that did not wait, and those that did.
#[derive(Debug, Clone, Copy, Default)]
struct Split {
    low: Count,
    high: Count,
}

impl Split {
    fn add(&mut self, packets: f64, lost: f64, has_waited: bool, memory: f64) {
        let count = if has_waited {
            &mut self.high
        } else {
            &mut self.low
        };
        count.add(packets, lost, memory);
    }

    fn forget_losses(&mut self) {
        (self.low.lost, self.high.lost) = (0.0, 0.0);
    }

    /// Whether the share lost of those that waited is larger, by more than `tolerated` and so many
    /// standard deviations.
    fn shows_queue(&self, tolerated: f64, sigmas: f64, dispersion: f64) -> bool {
        let overrun = self.high.share() - self.low.share();
        self.high.packets >= ENOUGH && overrun > tolerated + sigmas * self.error(dispersion)
    }

    /// Standard deviation of the difference between the two shares if nothing overran, one packet
    /// more taken for lost and one for arrived.
    fn error(&self, dispersion: f64) -> f64 {
        let packets = self.low.packets + self.high.packets;
        let share = (self.low.lost + self.high.lost + 1.0) / (packets + 2.0);
        let inverse = 1.0 / self.low.packets.max(1.0) + 1.0 / self.high.packets.max(1.0);
        (dispersion * share * (1.0 - share) * inverse).sqrt()
    }
}

impl Default for Overruns {
    fn default() -> Self {
        Self {
            lately: Split::default(),
            unanswered: Split::default(),
            is_new: false,
            pace: UNBOUND,
        }
    }
}

impl Overruns {
    /// `packets` were accounted for, `lost` of them as lost, which met a queue or none.
    pub(super) fn add(&mut self, packets: f64, lost: f64, has_waited: bool) {
        self.lately.add(packets, lost, has_waited, MEMORY);
        self.unanswered.add(packets, lost, has_waited, LONG_MEMORY);
        self.is_new |= has_waited && lost > 0.0;
    }

    /// Packets that counted as lost arrived after all: others may as well.
    pub(super) fn on_spurious_loss(&mut self) {
        self.lately.forget_losses();
        self.unanswered.forget_losses();
        self.is_new = false;
    }

    /// The window has answered what was lost so far.
    pub(super) fn answer(&mut self) {
        self.unanswered = Split::default();
    }

    /// A round ends that the application limited. `dispersion` is how much more losses vary than
    /// independent ones.
    pub(super) fn on_round(&mut self, dispersion: f64) {
        let is_overrun = self.lately.shows_queue(TOLERATED, PACES, dispersion);
        // Slower bursts do not wait, so that nothing takes the place of what was lost: it slows once.
        self.pace = if std::mem::take(&mut self.is_new) && is_overrun {
            (SLOWS * self.pace).max(LEAST)
        } else {
            (RECOVERS * self.pace).min(UNBOUND)
        };
    }

    /// Whether more of what waited was lost than of what did not, by more than chance explains, since
    /// the window last answered a loss.
    pub(super) fn show_queue(&self, dispersion: f64) -> bool {
        self.unanswered.shows_queue(0.0, CUTS, dispersion)
    }

    /// Share that the link loses by itself at most, as far as what did not wait tells: 1 if that is little.
    pub(super) fn most_of_link(&self, dispersion: f64) -> f64 {
        let Count { packets, lost } = self.lately.low;
        let share = (lost + 1.0) / (packets + 2.0);
        let error = (dispersion * share * (1.0 - share) / packets.max(1.0)).sqrt();
        (share + MOST * error).min(1.0)
    }

    /// How many times what the path carries bursts may be paced at; `None` if they overrun
    /// nothing.
    pub(super) fn pace(&self) -> Option<f64> {
        (self.pace < UNBOUND).then_some(self.pace)
    }
}

/// Packets that count for the pace, and for the window.
const MEMORY: f64 = 300.0;
const LONG_MEMORY: f64 = 1500.0;
/// Packets that waited, which are too few to judge by.
const ENOUGH: f64 = 10.0;
/// Share of packets that may be lost for waiting.
const TOLERATED: f64 = 0.02;
/// Standard deviations that slow bursts, and that cut the window.
const PACES: f64 = 2.0;
const CUTS: f64 = 2.5;
/// The same, that leave room for what the link loses.
const MOST: f64 = 3.0;
/// What remains of the pace after a round of overruns, and what becomes of it after another.
const SLOWS: f64 = 0.9;
const RECOVERS: f64 = 1.003;
/// Times what the path carries: the least, and where no bound is needed any more.
const LEAST: f64 = 1.0;
const UNBOUND: f64 = 1.5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::tests::Random;

    /// Rounds of 24 packets, the first six of which find no queue, of a link that loses `link` of
    /// all and whose queue drops `queue` of the others.
    fn after(rounds: u32, link: f64, queue: f64) -> Overruns {
        let mut random = Random(7);
        let mut overruns = Overruns::default();
        for _ in 0..rounds {
            for index in 0..24 {
                let has_waited = index >= 6;
                let loss = if has_waited { link + queue } else { link };
                let lost = f64::from(u8::from(random.next() < loss));
                overruns.add(1.0, lost, has_waited);
            }
            overruns.on_round(1.0);
        }
        overruns
    }

    #[test]
    fn bursts_that_overrun_a_queue_are_paced_at_what_the_path_carries() {
        for link in [0.0, 0.1] {
            let pace = after(40, link, 0.2).pace();
            assert_eq!(pace, Some(LEAST), "{link} of the link's own");
        }
    }

    #[test]
    fn what_the_link_loses_with_and_without_a_queue_slows_nothing() {
        for link in [0.0, 0.03, 0.2] {
            assert_eq!(after(200, link, 0.0).pace(), None, "{link}");
        }
    }

    #[test]
    fn what_does_not_wait_shows_how_much_the_link_loses_at_most() {
        assert_eq!(Overruns::default().most_of_link(1.0), 1.0);
        for link in [0.0, 0.03, 0.2] {
            let most = after(40, link, 0.3).most_of_link(1.0);
            assert!((link..link + 0.13).contains(&most), "{link}: {most}");
        }
    }

    #[test]
    fn losses_of_before_do_not_slow_bursts_again_and_again() {
        let mut overruns = after(1, 0.0, 0.5);
        let slowed = overruns.pace().expect("bursts overran the queue");
        for _ in 0..10 {
            overruns.add(24.0, 0.0, false);
            overruns.on_round(1.0);
        }
        assert!(overruns.pace().is_none_or(|pace| pace > slowed));
    }

    #[test]
    fn what_was_lost_before_an_answer_does_not_cut_again() {
        let mut overruns = after(4, 0.0, 0.3);
        assert!(overruns.show_queue(1.0));
        overruns.answer();
        overruns.add(6.0, 0.0, false);
        overruns.add(18.0, 3.0, true);
        assert!(!overruns.show_queue(1.0), "three of 24 may be chance");
    }

    #[test]
    fn a_queue_that_drops_one_packet_in_sixty_is_seen_in_many_bursts() {
        assert!(!after(10, 0.0, 0.016).show_queue(1.0));
        assert!(after(100, 0.0, 0.016).show_queue(1.0));
        assert!(!after(100, 0.016, 0.0).show_queue(1.0));
    }

    #[test]
    fn losses_that_were_none_slow_nothing() {
        let mut overruns = Overruns::default();
        for _ in 0..10 {
            overruns.add(6.0, 0.0, false);
            overruns.add(18.0, 9.0, true);
            overruns.on_spurious_loss();
            overruns.on_round(1.0);
        }
        assert_eq!(overruns.pace(), None);
    }

    #[test]
    fn a_pace_is_as_before_some_hundred_rounds_after_the_last_overrun() {
        let mut overruns = after(40, 0.0, 0.2);
        let mut rounds = 0;
        while overruns.pace().is_some() {
            for index in 0..24 {
                overruns.add(1.0, 0.0, index >= 6);
            }
            overruns.on_round(1.0);
            rounds += 1;
        }
        assert!((130..200).contains(&rounds), "{rounds} rounds");
    }
}
