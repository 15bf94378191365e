//! A path that falls silent and is soon heard of again: that was a burst of losses, whatever it
//! was taken for.

use std::time::{Duration, Instant};

use crate::recovery::Burst;

/// The last silence in which packets were given up.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    /// When the first of them was.
    began: Option<Instant>,
    /// From when on the path was suspected, and asked with packets that carry nothing.
    suspected: Option<Instant>,
}

impl Silence {
    /// Packets are given up, the first since something was heard.
    pub(crate) fn begin(&mut self, now: Instant) {
        *self = Self {
            began: Some(now),
            suspected: None,
        };
    }

    /// Something is heard of a path that was `suspected` until now. `Some` if the silence is not
    /// over for long: what was sent in it and is overtaken now was lost in a burst. What the path
    /// was asked with does not count, for it left because the burst went on.
    pub(crate) fn on_answer(
        &mut self,
        now: Instant,
        srtt: Duration,
        suspected: Option<Instant>,
    ) -> Option<Burst> {
        let began = self.began?;
        if now.saturating_duration_since(began) > BURST_RTTS * srtt {
            self.began = None;
            return None;
        }
        self.suspected = self.suspected.or(suspected);
        Some(Burst {
            given_up_from: began,
            sent_before: self.suspected.unwrap_or(now),
        })
    }
}

/// Within so many RTTs.
const BURST_RTTS: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Duration = Duration::from_millis(100);

    #[test]
    fn a_silence_that_ends_soon_was_a_burst_and_what_the_path_was_asked_with_is_no_part_of_it() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        let mut silence = Silence::default();
        assert_eq!(silence.on_answer(start, SRTT, None), None);
        silence.begin(start);
        let burst = Burst {
            given_up_from: start,
            sent_before: start + SRTT / 2,
        };
        let first = silence.on_answer(start + SRTT, SRTT, Some(start + SRTT / 2));
        assert_eq!(first, Some(burst));
        let second = silence.on_answer(start + 2 * SRTT, SRTT, None);
        assert_eq!(second, Some(burst), "it is not suspected any more");
        assert_eq!(silence.on_answer(start + 5 * SRTT, SRTT, None), None);
        silence.begin(start + 6 * SRTT);
        let next = silence.on_answer(start + 7 * SRTT, SRTT, None);
        let next = next.map(|burst| (burst.given_up_from, burst.sent_before));
        assert_eq!(next, Some((start + 6 * SRTT, start + 7 * SRTT)));
    }
}
