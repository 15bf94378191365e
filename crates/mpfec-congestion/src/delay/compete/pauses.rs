//! What an application that pauses does to a window beside flows that fill the buffer.

/// The window while the application does not fill it.
///
/// Others make the queue longer, and with it the round trip, so that a window which carried what the
/// application writes no longer does. A window that is full grows as theirs do; one that is not keeps
/// the rate that it stands for instead, with what it is cut by. So somebody who takes less than a fair
/// share is not slowed by a queue of others, and somebody who takes more gives way as they do.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pauses {
    /// Packets per second that the window stood for when it was full last, with what it has grown and
    /// been cut by since.
    rate: f64,
    /// The window of the round before, in packets; 0 before the first.
    window: f64,
    calm: Calm,
}

/// A delay that hardly moves, seconds, and the rounds for which it has not.
#[derive(Debug, Clone, Copy, Default)]
struct Calm {
    rounds: u32,
    least: f64,
    most: f64,
}

impl Pauses {
    /// The window for the next round, of `window` packets in the last one and a round trip of `srtt`
    /// seconds: `most`, that of an equal share, at most if the application `paused`.
    pub(super) fn window(&mut self, paused: bool, window: f64, srtt: f64, most: f64) -> f64 {
        let kept = if paused && self.window > 0.0 {
            self.rate *= window / self.window;
            window.max((self.rate * srtt).min(most))
        } else {
            self.rate = window / srtt;
            window
        };
        self.window = kept;
        kept
    }

    /// Whether a delay of `delay` seconds has hardly moved in many rounds that the application paused in,
    /// not by more than `noise`: nobody's queue is so calm for so long, so it is the path's own.
    pub(super) fn is_calm(&mut self, paused: bool, delay: f64, noise: f64) -> bool {
        let calm = &mut self.calm;
        if calm.rounds == 0 {
            (calm.least, calm.most) = (delay, delay);
        }
        calm.least = calm.least.min(delay);
        calm.most = calm.most.max(delay);
        let is_calm = calm.most - calm.least <= noise.max(LITTLE * calm.most);
        calm.rounds = if paused && is_calm {
            calm.rounds + 1
        } else {
            0
        };
        calm.rounds >= CALM
    }

    /// A packet of before is `scale` packets now.
    pub(super) fn resize(&mut self, scale: f64) {
        self.rate *= scale;
        self.window *= scale;
    }
}

/// Rounds in which a queue that others fill moves by some packets.
const CALM: u32 = 36;
/// Part of a delay by which it hardly moves.
const LITTLE: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_not_full_keeps_its_rate_in_a_longer_round_trip() {
        let mut pauses = Pauses::default();
        assert_eq!(pauses.window(false, 20.0, 0.1, 500.0), 20.0);
        assert_eq!(pauses.window(true, 20.0, 0.2, 500.0), 40.0);
        assert_eq!(pauses.window(true, 40.0, 0.4, 500.0), 80.0);
        assert_eq!(pauses.window(true, 80.0, 0.4, 500.0), 80.0);
    }

    #[test]
    fn a_shorter_round_trip_makes_it_stand_for_no_more() {
        let mut pauses = Pauses::default();
        pauses.window(false, 80.0, 0.4, 500.0);
        assert_eq!(pauses.window(true, 80.0, 0.1, 500.0), 80.0);
        assert_eq!(pauses.window(true, 80.0, 0.4, 500.0), 80.0);
    }

    #[test]
    fn a_cut_is_not_made_up_for() {
        let mut pauses = Pauses::default();
        pauses.window(false, 20.0, 0.1, 500.0);
        assert_eq!(pauses.window(true, 14.0, 0.1, 500.0), 14.0);
        assert_eq!(pauses.window(true, 14.0, 0.2, 500.0), 28.0);
    }

    #[test]
    fn what_has_grown_is_kept_as_well() {
        let mut pauses = Pauses::default();
        pauses.window(false, 20.0, 0.1, 500.0);
        assert_eq!(pauses.window(true, 30.0, 0.2, 500.0), 60.0);
    }

    #[test]
    fn it_grows_to_an_equal_share_at_most() {
        let mut pauses = Pauses::default();
        pauses.window(false, 20.0, 0.1, 50.0);
        assert_eq!(pauses.window(true, 20.0, 0.4, 50.0), 50.0);
        assert_eq!(pauses.window(true, 50.0, 0.4, 40.0), 50.0, "none is taken");
    }

    #[test]
    fn packets_of_half_the_size_are_twice_as_many() {
        let mut pauses = Pauses::default();
        pauses.window(false, 20.0, 0.1, 500.0);
        pauses.resize(2.0);
        assert_eq!(pauses.window(true, 40.0, 0.2, 500.0), 80.0);
    }

    /// Rounds until a path counts as longer whose delay is `delay(round)`, of 100 rounds.
    fn longer_after(delay: impl Fn(u32) -> f64, paused: impl Fn(u32) -> bool) -> Option<u32> {
        let mut pauses = Pauses::default();
        (1..=100).find(|round| pauses.is_calm(paused(*round), delay(*round), 0.001))
    }

    #[test]
    fn a_delay_that_does_not_move_is_the_paths_own() {
        assert_eq!(longer_after(|_| 0.04, |_| true), Some(CALM));
        let jumps = |round| if round < 10 { 0.0 } else { 0.04 };
        assert_eq!(longer_after(jumps, |_| true), Some(10 + CALM));
    }

    #[test]
    fn a_queue_that_others_fill_moves() {
        let grows = |round| 0.04 + 1e-4 * f64::from(round);
        assert_eq!(longer_after(grows, |_| true), None);
    }

    #[test]
    fn a_delay_while_the_window_is_full_says_nothing() {
        assert_eq!(longer_after(|_| 0.04, |round| round % 30 != 0), None);
    }
}
