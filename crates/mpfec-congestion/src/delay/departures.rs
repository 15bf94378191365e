//! What the queue was like when a lost packet came to it.

use std::collections::VecDeque;
use std::time::Instant;

/// Delays of the newest packets of the last acknowledgements, by when they left.
///
/// A loss is found when packets behind it are acknowledged. The first packets of a burst meet an
/// empty queue and those behind them the one that the burst has made: judged by the delay of then,
/// what the link loses would look like an overflow.
#[derive(Debug, Clone, Default)]
pub(super) struct Departures {
    samples: VecDeque<(Instant, f64)>,
}

impl Departures {
    /// A packet that left at `sent_at` was `delay` seconds longer on its way than over the empty
    /// path.
    pub(super) fn on_ack(&mut self, sent_at: Instant, delay: f64) {
        if self.samples.len() >= KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back((sent_at, delay));
    }

    /// The larger one of the delays of the packets that left just before and just after a lost
    /// one; `None` if neither is known.
    pub(super) fn around(&self, sent_at: Instant) -> Option<f64> {
        let before = self.samples.iter().filter(|(sent, _)| *sent <= sent_at);
        let after = self.samples.iter().filter(|(sent, _)| *sent > sent_at);
        let nearest = [
            before.max_by_key(|(sent, _)| *sent),
            after.min_by_key(|(sent, _)| *sent),
        ];
        let delays = nearest.into_iter().flatten().map(|(_, delay)| *delay);
        delays.reduce(f64::max)
    }
}

/// Acknowledgements. Those that come between a packet's neighbours and the discovery of its loss
/// are fewer as a rule: it takes three packets, or an eighth of a round trip, where packets keep their
/// order.
const KEPT: usize = 32;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Packets that left every millisecond, the delay growing by one each.
    fn burst() -> (Instant, Departures) {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        let mut departures = Departures::default();
        for ms in (0..100).filter(|ms| ms % 10 != 5) {
            departures.on_ack(start + Duration::from_millis(ms), ms as f64);
        }
        (start, departures)
    }

    #[test]
    fn a_loss_met_the_queue_of_its_neighbours_whenever_it_is_found() {
        let (start, departures) = burst();
        let around = |ms| departures.around(start + Duration::from_millis(ms));
        assert_eq!(around(75), Some(76.0));
        assert_eq!(around(95), Some(96.0));
        assert_eq!(
            around(200),
            Some(99.0),
            "nothing behind it was acknowledged"
        );
    }

    #[test]
    fn acknowledgements_may_overtake_each_other() {
        let (start, mut departures) = burst();
        departures.on_ack(start + Duration::from_millis(95), 500.0);
        assert_eq!(
            departures.around(start + Duration::from_millis(95)),
            Some(500.0)
        );
        assert_eq!(
            departures.around(start + Duration::from_millis(96)),
            Some(97.0)
        );
    }

    #[test]
    fn of_what_left_before_all_that_is_kept_only_what_followed_is_known() {
        let (start, departures) = burst();
        assert_eq!(departures.samples.len(), KEPT);
        let oldest = departures.samples.front().map(|(_, delay)| *delay);
        assert_eq!(departures.around(start), oldest);
        assert_eq!(Departures::default().around(start), None);
    }
}
