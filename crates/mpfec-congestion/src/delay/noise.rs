//! Delay that no queue makes: what a path's round trip varies by while it is empty.

use super::round::Round;

/// What drained rounds have shown, newest last, seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Noise {
    shown: [f64; SHOWN],
}

impl Noise {
    /// A round was acknowledged in which our queue was drained. What its smallest delay is above
    /// the floor is the path's own as far as the delay jumps by as much from one acknowledgement to
    /// the next, and by more than some packets that take `packet_time` seconds each: a queue that
    /// somebody else fills is long, but grows packet by packet.
    pub(super) fn on_drained(&mut self, round: &Round, packet_time: f64) {
        let shown = round.rise_min.min(round.jump_max) - FEW * packet_time;
        self.shown.rotate_left(1);
        self.shown[SHOWN - 1] = shown.max(0.0);
    }

    /// Seconds: the median of what was shown.
    pub(super) fn get(&self) -> f64 {
        let mut sorted = self.shown;
        sorted.sort_by(f64::total_cmp);
        sorted[SHOWN / 2]
    }
}

const SHOWN: usize = 3;
/// Packets that others may send between two of ours.
const FEW: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// A drained round of so many milliseconds above the floor at least, and its largest jump.
    fn drained(least_ms: f64, jump_ms: f64) -> Round {
        let mut round = Round::new();
        (round.rise_min, round.jump_max) = (1e-3 * least_ms, 1e-3 * jump_ms);
        round
    }

    /// What such rounds show where a packet takes a fourth of a millisecond.
    fn noise_ms(rounds: &[(f64, f64)]) -> f64 {
        let mut noise = Noise::default();
        for &(least, jump) in rounds {
            noise.on_drained(&drained(least, jump), 0.25e-3);
        }
        (1e3 * noise.get() * 1e6).round() / 1e6
    }

    #[test]
    fn what_drains_leave_is_the_paths_own_where_delays_jump_by_as_much() {
        assert_eq!(noise_ms(&[(6.0, 15.0), (4.0, 14.0), (5.0, 16.0)]), 4.0);
    }

    #[test]
    fn a_queue_that_others_keep_full_is_none_of_the_path() {
        assert_eq!(noise_ms(&[(30.0, 0.75); 3]), 0.0);
    }

    #[test]
    fn a_queue_of_a_few_packets_is_none_of_the_path() {
        assert_eq!(noise_ms(&[(1.0, 10.0); 3]), 0.0);
    }

    #[test]
    fn one_drain_says_nothing() {
        assert_eq!(noise_ms(&[(0.0, 1.0), (0.0, 1.0), (9.0, 20.0)]), 0.0);
    }

    #[test]
    fn two_drains_that_leave_nothing_take_it_back() {
        let noisy = (5.0, 15.0);
        let calm = (0.0, 15.0);
        assert_eq!(noise_ms(&[noisy, noisy, noisy, calm]), 4.0);
        assert_eq!(noise_ms(&[noisy, noisy, noisy, calm, calm]), 0.0);
    }

    #[test]
    fn a_round_in_which_nothing_was_acknowledged_shows_none() {
        let mut noise = Noise::default();
        for _ in 0..SHOWN {
            noise.on_drained(&Round::new(), 0.001);
        }
        assert_eq!(noise.get(), 0.0);
    }
}
