//! When unacknowledged packets make us probe (RFC 9002 §6.2).

use std::time::{Duration, Instant};

/// The back-off of probes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pto {
    count: u32,
}

impl Pto {
    /// The deadline passed without an answer.
    pub(crate) fn on_timeout(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// Something was acknowledged.
    pub(crate) fn on_ack(&mut self) {
        self.count = 0;
    }

    /// Timeouts in a row.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// When to probe: `base` after `last_sent`, twice as long for each timeout in a row, at
    /// most `max` but never below `base`. Where losses come in bursts that are the link's own,
    /// which end the sooner the more is sent into them, its `round_trip` is given: then the first
    /// eight waits after `base` are that long, and only later ones double.
    pub(crate) fn deadline(
        &self,
        last_sent: Instant,
        base: Duration,
        round_trip: Option<Duration>,
        max: Duration,
    ) -> Instant {
        let (first, doubled) = match round_trip {
            Some(round_trip) if self.count > 0 => (round_trip, self.count.saturating_sub(STEADY)),
            _ => (base, self.count),
        };
        let factor = 1_u32.checked_shl(doubled).unwrap_or(u32::MAX);
        last_sent + first.saturating_mul(factor).min(max).max(first)
    }
}

/// Timeouts in a row between which the wait stays the same.
const STEADY: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn epoch() -> Instant {
        Instant::now()
    }

    #[test]
    fn each_timeout_doubles_the_wait_and_an_answer_resets_it() {
        let (epoch, base, max) = (epoch(), Duration::from_millis(100), Duration::from_secs(1));
        let mut pto = Pto::default();
        let mut waits = Vec::new();
        for _ in 0..5 {
            waits.push((pto.deadline(epoch, base, None, max) - epoch).as_millis());
            pto.on_timeout();
        }
        assert_eq!(waits, [100, 200, 400, 800, 1000]);
        pto.on_ack();
        assert_eq!(
            (pto.count(), pto.deadline(epoch, base, None, max)),
            (0, epoch + base)
        );
    }

    #[test]
    fn a_noisy_path_is_probed_eight_times_at_a_round_trip_each_before_the_wait_doubles() {
        let (epoch, base, max) = (epoch(), Duration::from_millis(100), Duration::from_secs(1));
        let round_trip = Some(Duration::from_millis(60));
        let mut pto = Pto::default();
        let mut waits = Vec::new();
        for _ in 0..15 {
            waits.push((pto.deadline(epoch, base, round_trip, max) - epoch).as_millis());
            pto.on_timeout();
        }
        assert_eq!(
            waits,
            [
                100, 60, 60, 60, 60, 60, 60, 60, 60, 120, 240, 480, 960, 1000, 1000
            ]
        );
    }

    #[test]
    fn a_long_base_is_not_cut_by_the_maximum() {
        let (epoch, base) = (epoch(), Duration::from_secs(3));
        let mut pto = Pto::default();
        for _ in 0..100 {
            pto.on_timeout();
            assert_eq!(
                pto.deadline(epoch, base, None, Duration::from_secs(1)),
                epoch + base
            );
        }
    }
}
