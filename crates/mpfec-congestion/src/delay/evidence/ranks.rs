//! Whether losses come when delays are longer than otherwise.

use std::cmp::Ordering;
use std::collections::VecDeque;

/// The ranks of losses among the delays around them. A noisy link loses packets at any delay; a queue
/// that overflows does so when it is longest. That shows as well where what else makes delays vary
/// hides how long the queue is, and where it once seemed longer than it can be.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranks {
    /// Delays of the last acknowledgements, seconds, and how many packets each was for.
    recent: VecDeque<(f64, f64)>,
    /// Losses, older ones fading.
    losses: f64,
    /// The sum of their ranks, each from -0.5, below all delays, to 0.5, above all.
    sum: f64,
    show_queue: bool,
}

impl Ranks {
    /// An acknowledgement of so many packets had this delay.
    pub(super) fn on_acked(&mut self, delay: f64, packets: f64) {
        if self.recent.len() >= REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back((delay, packets));
    }

    /// So many runs of packets were lost at this delay, on a path whose losses vary by `dispersion`
    /// times as much as independent ones.
    pub(super) fn on_lost(&mut self, delay: f64, runs: f64, dispersion: f64) {
        if self.recent.len() < REMEMBERED {
            return;
        }
        self.losses += runs;
        self.sum += runs * self.rank(delay);
        // Any rank is as likely as another on a noisy link: the variance of one is 1/12.
        let deviation = (dispersion * self.losses / 12.0).sqrt();
        let sigmas = if self.show_queue { STAYS } else { SIGMAS };
        self.show_queue = self.losses >= FEWEST && self.sum > sigmas * deviation;
        if self.losses > MEMORY {
            self.losses *= 0.5;
            self.sum *= 0.5;
        }
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
        below / all.max(1.0) - 0.5
    }

    /// Whether losses are those of a queue, whatever the delay.
    pub(super) fn show_queue(&self) -> bool {
        self.show_queue
    }

    /// Losses were none: packets that others overtake count as lost when delays grow.
    pub(super) fn forget_losses(&mut self) {
        (self.losses, self.sum, self.show_queue) = (0.0, 0.0, false);
    }
}

/// Acknowledgements that a loss is compared with: some round trips.
const REMEMBERED: usize = 256;
/// Losses that count.
const MEMORY: f64 = 64.0;
/// Fewer say nothing.
const FEWEST: f64 = 16.0;
/// Standard deviations above the mean of chance that show a queue, and above which it stays shown.
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
                ranks.on_lost(delay, 1.0, 1.0);
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
    fn packets_that_were_only_overtaken_show_none() {
        let mut ranks = Ranks::default();
        for at in 0..2000 {
            ranks.on_acked(1e-3 * f64::from(at % 10), 1.0);
            if at % 20 == 0 {
                ranks.on_lost(0.02, 1.0, 1.0);
            }
        }
        assert!(ranks.show_queue());
        ranks.forget_losses();
        assert!(!ranks.show_queue());
        for _ in 1..FEWEST as u32 {
            ranks.on_lost(0.02, 1.0, 1.0);
        }
        assert!(!ranks.show_queue(), "too few since");
    }

    #[test]
    fn equal_delays_have_no_rank() {
        let mut ranks = Ranks::default();
        for _ in 0..1000 {
            ranks.on_acked(0.0, 2.0);
            ranks.on_lost(0.0, 1.0, 1.0);
        }
        assert!(!ranks.show_queue());
    }
}
