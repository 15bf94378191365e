//! Which packets a link loses: independently, and in bursts.

use crate::Rng;

/// A two-state Markov loss model (Gilbert 1960, Elliott 1963), stepped once per packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// Probability, per packet, of going from the good to the bad state, 0..=1.
    pub enter: f64,
    /// Probability, per packet, of going from the bad to the good state, 0..=1.
    pub leave: f64,
    /// Share of packets lost in the good state, 0..=1.
    pub good_loss: f64,
    /// Share of packets lost in the bad state, 0..=1.
    pub bad_loss: f64,
}

impl GilbertElliott {
    /// Loses `rate` (0..1) of all packets in bursts of `mean_length` (1 and more) packets
    /// on average: everything in the bad state, nothing in the good one.
    #[must_use]
    pub fn bursts(rate: f64, mean_length: f64) -> Self {
        let leave = 1.0 / mean_length.max(1.0);
        // The share of time in the bad state is enter / (enter + leave).
        let enter = (leave * rate / (1.0 - rate)).clamp(0.0, 1.0);
        Self {
            enter,
            leave,
            good_loss: 0.0,
            bad_loss: 1.0,
        }
    }

    /// The share of packets lost in the long run, 0..=1.
    #[must_use]
    pub fn mean_loss(&self) -> f64 {
        let moves = self.enter + self.leave;
        let bad = if moves > 0.0 { self.enter / moves } else { 0.0 };
        bad * self.bad_loss + (1.0 - bad) * self.good_loss
    }
}

/// The state of a link's loss process. Starts in the good state.
#[derive(Debug, Clone)]
pub(crate) struct Losses {
    independent: Rng,
    bursty: Rng,
    is_bad: bool,
}

impl Losses {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        Self {
            independent: rng.fork(),
            bursty: rng.fork(),
            is_bad: false,
        }
    }

    /// Whether the next packet is lost, with independent loss `rate` and `bursts` on top.
    pub(crate) fn is_lost(&mut self, rate: f64, bursts: Option<&GilbertElliott>) -> bool {
        // Both are drawn for every packet: one does not shift the other's pattern.
        let independent = self.independent.chance(rate);
        independent | self.is_lost_in_burst(bursts)
    }

    fn is_lost_in_burst(&mut self, bursts: Option<&GilbertElliott>) -> bool {
        let Some(model) = bursts else {
            self.is_bad = false;
            return false;
        };
        let (moves, loss) = match self.is_bad {
            true => (model.leave, model.bad_loss),
            false => (model.enter, model.good_loss),
        };
        let lost = self.bursty.chance(loss);
        self.is_bad ^= self.bursty.chance(moves);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64, packets: usize, rate: f64, bursts: Option<GilbertElliott>) -> Vec<bool> {
        let mut losses = Losses::new(&mut Rng::new(seed));
        (0..packets)
            .map(|_| losses.is_lost(rate, bursts.as_ref()))
            .collect()
    }

    fn share(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
    }

    fn mean_run(lost: &[bool]) -> f64 {
        let starts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        lost.iter().filter(|&&lost| lost).count() as f64 / starts as f64
    }

    #[test]
    fn independent_loss_keeps_its_rate_within_four_standard_deviations() {
        for rate in [0.001, 0.03, 0.5] {
            let packets = 200_000;
            let deviation = (rate * (1.0 - rate) / packets as f64).sqrt();
            let got = share(&run(11, packets, rate, None));
            assert!((got - rate).abs() < 4.0 * deviation, "{got} at {rate}");
        }
    }

    #[test]
    fn bursts_have_their_rate_and_their_length() {
        for (rate, length) in [(0.01, 4.0), (0.05, 10.0), (0.2, 2.0)] {
            let model = GilbertElliott::bursts(rate, length);
            assert!((model.mean_loss() - rate).abs() < 1e-12);
            let lost = run(5, 1_000_000, 0.0, Some(model));
            assert!(
                (share(&lost) / rate - 1.0).abs() < 0.1,
                "rate {} at {rate}",
                share(&lost)
            );
            assert!(
                (mean_run(&lost) / length - 1.0).abs() < 0.1,
                "run {} at {length}",
                mean_run(&lost)
            );
        }
    }

    #[test]
    fn elliotts_states_may_both_lose() {
        let model = GilbertElliott {
            enter: 0.1,
            leave: 0.3,
            good_loss: 0.01,
            bad_loss: 0.5,
        };
        // 0.25 * 0.5 + 0.75 * 0.01
        assert!((model.mean_loss() - 0.1325).abs() < 1e-12);
        let got = share(&run(9, 500_000, 0.0, Some(model)));
        assert!((got - 0.1325).abs() < 0.005, "{got}");
    }

    #[test]
    fn what_is_lost_at_a_low_rate_is_lost_at_a_higher_one() {
        let (low, high) = (run(2, 10_000, 0.02, None), run(2, 10_000, 0.04, None));
        assert!(low.iter().zip(&high).all(|(&low, &high)| !low || high));
    }
}
