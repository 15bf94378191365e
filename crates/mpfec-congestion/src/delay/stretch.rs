//! What a path carries, though nothing keeps it busy for a round trip.

use std::time::{Duration, Instant};

/// The rate at which packets arrive that waited one behind the other.
///
/// However few they are, they come as fast as the bottleneck lets them out. An application that
/// pauses never fills a window, so nothing else tells how far its pace is beyond what the path
/// carries. Whether packets waited is told by the delay: it grows from the first to the last of a
/// stretch by so much that these left in less time than they took to arrive.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stretch {
    first: Option<Arrival>,
    /// The one of the most delay since then, with the packets that arrived after the first.
    last: Option<(Arrival, f64)>,
    packets: f64,
    rate: f64,
    is_new: bool,
}

/// The newest packet that an acknowledgement is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    /// When it arrived, later by the time that acknowledgements take on `route`.
    at: Instant,
    /// Seconds longer on its way than over the empty path.
    delay: f64,
    /// The way back.
    route: u32,
}

impl Arrival {
    /// A packet that left at `sent_at` was acknowledged over `route` and took `rtt`, `delay` seconds
    /// more than the empty path.
    pub(super) fn new(sent_at: Instant, rtt: Duration, delay: f64, route: u32) -> Self {
        Self {
            at: sent_at + rtt,
            delay,
            route,
        }
    }
}

impl Stretch {
    /// `packets` were acknowledged, `arrival` being the newest; it waited if its delay is `least`
    /// seconds or more.
    pub(super) fn on_ack(&mut self, arrival: Arrival, packets: f64, least: f64) {
        let has_waited = arrival.delay >= least;
        let goes_on = self.first.is_some_and(|first| first.route == arrival.route);
        if goes_on && has_waited {
            self.packets += packets;
            if self.last.is_none_or(|(last, _)| arrival.delay > last.delay) {
                self.last = Some((arrival, self.packets));
            }
        } else {
            self.finish();
            self.first = has_waited.then_some(arrival);
            self.packets = 0.0;
        }
    }

    fn finish(&mut self) {
        let (Some(first), Some((last, packets))) = (self.first.take(), self.last.take()) else {
            return;
        };
        let span = last.at.saturating_duration_since(first.at).as_secs_f64();
        let grown = last.delay - first.delay;
        if packets >= ENOUGH && span > 0.0 && grown >= (GROWN * span).max(NOISE) {
            self.rate = super::approach(self.rate, packets / span);
            self.is_new = true;
        }
    }

    /// Packets per second, the mean of the last few stretches; `None` if there was none.
    pub(super) fn rate(&self) -> Option<f64> {
        (self.rate > 0.0).then_some(self.rate)
    }

    /// The same, of stretches that have ended since this was asked last.
    pub(super) fn take_new(&mut self) -> Option<f64> {
        std::mem::take(&mut self.is_new).then_some(self.rate)
    }

    /// A packet of before is `scale` packets now.
    pub(super) fn resize(&mut self, scale: f64) {
        *self = Self {
            rate: self.rate * scale,
            ..Self::default()
        };
    }
}

/// Packets of a stretch: fewer are more noise than rate.
const ENOUGH: f64 = 6.0;
/// By how much of the time in which the packets of a stretch arrive their delay grows.
const GROWN: f64 = 0.1;
/// Seconds by which the delay varies for other reasons.
const NOISE: f64 = 0.0005;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(20);

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn epoch() -> Instant {
        Instant::now()
    }

    /// Bursts of 24 packets, one every 100 ms, that leave every `gap` over a path which takes
    /// 1 ms for each and drops what finds `queue` waiting. Every second packet that arrives is
    /// acknowledged.
    fn after_bursts(gap: Duration, queue: f64) -> Stretch {
        let (start, packet) = (epoch(), Duration::from_millis(1));
        let mut stretch = Stretch::default();
        for burst in 0..10 {
            let begins = start + burst * Duration::from_millis(100);
            let mut free_at = begins;
            let mut packets = 0;
            for index in 0..24 {
                let sent_at = begins + index * gap;
                let wait = free_at.saturating_duration_since(sent_at);
                if wait.as_secs_f64() > queue * packet.as_secs_f64() {
                    continue;
                }
                free_at = sent_at + wait + packet;
                packets += 1;
                if packets == 2 {
                    let arrival = Arrival::new(sent_at, RTT + wait, wait.as_secs_f64(), 0);
                    stretch.on_ack(arrival, 2.0, 0.001);
                    packets = 0;
                }
            }
        }
        stretch
    }

    #[test]
    fn bursts_that_wait_arrive_as_fast_as_the_path_carries_them() {
        for queue in [100.0, 8.0] {
            let rate = after_bursts(Duration::from_micros(500), queue).rate();
            assert!(
                rate.is_some_and(|rate| (950.0..1050.0).contains(&rate)),
                "{rate:?} beside a queue of {queue}"
            );
        }
    }

    #[test]
    fn bursts_that_do_not_wait_say_nothing() {
        let rate = after_bursts(Duration::from_micros(1200), 100.0).rate();
        assert_eq!(rate, None);
    }

    #[test]
    fn an_acknowledgement_on_another_way_back_begins_anew() {
        let start = epoch();
        let mut stretch = Stretch::default();
        for index in 0..24 {
            let wait = index * Duration::from_micros(500);
            let sent_at = start + wait;
            let route = index % 2;
            let arrival = Arrival::new(sent_at, RTT + wait, wait.as_secs_f64(), route);
            stretch.on_ack(arrival, 1.0, 0.001);
        }
        assert_eq!(stretch.rate(), None);
    }

    #[test]
    fn packets_that_arrived_before_the_first_of_a_stretch_say_nothing() {
        let start = epoch();
        let mut stretch = Stretch::default();
        let newer = Arrival::new(start + Duration::from_millis(6), RTT, 0.001, 0);
        stretch.on_ack(newer, 1.0, 0.001);
        let older = Arrival::new(start, RTT + Duration::from_millis(5), 0.006, 0);
        stretch.on_ack(older, 8.0, 0.001);
        let calm = Arrival::new(start + Duration::from_millis(9), RTT, 0.0, 0);
        stretch.on_ack(calm, 1.0, 0.001);
        assert_eq!(stretch.rate(), None);
    }

    #[test]
    fn packets_of_half_the_size_come_twice_as_fast() {
        let mut stretch = after_bursts(Duration::from_micros(500), 100.0);
        let before = stretch.rate().expect("bursts waited");
        stretch.resize(2.0);
        assert_eq!(stretch.rate(), Some(2.0 * before));
    }
}
