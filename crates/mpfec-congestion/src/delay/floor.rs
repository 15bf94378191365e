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
    pub(super) fn on_sample(&mut self, now: Instant, rtt: Duration, smoothed: Duration) {
        let ended = self.epoch_ends.is_none_or(|end| now >= end);
        match self.min {
            Some(min) if !ended => {
                self.min = Some(min.min(rtt));
                self.epoch_min = self.epoch_min.min(rtt);
            }
            known => {
                self.min = Some(known.map_or(rtt, |_| self.epoch_min.min(rtt)));
                self.epoch_min = rtt;
                self.epoch_ends = Some(now + EPOCH.max(smoothed * 40));
            }
        }
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

const EPOCH: Duration = Duration::from_secs(10);
