//! How long a packet and its acknowledgement take (RFC 9002 §5).

use std::time::{Duration, Instant};

/// Round-trip time of one path.
#[derive(Debug, Clone)]
pub struct RttEstimator {
    latest: Duration,
    adjusted: Duration,
    smoothed: Duration,
    var: Duration,
    /// Minimum of the previous and the present epoch.
    min: Duration,
    /// Minimum of the present epoch alone.
    epoch_min: Duration,
    epoch_ends: Option<Instant>,
    first_sample_at: Option<Instant>,
    last_sample_at: Option<Instant>,
    /// What was sent before this is no sample.
    woken_at: Option<Instant>,
}

impl RttEstimator {
    /// An estimator that answers `initial` until the first sample (RFC 9002 §6.2.2).
    pub fn new(initial: Duration) -> Self {
        Self {
            latest: initial,
            adjusted: initial,
            smoothed: initial,
            var: initial / 2,
            min: initial,
            epoch_min: initial,
            epoch_ends: None,
            first_sample_at: None,
            last_sample_at: None,
            woken_at: None,
        }
    }

    /// Takes the time from sending the largest newly acknowledged packet to its
    /// acknowledgement. `ack_delay` is what the peer says it waited, at most what it promised.
    /// Returns false if it says nothing, for this host slept meanwhile.
    pub fn update(&mut self, now: Instant, sample: Duration, ack_delay: Duration) -> bool {
        if let Some(woken_at) = self.woken_at
            && sample > now.saturating_duration_since(woken_at)
        {
            return false;
        }
        let sample = sample.clamp(GRANULE, LONGEST);
        self.latest = sample;
        self.adjusted = sample;
        let before = self.last_sample_at.replace(now);
        if self.first_sample_at.is_none() {
            self.first_sample_at = Some(now);
            self.smoothed = sample;
            self.var = sample / 2;
            self.min = sample;
            self.start_epoch(now, sample);
            return true;
        }
        self.min = self.min.min(sample);
        self.epoch_min = self.epoch_min.min(sample);
        // RFC 9002 §5.3: the peer's delay counts only as far as it keeps the sample above min.
        let adjusted = if sample >= self.min.saturating_add(ack_delay) {
            sample - ack_delay
        } else {
            sample
        };
        self.adjusted = adjusted;
        let deviation = self.smoothed.abs_diff(adjusted);
        self.var = (self.var * 3 + deviation) / 4;
        let pause = before.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.smoothed = if pause > (4 * self.smoothed).max(STALE) {
            (self.smoothed + adjusted) / 2
        } else {
            (self.smoothed * 7 + adjusted) / 8
        };
        if self.epoch_ends.is_some_and(|end| now >= end) {
            self.min = self.epoch_min;
            self.start_epoch(now, sample);
        }
        true
    }

    /// This host slept until now, or its clock jumped: how long answers took to what was sent
    /// before is not known.
    pub fn on_wake(&mut self, now: Instant) {
        self.woken_at = Some(now);
    }

    /// The newest sample.
    pub fn latest(&self) -> Duration {
        self.latest
    }

    /// The newest sample without the time the peer says it waited, as far as that keeps the
    /// sample above the minimum: what the network took.
    pub fn adjusted(&self) -> Duration {
        self.adjusted
    }

    /// Exponentially weighted mean, gain 1/8; 1/2 after a pause of four times as long, and of
    /// 200 ms at least, because queues have changed since.
    pub fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// Exponentially weighted mean deviation, gain 1/4.
    pub fn var(&self) -> Duration {
        self.var
    }

    /// Smallest sample of the last one to two epochs of max(10 s, 40 smoothed RTTs); the
    /// initial guess before the first sample. It forgets, so that a path that got longer is
    /// believed in the end; it forgets slowly, so that a standing queue is not.
    pub fn min(&self) -> Duration {
        self.min
    }

    /// Whether a sample has been taken.
    pub fn has_sample(&self) -> bool {
        self.first_sample_at.is_some()
    }

    /// When the first sample was taken (RFC 9002 §7.6.2 wants it for persistent congestion).
    pub fn first_sample_at(&self) -> Option<Instant> {
        self.first_sample_at
    }

    /// The probe timeout without the peer's acknowledgement delay:
    /// `smoothed + max(4 var, 1 ms)` (RFC 9002 §6.2.1).
    pub fn pto_base(&self) -> Duration {
        self.smoothed + (self.var * 4).max(GRANULARITY)
    }

    fn start_epoch(&mut self, now: Instant, sample: Duration) {
        self.epoch_min = sample;
        self.epoch_ends = Some(now + EPOCH.max(self.smoothed * 40));
    }
}

/// Timer granularity (RFC 9002 §6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);
/// A sample below this is a clock too coarse to see it; zero would make rates infinite.
const GRANULE: Duration = Duration::from_micros(1);
/// A sample above this is no round trip of a network; it bounds all arithmetic.
const LONGEST: Duration = Duration::from_secs(60);
const EPOCH: Duration = Duration::from_secs(10);
/// Least pause between samples after which the older ones say little.
const STALE: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn epoch() -> Instant {
        Instant::now()
    }

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn the_first_sample_replaces_the_guess() {
        let mut rtt = RttEstimator::new(ms(333));
        assert!(!rtt.has_sample());
        rtt.update(epoch(), ms(100), ms(25));
        assert_eq!(
            (rtt.smoothed(), rtt.var(), rtt.min()),
            (ms(100), ms(50), ms(100))
        );
        assert_eq!(rtt.pto_base(), ms(300));
    }

    #[test]
    fn what_was_on_its_way_while_this_host_slept_is_no_sample() {
        let now = epoch();
        let mut rtt = RttEstimator::new(ms(333));
        rtt.update(now, ms(100), Duration::ZERO);
        let woken = now + Duration::from_secs(300);
        rtt.on_wake(woken);
        rtt.update(woken + ms(1), Duration::from_secs(300), Duration::ZERO);
        rtt.update(woken + ms(99), ms(100), Duration::ZERO);
        assert_eq!((rtt.latest(), rtt.pto_base()), (ms(100), ms(300)));
        rtt.update(woken + ms(60), ms(60), Duration::ZERO);
        assert_eq!(rtt.latest(), ms(60));
    }

    #[test]
    fn the_peers_delay_is_taken_off_unless_it_goes_below_the_minimum() {
        let now = epoch();
        let mut rtt = RttEstimator::new(ms(333));
        rtt.update(now, ms(100), Duration::ZERO);
        rtt.update(now, ms(120), ms(20));
        assert_eq!(rtt.smoothed(), ms(100));
        rtt.update(now, ms(108), ms(20));
        assert_eq!(rtt.smoothed(), ms(101));
        assert_eq!((rtt.latest(), rtt.adjusted()), (ms(108), ms(108)));
    }

    #[test]
    fn the_minimum_forgets_a_shorter_path_within_two_epochs() {
        let mut now = epoch();
        let mut rtt = RttEstimator::new(ms(333));
        rtt.update(now, ms(20), Duration::ZERO);
        for _ in 0..250 {
            now += ms(100);
            rtt.update(now, ms(200), Duration::ZERO);
        }
        assert_eq!(rtt.min(), ms(200));
    }

    #[test]
    fn a_queue_that_is_gone_is_forgotten_within_a_few_samples_after_a_pause() {
        let mut now = epoch();
        let mut rtt = RttEstimator::new(ms(333));
        rtt.update(now, ms(40), Duration::ZERO);
        for _ in 0..5 {
            now += ms(250);
            rtt.update(now, ms(2), Duration::ZERO);
        }
        assert!(rtt.smoothed() < ms(4), "{:?}", rtt.smoothed());
    }

    #[test]
    fn absurd_samples_stay_finite() {
        let mut rtt = RttEstimator::new(ms(333));
        rtt.update(epoch(), Duration::ZERO, Duration::MAX);
        rtt.update(epoch(), Duration::MAX, Duration::MAX);
        assert!(rtt.min() > Duration::ZERO && rtt.smoothed() <= LONGEST);
    }
}
