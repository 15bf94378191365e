//! How fast packets really arrive, measured from acknowledgements
//! (draft-cheng-iccrg-delivery-rate-estimation).

use std::time::{Duration, Instant};

/// Delivery rate estimator of one path.
///
/// Every packet remembers what had been delivered when it left ([`PacketState`]); its
/// acknowledgement shows what has been delivered since. The interval is the longer of the time
/// the packets took to leave and the time their acknowledgements took to come, so that neither
/// a burst sent nor a burst of acknowledgements looks like a faster path.
#[derive(Debug, Clone)]
pub struct DeliveryRate {
    epoch: Instant,
    delivered: u64,
    /// When `delivered` last grew.
    delivered_at: u64,
    /// When the first packet of the present flight left.
    first_sent_at: u64,
    /// While `delivered` is below this, samples are limited by the application.
    app_limited_until: u64,
    /// The newest packet acknowledged since the last sample.
    newest: Option<PacketState>,
}

/// What an estimator remembers with a packet in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketState {
    delivered: u64,
    // Nanoseconds since the estimator was made.
    delivered_at: u64,
    first_sent_at: u64,
    sent_at: u64,
    app_limited: bool,
}

/// What one ACK frame shows about the path's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes per second delivered over `interval`.
    pub bytes_per_second: u64,
    /// Whether the application, not the path, may have set that rate.
    pub app_limited: bool,
    /// Bytes delivered during the interval.
    pub delivered: u64,
    /// All bytes that had been delivered when the newest acknowledged packet left.
    pub prior_delivered: u64,
    /// The time over which they were delivered.
    pub interval: Duration,
}

impl DeliveryRate {
    /// An estimator that has seen nothing.
    pub fn new(now: Instant) -> Self {
        Self {
            epoch: now,
            delivered: 0,
            delivered_at: 0,
            first_sent_at: 0,
            app_limited_until: 0,
            newest: None,
        }
    }

    /// A packet leaves. `in_flight` is what is in flight without it, in bytes.
    pub fn on_sent(&mut self, now: Instant, in_flight: u64) -> PacketState {
        let now = self.nanos(now);
        if in_flight == 0 {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        PacketState {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            sent_at: now,
            app_limited: self.app_limited_until > self.delivered,
        }
    }

    /// A packet of `bytes` was acknowledged for the first time.
    pub fn on_acked(&mut self, now: Instant, packet: &PacketState, bytes: u64) {
        self.delivered = self.delivered.saturating_add(bytes);
        self.delivered_at = self.nanos(now);
        let is_newest = self.newest.is_none_or(|newest| {
            (packet.delivered, packet.sent_at) >= (newest.delivered, newest.sent_at)
        });
        if is_newest {
            self.newest = Some(*packet);
        }
    }

    /// The sample of one ACK frame, once all its packets went through [`Self::on_acked`].
    /// `None` if it shows nothing: no new packet, or an interval shorter than `min_rtt`.
    pub fn sample(&mut self, now: Instant, min_rtt: Duration) -> Option<RateSample> {
        let packet = self.newest.take()?;
        let now = self.nanos(now);
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        self.first_sent_at = self.first_sent_at.max(packet.sent_at);
        let send_time = packet.sent_at.saturating_sub(packet.first_sent_at);
        let ack_time = now.saturating_sub(packet.delivered_at);
        let interval = Duration::from_nanos(send_time.max(ack_time));
        if interval < min_rtt || interval.is_zero() {
            return None;
        }
        let delivered = self.delivered.saturating_sub(packet.delivered);
        let rate = u128::from(delivered) * 1_000_000_000 / interval.as_nanos();
        Some(RateSample {
            bytes_per_second: u64::try_from(rate).unwrap_or(u64::MAX),
            app_limited: packet.app_limited,
            delivered,
            prior_delivered: packet.delivered,
            interval,
        })
    }

    /// There is nothing to send although window and pacer would allow it: samples of what is
    /// in flight, and of what follows until it is delivered, do not show the path's limit.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = self.delivered.saturating_add(in_flight).max(1);
    }

    /// Bytes delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    fn nanos(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.epoch).as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn epoch() -> Instant {
        Instant::now()
    }

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_steady_flow_is_measured_exactly() {
        let start = epoch();
        let mut estimator = DeliveryRate::new(start);
        // One packet of 1000 bytes each millisecond, answered 10 ms later.
        let mut packets = Vec::new();
        let mut last = None;
        for n in 0..100_u64 {
            let now = start + ms(n);
            if n >= 10 {
                estimator.on_acked(now, &packets[n as usize - 10], 1000);
                last = estimator.sample(now, ms(10));
            }
            packets.push(estimator.on_sent(now, n.min(10) * 1000));
        }
        let sample = last.unwrap();
        assert_eq!(sample.bytes_per_second, 1_000_000);
        assert!(!sample.app_limited);
        assert_eq!(estimator.delivered(), 90_000);
    }

    #[test]
    fn acknowledgements_that_come_in_a_burst_do_not_look_fast() {
        let start = epoch();
        let mut estimator = DeliveryRate::new(start);
        let packets: Vec<_> = (0..50)
            .map(|n| estimator.on_sent(start + ms(n), n * 1000))
            .collect();
        for packet in &packets {
            estimator.on_acked(start + ms(60), packet, 1000);
        }
        let sample = estimator.sample(start + ms(60), ms(10)).unwrap();
        assert!(sample.bytes_per_second <= 1_000_000, "{sample:?}");
    }

    #[test]
    fn an_interval_shorter_than_the_minimum_rtt_shows_nothing() {
        let start = epoch();
        let mut estimator = DeliveryRate::new(start);
        let packet = estimator.on_sent(start, 0);
        estimator.on_acked(start + ms(1), &packet, 1000);
        assert_eq!(estimator.sample(start + ms(1), ms(10)), None);
        assert_eq!(
            estimator.sample(start + ms(1), ms(0)),
            None,
            "each packet counts once"
        );
    }

    #[test]
    fn a_pause_of_the_application_is_marked_until_it_is_over() {
        let start = epoch();
        let mut estimator = DeliveryRate::new(start);
        let first = estimator.on_sent(start, 0);
        estimator.on_app_limited(1000);
        let second = estimator.on_sent(start + ms(20), 1000);
        estimator.on_acked(start + ms(30), &first, 1000);
        assert!(
            !estimator
                .sample(start + ms(30), ms(10))
                .unwrap()
                .app_limited
        );
        estimator.on_acked(start + ms(50), &second, 1000);
        assert!(
            estimator
                .sample(start + ms(50), ms(10))
                .unwrap()
                .app_limited
        );
        let third = estimator.on_sent(start + ms(60), 0);
        estimator.on_acked(start + ms(90), &third, 1000);
        assert!(
            !estimator
                .sample(start + ms(90), ms(10))
                .unwrap()
                .app_limited
        );
    }
}
