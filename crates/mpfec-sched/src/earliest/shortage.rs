//! Whether faster paths have shown that they cannot carry what there is.

use std::time::{Duration, Instant};

use crate::view::MAX_PATHS;

/// Which paths the load has been shown to need beside the faster ones, by slot.
///
/// What the faster ones are known to carry is what they were given: one that has recovered from a dip may
/// carry more, and is never filled while a slower path takes what is left over. So the slower one
/// stays out now and then until something waits for the others, which fills them. If they prove too
/// slow at once, the next time is twice as far away.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    slots: [Shown; MAX_PATHS],
}

#[derive(Debug, Clone, Copy, Default)]
struct Shown {
    /// Until when it helps, whatever waits, and for how long it did before.
    until: Option<Instant>,
    held: Duration,
}

impl Shortage {
    /// What the faster paths are known to carry is less than the load, and as much waits for them as
    /// `shows` it, or does not. Returns whether the path of `slot` is to help them.
    pub(super) fn is_needed(&mut self, slot: usize, shows: bool, now: Instant) -> bool {
        let Some(shown) = self.slots.get_mut(slot) else {
            return shows;
        };
        if shown.until.is_some_and(|until| now < until) {
            return true;
        }
        if shows {
            let soon = shown
                .until
                .is_some_and(|until| now.saturating_duration_since(until) < TRIED);
            shown.held = if soon {
                (2 * shown.held).min(LONGEST)
            } else {
                SHORTEST
            };
            shown.until = Some(now + shown.held);
        }
        shows
    }
}

const SHORTEST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(16);
/// A path that nothing waited for in so long was not needed.
const TRIED: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds between the moments at which the path of slot 0 is left out anew, asked every ten of
    /// `ms`, where something waits for the others whenever it has been out for `shows_after` ms.
    fn apart(ms: u64, shows_after: u64) -> Vec<u64> {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        let mut shortage = Shortage::default();
        let (mut left_out, mut since, mut helped) = (Vec::new(), 0, true);
        for at in (0..ms).step_by(10) {
            let shows = at - since >= shows_after;
            let helps = shortage.is_needed(0, shows, start + Duration::from_millis(at));
            if helps {
                since = at + 10;
            } else if helped {
                left_out.push(at);
            }
            helped = helps;
        }
        left_out.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn a_path_that_is_missed_at_once_is_left_out_half_as_often_each_time() {
        let expected = [600, 1100, 2100, 4100, 8100, 16_100, 16_100, 16_100];
        assert_eq!(apart(70_000, 100), expected);
    }

    #[test]
    fn a_path_that_was_not_missed_for_seconds_helps_for_half_a_second_only() {
        assert_eq!(apart(15_000, 3000), [3500, 3500, 3500, 3500]);
    }

    #[test]
    fn a_path_that_nothing_waits_for_stays_out() {
        assert!(apart(10_000, u64::MAX).is_empty());
    }
}
