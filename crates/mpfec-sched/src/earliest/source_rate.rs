//! How fast new data comes.

use std::time::Instant;

/// Source symbols per second, a running mean over half a second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SourceRate {
    rate: f64,
    last: Option<Instant>,
}

impl SourceRate {
    /// `count` source symbols left for the first time.
    pub(super) fn add(&mut self, now: Instant, count: u32) {
        self.rate = self.get(now) + f64::from(count) / HORIZON;
        self.last = Some(now);
    }

    pub(super) fn get(&self, now: Instant) -> f64 {
        match self.last {
            // Sends of one moment need no exponential.
            Some(last) if last < now => self.rate * (-(now - last).as_secs_f64() / HORIZON).exp(),
            _ => self.rate,
        }
    }
}

/// In seconds.
const HORIZON: f64 = 0.5;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_steady_stream_is_measured_and_a_pause_forgotten() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        let mut rate = SourceRate::default();
        for ms in 0..5000 {
            rate.add(start + Duration::from_millis(ms), 2);
        }
        let measured = rate.get(start + Duration::from_secs(5));
        assert!((measured - 2000.0).abs() < 20.0, "{measured}");
        assert!(rate.get(start + Duration::from_secs(9)) < 2.0);
    }
}
