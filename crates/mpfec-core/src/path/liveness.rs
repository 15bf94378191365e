//! Whether a path still answers. What was sent on it must be acknowledged, on whichever
//! path the acknowledgement comes back; a path that stays silent for a PTO is suspected,
//! gets nothing but probes, and is back with its first answer.

use std::time::{Duration, Instant};

/// A path's state towards the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Liveness {
    /// Acknowledgements come, or nothing is owed one.
    #[default]
    Answering,
    /// Silent since `since`; probed at growing intervals.
    Suspected {
        since: Instant,
        next_probe: Instant,
        interval: Duration,
    },
}

impl Liveness {
    pub(crate) fn is_suspected(&self) -> bool {
        matches!(self, Self::Suspected { .. })
    }

    /// Starts to probe: at once, then every quarter RTT.
    pub(crate) fn suspect(&mut self, now: Instant, srtt: Duration) {
        if !self.is_suspected() {
            let interval = (srtt / 4).max(MIN_PROBE_INTERVAL);
            *self = Self::Suspected {
                since: now,
                next_probe: now,
                interval,
            };
        }
    }

    /// Since when it is suspected.
    pub(crate) fn suspected_since(&self) -> Option<Instant> {
        match self {
            Self::Answering => None,
            Self::Suspected { since, .. } => Some(*since),
        }
    }

    /// The path answered. Returns for how long it had been suspected, if it was.
    pub(crate) fn on_answer(&mut self, now: Instant) -> Option<Duration> {
        match std::mem::take(self) {
            Self::Answering => None,
            Self::Suspected { since, .. } => Some(now.saturating_duration_since(since)),
        }
    }

    /// When the next probe is due.
    pub(crate) fn next_probe(&self) -> Option<Instant> {
        match self {
            Self::Answering => None,
            Self::Suspected { next_probe, .. } => Some(*next_probe),
        }
    }

    /// A probe left: the next one waits half as long again, up to an RTT or 200 ms. Where it most
    /// likely is but a burst of losses, which ends the sooner the more is sent into it, as many
    /// leave in each of the first four RTTs as the window has packets, which is `burst`: they are
    /// small ones.
    pub(crate) fn on_probe(&mut self, now: Instant, srtt: Duration, burst: Option<u32>) {
        if let Self::Suspected {
            since,
            next_probe,
            interval,
        } = self
        {
            let lasts = BURST * srtt.max(4 * MIN_PROBE_INTERVAL);
            let burst = burst.filter(|_| now.saturating_duration_since(*since) < lasts);
            *next_probe = now
                + match burst {
                    Some(packets) => (srtt / packets.clamp(4, MOST_PROBES)).max(LEAST_INTERVAL),
                    None => *interval,
                };
            if burst.is_none() {
                *interval = (*interval * 3 / 2).min(srtt.max(MAX_INTERVAL));
            }
        }
    }
}

/// However short the path is, it is not probed more often.
pub(crate) const MIN_PROBE_INTERVAL: Duration = Duration::from_millis(10);
/// The same in a burst of losses.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);
/// Probes in a round trip of a burst.
const MOST_PROBES: u32 = 32;
const MAX_INTERVAL: Duration = Duration::from_millis(200);
/// Round trips that a burst of losses may last.
const BURST: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Duration = Duration::from_millis(60);

    /// Milliseconds between the first probes of a path that was suspected.
    fn waits(probes: usize, burst: Option<u32>) -> Vec<u128> {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let epoch = Instant::now();
        let mut liveness = Liveness::default();
        liveness.suspect(epoch, SRTT);
        assert_eq!(liveness.next_probe(), Some(epoch));
        let mut waits = Vec::new();
        for _ in 0..probes {
            let at = liveness.next_probe().expect("a probe is due");
            liveness.on_probe(at, SRTT, burst);
            let next = liveness.next_probe().expect("a probe is due");
            waits.push((next - at).as_millis());
        }
        waits
    }

    #[test]
    fn a_suspected_path_is_probed_every_quarter_rtt_and_ever_less_often() {
        let expected = [15, 22, 33, 50, 75, 113, 170, 200, 200];
        let waits = waits(9, None);
        for (wait, expected) in waits.iter().zip(expected) {
            assert!(wait.abs_diff(expected) <= 1, "{waits:?}");
        }
    }

    #[test]
    fn a_burst_of_losses_is_probed_with_a_window_of_packets_in_each_of_four_rtts() {
        let waits = waits(60, Some(12));
        assert_eq!(waits[..48], [5; 48]);
        assert!(
            waits[49..]
                .windows(2)
                .all(|pair| pair[1] > pair[0] || pair[1] == 200),
            "{waits:?}"
        );
        assert!(waits[56] > 150, "{waits:?}");
    }

    #[test]
    fn however_large_the_window_a_burst_is_probed_every_millisecond_at_most() {
        let large = waits(10, Some(u32::MAX));
        assert!(large.iter().all(|&wait| wait == 1), "{large:?}");
        let small = waits(10, Some(0));
        assert!(small.iter().all(|&wait| wait == 15), "{small:?}");
    }
}
