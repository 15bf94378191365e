//! Whether a path has nothing to send.

use std::time::{Duration, Instant};

/// When there was nothing to send although the window had room.
#[derive(Debug)]
pub(crate) struct AppLimit {
    /// Since when there has been nothing, as far as it is not counted yet.
    since: Option<Instant>,
    /// For how long there was nothing.
    idle: Duration,
}

impl AppLimit {
    /// Nothing has been sent yet.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            since: Some(now),
            idle: Duration::ZERO,
        }
    }

    /// Whether there is nothing to send is known anew.
    pub(crate) fn set(&mut self, now: Instant, has_nothing: bool) {
        self.count(now);
        self.since = has_nothing.then_some(now);
    }

    /// Whether there is nothing to send.
    pub(crate) fn is_limited(&self) -> bool {
        self.since.is_some()
    }

    /// For how long there was nothing to send since this was asked last.
    pub(crate) fn take_idle(&mut self, now: Instant) -> Duration {
        self.count(now);
        std::mem::take(&mut self.idle)
    }

    fn count(&mut self, now: Instant) {
        if let Some(since) = &mut self.since {
            self.idle += now.saturating_duration_since(*since);
            *since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_with_nothing_to_send_is_told_once() {
        let ms = Duration::from_millis;
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        let mut limit = AppLimit::new(start);
        limit.set(start + ms(10), false);
        assert!(!limit.is_limited());
        assert_eq!(limit.take_idle(start + ms(20)), ms(10));
        assert_eq!(limit.take_idle(start + ms(30)), Duration::ZERO);
        limit.set(start + ms(40), true);
        limit.set(start + ms(42), true);
        assert!(limit.is_limited());
        assert_eq!(limit.take_idle(start + ms(43)), ms(3));
        limit.set(start + ms(45), false);
        limit.set(start + ms(50), true);
        assert_eq!(limit.take_idle(start + ms(51)), ms(3), "two pauses");
    }
}
