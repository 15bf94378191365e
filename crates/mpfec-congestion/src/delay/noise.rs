//! Delay that no queue makes: what a path's round trip varies by while it is empty.

use super::round::Round;

/// What drained rounds have shown, newest last, seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Noise {
    shown: [f64; SHOWN],
}

impl Noise {
    /// A round was acknowledged in which our queue was drained. What its smallest delay is above
    /// the floor is the path's own, as far as its delays differ by as much: a queue that somebody
    /// else fills is longer than it varies within a round trip.
    pub(super) fn on_drained(&mut self, round: &Round) {
        let varies = (round.rise_mean() - round.rise_min).max(0.0);
        let shown = round.rise_min.clamp(0.0, varies);
        self.shown.rotate_left(1);
        self.shown[SHOWN - 1] = shown;
    }

    /// Seconds: the median of what was shown.
    pub(super) fn get(&self) -> f64 {
        let mut sorted = self.shown;
        sorted.sort_by(f64::total_cmp);
        sorted[SHOWN / 2]
    }
}

const SHOWN: usize = 3;
