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

    /// Starts to probe: at once, then every quarter RTT and slower.
    pub(crate) fn suspect(&mut self, now: Instant, srtt: Duration) {
        if !self.is_suspected() {
            let interval = (srtt / 4).max(MIN_INTERVAL);
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

    /// A probe left: the next one waits half as long again, up to an RTT or 200 ms.
    pub(crate) fn on_probe(&mut self, now: Instant, srtt: Duration) {
        if let Self::Suspected {
            next_probe,
            interval,
            ..
        } = self
        {
            *next_probe = now + *interval;
            *interval = (*interval * 3 / 2).min(srtt.max(MAX_INTERVAL));
        }
    }
}

const MIN_INTERVAL: Duration = Duration::from_millis(10);
const MAX_INTERVAL: Duration = Duration::from_millis(200);
