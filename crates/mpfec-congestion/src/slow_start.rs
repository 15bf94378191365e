//! When slow start has gone far enough: rising delay (HyStart++, RFC 9406).

use std::time::{Duration, Instant};

/// Watches the delay of each round of slow start.
///
/// A round ends when a packet sent after its start is acknowledged. If its smallest RTT is
/// clearly above that of the round before, slow start goes on at a quarter of its speed for
/// some rounds (conservative slow start, CSS): falling delay there means a false alarm, else
/// slow start is over.
#[derive(Debug, Clone)]
pub(crate) struct SlowStart {
    round_start: Option<Instant>,
    last_round_min: Duration,
    round_min: Duration,
    samples: u32,
    css: Option<Conservative>,
}

#[derive(Debug, Clone, Copy)]
struct Conservative {
    /// Delay at which it was entered.
    baseline: Duration,
    rounds: u32,
}

impl SlowStart {
    pub(crate) fn new() -> Self {
        Self {
            round_start: None,
            last_round_min: Duration::MAX,
            round_min: Duration::MAX,
            samples: 0,
            css: None,
        }
    }

    /// Takes one ACK's RTT sample. Returns whether slow start is over.
    pub(crate) fn on_ack(&mut self, now: Instant, sent_at: Instant, rtt: Duration) -> bool {
        let round_start = *self.round_start.get_or_insert(now);
        let mut is_over = false;
        if sent_at >= round_start {
            self.round_start = Some(now);
            self.last_round_min = self.round_min;
            self.round_min = Duration::MAX;
            self.samples = 0;
            if let Some(css) = &mut self.css {
                css.rounds += 1;
                is_over = css.rounds >= CSS_ROUNDS;
            }
        }
        self.round_min = self.round_min.min(rtt);
        self.samples = self.samples.saturating_add(1);
        if self.samples < RTT_SAMPLES || self.last_round_min == Duration::MAX {
            return is_over;
        }
        match self.css {
            None => {
                let threshold = (self.last_round_min / 8).clamp(MIN_RISE, MAX_RISE);
                if self.round_min >= self.last_round_min + threshold {
                    self.css = Some(Conservative {
                        baseline: self.round_min,
                        rounds: 0,
                    });
                }
            }
            // The delay fell back: it was noise.
            Some(css) if self.round_min < css.baseline => self.css = None,
            Some(_) => {}
        }
        is_over
    }

    /// Share of the acknowledged bytes that the window grows by.
    pub(crate) fn growth(&self) -> f64 {
        if self.css.is_some() { 0.25 } else { 1.0 }
    }
}

// RFC 9406 §4.3.
const MIN_RISE: Duration = Duration::from_millis(4);
const MAX_RISE: Duration = Duration::from_millis(16);
const RTT_SAMPLES: u32 = 8;
const CSS_ROUNDS: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn epoch() -> Instant {
        Instant::now()
    }

    /// Feeds rounds of ten ACKs with the given RTTs in ms; returns the round that ended it.
    fn over_in_round(slow_start: &mut SlowStart, rtts: &[u64]) -> Option<usize> {
        let mut now = epoch();
        for (round, rtt) in rtts.iter().enumerate() {
            let rtt = Duration::from_millis(*rtt);
            let sent = now;
            for _ in 0..10 {
                now += Duration::from_millis(1);
                if slow_start.on_ack(now, sent, rtt) {
                    return Some(round);
                }
            }
        }
        None
    }

    #[test]
    fn a_flat_delay_never_ends_it() {
        assert_eq!(over_in_round(&mut SlowStart::new(), &[100; 50]), None);
    }

    #[test]
    fn a_lasting_rise_ends_it_after_five_careful_rounds() {
        let rtts = [100, 100, 115, 115, 115, 115, 115, 115, 115];
        let mut slow_start = SlowStart::new();
        assert_eq!(over_in_round(&mut slow_start, &rtts), Some(7));
        assert!(slow_start.growth() < 1.0);
    }

    #[test]
    fn a_rise_that_goes_away_was_noise() {
        let rtts = [100, 100, 115, 100, 100, 100, 100, 100, 100, 100, 100];
        let mut slow_start = SlowStart::new();
        assert_eq!(over_in_round(&mut slow_start, &rtts), None);
        assert_eq!(slow_start.growth(), 1.0);
    }
}
