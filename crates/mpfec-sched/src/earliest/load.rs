//! How fast new data comes.

use std::time::{Duration, Instant};

/// Source symbols written per second, a running mean over half a second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load {
    rate: f64,
    last: Option<Instant>,
    held_back: Option<Instant>,
}

impl Load {
    /// `count` new source symbols wait.
    pub(super) fn add(&mut self, now: Instant, count: u64) {
        self.rate = self.mean(now) + count as f64 / HORIZON;
        self.last = Some(now);
    }

    /// What has to be carried; nothing once the data stopped coming, so that the end of a
    /// transfer is not taken for a steady load.
    pub(super) fn get(&self, now: Instant) -> f64 {
        match self.last {
            Some(last) if now.saturating_duration_since(last) < STEADY => self.mean(now),
            _ => 0.0,
        }
    }

    /// Buffers are full: it is not the application that sets the pace.
    pub(super) fn hold_back(&mut self, now: Instant) {
        self.held_back = Some(now);
    }

    /// Whether it is the application that sets the pace.
    pub(super) fn is_paced(&self, now: Instant) -> bool {
        self.held_back
            .is_none_or(|last| now.saturating_duration_since(last) >= HELD_BACK)
    }

    fn mean(&self, now: Instant) -> f64 {
        match self.last {
            // What comes at one moment needs no exponential.
            Some(last) if last < now => self.rate * (-(now - last).as_secs_f64() / HORIZON).exp(),
            _ => self.rate,
        }
    }
}

/// In seconds.
const HORIZON: f64 = 0.5;

/// A steady load shows itself this often.
const STEADY: Duration = Duration::from_millis(250);

/// Longer than the round trips after which full buffers show themselves again.
const HELD_BACK: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_stream_is_measured_and_its_end_noticed() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        let mut load = Load::default();
        for ms in 0..5000 {
            load.add(start + Duration::from_millis(ms), 2);
        }
        let measured = load.get(start + Duration::from_secs(5));
        assert!((measured - 2000.0).abs() < 20.0, "{measured}");
        assert_eq!(load.get(start + Duration::from_millis(5300)), 0.0);
    }
}
