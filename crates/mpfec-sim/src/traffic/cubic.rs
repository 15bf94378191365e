//! CUBIC's window (RFC 9438).

use std::time::{Duration, Instant};

/// The window of a flow with CUBIC congestion control, in packets, with fast convergence
/// (RFC 9438 §4.7) and the Reno-friendly region (§4.3).
#[derive(Debug, Clone, Default)]
pub(super) struct Cubic {
    /// Window before the last reduction.
    w_max: f64,
    /// When this congestion avoidance began.
    epoch: Option<Instant>,
    /// Seconds from the epoch until the window is back at `w_max`.
    k: f64,
    /// What Reno would have.
    w_est: f64,
}

impl Cubic {
    /// The window after `acked` packets were acknowledged in congestion avoidance.
    pub(super) fn grown(&mut self, now: Instant, rtt: Duration, window: f64, acked: f64) -> f64 {
        if self.epoch.is_none() {
            self.k = ((self.w_max - window).max(0.0) / C).cbrt();
            self.w_max = self.w_max.max(window);
            self.w_est = window;
        }
        let epoch = *self.epoch.get_or_insert(now);
        let t = (now.saturating_duration_since(epoch) + rtt).as_secs_f64();
        let target = (C * (t - self.k).powi(3) + self.w_max).clamp(window, 1.5 * window);
        let alpha = if self.w_est < self.w_max {
            3.0 * (1.0 - BETA) / (1.0 + BETA)
        } else {
            1.0
        };
        self.w_est += alpha * acked / window;
        let cubic = window + (target - window) / window * acked;
        cubic.max(self.w_est)
    }

    /// The window after a loss; at least `least`.
    pub(super) fn reduced(&mut self, window: f64, least: f64) -> f64 {
        self.w_max = if window < self.w_max {
            window * (1.0 + BETA) / 2.0
        } else {
            window
        };
        self.epoch = None;
        (window * BETA).max(least)
    }

    /// Slow start ends at `window` without a loss.
    pub(super) fn begin(&mut self, window: f64) {
        self.w_max = window;
        self.epoch = None;
    }
}

/// Packets per second cubed.
const C: f64 = 0.4;

/// What remains of the window after a loss.
const BETA: f64 = 0.7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_back_where_it_was_after_k_seconds() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        let rtt = Duration::from_millis(100);
        let mut cubic = Cubic::default();
        let mut window = cubic.reduced(1000.0, 2.0);
        assert_eq!(window, 700.0);
        // RFC 9438 Eq. 2: (300 / 0.4)^(1/3) = 9.09 s.
        for round in 0..90u32 {
            window = cubic.grown(start + rtt * round, rtt, window, window);
        }
        assert!((990.0..=1000.5).contains(&window), "{window}");
        for round in 90..120u32 {
            window = cubic.grown(start + rtt * round, rtt, window, window);
        }
        assert!((1005.0..=1020.0).contains(&window), "{window}");
    }

    #[test]
    fn a_small_window_grows_as_that_of_reno() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        let rtt = Duration::from_millis(20);
        let mut cubic = Cubic::default();
        let mut window = cubic.reduced(20.0, 2.0);
        for round in 0..10u32 {
            window = cubic.grown(start + rtt * round, rtt, window, window);
        }
        // RFC 9438 §4.3: 3 x 0.3 / 1.7 = 0.53 packets per round trip.
        assert!((19.0..=19.6).contains(&window), "{window}");
    }
}
