//! Delay that no queue makes: what a path's round trip varies by while it is empty.

use super::round::Round;

/// What rounds in which our queue was drained have shown.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Noise {
    least: Median,
    swing: Median,
}

impl Noise {
    /// A round was acknowledged in which our queue was drained, on a path whose bottleneck takes
    /// `packet_time` seconds for a packet. What its smallest delay is above the floor is the path's
    /// own as far as the delay jumps by as much from one acknowledgement to the next, some packets
    /// aside: a queue that somebody else fills is long, but grows packet by packet.
    pub(super) fn on_drained(&mut self, round: &Round, packet_time: f64) {
        let swing = round.jump_max - FEW * packet_time;
        self.swing.add(swing);
        self.least.add(round.rise_min.min(swing));
    }

    /// By how many seconds the smallest delay of a round is above the floor without a queue.
    pub(super) fn least(&self) -> f64 {
        self.least.get()
    }

    /// By how many seconds a delay may be above the floor without a queue.
    pub(super) fn most(&self) -> f64 {
        self.least.get() + self.swing.get()
    }
}

/// Of the last three values, none of them below 0.
#[derive(Debug, Clone, Copy, Default)]
struct Median {
    values: [f64; 3],
}

impl Median {
    fn add(&mut self, value: f64) {
        self.values.rotate_left(1);
        self.values[2] = value.max(0.0);
    }

    fn get(&self) -> f64 {
        let [a, b, c] = self.values;
        a.min(b).max(a.max(b).min(c))
    }
}

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
        (1e3 * noise.least() * 1e6).round() / 1e6
    }

    #[test]
    fn what_drains_leave_is_the_paths_own_where_delays_jump_by_as_much() {
        assert_eq!(noise_ms(&[(6.0, 15.0), (4.0, 14.0), (5.0, 16.0)]), 5.0);
    }

    #[test]
    fn a_delay_may_be_above_that_by_as_much_as_it_jumps() {
        let mut noise = Noise::default();
        for _ in 0..3 {
            noise.on_drained(&drained(5.0, 15.0), 0.25e-3);
        }
        assert!((noise.most() - 0.019).abs() < 1e-9, "{noise:?}");
    }

    #[test]
    fn a_queue_that_others_keep_full_is_none_of_the_path() {
        assert_eq!(noise_ms(&[(30.0, 0.75); 3]), 0.0);
    }

    #[test]
    fn what_others_send_at_once_is_none_of_the_path() {
        assert_eq!(noise_ms(&[(9.0, 1.0); 3]), 0.0);
        assert_eq!(noise_ms(&[(9.0, 1.5); 3]), 0.5);
    }

    #[test]
    fn one_drain_says_nothing() {
        assert_eq!(noise_ms(&[(0.0, 1.0), (0.0, 1.0), (9.0, 20.0)]), 0.0);
    }

    #[test]
    fn two_drains_that_leave_nothing_take_it_back() {
        let noisy = (5.0, 15.0);
        let calm = (0.0, 15.0);
        assert_eq!(noise_ms(&[noisy, noisy, noisy, calm]), 5.0);
        assert_eq!(noise_ms(&[noisy, noisy, noisy, calm, calm]), 0.0);
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
