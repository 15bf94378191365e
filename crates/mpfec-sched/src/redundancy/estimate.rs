//! What MPTCP-PNC knows of a path: how much it carries and how much it loses (PNC §IV-C, D).

use std::time::{Duration, Instant};

/// Bandwidth and loss of one path, as PNC measures them.
#[derive(Debug, Clone)]
pub struct PathEstimates {
    confidence: f64,
    bandwidth: BandwidthFilter,
    loss: GroupLoss,
    /// Packets that arrived and that were lost since a group was decoded.
    acked: u32,
    lost: u32,
}

impl PathEstimates {
    /// Nothing is known yet; of loss, the upper end of the interval of a confidence from 0.7 to
    /// 0.99 will count.
    #[must_use]
    pub fn new(confidence: f64) -> Self {
        Self {
            confidence,
            bandwidth: BandwidthFilter::default(),
            loss: GroupLoss::default(),
            acked: 0,
            lost: 0,
        }
    }

    /// Packets of `bytes` together were acknowledged for the first time.
    pub fn on_acked(&mut self, now: Instant, bytes: u64, packets: u32, srtt: Duration) {
        self.bandwidth.on_acked(now, bytes, srtt);
        self.acked = self.acked.saturating_add(packets);
    }

    /// Packets were declared lost.
    pub fn on_lost(&mut self, packets: u32) {
        self.lost = self.lost.saturating_add(packets);
    }

    /// A group was decoded: what became of packets since the one before is its sample.
    ///
    /// **Reading.** The paper counts packets of the group itself that are unacknowledged when it
    /// is decoded, which takes those on their way on a slow path for lost. Here a packet counts
    /// when its fate becomes known.
    ///
    /// Groups without loss being joined, rare losses are overestimated: of samples of few packets
    /// all have a loss, and all have the same weight. That is so in the paper; its systems owe
    /// to it that bursts are covered.
    pub fn on_group(&mut self) {
        let sent = self.acked.saturating_add(self.lost);
        self.loss.on_group(sent, self.acked);
        (self.acked, self.lost) = (0, 0);
    }

    /// `BW_i` in bytes per second (PNC Eq. 7); 0 while unknown.
    #[must_use]
    pub fn bandwidth(&self) -> u64 {
        self.bandwidth.bytes_per_second() as u64
    }

    /// `PL_i` and `sigma_i`.
    #[must_use]
    pub fn loss(&self) -> LossEstimate {
        LossEstimate {
            rate: self.loss.upper(self.confidence),
            deviation: self.loss.deviation(),
        }
    }
}

/// What a path is taken to lose.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LossEstimate {
    /// Share of packets, from 0 to 1 (`PL_i` of PNC Eq. 10, 11).
    pub rate: f64,
    /// Its mean square deviation from group to group (`sigma_i` of PNC Eq. 10).
    pub deviation: f64,
}

/// Bandwidth from acknowledgements, smoothed as in TCP Westwood (PNC Eq. 6 to 8).
/// Acknowledgements in bursts make one sample: the filter's mean of two neighbours would make
/// far too much of the short intervals within a burst.
#[derive(Debug, Clone, Default)]
pub struct BandwidthFilter {
    last: Option<Instant>,
    /// Acknowledged since the last sample.
    waiting: u64,
    sample: f64,
    filtered: f64,
}

impl BandwidthFilter {
    /// `bytes` were acknowledged for the first time.
    pub fn on_acked(&mut self, now: Instant, bytes: u64, srtt: Duration) {
        self.waiting = self.waiting.saturating_add(bytes);
        let Some(last) = self.last else {
            self.last = Some(now);
            self.waiting = 0;
            return;
        };
        let interval = now.saturating_duration_since(last).as_secs_f64();
        if interval <= srtt.as_secs_f64() / SAMPLES_PER_RTT {
            return;
        }
        let sample = self.waiting as f64 / interval;
        (self.last, self.waiting) = (Some(now), 0);
        if self.sample == 0.0 {
            (self.sample, self.filtered) = (sample, sample);
            return;
        }
        // tau > RTT: after a longer silence than 2 tau, nothing of before counts.
        let tau = TAU_RTTS * srtt.as_secs_f64();
        let alpha = ((2.0 * tau - interval) / (2.0 * tau + interval)).max(0.0);
        self.filtered = alpha * self.filtered + (1.0 - alpha) * (sample + self.sample) / 2.0;
        self.sample = sample;
    }

    /// The present estimate; 0 while unknown.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        self.filtered
    }
}

/// Loss from group to group (PNC Eq. 16 to 19).
#[derive(Debug, Clone, Default)]
pub struct GroupLoss {
    /// Packets of groups without loss, which are joined with the next one.
    sent: u32,
    acked: u32,
    samples: f64,
    mean: f64,
    deviation: f64,
}

impl GroupLoss {
    /// A group was decoded, of which `sent` packets left on the path and `acked` arrived.
    pub fn on_group(&mut self, sent: u32, acked: u32) {
        self.sent = self.sent.saturating_add(sent);
        self.acked = self.acked.saturating_add(acked);
        if self.acked >= self.sent {
            return;
        }
        let sample = 1.0 - f64::from(self.acked) / f64::from(self.sent);
        (self.sent, self.acked) = (0, 0);
        let m = self.samples;
        if m > 0.0 {
            // Eq. 18, with the mean of before.
            let old = self.deviation.powi(2) * (m - 1.0) / m;
            self.deviation = (old + (sample - self.mean).powi(2) / (m + 1.0)).sqrt();
        }
        // Eq. 17.
        self.mean = (self.mean * m + sample) / (m + 1.0);
        self.samples = (m + 1.0).min(MOST_SAMPLES);
    }

    /// Mean over the samples; 0 before the first.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Mean square deviation of the samples (`sigma_i`).
    #[must_use]
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The upper end of the confidence interval (Eq. 19), at most 1: the reading of a value
    /// "randomly chosen from the interval" that is never too low.
    #[must_use]
    pub fn upper(&self, confidence: f64) -> f64 {
        if self.samples == 0.0 {
            return 0.0;
        }
        let half = quantile(confidence) * self.deviation / self.samples.sqrt();
        (self.mean + half).min(1.0)
    }
}

/// `Z_(alpha/2)` of a confidence of 1 - alpha (PNC Table I), between its rows in proportion.
fn quantile(confidence: f64) -> f64 {
    let [first, ..] = TABLE_I;
    let mut below = first;
    for row in TABLE_I {
        if confidence <= row.0 {
            let width = row.0 - below.0;
            let share = if width > 0.0 {
                ((confidence - below.0) / width).max(0.0)
            } else {
                1.0
            };
            return below.1 + share * (row.1 - below.1);
        }
        below = row;
    }
    below.1
}

const TABLE_I: [(f64, f64); 10] = [
    (0.70, 1.04),
    (0.75, 1.15),
    (0.80, 1.28),
    (0.85, 1.44),
    (0.90, 1.645),
    (0.92, 1.85),
    (0.95, 1.96),
    (0.96, 2.05),
    (0.98, 2.33),
    (0.99, 2.58),
];
/// Bandwidth samples in a round trip at most.
const SAMPLES_PER_RTT: f64 = 8.0;
/// Time constant of the bandwidth filter in round trips: more than one (PNC Eq. 8).
const TAU_RTTS: f64 = 2.0;
/// From here on a mean over all samples of a connection goes on as one over about the last so
/// many, so that it can follow a path that changes.
const MOST_SAMPLES: f64 = 200.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_without_loss_are_joined_with_the_next() {
        let mut loss = GroupLoss::default();
        for _ in 0..3 {
            loss.on_group(5, 5);
        }
        assert_eq!((loss.mean(), loss.upper(0.95)), (0.0, 0.0));
        loss.on_group(5, 4);
        assert!((loss.mean() - 0.05).abs() < 1e-12);
        assert_eq!(loss.deviation(), 0.0);
    }

    #[test]
    fn mean_and_deviation_run_as_eq_17_and_18() {
        let mut loss = GroupLoss::default();
        for (sent, acked) in [(10, 9), (10, 7), (5, 4)] {
            loss.on_group(sent, acked);
        }
        // Samples 0.1, 0.3, 0.2: sigma_2^2 = 0.2^2 / 2, sigma_3^2 = sigma_2^2 / 2 + 0.
        assert!((loss.mean() - 0.2).abs() < 1e-12);
        assert!((loss.deviation() - 0.1).abs() < 1e-12);
        let upper = 0.2 + 1.96 * 0.1 / 3_f64.sqrt();
        assert!((loss.upper(0.95) - upper).abs() < 1e-12);
    }

    #[test]
    fn quantiles_are_those_of_table_i() {
        for (confidence, z) in TABLE_I {
            assert!((quantile(confidence) - z).abs() < 1e-12, "{confidence}");
        }
        assert!((quantile(0.97) - 2.19).abs() < 1e-9);
        assert_eq!((quantile(0.1), quantile(1.0)), (1.04, 2.58));
    }

    #[test]
    fn bandwidth_follows_acknowledgements_and_not_their_bunches() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        let mut filter = BandwidthFilter::default();
        let rtt = Duration::from_millis(100);
        for ack in 0..200_u64 {
            // Every second acknowledgement comes right behind the one before.
            let at = ack / 2 * 20 + ack % 2;
            filter.on_acked(start + Duration::from_millis(at), 10_000, rtt);
        }
        let rate = filter.bytes_per_second();
        assert!((900_000.0..1_100_000.0).contains(&rate), "{rate}");
        // One sample as Eq. 7 computes it: tau = 0.2 s, dt = 0.1 s, alpha = 0.6.
        let mut filter = BandwidthFilter::default();
        for (at, bytes) in [(0, 0), (100, 1000), (200, 3000)] {
            filter.on_acked(start + Duration::from_millis(at), bytes, rtt);
        }
        assert!((filter.bytes_per_second() - (0.6 * 10_000.0 + 0.4 * 20_000.0)).abs() < 1e-6);
    }
}
