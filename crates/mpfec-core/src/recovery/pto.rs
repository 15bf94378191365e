//! When unacknowledged packets make us probe (RFC 9002 §6.2).

use std::time::Duration;

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

    /// How long to wait for an answer: `base`, twice as long for each timeout in a row, at most
    /// `longest` but never less than `base`.
    pub(crate) fn wait(&self, base: Duration, longest: Duration) -> Duration {
        doubled(base, self.count, longest)
    }

    /// The same where losses come in bursts that are the link's own, which end the sooner the
    /// more is sent into them: the first eight waits after `base` are a round trip each, and
    /// only later ones double.
    pub(crate) fn wait_through_bursts(
        &self,
        base: Duration,
        round_trip: Duration,
        longest: Duration,
    ) -> Duration {
        match self.count {
            0 => base,
            count => doubled(round_trip, count.saturating_sub(STEADY), longest),
        }
    }
}

fn doubled(first: Duration, times: u32, longest: Duration) -> Duration {
    let factor = 1_u32.checked_shl(times).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(longest).max(first)
}

/// Timeouts in a row between which the wait stays the same.
const STEADY: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_timeout_doubles_the_wait_and_an_answer_resets_it() {
        let (base, longest) = (Duration::from_millis(100), Duration::from_secs(1));
        let mut pto = Pto::default();
        let mut waits = Vec::new();
        for _ in 0..5 {
            waits.push(pto.wait(base, longest).as_millis());
            pto.on_timeout();
        }
        assert_eq!(waits, [100, 200, 400, 800, 1000]);
        pto.on_ack();
        assert_eq!((pto.count(), pto.wait(base, longest)), (0, base));
    }

    #[test]
    fn a_noisy_path_is_probed_eight_times_at_a_round_trip_each_before_the_wait_doubles() {
        let (base, longest) = (Duration::from_millis(100), Duration::from_secs(1));
        let round_trip = Duration::from_millis(60);
        let mut pto = Pto::default();
        let mut waits = Vec::new();
        for _ in 0..15 {
            let wait = pto.wait_through_bursts(base, round_trip, longest);
            waits.push(wait.as_millis());
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
        let base = Duration::from_secs(3);
        let mut pto = Pto::default();
        for _ in 0..100 {
            pto.on_timeout();
            assert_eq!(pto.wait(base, Duration::from_secs(1)), base);
        }
    }
}
