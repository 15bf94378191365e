//! Spreads packets over time at a given rate (RFC 9002 §7.7): a token bucket.

use std::time::{Duration, Instant};

/// Token bucket of one path, in bytes.
///
/// The bucket refills at the rate in force and holds [`Pacer::burst`] bytes, so that a timer
/// that fires some milliseconds late costs no rate, and a full GSO batch leaves at once on
/// fast paths:
///
/// `burst = max(2 packets, min(4 ms x rate, 64 KiB), 1 ms x rate)`, at most 1 MiB, and less while
/// there is nothing to send (see [`Pacer::on_idle`]).
#[derive(Debug, Clone)]
pub struct Pacer {
    mss: u64,
    /// Below zero after packets that had to leave unpaced, such as probes.
    tokens: i64,
    refilled_at: Instant,
    /// There was nothing to send when the bucket could have let a packet out.
    is_idle: bool,
}

impl Pacer {
    /// A full bucket, for packets of at most `mss` bytes.
    pub fn new(mss: u16, now: Instant) -> Self {
        // Filled to the brim at whatever rate is asked for first.
        Self {
            mss: u64::from(mss.max(1)),
            tokens: MAX_BURST as i64,
            refilled_at: now,
            is_idle: false,
        }
    }

    /// There is nothing to send, and if the bucket could let a packet out all the same, no late
    /// timer has filled it: until something leaves again it holds no more than
    /// `max(2 packets, 1 ms x rate)`, for what an application writes at once would leave as a
    /// burst that overflows short queues, and makes a queue in which the link's losses pass for
    /// its own in all others.
    pub fn on_idle(&mut self, now: Instant, rate: u64) {
        let tokens = self.tokens_at(now, rate).min(self.idle_burst(rate) as i64);
        if tokens >= self.mss as i64 {
            self.is_idle = true;
            self.tokens = tokens;
            self.refilled_at = now.max(self.refilled_at);
        }
    }

    /// Bytes that may leave back to back after a pause in which there was nothing to send.
    fn idle_burst(&self, rate: u64) -> u64 {
        (2 * self.mss).max(rate / 1000).min(MAX_BURST)
    }

    /// The largest packet of the path changed.
    pub fn on_mtu_update(&mut self, mss: u16) {
        self.mss = u64::from(mss.max(1));
    }

    /// `bytes` left while `rate` bytes per second were allowed.
    pub fn on_sent(&mut self, now: Instant, bytes: u64, rate: u64) {
        let burst = self.burst(rate) as i64;
        let tokens = self.tokens_at(now, rate) - i64::try_from(bytes).unwrap_or(i64::MAX / 2);
        self.tokens = tokens.max(-burst);
        self.refilled_at = now.max(self.refilled_at);
        self.is_idle = false;
    }

    /// Bytes that may leave at once at `rate` bytes per second.
    pub fn budget(&self, now: Instant, rate: u64) -> u64 {
        u64::try_from(self.tokens_at(now, rate)).unwrap_or(0)
    }

    /// When a packet of `size` bytes may leave at `rate` bytes per second, or, if that is long,
    /// when to ask again; `None`: now.
    pub fn next_send(&self, now: Instant, rate: u64, size: u64) -> Option<Instant> {
        let leaves = self.leaves_at(now, rate, size)?;
        Some(leaves.min(now + ASKED_AGAIN))
    }

    /// When a packet of `size` bytes may leave if `rate` remains what it is; `None`: now.
    pub fn leaves_at(&self, now: Instant, rate: u64, size: u64) -> Option<Instant> {
        // A packet larger than the bucket must not wait for ever.
        let wanted = size.min(self.burst(rate)) as i64;
        let missing = wanted - self.tokens_at(now, rate);
        if missing <= 0 {
            return None;
        }
        let nanos = u128::from(missing.unsigned_abs()) * NANOS / u128::from(rate.max(1));
        let wait = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        // One more nanosecond: rounding down must not make the caller come too early.
        Some(
            now + wait
                .saturating_add(Duration::from_nanos(1))
                .min(LONGEST_WAIT),
        )
    }

    /// Bytes that may leave back to back after a pause, at `rate` bytes per second.
    pub fn burst(&self, rate: u64) -> u64 {
        let of_four_ms = (rate / 250).min(GSO_BATCH);
        (2 * self.mss)
            .max(of_four_ms)
            .max(rate / 1000)
            .min(MAX_BURST)
    }

    fn tokens_at(&self, now: Instant, rate: u64) -> i64 {
        let elapsed = now.saturating_duration_since(self.refilled_at).as_nanos();
        let refill =
            (elapsed.saturating_mul(u128::from(rate)) / NANOS).min(u128::from(2 * MAX_BURST));
        let most = if self.is_idle {
            self.idle_burst(rate)
        } else {
            self.burst(rate)
        };
        (self.tokens + refill as i64).min(most as i64)
    }
}

const NANOS: u128 = 1_000_000_000;
/// What one system call takes on Linux.
const GSO_BATCH: u64 = 64 * 1024;
const MAX_BURST: u64 = 1024 * 1024;
/// Who waits for a rate that may change asks again after so long.
const ASKED_AGAIN: Duration = Duration::from_secs(1);
/// Even at a rate of nothing something leaves: a packet takes so long at 200 bit/s.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1200;

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn epoch() -> Instant {
        Instant::now()
    }

    /// Bytes that leave within `span` when every timer fires `late` after its deadline.
    fn sent_within(span: Duration, rate: u64, late: Duration) -> u64 {
        let start = epoch();
        let (mut now, mut sent) = (start, 0);
        let mut pacer = Pacer::new(MSS as u16, now);
        while now < start + span {
            match pacer.next_send(now, rate, MSS) {
                Some(at) => now = at + late,
                None => {
                    pacer.on_sent(now, MSS, rate);
                    sent += MSS;
                }
            }
        }
        sent
    }

    #[test]
    fn packets_leave_at_the_rate_asked_for() {
        for rate in [50_000, 1_250_000, 125_000_000] {
            let sent = sent_within(Duration::from_secs(2), rate, Duration::ZERO);
            let burst = Pacer::new(MSS as u16, epoch()).burst(rate);
            assert!(
                sent.abs_diff(2 * rate) <= burst + MSS,
                "{sent} bytes at {rate}"
            );
        }
    }

    #[test]
    fn timers_that_are_two_milliseconds_late_cost_no_rate() {
        for rate in [500_000, 2_500_000, 12_500_000] {
            let sent = sent_within(Duration::from_secs(2), rate, Duration::from_millis(2));
            assert!(sent > 2 * rate * 98 / 100, "{sent} bytes at {rate}");
        }
    }

    #[test]
    fn a_pause_buys_no_more_than_one_burst() {
        let now = epoch();
        let mut pacer = Pacer::new(MSS as u16, now);
        let rate = 1_250_000;
        pacer.on_sent(now, 100 * MSS, rate);
        assert_eq!(pacer.budget(now, rate), 0);
        let later = now + Duration::from_secs(60);
        assert_eq!(pacer.budget(later, rate), pacer.burst(rate));
    }

    #[test]
    fn what_is_written_after_a_pause_leaves_two_packets_at_once_and_the_others_at_the_rate() {
        let start = epoch();
        let rate = 5_000_000;
        let mut pacer = Pacer::new(MSS as u16, start);
        pacer.on_sent(start, 100 * MSS, rate);
        let paused = start + Duration::from_secs(1);
        pacer.on_idle(paused, rate);
        let mut now = paused + Duration::from_secs(1);
        let mut sent = Vec::new();
        while sent.len() < 20 {
            match pacer.next_send(now, rate, MSS) {
                Some(at) => now = at,
                None => {
                    pacer.on_sent(now, MSS, rate);
                    sent.push(now);
                }
            }
        }
        let at_once = sent.iter().filter(|&&at| at == sent[0]).count();
        assert_eq!(at_once as u64, 5000 / MSS, "a millisecond's worth");
        let paced = sent[19] - sent[4];
        let due = Duration::from_nanos(15 * MSS * 200);
        assert!(paced.abs_diff(due) < Duration::from_micros(1), "{paced:?}");
    }

    #[test]
    fn a_timer_that_is_late_while_data_wait_still_fills_the_bucket() {
        let now = epoch();
        let rate = 5_000_000;
        let mut pacer = Pacer::new(MSS as u16, now);
        pacer.on_idle(now, rate);
        pacer.on_sent(now, 4 * MSS, rate);
        pacer.on_idle(now, rate);
        let late = now + Duration::from_millis(4);
        assert!(pacer.budget(late, rate) > 3 * pacer.idle_burst(rate));
    }

    #[test]
    fn extreme_rates_neither_overflow_nor_wait_for_ever() {
        let now = epoch();
        let mut pacer = Pacer::new(9000, now);
        for rate in [0, 1, u64::MAX] {
            pacer.on_sent(now, u64::MAX, rate);
            assert!(
                pacer
                    .next_send(now, rate, u64::MAX)
                    .is_some_and(|at| at <= now + ASKED_AGAIN)
            );
        }
        assert!(
            pacer
                .next_send(now + Duration::from_secs(1), u64::MAX, 9000)
                .is_none()
        );
    }
}
