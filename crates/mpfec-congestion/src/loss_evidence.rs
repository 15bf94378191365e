//! Why lost packets were taken for congestion or for noise, as numbers that people can check.

use std::fmt;
use std::time::{Duration, Instant};

use crate::{LossVerdicts, RttEstimator, queued_packets};

/// What losses were taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossVerdict {
    /// A full queue.
    Congestion,
    /// Not decided yet.
    Unknown,
    /// Noise of the link.
    Wireless,
}

impl fmt::Display for LossVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Congestion => "congestion",
            Self::Unknown => "undecided",
            Self::Wireless => "wireless",
        })
    }
}

impl LossVerdicts {
    /// What the losses counted since `before` were taken for, the gravest first; `None` if
    /// nothing was counted. What was undecided before counts again once it is decided.
    #[must_use]
    pub fn latest(&self, before: &Self) -> Option<LossVerdict> {
        if self.congestion > before.congestion {
            Some(LossVerdict::Congestion)
        } else if self.wireless > before.wireless {
            Some(LossVerdict::Wireless)
        } else {
            (self.unknown > before.unknown).then_some(LossVerdict::Unknown)
        }
    }
}

/// The state of a path when a verdict on losses was given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossEvidence {
    /// What the losses were taken for.
    pub verdict: LossVerdict,
    /// Packets found lost together: the length of the latest burst.
    pub burst: u32,
    /// Smoothed RTT.
    pub srtt: Duration,
    /// Smallest RTT of late.
    pub min_rtt: Duration,
    /// Packets that the path kept in the queue (PNC Eq. 20).
    pub queued_packets: f64,
    /// More in flight brought no higher rate: the bottleneck is busy.
    pub rate_plateau: bool,
}

impl LossEvidence {
    /// What speaks for `verdict` on a path with a window of `cwnd` packets.
    #[must_use]
    pub fn new(
        verdict: LossVerdict,
        burst: u32,
        cwnd: f64,
        rtt: &RttEstimator,
        rate_plateau: bool,
    ) -> Self {
        Self {
            verdict,
            burst,
            srtt: rtt.smoothed(),
            min_rtt: rtt.min(),
            queued_packets: queued_packets(cwnd, rtt),
            rate_plateau,
        }
    }
}

impl fmt::Display for LossEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        write!(
            f,
            "{} lost, {}: srtt {:.0} ms, min {:.0} ms, {:.1} packets queued",
            self.burst,
            self.verdict,
            ms(self.srtt),
            ms(self.min_rtt),
            self.queued_packets
        )?;
        if self.rate_plateau {
            f.write_str(", rate on a plateau")?;
        }
        Ok(())
    }
}

/// Whether the delivery rate still grows with what is in flight, compared once a round trip.
#[derive(Debug, Clone, Copy, Default)]
pub struct RateTrend {
    next_look: Option<Instant>,
    /// Bytes in flight and bytes per second at the last comparison.
    before: (u64, u64),
    is_plateau: bool,
}

impl RateTrend {
    /// An acknowledgement left `in_flight` bytes on a path that delivers `rate` bytes per
    /// second.
    pub fn on_ack(&mut self, now: Instant, srtt: Duration, in_flight: u64, rate: u64) {
        if self.next_look.is_some_and(|at| now < at) {
            return;
        }
        self.next_look = Some(now + srtt);
        let (flight_before, rate_before) = self.before;
        let has_more = in_flight > flight_before.saturating_add(flight_before / 20);
        if has_more {
            self.is_plateau =
                rate_before > 0 && rate < rate_before.saturating_add(rate_before / 40);
        } else if in_flight < flight_before - flight_before / 4 {
            self.is_plateau = false;
        }
        if has_more || rate > rate_before || in_flight < flight_before {
            self.before = (in_flight, rate);
        }
    }

    /// Whether more in flight brought no higher rate.
    #[must_use]
    pub fn is_plateau(&self) -> bool {
        self.is_plateau
    }
}

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
    fn the_evidence_reads_as_a_line() {
        let now = epoch();
        let mut rtt = RttEstimator::new(ms(333));
        rtt.update(now, ms(50), Duration::ZERO);
        for _ in 0..100 {
            rtt.update(now, ms(52), Duration::ZERO);
        }
        let evidence = LossEvidence::new(LossVerdict::Wireless, 3, 10.0, &rtt, false);
        assert_eq!(
            evidence.to_string(),
            "3 lost, wireless: srtt 52 ms, min 50 ms, 0.4 packets queued"
        );
    }

    #[test]
    fn the_gravest_of_new_verdicts_counts_and_old_ones_do_not() {
        let before = LossVerdicts {
            congestion: 1,
            unknown: 1,
            wireless: 0,
        };
        assert_eq!(before.latest(&before), None);
        let decided = LossVerdicts {
            congestion: 1,
            unknown: 0,
            wireless: 1,
        };
        assert_eq!(decided.latest(&before), Some(LossVerdict::Wireless));
        let grave = LossVerdicts {
            congestion: 2,
            ..decided
        };
        assert_eq!(grave.latest(&before), Some(LossVerdict::Congestion));
    }

    #[test]
    fn a_rate_that_stays_while_more_is_in_flight_is_on_a_plateau() {
        let mut now = epoch();
        let mut trend = RateTrend::default();
        let mut step = |trend: &mut RateTrend, in_flight, rate| {
            now += ms(50);
            trend.on_ack(now, ms(50), in_flight, rate);
            trend.is_plateau()
        };
        for packets in 1..20 {
            assert!(!step(&mut trend, packets * 1000, packets * 20_000));
        }
        assert!(step(&mut trend, 25_000, 380_000));
        assert!(step(&mut trend, 30_000, 381_000));
        assert!(!step(&mut trend, 10_000, 200_000));
    }
}
