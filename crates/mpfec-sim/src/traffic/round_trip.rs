//! How long a round trip takes, and how long to wait for one (RFC 6298).

use std::time::Duration;

/// Smoothed round trip and its variation (RFC 6298 §2).
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    smoothed: Option<Duration>,
    variation: Duration,
    /// Timeouts in a row.
    backoff: u32,
}

impl RoundTrip {
    pub(super) fn sample(&mut self, sample: Duration) {
        let Some(smoothed) = self.smoothed else {
            self.smoothed = Some(sample);
            self.variation = sample / 2;
            return;
        };
        self.variation = (self.variation * 3 + smoothed.abs_diff(sample)) / 4;
        self.smoothed = Some((smoothed * 7 + sample) / 8);
    }

    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// The timer has expired. Returns whether it is the first time in a row.
    pub(super) fn back_off(&mut self) -> bool {
        self.backoff += 1;
        self.backoff == 1
    }

    /// Something new was acknowledged.
    pub(super) fn restart(&mut self) {
        self.backoff = 0;
    }

    pub(super) fn timeout(&self) -> Duration {
        let base = self.smoothed.map_or(FIRST_TIMEOUT, |rtt| {
            rtt + (self.variation * 4).max(LEAST_VARIATION)
        });
        (base * (1 << self.backoff.min(MOST_BACKOFF))).min(LONGEST_TIMEOUT)
    }
}

/// RFC 6298 §2.1.
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

/// Beyond the round trip, as in Linux; RFC 6298 has 1 s for both together.
const LEAST_VARIATION: Duration = Duration::from_millis(200);

/// RFC 6298 §2.5.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);

const MOST_BACKOFF: u32 = 8;
