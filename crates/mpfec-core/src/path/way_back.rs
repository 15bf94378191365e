//! How long acknowledgements are on their way back, by clocks that did not begin together.

use std::time::Duration;

use crate::wire::frame::{Ack, ArrivalTime};

/// Makes one number of times that wrap around.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WayBack {
    newest: Option<(ArrivalTime, i64)>,
}

impl WayBack {
    /// How long an acknowledgement that arrives at `now` of this end's clock was on its way, in
    /// microseconds beyond that of the first one, if it tells when the largest packet arrived.
    pub(crate) fn of(&mut self, now: Duration, ack: &Ack) -> Option<i64> {
        let left = ack.received?.later_by(ack.delay);
        let took = ArrivalTime::new(now).since(left);
        let micros = self.newest.map_or(0, |(before, micros)| {
            micros.saturating_add(took.beyond(before))
        });
        self.newest = Some((took, micros));
        Some(micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(received_us: u64, delay_us: u64) -> Ack {
        Ack {
            path: Some(0),
            largest: 0,
            delay: Duration::from_micros(delay_us),
            received: Some(ArrivalTime::new(Duration::from_micros(received_us))),
            ranges: [0..=0].into_iter().collect(),
            ecn: None,
        }
    }

    /// The peer's clock is 200 s behind, and wraps around meanwhile.
    #[test]
    fn what_the_way_back_takes_longer_is_known_whatever_the_clocks_show() {
        let mut way_back = WayBack::default();
        for second in 0..600 {
            let left_us = 1_000_000 * second;
            let took_us = 40_000 + 16_000 * (second % 7);
            let now = Duration::from_micros(200_000_000 + left_us + took_us);
            let ack = ack(left_us - left_us.min(8000), left_us.min(8000));
            let expected = 16_000 * (second as i64 % 7);
            assert_eq!(way_back.of(now, &ack), Some(expected), "{second}");
        }
    }

    #[test]
    fn an_acknowledgement_without_a_time_tells_nothing() {
        let untimed = Ack {
            received: None,
            ..ack(0, 0)
        };
        assert_eq!(WayBack::default().of(Duration::ZERO, &untimed), None);
    }
}
