//! How many data packets share a parity packet: steered by what is lost in spite of it
//! (dFEC §III-B).

use std::time::{Duration, Instant};

/// The ratio of data packets to parity packets of one path, adapted so that hardly more is
/// lost beyond repair than a target says (dFEC Eq. 1 to 3).
///
/// It is told of packets that leave and of packets that must be sent again. Every three round
/// trips it compares the residual loss, as a mean over the last two such intervals, with the
/// target, and multiplies the ratio by `1 - delta` or `1 + delta`. An interval also lasts until
/// so many packets have left that one loss in two intervals is no more than the target: of
/// fewer, any loss would be too much and none would prove anything.
///
/// ```
/// use std::time::{Duration, Instant};
/// use mpfec_sched::AdaptiveRatio;
///
/// let rtt = Duration::from_millis(100);
/// let start = Instant::now();
/// let mut ratio = AdaptiveRatio::new(0.01, 0.33);
/// for interval in 0..3 {
///     ratio.update(start + 3 * rtt * interval, rtt);
///     ratio.on_sent(60);
/// }
/// // Two intervals without loss: 9 x 1.33 packets share a parity.
/// assert_eq!(ratio.packets(), 12);
/// ```
#[derive(Debug, Clone)]
pub struct AdaptiveRatio {
    /// Target residual loss as a share of first transmissions.
    tolerance: f64,
    delta: f64,
    /// Kept real; rounded when used.
    ratio: f64,
    /// When the present interval began.
    since: Option<Instant>,
    sent: u64,
    retransmitted: u64,
    /// Residual losses of the last intervals, the older first; filled from the back.
    residuals: [Option<f64>; AVERAGED],
}

impl AdaptiveRatio {
    /// Data packets per parity packet before anything is known.
    pub const START: f64 = 9.0;
    /// At most one packet in five is parity.
    pub const LEAST: f64 = 4.0;
    /// Bounds what the receiver has to keep.
    pub const MOST: f64 = 256.0;

    /// Aims at a residual loss of `tolerance`, a share from 0 to 1 (the paper: 0.01), in steps
    /// of `delta`, from 0 to 1 (the paper: 0.33). Values out of range are moved into it.
    #[must_use]
    pub fn new(tolerance: f64, delta: f64) -> Self {
        let share = |value: f64| {
            if value.is_finite() {
                value.clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        Self {
            tolerance: share(tolerance),
            delta: share(delta),
            ratio: Self::START,
            since: None,
            sent: 0,
            retransmitted: 0,
            residuals: [None; AVERAGED],
        }
    }

    /// So many data packets left, those that carry lost data again included.
    pub fn on_sent(&mut self, packets: u64) {
        self.sent = self.sent.saturating_add(packets);
    }

    /// So many data packets were lost and not rebuilt, so that what they carried is sent again:
    /// also where they turn out to have arrived.
    pub fn on_retransmit(&mut self, packets: u64) {
        self.retransmitted = self.retransmitted.saturating_add(packets);
    }

    /// Ends the interval if it lasted three round trips and enough left in it. Returns whether
    /// the ratio was decided anew.
    pub fn update(&mut self, now: Instant, rtt: Duration) -> bool {
        let since = *self.since.get_or_insert(now);
        if now.saturating_duration_since(since) < INTERVAL_RTTS * rtt
            || self.sent < self.telling_packets()
        {
            return false;
        }
        let residual = residual_loss(self.sent, self.retransmitted);
        self.residuals.rotate_left(1);
        self.residuals[AVERAGED - 1] = Some(residual);
        (self.since, self.sent, self.retransmitted) = (Some(now), 0, 0);
        let known: f64 = self.residuals.iter().flatten().sum();
        if self.residuals[0].is_none() {
            return false;
        }
        self.ratio = adapted(
            self.ratio,
            known / AVERAGED as f64,
            self.tolerance,
            self.delta,
        );
        true
    }

    /// Packets of an interval that can tell whether the target is met.
    fn telling_packets(&self) -> u64 {
        let packets = 1.0 / (self.tolerance * AVERAGED as f64);
        packets.ceil().clamp(1.0, MOST_TELLING) as u64
    }

    /// Data packets per parity packet, as a real number.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Data packets per parity packet, from 4 to 256.
    #[must_use]
    pub fn packets(&self) -> u32 {
        self.ratio.round() as u32
    }
}

/// Packets sent again per packet sent for the first time (dFEC Eq. 1).
fn residual_loss(sent: u64, retransmitted: u64) -> f64 {
    let first = sent.saturating_sub(retransmitted).max(1);
    retransmitted as f64 / first as f64
}

/// The next ratio (dFEC Eq. 3).
fn adapted(ratio: f64, residual: f64, target: f64, delta: f64) -> f64 {
    let factor = if residual > target {
        1.0 - delta
    } else {
        1.0 + delta
    };
    (ratio * factor).clamp(AdaptiveRatio::LEAST, AdaptiveRatio::MOST)
}

/// `T` in round trips: a loss in the first is answered in the second, and the answer is
/// through in the third.
const INTERVAL_RTTS: u32 = 3;
/// However small the target.
const MOST_TELLING: f64 = 500.0;
/// `N` of dFEC Eq. 2.
const AVERAGED: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn epoch() -> Instant {
        Instant::now()
    }

    /// The ratio after each of several intervals of 100 packets of which so many were lost.
    fn ratios(lost: &[u64]) -> Vec<f64> {
        let (start, mut ratio) = (epoch(), AdaptiveRatio::new(0.01, 0.33));
        ratio.update(start, RTT);
        (1_u32..)
            .zip(lost)
            .map(|(interval, lost)| {
                ratio.on_sent(100);
                ratio.on_retransmit(*lost);
                ratio.update(start + 3 * RTT * interval, RTT);
                ratio.ratio()
            })
            .collect()
    }

    fn assert_close(got: &[f64], want: &[f64]) {
        assert!(
            got.len() == want.len() && got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-9),
            "{got:?} for {want:?}"
        );
    }

    #[test]
    fn the_residual_is_relative_to_first_transmissions() {
        assert_eq!(residual_loss(110, 10), 0.1);
        assert_eq!(residual_loss(100, 0), 0.0);
        assert_eq!(residual_loss(3, 5), 5.0, "losses of packets sent before");
    }

    #[test]
    fn the_ratio_rises_and_falls_as_eq_3_says() {
        // Nothing is decided before two intervals are over.
        assert_close(&ratios(&[0, 0, 0]), &[9.0, 9.0 * 1.33, 9.0 * 1.33 * 1.33]);
        assert_close(&ratios(&[5, 5, 5]), &[9.0, 9.0 * 0.67, 9.0 * 0.67 * 0.67]);
    }

    #[test]
    fn the_mean_of_two_intervals_counts() {
        // (0 + 2/98) / 2 is above 1 %, (0 + 1/99) / 2 is not.
        assert_close(
            &ratios(&[0, 2, 0, 0])[1..],
            &[9.0 * 0.67, 9.0 * 0.67 * 0.67, 9.0 * 0.67 * 0.67 * 1.33],
        );
        assert_close(&ratios(&[0, 1])[1..], &[9.0 * 1.33]);
    }

    #[test]
    fn the_ratio_stays_between_4_and_256() {
        assert_eq!(ratios(&[50; 5]).last(), Some(&4.0));
        let rising = ratios(&[0; 14]);
        assert!(rising[11] < 256.0, "eleven steps: {}", rising[11]);
        assert_eq!(rising[12..], [256.0, 256.0], "twelve steps from 9");
    }

    #[test]
    fn an_interval_lasts_three_round_trips_and_50_packets() {
        let (start, mut ratio) = (epoch(), AdaptiveRatio::new(0.01, 0.33));
        ratio.update(start, RTT);
        ratio.on_sent(49);
        assert!(!ratio.update(start + 10 * RTT, RTT), "too few");
        ratio.on_sent(1);
        assert!(!ratio.update(start + 10 * RTT, RTT), "the first interval");
        ratio.on_sent(50);
        assert!(!ratio.update(start + 12 * RTT, RTT), "too early");
        assert!(ratio.update(start + 13 * RTT, RTT));
    }

    #[test]
    fn senseless_settings_do_no_harm() {
        for (tolerance, delta) in [(f64::NAN, f64::INFINITY), (-1.0, 7.0), (2.0, -3.0)] {
            let (start, mut ratio) = (epoch(), AdaptiveRatio::new(tolerance, delta));
            for interval in 0..100 {
                ratio.on_sent(1000);
                ratio.on_retransmit(interval % 3);
                ratio.update(start + 3 * RTT * interval as u32, RTT);
                assert!((4..=256).contains(&ratio.packets()));
            }
        }
    }
}
