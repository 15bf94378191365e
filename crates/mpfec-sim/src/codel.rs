//! Controlled delay: which packets a queue drops at its head because they waited too long
//! (RFC 8289).

use std::time::{Duration, Instant};

/// The state of one queue (RFC 8289 §5.3).
#[derive(Debug, Default)]
pub(crate) struct Codel {
    /// When packets will have waited too long for a whole interval, if they go on to.
    first_above: Option<Instant>,
    /// When the next packet is dropped, while packets are.
    drop_next: Option<Instant>,
    /// Dropped since it began to drop.
    count: u32,
    /// The same when it began last.
    last_count: u32,
    /// When the last packet was due to be dropped that time.
    last_drop_next: Option<Instant>,
}

impl Codel {
    /// Whether the packet at the head, which waited for `sojourn`, is dropped at `now`, where
    /// `target` is how long packets may wait for good, and `is_last` says that no more than one
    /// packet waits behind it. Asked again for the packet that is at the head then.
    pub(crate) fn drops(
        &mut self,
        now: Instant,
        target: Duration,
        sojourn: Duration,
        is_last: bool,
    ) -> bool {
        let interval = target * INTERVALS_PER_TARGET;
        let is_above = self.is_above(now, interval, sojourn >= target && !is_last);
        let Some(due) = self.drop_next else {
            if is_above {
                self.begin(now, interval);
            }
            return is_above;
        };
        if !is_above {
            self.last_drop_next = Some(due);
            self.drop_next = None;
            return false;
        }
        if now < due {
            return false;
        }
        self.count += 1;
        self.drop_next = Some(due + control_law(interval, self.count));
        true
    }

    /// Nothing waits any more.
    pub(crate) fn on_empty(&mut self) {
        self.first_above = None;
        self.last_drop_next = self.drop_next.take().or(self.last_drop_next);
    }

    /// Whether packets have waited too long for a whole interval.
    fn is_above(&mut self, now: Instant, interval: Duration, waits_long: bool) -> bool {
        if !waits_long {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + interval)
    }

    /// The first drop: as often as the last time, if that is not long ago.
    fn begin(&mut self, now: Instant, interval: Duration) {
        let dropped = self.count.saturating_sub(self.last_count);
        let is_recent = self
            .last_drop_next
            .is_some_and(|last| now.saturating_duration_since(last) < interval * 16);
        self.count = if dropped > 1 && is_recent { dropped } else { 1 };
        self.last_count = self.count;
        self.drop_next = Some(now + control_law(interval, self.count));
    }
}

/// How long after one drop the next one is due (RFC 8289 §3.3).
fn control_law(interval: Duration, count: u32) -> Duration {
    interval.div_f64(f64::from(count).sqrt())
}

/// The target is a twentieth of the interval (RFC 8289 §4.3).
const INTERVALS_PER_TARGET: u32 = 20;
