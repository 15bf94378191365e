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

    /// A probe left: the next one waits half as long again, up to an RTT or 200 ms; where it most
    /// likely is but a burst of losses, not in the first four RTTs.
    pub(crate) fn on_probe(&mut self, now: Instant, srtt: Duration, is_burst: bool) {
        if let Self::Suspected {
            since,
            next_probe,
            interval,
        } = self
        {
            *next_probe = now + *interval;
            let burst = BURST * srtt.max(4 * MIN_PROBE_INTERVAL);
            if !is_burst || now.saturating_duration_since(*since) >= burst {
                *interval = (*interval * 3 / 2).min(srtt.max(MAX_INTERVAL));
            }
        }
    }
}

/// However short the path is, it is not probed more often.
pub(crate) const MIN_PROBE_INTERVAL: Duration = Duration::from_millis(10);
const MAX_INTERVAL: Duration = Duration::from_millis(200);
/// Round trips that a burst of losses may last.
const BURST: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Duration = Duration::from_millis(60);

    /// Milliseconds between the first probes of a path that was suspected.
    fn waits(probes: usize, is_burst: bool) -> Vec<u128> {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let epoch = Instant::now();
        let mut liveness = Liveness::default();
        liveness.suspect(epoch, SRTT);
        assert_eq!(liveness.next_probe(), Some(epoch));
        let mut waits = Vec::new();
        for _ in 0..probes {
            let at = liveness.next_probe().expect("a probe is due");
            liveness.on_probe(at, SRTT, is_burst);
            let next = liveness.next_probe().expect("a probe is due");
            waits.push((next - at).as_millis());
        }
        waits
    }

    #[test]
    fn a_suspected_path_is_probed_every_quarter_rtt_and_ever_less_often() {
        let expected = [15, 22, 33, 50, 75, 113, 170, 200, 200];
        let waits = waits(9, false);
        for (wait, expected) in waits.iter().zip(expected) {
            assert!(wait.abs_diff(expected) <= 1, "{waits:?}");
        }
    }

    #[test]
    fn a_burst_of_losses_on_a_noisy_path_is_probed_for_four_rtts_without_backing_off() {
        let waits = waits(24, true);
        assert_eq!(waits[..17], [15; 17]);
        assert!(
            waits[17..]
                .windows(2)
                .all(|pair| pair[1] > pair[0] || pair[1] == 200)
        );
        assert!(waits[23] > 150, "{waits:?}");
    }
}
