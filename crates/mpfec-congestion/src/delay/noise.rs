//! Delay that no queue makes: what a path's round trip varies by while it is empty, and jumps by.

use super::HOST_NOISE;
use super::lately::Lately;
use super::round::Round;

/// What rounds have shown, those above all in which our queue was drained.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Noise {
    least: Lately,
    swing: Lately,
    /// The largest jumps of all rounds.
    jumps: Lately,
}

impl Noise {
    /// A round was acknowledged, drained or not, on a path whose bottleneck takes `packet_time` seconds
    /// for a packet. Nobody's queue jumps, some packets aside, and a drained round holds few
    /// acknowledgements.
    pub(super) fn on_round(&mut self, round: &Round, packet_time: f64) {
        self.jumps.add(round.jump_max - FEW * packet_time);
    }

    /// A round was acknowledged in which our queue was drained, on a path whose bottleneck takes
    /// `packet_time` seconds for a packet. What its delays are above the floor is the path's own as
    /// far as they jump by as much from one acknowledgement to the next, some packets aside: a queue
    /// that somebody else fills is long, but grows packet by packet. Few acknowledgements seldom show
    /// the largest jump: what jumps by a third of all that it varies by is taken to jump by that. What
    /// its smallest delay waited for on the way back is none of the queue, whatever a packet takes, if hosts
    /// alone do not make it: a path that has given way to its own noise has few packets, with which all
    /// jumps seem small.
    pub(super) fn on_drained(&mut self, round: &Round, packet_time: f64) {
        let jump = round.jump_max - FEW * packet_time;
        let range = round.rise_max - round.rise_min - FEW * packet_time;
        let swing = if jump > JUMPY * range { range } else { jump };
        self.swing.add(swing);
        let back = if round.least_back > HOST_NOISE {
            round.least_back
        } else {
            0.0
        };
        self.least.add(round.rise_min.min(swing.max(back)));
    }

    /// The path is another one: what its smallest delays were above the floor is part of a new floor.
    pub(super) fn forget_least(&mut self) {
        self.least = Lately::default();
    }

    /// By how many seconds the smallest delay of a round is above the floor without a queue.
    pub(super) fn least(&self) -> f64 {
        self.least.median()
    }

    /// By how many seconds delays differ within a round without a queue. What lasted for several
    /// drains is not forgotten for one, of a round of few acknowledgements.
    pub(super) fn swing(&self) -> f64 {
        self.swing.large().max(self.jumps.large())
    }

    /// By how many seconds a delay may be above the floor without a queue.
    pub(super) fn most(&self) -> f64 {
        self.least() + self.swing()
    }
}

/// Packets that others may send between two of ours.
const FEW: f64 = 4.0;
/// Part of what delays vary by in a round that jumps of noise make at least.
const JUMPY: f64 = 0.35;

#[cfg(test)]
mod tests {
    use super::*;

    impl Noise {
        /// A drained round whose delays were so many seconds above the floor, at least and at most.
        pub(in crate::delay) fn show(&mut self, least: f64, most: f64) {
            let mut round = Round::new();
            (round.rise_min, round.rise_max) = (least, most);
            round.jump_max = most - least;
            self.on_drained(&round, 0.0);
        }
    }

    /// A drained round whose delays were so many milliseconds above the floor, at least and at most,
    /// and its largest jump.
    fn drained((least_ms, most_ms, jump_ms): (f64, f64, f64)) -> Round {
        let mut round = Round::new();
        (round.rise_min, round.rise_max) = (1e-3 * least_ms, 1e-3 * most_ms);
        round.jump_max = 1e-3 * jump_ms;
        round
    }

    /// What such rounds show where a packet takes a fourth of a millisecond.
    fn noise(rounds: &[(f64, f64, f64)]) -> Noise {
        let mut noise = Noise::default();
        for round in rounds {
            noise.on_drained(&drained(*round), 0.25e-3);
        }
        noise
    }

    fn ms(seconds: f64) -> f64 {
        (seconds * 1e9).round() / 1e6
    }

    fn least_ms(rounds: &[(f64, f64, f64)]) -> f64 {
        ms(noise(rounds).least())
    }

    #[test]
    fn what_drains_leave_is_the_paths_own_where_delays_jump_by_as_much() {
        let rounds = [(6.0, 21.0, 15.0), (4.0, 18.0, 14.0), (5.0, 21.0, 16.0)];
        assert_eq!(least_ms(&rounds), 5.0);
    }

    #[test]
    fn a_delay_may_be_above_that_by_as_much_as_it_jumps() {
        let noise = noise(&[(5.0, 20.0, 15.0); 3]);
        assert_eq!((ms(noise.swing()), ms(noise.most())), (14.0, 19.0));
    }

    #[test]
    fn what_jumps_by_a_third_of_what_it_varies_by_may_jump_by_all_of_it() {
        assert_eq!(ms(noise(&[(0.0, 20.0, 8.0); 3]).swing()), 19.0);
        assert_eq!(ms(noise(&[(0.0, 20.0, 5.0); 3]).swing()), 4.0);
    }

    #[test]
    fn rounds_of_few_acknowledgements_do_not_take_back_what_others_have_shown() {
        let (jumpy, few) = ((3.0, 13.0, 10.0), (3.0, 4.0, 1.0));
        let rounds = [jumpy, jumpy, jumpy, few, few, few, few, few, few];
        assert_eq!(ms(noise(&rounds).swing()), 9.0);
        let rounds = [rounds.as_slice(), &[few]].concat();
        assert_eq!(ms(noise(&rounds).swing()), 0.0);
    }

    #[test]
    fn what_rounds_jump_by_that_are_not_drained_counts_as_well() {
        let mut noise = noise(&[(3.0, 4.0, 1.0); 3]);
        for jump in [9.0, 8.0, 2.0, 7.0, 1.0] {
            noise.on_round(&drained((0.0, 30.0, jump)), 0.25e-3);
        }
        assert_eq!((ms(noise.swing()), ms(noise.least())), (6.0, 0.0));
    }

    #[test]
    fn a_queue_that_others_keep_full_is_none_of_the_path() {
        assert_eq!(noise(&[(30.0, 36.0, 0.75); 3]).most(), 0.0);
    }

    #[test]
    fn what_others_send_at_once_is_none_of_the_path() {
        assert_eq!(least_ms(&[(9.0, 20.0, 1.0); 3]), 0.0);
        assert_eq!(least_ms(&[(9.0, 20.0, 1.5); 3]), 0.5);
    }

    #[test]
    fn what_a_drain_leaves_is_the_paths_own_as_far_as_it_was_on_the_way_back() {
        let mut noise = Noise::default();
        for back in [3.0, 4.0, 4.5] {
            let mut round = drained((6.0, 9.0, 1.0));
            round.least_back = 1e-3 * back;
            noise.on_drained(&round, 0.25e-3);
        }
        assert_eq!((ms(noise.least()), ms(noise.swing())), (4.0, 0.0));
    }

    #[test]
    fn one_drain_says_nothing() {
        let (calm, stall) = ((0.0, 1.0, 1.0), (9.0, 29.0, 20.0));
        assert_eq!(noise(&[calm, stall, calm]).most(), 0.0);
        assert_eq!(noise(&[calm, stall, calm, stall]).swing(), 0.0);
    }

    #[test]
    fn two_drains_that_leave_nothing_take_it_back() {
        let noisy = (5.0, 20.0, 15.0);
        let calm = (0.0, 20.0, 15.0);
        assert_eq!(least_ms(&[noisy, noisy, noisy, calm]), 5.0);
        assert_eq!(least_ms(&[noisy, noisy, noisy, calm, calm]), 0.0);
    }

    #[test]
    fn a_round_in_which_nothing_was_acknowledged_shows_none() {
        let mut noise = Noise::default();
        for _ in 0..3 {
            noise.on_drained(&Round::new(), 0.001);
        }
        assert_eq!((noise.least(), noise.most()), (0.0, 0.0));
    }
}
