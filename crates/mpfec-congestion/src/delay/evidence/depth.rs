//! How long the queue was seen to be.

/// The largest delay above the floor in two rounds in a row. A full queue of so many bytes always
/// has the same delay, so what is lost far below the largest one is no overflow, however long ago
/// that was; unless the path has become faster since. A queue that overflows stays full until its
/// senders have heard of it, for a round trip: what only one round shows is a host that paused.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Depth {
    /// Seconds.
    delay: f64,
    /// Bytes per second that arrived then.
    rate: f64,
    /// The largest delay of this round, and of the one before.
    latest: f64,
    before: f64,
}

impl Depth {
    pub(super) fn on_delay(&mut self, delay: f64) {
        self.latest = self.latest.max(delay);
    }

    /// Seconds; a queue of less delay is at most half full. Until two rounds have passed, all that is
    /// seen counts.
    pub(super) fn half(&self) -> f64 {
        let known = if self.delay > 0.0 {
            self.delay
        } else {
            self.latest.max(self.before)
        };
        0.5 * known
    }

    /// A round has passed, in which `latest` bytes per second arrived, and `mean` of late.
    pub(super) fn on_round(&mut self, latest: f64, mean: f64) {
        let lasting = self.latest.min(self.before);
        self.before = std::mem::take(&mut self.latest);
        if lasting > self.delay {
            self.delay = lasting;
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

    /// Rounds of one largest delay, in which `latest` bytes per second arrived, and `mean` of late.
    fn pass(depth: &mut Depth, rounds: u32, delay: f64, (latest, mean): (f64, f64)) {
        for _ in 0..rounds {
            depth.on_delay(delay);
            depth.on_delay(0.1 * delay);
            depth.on_round(latest, mean);
        }
    }

    #[test]
    fn a_depth_is_known_for_hundreds_of_rounds() {
        let mut depth = Depth::default();
        pass(&mut depth, 2, 0.04, (1e6, 1e6));
        pass(&mut depth, 200, 0.004, (1e6, 1e6));
        assert!((0.016..0.0165).contains(&depth.half()), "{depth:?}");
        pass(&mut depth, 2000, 0.008, (1e6, 1e6));
        assert!(depth.half() < 0.0045, "{depth:?}");
    }

    #[test]
    fn a_host_that_pauses_for_a_round_has_no_queue() {
        let mut depth = Depth::default();
        for _ in 0..20 {
            pass(&mut depth, 30, 0.004, (1e6, 1e6));
            pass(&mut depth, 1, 0.066, (1e6, 1e6));
        }
        assert!((0.0019..=0.002).contains(&depth.half()), "{depth:?}");
    }

    #[test]
    fn a_queue_of_a_path_that_is_three_times_as_fast_has_a_third_of_the_delay() {
        let mut depth = Depth::default();
        pass(&mut depth, 2, 0.09, (1e6, 0.6e6));
        pass(&mut depth, 1, 0.0, (1.9e6, 1.9e6));
        assert!(depth.half() > 0.044, "less than twice as fast: {depth:?}");
        pass(&mut depth, 2, 0.0, (3e6, 3e6));
        assert!((depth.half() - 0.015).abs() < 0.0002, "{depth:?}");
        pass(&mut depth, 2, 0.2, (0.5e6, 0.6e6));
        pass(&mut depth, 1, 0.0, (0.5e6, 0.5e6));
        assert!(depth.half() > 0.099, "slower again: {depth:?}");
    }
}
