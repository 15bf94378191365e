//! How many of a path's packets get lost.

/// A running mean over the last hundred packets or so, all causes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LossRate {
    mean: f64,
    seen: f64,
}

impl LossRate {
    pub(crate) fn new() -> Self {
        Self {
            mean: PRIOR,
            seen: 0.0,
        }
    }

    /// The share of packets that are lost, from 0.0005 to 0.95: never certain.
    pub(crate) fn get(&self) -> f64 {
        self.mean.clamp(0.0005, 0.95)
    }

    /// How many losses in a row chance alone hardly explains: less than once in a hundred.
    pub(crate) fn improbable_run(&self) -> u32 {
        run(self.get(), 0.01)
    }

    /// How many unanswered packets in a row chance alone does not explain, if answers get lost
    /// like `answers`: the end of every flight may get lost, and a path has many flights.
    pub(crate) fn inexplicable_run(&self, answers: &Self) -> u32 {
        run(1.0 - (1.0 - self.get()) * (1.0 - answers.get()), 0.0001)
    }

    /// Packets counted as lost arrived after all.
    pub(crate) fn on_spurious(&mut self, packets: u64) {
        let weight = packets as f64 / (self.seen + PRIOR_WEIGHT);
        self.mean = (self.mean - weight).max(0.0);
    }

    /// Packets whose fate became known.
    pub(crate) fn update(&mut self, acked: u64, lost: u64) {
        let count = (acked + lost) as f64;
        if count == 0.0 {
            return;
        }
        self.seen = (self.seen + count).min(HORIZON);
        let weight = (count / (self.seen + PRIOR_WEIGHT)).min(1.0);
        self.mean += weight * (lost as f64 / count - self.mean);
    }
}

/// How many losses in a row have this `chance` if that share gets lost.
fn run(loss: f64, chance: f64) -> u32 {
    (chance.ln() / loss.ln()).ceil().clamp(3.0, 32.0) as u32
}

const PRIOR: f64 = 0.01;
const PRIOR_WEIGHT: f64 = 16.0;
const HORIZON: f64 = 256.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_five_is_learned_within_three_hundred_packets() {
        let mut rate = LossRate::new();
        for _ in 0..60 {
            rate.update(4, 1);
        }
        assert!((rate.get() - 0.2).abs() < 0.02, "{}", rate.get());
    }

    #[test]
    fn a_lossless_path_is_never_quite_certain() {
        let mut rate = LossRate::new();
        rate.update(100_000, 0);
        assert!(rate.get() >= 0.0005);
    }
}
