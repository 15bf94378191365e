//! A limit on the rate that drops what exceeds it instead of letting it wait.

use std::time::Instant;

/// A token bucket in front of a link's queue, as in the tariffs of mobile networks and the
/// network cards of rented machines. It delays nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// Bits per second that pass in the long run, overhead included. 0 counts as 1.
    pub rate: u64,
    /// Bytes that pass at once after a pause, overhead included.
    pub burst: u64,
}

/// What has been saved up of a [`Policer`]'s rate; all of its burst at first.
#[derive(Debug, Default)]
pub(crate) struct TokenBucket {
    /// Spent and not yet made up for, in bits per second times nanoseconds.
    debt: u128,
    last: Option<Instant>,
}

impl TokenBucket {
    /// Whether `size` bytes may pass at `now`.
    pub(crate) fn take(&mut self, now: Instant, policer: Policer, size: u64) -> bool {
        let since = self.last.replace(now).unwrap_or(now);
        let elapsed = now.saturating_duration_since(since).as_nanos();
        let repaid = elapsed.saturating_mul(u128::from(policer.rate.max(1)));
        let debt = self.debt.saturating_sub(repaid);
        let with_this = debt + u128::from(size) * UNITS_PER_BYTE;
        let passes = with_this <= u128::from(policer.burst) * UNITS_PER_BYTE;
        self.debt = if passes { with_this } else { debt };
        passes
    }
}

const UNITS_PER_BYTE: u128 = 8 * 1_000_000_000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn a_burst_passes_at_once_and_then_the_rate() {
        let policer = Policer {
            rate: 8_000_000,
            burst: 3000,
        };
        let mut bucket = TokenBucket::default();
        let start = Instant::now();
        let mut passes =
            |micros, size| bucket.take(start + Duration::from_micros(micros), policer, size);
        assert!(passes(0, 1500) && passes(0, 1500));
        // A byte takes a microsecond; what is refused costs nothing.
        assert!(!passes(999, 1000));
        assert!(passes(1000, 1000));
        // No more than a burst is saved up.
        assert!(passes(1_000_000, 3000) && !passes(1_000_000, 1));
        assert!(!passes(2_000_000, 3001));
    }
}
