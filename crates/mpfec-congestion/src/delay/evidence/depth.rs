//! How long the queue was seen to be.

/// The largest delay above the floor. A full queue of so many bytes always has the same delay, so
/// what is lost far below the largest one is no overflow, however long ago that was; unless the
/// path has become faster since.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Depth {
    /// Seconds.
    delay: f64,
    /// Bytes per second that arrived then.
    rate: f64,
    has_grown: bool,
}

impl Depth {
    pub(super) fn on_delay(&mut self, delay: f64) {
        if delay > self.delay {
            self.delay = delay;
            self.has_grown = true;
        }
    }

    /// The largest delay, seconds.
    pub(super) fn full(&self) -> f64 {
        self.delay
    }

    /// Seconds; a queue of less delay is at most half full.
    pub(super) fn half(&self) -> f64 {
        0.5 * self.delay
    }

    /// A round has passed, in which `latest` bytes per second arrived, and `mean` of late.
    pub(super) fn on_round(&mut self, latest: f64, mean: f64) {
        if std::mem::take(&mut self.has_grown) {
            self.rate = latest.max(mean);
        } else if mean > FASTER * self.rate {
            self.delay *= self.rate / mean;
            self.rate = mean;
        }
        self.delay *= KEPT;
    }
}

/// How much more must arrive for the path to be a faster one, beyond what chance and others' leaving
/// half of it make.
const FASTER: f64 = 2.0;
/// Part of the delay that is left of it a round later.
const KEPT: f64 = 0.999;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_depth_is_known_for_hundreds_of_rounds() {
        let mut depth = Depth::default();
        depth.on_delay(0.04);
        for _ in 0..200 {
            depth.on_delay(0.004);
            depth.on_round(1e6, 1e6);
        }
        assert!((0.016..0.0165).contains(&depth.half()), "{depth:?}");
        for _ in 0..2000 {
            depth.on_delay(0.008);
            depth.on_round(1e6, 1e6);
        }
        assert!(depth.half() < 0.0045, "{depth:?}");
    }

    #[test]
    fn a_queue_of_a_path_that_is_three_times_as_fast_has_a_third_of_the_delay() {
        let mut depth = Depth::default();
        depth.on_delay(0.09);
        depth.on_round(1e6, 0.6e6);
        depth.on_round(1.9e6, 1.9e6);
        assert!(depth.half() > 0.044, "less than twice as fast: {depth:?}");
        depth.on_round(3e6, 3e6);
        depth.on_round(3e6, 3e6);
        assert!((depth.half() - 0.015).abs() < 0.0002, "{depth:?}");
        depth.on_delay(0.2);
        depth.on_round(0.5e6, 0.6e6);
        depth.on_round(0.5e6, 0.5e6);
        assert!(depth.half() > 0.099, "slower again: {depth:?}");
    }
}
