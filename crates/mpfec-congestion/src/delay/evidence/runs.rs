//! Whether losses come in bursts: without that, a single one would pass for an overflow.

/// Packets that arrived, those lost, and the runs of consecutive ones among these; older ones
/// fade.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs {
    arrived: f64,
    lost: f64,
    runs: f64,
    /// Of the dispersion what exceeds that of independent losses: more ask for it than add to it.
    beyond: f64,
}

impl Runs {
    pub(super) fn add(&mut self, arrived: f64, lost: f64, runs: f64) {
        self.arrived += arrived;
        self.lost += lost;
        self.runs += runs;
        if self.arrived + self.lost > MEMORY {
            for count in [&mut self.arrived, &mut self.lost, &mut self.runs] {
                *count *= 0.5;
            }
        }
        self.beyond = self.beyond_independent();
    }

    /// How much more the number of losses varies than that of independent ones: the ratio of the
    /// variances, 1 for independent ones, about twice the length of bursts. With the
    /// probabilities `p` and `q` that a run begins and ends (Gilbert), a loss is correlated with
    /// the next packet's by `r = 1 - p - q`, and the ratio is `(1 + r) / (1 - r)`.
    ///
    /// A queue that overflows drops single packets, or two in a row where flows meet: runs so
    /// short are no bursts, so that an overflow does not excuse itself.
    pub(super) fn dispersion(&self) -> f64 {
        1.0 + self.beyond
    }

    fn beyond_independent(&self) -> f64 {
        let ends = (self.runs + 1.0) / (self.lost + 1.0);
        let begins = self.runs / self.arrived.max(1.0);
        let correlation = (1.0 - ends - begins).clamp(0.0, MOST_CORRELATED);
        let shown = (1.0 + correlation) / (1.0 - correlation);
        let is_burst = ((1.0 / ends - SHORT_RUN) / (BURST - SHORT_RUN)).clamp(0.0, 1.0);
        is_burst * (shown - 1.0)
    }
}

/// Packets.
const MEMORY: f64 = 2000.0;
/// Mean runs up to the one are no bursts, those from the other on are.
const SHORT_RUN: f64 = 1.5;
const BURST: f64 = 3.0;
/// Bursts of twenty packets.
const MOST_CORRELATED: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::tests::Random;

    /// The dispersion that a link shows that loses `loss` of its packets in bursts of `burst`.
    fn shown(loss: f64, burst: f64, packets: u32) -> f64 {
        let mut random = Random(5);
        let mut runs = Runs::default();
        let (leave, mut is_bad) = (1.0 / burst, false);
        let enter = loss * leave / (1.0 - loss);
        for _ in 0..packets {
            let before = is_bad;
            is_bad = random.next() < if is_bad { 1.0 - leave } else { enter };
            let begins = is_bad && !before;
            runs.add(
                f64::from(u8::from(!is_bad)),
                f64::from(u8::from(is_bad)),
                f64::from(u8::from(begins)),
            );
        }
        runs.dispersion()
    }

    #[test]
    fn the_dispersion_is_that_of_a_gilbert_channel() {
        for (loss, burst) in [(0.01, 5.0), (0.05, 5.0), (0.2, 10.0), (0.3, 3.0)] {
            let correlation: f64 = 1.0 - 1.0 / burst - loss / burst / (1.0 - loss);
            let expected = (1.0 + correlation) / (1.0 - correlation);
            let ratio = shown(loss, burst, 100_000) / expected;
            assert!((0.6..1.5).contains(&ratio), "{loss} x {burst}: {ratio:.2}");
        }
    }

    #[test]
    fn independent_losses_do_not_vary_more_than_they_should() {
        for loss in [0.01, 0.05, 0.2, 0.5] {
            let shown = shown(loss, 1.0 / (1.0 - loss), 100_000);
            assert!((1.0..1.35).contains(&shown), "{loss}: {shown:.2}");
        }
    }

    #[test]
    fn every_second_packet_lost_is_no_burst() {
        let mut runs = Runs::default();
        for _ in 0..100 {
            runs.add(1.0, 1.0, 1.0);
        }
        assert_eq!(runs.dispersion(), 1.0);
    }

    #[test]
    fn nothing_known_counts_as_independent() {
        assert_eq!(Runs::default().dispersion(), 1.0);
    }
}
