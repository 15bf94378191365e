//! The RTT of the empty path.

use std::time::{Duration, Instant};

/// Smallest RTT of the last one to two epochs. Unlike the estimator's own minimum it can be
/// restarted when a drained queue shows that the path itself got longer.
#[derive(Debug, Clone, Default)]
pub(super) struct Floor {
    min: Option<Duration>,
    epoch_min: Duration,
    epoch_ends: Option<Instant>,
}

impl Floor {
    /// Nothing expires while `is_filled`: somebody else may keep the queue from ever being empty.
    pub(super) fn on_sample(
        &mut self,
        now: Instant,
        rtt: Duration,
        smoothed: Duration,
        is_filled: bool,
    ) {
        let ended = self.epoch_ends.is_none_or(|end| now >= end);
        if ended && is_filled && self.min.is_some() {
            self.epoch_ends = Some(now + EPOCH.max(smoothed * 40));
            self.epoch_min = self.min.unwrap_or(rtt);
        }
        let ended = ended && !(is_filled && self.min.is_some());
        match self.min {
            Some(min) if !ended => {
                self.min = Some(min.min(rtt));
                self.epoch_min = self.epoch_min.min(rtt);
            }
            known => {
                // A queue that several flows keep full for an epoch must not pass for the path.
                let least = self.epoch_min.min(rtt);
                self.min = Some(known.map_or(rtt, |known| least.min(known.mul_f64(MOST_RISE))));
                self.epoch_min = rtt;
                self.epoch_ends = Some(now + EPOCH.max(smoothed * 40));
            }
        }
    }

    /// Acknowledgements come back another way, which took `rtt` where the way before took
    /// `before` just now: what no queue adds so fast, the way does. A shorter way shows by
    /// itself. Returns whether the way is longer.
    pub(super) fn reroute(&mut self, before: Duration, rtt: Duration) -> bool {
        let Some(min) = self.min else {
            return false;
        };
        let longer = rtt.saturating_sub(before);
        if longer < min / 8 {
            return false;
        }
        self.min = Some(min + longer);
        self.epoch_min += longer;
        true
    }

    /// The path is a different one: what was known of it no longer counts.
    pub(super) fn restart(&mut self, rtt: Option<Duration>) {
        self.min = rtt;
        self.epoch_min = rtt.unwrap_or_default();
        if rtt.is_none() {
            self.epoch_ends = None;
        }
    }

    /// Seconds; `None` before the first sample.
    pub(super) fn get(&self) -> Option<f64> {
        self.min.map(|min| min.as_secs_f64())
    }
}

/// By how much the floor rises in an epoch at most.
const MOST_RISE: f64 = 1.1;
const EPOCH: Duration = Duration::from_secs(10);
