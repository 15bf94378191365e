//! Paths that hold up what they are given, again and again: a radio that transmits in long intervals
//! or sleeps in between, a host that stands still. The newest packet of what is let through together
//! waited least, and is the one that the RTT is measured with (RFC 9002 §5.1); that the oldest takes
//! much longer shows only when it was given up for it.

use std::time::{Duration, Instant};

/// How long answers take on a path where silence has meant nothing more than once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stalls {
    /// The last answer to what had been given up, and the age of the oldest such packet.
    last: Option<(Instant, Duration)>,
    learnt: Option<Learnt>,
}

/// What has been waited for twice or more.
#[derive(Debug, Clone, Copy)]
struct Learnt {
    /// The longest, and the longest of the present epoch alone.
    age: Duration,
    newest: Duration,
    epoch_ends: Instant,
}

impl Stalls {
    /// Something was acknowledged, the oldest of it `age` after it left, and the oldest of what had
    /// been given up in silence after `given_up`, if there was any. `usual` is what would be waited
    /// for without stalls.
    pub(crate) fn on_answer(
        &mut self,
        now: Instant,
        age: Duration,
        given_up: Option<Duration>,
        usual: Duration,
    ) {
        self.learnt = self.learnt.and_then(|learnt| learnt.at(now));
        let is_in_time = given_up.is_none() && age > usual;
        if let Some(learnt) = self.learnt.as_mut().filter(|_| is_in_time) {
            learnt.newest = learnt.newest.max(age);
        }
        let Some(age) = given_up.filter(|age| *age > usual) else {
            return;
        };
        if let Some((at, before)) = self.last {
            let since = now.saturating_duration_since(at);
            if since < age / 2 {
                // More of what the same stall held up.
                self.last = Some((at, age.max(before)));
                return;
            }
            if since <= AGAIN {
                let age = age.min(before);
                let learnt = self.learnt.unwrap_or(Learnt {
                    age,
                    newest: age,
                    epoch_ends: now + EPOCH,
                });
                self.learnt = Some(Learnt {
                    age: learnt.age.max(age),
                    newest: learnt.newest.max(age),
                    ..learnt
                });
            }
        }
        self.last = Some((now, age));
    }

    /// The age that packets reach before they are answered that leave at `sent_at`, with an eighth for
    /// what the next stall may be longer, where `usual` is what would be waited for without stalls.
    pub(crate) fn patience(&self, sent_at: Option<Instant>, usual: Duration) -> Duration {
        let learnt = self
            .learnt
            .filter(|it| sent_at.is_some_and(|at| it.is_known(at)));
        let age = learnt.map_or(Duration::ZERO, |learnt| learnt.age);
        (age * 9 / 8).clamp(usual, usual + LONGEST)
    }
}

impl Learnt {
    /// What is left of it: the longest of one to two epochs, `None` if nothing took longer than usual.
    fn at(self, now: Instant) -> Option<Self> {
        if now < self.epoch_ends {
            return Some(self);
        }
        let goes_on = self.is_known(now) && !self.newest.is_zero();
        goes_on.then_some(Self {
            age: self.newest,
            newest: Duration::ZERO,
            epoch_ends: self.epoch_ends + EPOCH,
        })
    }

    /// Whether it still counts then, if nothing is answered until then.
    fn is_known(&self, at: Instant) -> bool {
        at < self.epoch_ends + EPOCH
    }
}

/// A stall within so much of the one before shows that there will be more.
const AGAIN: Duration = Duration::from_secs(1);
/// What was seen in the last one to two of these counts.
const EPOCH: Duration = Duration::from_secs(10);
/// Whatever stalls there were, a path that dies counts as silent so much later at most.
const LONGEST: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Duration = Duration::from_millis(40);

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn epoch() -> Instant {
        Instant::now()
    }

    #[test]
    fn a_second_stall_within_a_second_shows_how_long_answers_may_take() {
        let (start, mut stalls) = (epoch(), Stalls::default());
        let mut answer = |at: u64, age: u64| {
            stalls.on_answer(start + ms(at), ms(age), Some(ms(age)), USUAL);
            stalls.patience(Some(start + ms(at)), USUAL)
        };
        assert_eq!(answer(0, 80), USUAL, "one may be chance");
        assert_eq!(answer(5, 75), USUAL, "of the same stall");
        assert_eq!(answer(1_100, 72), USUAL, "long after");
        assert_eq!(answer(1_150, 88), ms(81), "72 ms and an eighth");
        assert_eq!(answer(1_200, 80), ms(90), "80 ms and an eighth");
        assert_eq!(answer(1_250, 30), ms(90), "what a path was asked with");
    }

    #[test]
    fn stalls_are_forgotten_within_twenty_seconds_of_the_last() {
        let (start, mut stalls) = (epoch(), Stalls::default());
        for at in [0, 50] {
            stalls.on_answer(start + ms(at), ms(80), Some(ms(80)), USUAL);
        }
        for at in (1_000..60_000).step_by(1_000) {
            stalls.on_answer(start + ms(at), ms(64), None, USUAL);
        }
        let patience = stalls.patience(Some(start + ms(59_000)), USUAL);
        assert_eq!(patience, ms(72), "they have become shorter");
        for at in (60_000..80_000).step_by(1_000) {
            stalls.on_answer(start + ms(at), ms(30), None, USUAL);
        }
        assert_eq!(stalls.patience(Some(start + ms(79_000)), USUAL), USUAL);
    }

    #[test]
    fn what_was_learnt_before_an_hour_without_data_does_not_count() {
        let (start, mut stalls) = (epoch(), Stalls::default());
        for at in [0, 50] {
            stalls.on_answer(start + ms(at), ms(80), Some(ms(80)), USUAL);
        }
        assert_eq!(stalls.patience(Some(start + ms(60)), USUAL), ms(90));
        let hour = start + ms(3_600_000);
        assert_eq!(stalls.patience(Some(hour), USUAL), USUAL);
        stalls.on_answer(hour + ms(80), ms(80), None, USUAL);
        assert_eq!(stalls.patience(Some(hour + ms(81)), USUAL), USUAL);
    }

    #[test]
    fn a_path_that_was_away_for_long_is_not_waited_for_as_long() {
        let (start, mut stalls) = (epoch(), Stalls::default());
        for at in [0, 900] {
            stalls.on_answer(start + ms(at), ms(800), Some(ms(800)), 4 * USUAL);
        }
        let at = Some(start + ms(901));
        assert_eq!(stalls.patience(at, USUAL), ms(240));
    }

    #[test]
    fn one_long_stall_among_short_ones_is_not_what_the_next_takes() {
        let (start, mut stalls) = (epoch(), Stalls::default());
        for (at, age) in [(0, 80), (50, 80), (5_000, 900)] {
            stalls.on_answer(start + ms(at), ms(age), Some(ms(age)), USUAL);
        }
        for at in (6_000..12_000).step_by(100) {
            stalls.on_answer(start + ms(at), ms(80), None, USUAL);
        }
        assert_eq!(stalls.patience(Some(start + ms(12_000)), USUAL), ms(90));
    }
}
