//! What the parts of the controller do with planted rounds.

mod ceiling;
mod drain;
pub(super) mod limits;
mod mtu;
mod noise;
mod others;
mod pace;
mod pauses;
mod startup;
mod unseen;
mod upload;

use std::time::{Duration, Instant};

use super::Delay;
use super::floor::{Floors, Sample};
use crate::{
    Ack, CodingFeedback, CongestionController, CongestionEvent, Drains, Group, RttEstimator,
    Subflow,
};

impl Delay {
    /// The path is one of so many seconds.
    pub(super) fn set_floor(&mut self, seconds: f64) {
        let rtt = Duration::from_secs_f64(seconds);
        self.floor = Floors::default();
        let sample = Sample {
            now: epoch(),
            route: 0,
            way_back: None,
            rtt,
            whole: rtt,
            smoothed: rtt,
            queue: 0.0,
            is_filled: false,
        };
        self.floor.on_sample(&sample);
    }
}

/// Bytes of every packet, unless they are resized.
pub(super) const MSS: u16 = 1500;

#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
pub(super) fn epoch() -> Instant {
    Instant::now()
}

/// Numbers in 0..1 that look random (SplitMix64).
#[derive(Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A link whose queue holds what the window leaves over, round by round.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) control: Delay,
    pub(super) now: Instant,
    /// Bytes of every packet.
    pub(super) mss: u16,
    /// Packets per second, and the seconds of the empty path.
    pub(super) capacity: f64,
    pub(super) floor: f64,
    /// Packets that the queue holds.
    pub(super) queue: f64,
    pub(super) sibling_drains: Drains,
    /// Bytes per second that the sibling delivers.
    pub(super) sibling_rate: u64,
    /// The sibling's RTT, if it is another.
    pub(super) sibling_rtt: Option<Duration>,
    /// The way that acknowledgements take.
    pub(super) route: u32,
    /// Seconds by which acknowledgements are held up on it, and whether they tell.
    pub(super) held_up: f64,
    pub(super) is_timed: bool,
    rtt: RttEstimator,
}

impl Link {
    pub(super) fn new(capacity: f64, floor: f64, queue: f64) -> Self {
        Self {
            control: Delay::new(MSS, 20),
            now: epoch(),
            mss: MSS,
            capacity,
            floor,
            queue,
            sibling_drains: Drains::No,
            sibling_rate: 1_000_000,
            sibling_rtt: None,
            route: 0,
            held_up: 0.0,
            is_timed: true,
            rtt: RttEstimator::new(Duration::from_millis(100)),
        }
    }

    /// From now on packets are of `mss` bytes; the link remains what it is.
    pub(super) fn resize(&mut self, mss: u16) {
        let scale = f64::from(self.mss) / f64::from(mss);
        self.capacity *= scale;
        self.queue *= scale;
        self.mss = mss;
        self.control.on_mtu_update(mss);
    }

    /// A round trip in which the application writes at most `written` packets. Acknowledgements
    /// come ten to a round trip.
    pub(super) fn round(&mut self, written: f64) {
        let room = (self.control.cwnd() / u64::from(self.mss)) as f64;
        let sent = room.min(written).max(1.0);
        let carried = self.capacity * (self.floor + self.held_up);
        let queued = (sent - carried).clamp(0.0, self.queue);
        let lost = (sent - carried - self.queue).max(0.0) as u32;
        let rtt = self.floor + self.held_up + queued / self.capacity;
        let rtt = Duration::from_secs_f64(rtt);
        self.control.on_packet_sent(
            self.now,
            u64::from(self.mss),
            sent as u64 * u64::from(self.mss),
        );
        let (mut acked, all) = (0, sent as u32 - lost);
        for tenth in 1..=10 {
            self.now += rtt / 10;
            let packets = (all * tenth / 10).saturating_sub(acked);
            if tenth == 5 && lost > 0 {
                self.lose(lost, self.now - rtt);
            }
            if packets > 0 {
                acked += packets;
                self.ack(packets, rtt, sent, written < room);
            }
        }
    }

    pub(super) fn rounds(&mut self, count: u32, written: f64) {
        for _ in 0..count {
            self.round(written);
        }
    }

    /// The path and its sibling, as congestion control is shown them.
    fn subflows(&self) -> [Subflow; 2] {
        let own = Subflow {
            cwnd: self.control.cwnd(),
            srtt: self.rtt.smoothed(),
            delivery_rate: 1_000_000,
            drains: self.control.drains(),
        };
        let sibling = Subflow {
            drains: self.sibling_drains,
            delivery_rate: self.sibling_rate,
            srtt: self.sibling_rtt.unwrap_or(own.srtt),
            ..own
        };
        [own, sibling]
    }

    /// Two packets that left together come so many seconds apart.
    pub(super) fn pair(&mut self, apart: f64) {
        let group = Group {
            subflows: &self.subflows(),
            me: 0,
        };
        let apart = Duration::from_secs_f64(apart);
        self.control.on_packet_pair(apart, &self.rtt, &group);
    }

    pub(super) fn ack(&mut self, packets: u32, rtt: Duration, in_flight: f64, app_limited: bool) {
        self.rtt.update(self.now, rtt, Duration::ZERO);
        let subflows = self.subflows();
        self.control.on_ack(&Ack {
            now: self.now,
            sent_at: self.now - rtt,
            bytes: u64::from(packets) * u64::from(self.mss),
            packets,
            in_flight: in_flight as u64 * u64::from(self.mss),
            app_limited,
            idle: if app_limited { rtt } else { Duration::ZERO },
            rtt: &self.rtt,
            route: self.route,
            way_back: self.is_timed.then_some((1e6 * self.held_up) as i64),
            rate: None,
            coding: CodingFeedback::default(),
            group: Group {
                subflows: &subflows,
                me: 0,
            },
        });
    }

    pub(super) fn lose(&mut self, packets: u32, sent_at: Instant) {
        self.control.on_congestion_event(&CongestionEvent {
            now: self.now,
            sent_at,
            packets,
            runs: 1,
            ecn: false,
            coding: CodingFeedback::default(),
            rtt: &self.rtt,
            group: Group::ALONE,
        });
    }

    /// Bytes per second at which packets leave, as packets per second.
    pub(super) fn pace(&self) -> f64 {
        self.control.pacing_rate().unwrap_or(0) as f64 / f64::from(self.mss)
    }
}
