//! How many of a path's packets get lost, and how many in a row.

use std::time::Duration;

/// Running means over the last two hundred packets or so and over four times as many, all causes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LossRate {
    mean: f64,
    long: f64,
    seen: f64,
    /// Losses, and runs of them, of late.
    lost: f64,
    runs: f64,
    /// Packets that have arrived since one was lost or late.
    punctual: u64,
}

impl LossRate {
    pub(crate) fn new() -> Self {
        Self {
            mean: PRIOR,
            long: PRIOR,
            seen: 0.0,
            lost: 0.0,
            runs: 0.0,
            punctual: 0,
        }
    }

    /// The share of packets that are lost, from 0.0005 to 0.95: never certain.
    pub(crate) fn get(&self) -> f64 {
        self.mean.clamp(0.0005, 0.95)
    }

    /// The same over the longer time.
    pub(crate) fn long(&self) -> f64 {
        self.long.clamp(0.0005, 0.95)
    }

    /// How many packets have arrived in time since one was lost or late.
    pub(crate) fn punctual(&self) -> u64 {
        self.punctual
    }

    /// A packet was acknowledged after a round trip of `took`, where such of `usual` are usual.
    pub(crate) fn on_round_trip(&mut self, took: Duration, usual: Duration) {
        if took > usual + (usual / LATE).max(SHORT) {
            self.punctual = 0;
        }
    }

    /// Mean number of packets lost in a row.
    pub(crate) fn burst(&self) -> f64 {
        ((self.lost + PRIOR_RUNS) / (self.runs + PRIOR_RUNS)).max(1.0)
    }

    /// So many packets were lost, in so many runs of consecutive ones.
    pub(crate) fn on_runs(&mut self, lost: u64, runs: u32) {
        let lost = lost as f64;
        let kept = 1.0 - (lost / RUN_HORIZON).min(1.0);
        self.lost = self.lost * kept + lost;
        self.runs = self.runs * kept + f64::from(runs);
    }

    /// So many packets, in so many runs, were lost together while nothing was heard of the path.
    /// What protects ahead of loss has to reckon with the next such burst; what is repaired when
    /// the path is heard of does not.
    pub(crate) fn on_burst(&mut self, lost: u64, runs: u32) {
        let weight = lost as f64 / (self.seen.min(LONG_HORIZON) + PRIOR_WEIGHT);
        self.long += weight.min(1.0) * (1.0 - self.long);
        if lost > 0 {
            self.punctual = 0;
        }
        self.on_runs(lost, runs);
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
        for (mean, horizon) in [(&mut self.mean, HORIZON), (&mut self.long, LONG_HORIZON)] {
            let weight = packets as f64 / (self.seen.min(horizon) + PRIOR_WEIGHT);
            *mean = (*mean - weight).max(0.0);
        }
        self.lost = (self.lost - packets as f64).max(self.runs);
    }

    /// Packets whose fate became known.
    pub(crate) fn update(&mut self, acked: u64, lost: u64) {
        let count = (acked + lost) as f64;
        if count == 0.0 {
            return;
        }
        self.punctual = if lost == 0 {
            self.punctual.saturating_add(acked)
        } else {
            0
        };
        self.seen = (self.seen + count).min(LONG_HORIZON);
        let kept = 1.0 - (count / RUN_MEMORY).min(1.0);
        self.lost *= kept;
        self.runs *= kept;
        for (mean, horizon) in [(&mut self.mean, HORIZON), (&mut self.long, LONG_HORIZON)] {
            let weight = (count / (self.seen.min(horizon) + PRIOR_WEIGHT)).min(1.0);
            *mean += weight * (lost as f64 / count - *mean);
        }
    }
}

/// How many losses in a row have this `chance` if that share gets lost.
fn run(loss: f64, chance: f64) -> u32 {
    (chance.ln() / loss.ln()).ceil().clamp(3.0, 32.0) as u32
}

/// Part of a round trip by which one is late, and what hosts make it longer by, whatever it is.
const LATE: u32 = 4;
const SHORT: Duration = Duration::from_millis(5);
const PRIOR: f64 = 0.01;
const PRIOR_WEIGHT: f64 = 16.0;
const HORIZON: f64 = 256.0;
const LONG_HORIZON: f64 = 1024.0;
/// Single losses that are believed in before any is seen.
const PRIOR_RUNS: f64 = 2.0;
/// Losses after which half and more of what was seen of runs is forgotten.
const RUN_HORIZON: f64 = 256.0;
/// Packets after which half and more of it is forgotten though nothing is lost.
const RUN_MEMORY: f64 = 4096.0;

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
    fn what_is_lost_or_late_ends_a_row_of_punctual_packets() {
        let ms = Duration::from_millis;
        let mut rate = LossRate::new();
        rate.update(900, 0);
        rate.update(100, 0);
        assert_eq!(rate.punctual(), 1000);
        rate.update(10, 1);
        assert_eq!(rate.punctual(), 0, "one was lost, somewhere among them");
        rate.update(7, 0);
        rate.on_burst(0, 0);
        assert_eq!(rate.punctual(), 7);
        rate.on_burst(3, 1);
        assert_eq!(rate.punctual(), 0, "some were lost in a silence");
        rate.update(7, 0);
        rate.on_round_trip(ms(124), ms(100));
        rate.on_round_trip(ms(14), ms(10));
        assert_eq!(rate.punctual(), 7);
        rate.on_round_trip(ms(126), ms(100));
        assert_eq!(rate.punctual(), 0, "one came late");
    }

    #[test]
    fn a_lossless_path_is_never_quite_certain() {
        let mut rate = LossRate::new();
        rate.update(100_000, 0);
        assert_eq!(rate.get(), 0.0005, "the mean says less");
        assert!(rate.mean < 0.0005, "{}", rate.mean);
    }

    #[test]
    fn two_hundred_packets_that_happen_to_arrive_do_not_make_a_path_of_2_percent_a_sound_one() {
        let mut rate = LossRate::new();
        for _ in 0..100 {
            rate.update(49, 1);
        }
        rate.update(200, 0);
        assert!(rate.get() < 0.01, "{}", rate.get());
        assert!((0.015..0.02).contains(&rate.long()), "{}", rate.long());
        rate.update(4000, 0);
        assert!(rate.long() < 0.001, "{}", rate.long());
    }

    #[test]
    fn what_was_not_lost_after_all_is_taken_from_both_means() {
        let mut rate = LossRate::new();
        rate.update(2000, 0);
        let before = (rate.get(), rate.long());
        rate.update(0, 20);
        rate.on_spurious(20);
        assert!(rate.get() <= before.0 && rate.long() <= before.1 + 1e-6);
    }

    #[test]
    fn bursts_are_known_after_a_few_of_them_and_forgotten_after_hundreds_of_single_losses() {
        let mut rate = LossRate::new();
        assert_eq!(rate.burst(), 1.0);
        for _ in 0..6 {
            rate.on_runs(3, 1);
            rate.on_runs(2, 0);
        }
        assert!((3.5..5.0).contains(&rate.burst()), "{}", rate.burst());
        for _ in 0..1000 {
            rate.on_runs(1, 1);
        }
        assert!(rate.burst() < 1.1, "{}", rate.burst());
        rate.on_runs(u64::from(u32::MAX), 1);
        assert!(rate.burst().is_finite(), "{}", rate.burst());
    }

    #[test]
    fn a_burst_in_which_the_path_was_silent_is_expected_again_though_not_of_what_is_lost_now() {
        let mut rate = LossRate::new();
        rate.update(1000, 0);
        let before = rate.get();
        rate.on_burst(30, 1);
        assert_eq!(rate.get(), before);
        assert!((0.02..0.04).contains(&rate.long()), "{}", rate.long());
        assert!(rate.burst() > 5.0, "{}", rate.burst());
        rate.on_burst(u64::MAX, u32::MAX);
        assert!(rate.long() <= 0.95 && rate.burst().is_finite());
    }

    #[test]
    fn one_overflow_is_forgotten_where_nothing_more_is_lost_and_what_arrives_after_all_was_no_burst()
     {
        let mut rate = LossRate::new();
        rate.on_runs(60, 2);
        assert!(rate.burst() > 10.0, "{}", rate.burst());
        for _ in 0..200 {
            rate.update(100, 0);
        }
        assert!(rate.burst() < 1.5, "{}", rate.burst());
        rate.on_runs(60, 2);
        rate.on_spurious(60);
        assert!(rate.burst() < 1.5, "{}", rate.burst());
    }
}
