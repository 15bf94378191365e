//! Whether losses come when delays are longer than otherwise.

use std::cmp::Ordering;
use std::collections::VecDeque;

/// The ranks of losses among the delays before them, beside those of other packets: delays may have
/// grown for all. A noisy link loses packets at any delay; a queue that overflows does so when it is
/// longest. That shows as well where what else makes delays vary hides how long the queue is, and where
/// it once seemed longer than it can be.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranks {
    /// Delays of the last acknowledgements, seconds, and how many packets each was for.
    recent: VecDeque<(f64, f64)>,
    /// Acknowledgements until one is ranked.
    skipped: u32,
    of_acked: Sum,
    of_lost: Sum,
    show_queue: bool,
}

/// Ranks, older ones fading.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: f64,
    /// Each from 0, below all delays, to 1, above all.
    sum: f64,
}

impl Sum {
    fn add(&mut self, rank: f64, count: f64) {
        self.count += count;
        self.sum += rank * count;
    }

    fn fade(&mut self) {
        self.count *= 0.5;
        self.sum *= 0.5;
    }
}

impl Ranks {
    /// An acknowledgement of so many packets had this delay.
    pub(super) fn on_acked(&mut self, delay: f64, packets: f64) {
        if self.recent.len() >= REMEMBERED {
            self.skipped += 1;
            if self.skipped >= EVERY {
                self.skipped = 0;
                self.of_acked.add(self.rank(delay), packets);
            }
            self.recent.pop_front();
        }
        self.recent.push_back((delay, packets));
    }

    /// With an acknowledgement of this delay losses were found, on a path where their number varies
    /// `dispersion` times as much as that of independent ones.
    pub(super) fn on_lost(&mut self, delay: f64, dispersion: f64) {
        if self.recent.len() < REMEMBERED {
            return;
        }
        self.of_lost.add(self.rank(delay), 1.0);
        self.show_queue = self.judge(dispersion);
        if self.of_lost.count > MEMORY {
            self.of_lost.fade();
            self.of_acked.fade();
        }
    }

    /// Whether the ranks of losses are above those of others by more than chance explains.
    fn judge(&self, dispersion: f64) -> bool {
        let Sum { count, sum } = self.of_lost;
        if count < FEWEST || self.of_acked.count < FEWEST {
            return false;
        }
        let expected = count * self.of_acked.sum / self.of_acked.count;
        // Any rank is as likely as another on a noisy link: the variance of one is 1/12.
        let deviation = (dispersion * count / 12.0).sqrt();
        let sigmas = if self.show_queue { STAYS } else { SIGMAS };
        sum - expected > sigmas * deviation
    }

    fn rank(&self, delay: f64) -> f64 {
        let (mut below, mut all) = (0.0, 0.0);
        for &(other, packets) in &self.recent {
            all += packets;
            below += match other.total_cmp(&delay) {
                Ordering::Less => packets,
                Ordering::Equal => 0.5 * packets,
                Ordering::Greater => 0.0,
            };
        }
        below / all.max(1.0)
    }

    /// Whether losses are those of a queue, whatever the delay.
    pub(super) fn show_queue(&self) -> bool {
        self.show_queue
    }

    /// Losses were none: packets that others overtake count as lost when delays grow.
    pub(super) fn forget_losses(&mut self) {
        (self.of_acked, self.of_lost) = Default::default();
        self.show_queue = false;
    }
}

/// Acknowledgements that a loss is compared with: some round trips.
const REMEMBERED: usize = 256;
/// One of so many acknowledgements is ranked.
const EVERY: u32 = 8;
/// Losses that count.
const MEMORY: f64 = 64.0;
/// Fewer say nothing.
const FEWEST: f64 = 16.0;
/// Standard deviations above chance that show a queue, and above which it stays shown.
const SIGMAS: f64 = 4.0;
const STAYS: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::tests::Random;

    /// A path whose queue of up to 5 ms fills and empties every 200 acknowledgements, while delays
    /// vary by another 5 ms: whether losses show it, where one packet of 100 is lost at random and
    /// `overflows` of those that find more than 4.5 ms.
    fn show_queue(seed: u64, overflows: f64) -> bool {
        let (mut ranks, mut random) = (Ranks::default(), Random(seed));
        for at in 0..20_000 {
            let queue = 5.0 * f64::from(at % 200) / 200.0;
            let delay = 1e-3 * (queue + 5.0 * random.next());
            let is_overflow = queue > 4.5 && random.next() < overflows;
            if is_overflow || random.next() < 0.01 {
                ranks.on_lost(delay, 1.0);
            } else {
                ranks.on_acked(delay, 1.0);
            }
        }
        ranks.show_queue()
    }

    #[test]
    fn a_queue_is_seen_in_delays_that_vary_by_as_much_as_it_holds() {
        for seed in 1..=20 {
            assert!(show_queue(seed, 0.3), "seed {seed}");
        }
    }

    #[test]
    fn losses_at_random_show_none() {
        for seed in 1..=20 {
            assert!(!show_queue(seed, 0.0), "seed {seed}");
        }
    }

    #[test]
    fn losses_at_random_show_none_while_delays_grow() {
        for seed in 1..=20 {
            let (mut ranks, mut random) = (Ranks::default(), Random(seed));
            for at in 0..5000 {
                let delay = 1e-6 * f64::from(at);
                if random.next() < 0.01 {
                    ranks.on_lost(delay, 1.0);
                } else {
                    ranks.on_acked(delay, 1.0);
                }
                assert!(!ranks.show_queue(), "seed {seed}, {at}");
            }
        }
    }

    #[test]
    fn packets_that_were_only_overtaken_show_none() {
        let mut ranks = Ranks::default();
        for at in 0..2000 {
            ranks.on_acked(1e-3 * f64::from(at % 10), 1.0);
            if at % 20 == 0 {
                ranks.on_lost(0.02, 1.0);
            }
        }
        assert!(ranks.show_queue());
        ranks.forget_losses();
        assert!(!ranks.show_queue());
        for _ in 1..FEWEST as u32 {
            ranks.on_lost(0.02, 1.0);
        }
        assert!(!ranks.show_queue(), "too few since");
    }

    #[test]
    fn equal_delays_have_no_rank() {
        let mut ranks = Ranks::default();
        for _ in 0..1000 {
            ranks.on_acked(0.0, 2.0);
            ranks.on_lost(0.0, 1.0);
        }
        assert!(!ranks.show_queue());
    }
}
