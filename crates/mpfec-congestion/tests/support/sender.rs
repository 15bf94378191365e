//! The sender's half of RFC 9002, as far as a congestion controller sees it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mpfec_congestion::{
    Ack, CodingFeedback, CongestionController, CongestionEvent, DeliveryRate, Drains, Group, Pacer,
    PacketState, RttEstimator, Subflow,
};

use super::{PACKET, Scene};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    InFlight,
    Done,
    Lost,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Instant,
    state: State,
    rate: PacketState,
}

/// Sends packets as controller and pacer allow.
#[derive(Debug)]
pub(super) struct Sender {
    controller: Box<dyn CongestionController>,
    rtt: RttEstimator,
    pacer: Pacer,
    delivery: DeliveryRate,
    packets: VecDeque<Sent>,
    /// Number of the first packet of `packets`.
    first: u64,
    largest_acked: Option<u64>,
    last_lost: Option<u64>,
    in_flight: u64,
    last_sent: Instant,
    last_heard: Instant,
    pto_count: u32,
    probes: u32,
    app: Option<(f64, f64, Instant)>,
    app_limited: bool,
    sibling: bool,
    part: f64,
    delivery_rate: u64,
    suspected: Option<Instant>,
}

impl Sender {
    pub(super) fn new(scene: &Scene, now: Instant) -> Self {
        Self {
            controller: scene.kind.build(PACKET as u16, now, 20),
            rtt: RttEstimator::new(Duration::from_millis(333)),
            pacer: Pacer::new(PACKET as u16, now),
            delivery: DeliveryRate::new(now),
            packets: VecDeque::new(),
            first: 0,
            largest_acked: None,
            last_lost: None,
            in_flight: 0,
            last_sent: now,
            last_heard: now,
            pto_count: 0,
            probes: 0,
            app: scene.app_rate.map(|rate| (rate, 0.0, now)),
            app_limited: false,
            sibling: scene.sibling,
            part: scene.part,
            delivery_rate: 0,
            suspected: None,
        }
    }

    fn pacing_rate(&self) -> u64 {
        self.controller.pacing_rate().unwrap_or_else(|| {
            (1.25 * self.controller.cwnd() as f64 / self.rtt.smoothed().as_secs_f64()) as u64
        })
    }

    fn has_data(&mut self, now: Instant) -> bool {
        let Some((rate, written, since)) = &mut self.app else {
            return true;
        };
        *written += *rate * (now - *since).as_secs_f64();
        *since = now;
        *written >= PACKET as f64
    }

    /// Number of the packet that leaves now, if one may.
    pub(super) fn poll_packet(&mut self, now: Instant) -> Option<u64> {
        if self.probes > 0 {
            self.probes -= 1;
            return Some(self.send(now));
        }
        if self.suspected.is_some() || self.in_flight + PACKET > self.controller.cwnd() {
            return None;
        }
        if self
            .pacer
            .next_send(now, self.pacing_rate(), PACKET)
            .is_some()
        {
            return None;
        }
        if !self.has_data(now) {
            self.app_limited = true;
            self.delivery.on_app_limited(self.in_flight);
            return None;
        }
        self.app_limited = false;
        if let Some((_, written, _)) = &mut self.app {
            *written -= PACKET as f64;
        }
        Some(self.send(now))
    }

    fn send(&mut self, now: Instant) -> u64 {
        let rate = self.delivery.on_sent(now, self.in_flight);
        self.packets.push_back(Sent {
            at: now,
            state: State::InFlight,
            rate,
        });
        self.in_flight += PACKET;
        self.last_sent = now;
        self.pacer.on_sent(now, PACKET, self.pacing_rate());
        self.controller.on_packet_sent(now, PACKET, self.in_flight);
        self.first + self.packets.len() as u64 - 1
    }

    /// When something may happen without an acknowledgement.
    pub(super) fn next_wake(&mut self, now: Instant) -> Option<Instant> {
        let mut wake = self.timer();
        if self.suspected.is_none() && self.in_flight + PACKET <= self.controller.cwnd() {
            let mut at = self
                .pacer
                .next_send(now, self.pacing_rate(), PACKET)
                .unwrap_or(now);
            if let Some((rate, written, _)) = self.app {
                let missing = (PACKET as f64 - written).max(0.0) / rate;
                at = at.max(now + Duration::from_secs_f64(missing));
            }
            wake = wake.map_or(Some(at), |timer| Some(timer.min(at)));
        }
        wake
    }

    fn pto(&self) -> Duration {
        self.rtt.pto_base() + Duration::from_millis(5)
    }

    fn loss_delay(&self) -> Duration {
        (self.rtt.smoothed().max(self.rtt.latest()) * 9 / 8).max(Duration::from_millis(1))
    }

    fn timer(&self) -> Option<Instant> {
        if let Some(next_probe) = self.suspected {
            return Some(next_probe);
        }
        if self.in_flight == 0 {
            return None;
        }
        let oldest = self
            .packets
            .iter()
            .find(|packet| packet.state == State::InFlight)?;
        if self.sibling {
            return Some(oldest.at.max(self.last_heard) + self.pto());
        }
        Some(
            self.last_sent.max(self.last_heard)
                + (self.pto() * (1 << self.pto_count.min(6)))
                    .min(Duration::from_secs(1).max(self.pto())),
        )
    }

    pub(super) fn on_timers(&mut self, now: Instant) {
        self.detect_lost(now);
        if self.timer().is_none_or(|at| at > now) {
            return;
        }
        if self.suspected.is_some() {
            self.probes = 1;
            self.suspected = Some(now + Duration::from_millis(200));
            return;
        }
        self.pto_count += 1;
        self.controller.on_timeout(now, self.pto_count);
        if self.sibling {
            for packet in &mut self.packets {
                if packet.state == State::InFlight {
                    packet.state = State::Lost;
                    self.in_flight -= PACKET;
                }
            }
            self.suspected = Some(now);
        } else {
            self.probes = 2;
            self.last_sent = now;
        }
    }

    pub(super) fn on_ack(&mut self, now: Instant, acked: &[u64], delay: Duration) {
        let Some(largest) = acked.iter().copied().max() else {
            return;
        };
        let (mut bytes, mut packets, mut newest) = (0, 0, None::<Instant>);
        for number in acked {
            let Some(index) = number.checked_sub(self.first) else {
                continue;
            };
            let Some(packet) = self.packets.get_mut(index as usize) else {
                continue;
            };
            if packet.state == State::Done {
                continue;
            }
            if packet.state == State::InFlight {
                self.in_flight -= PACKET;
            }
            packet.state = State::Done;
            bytes += PACKET;
            packets += 1;
            newest = newest.max(Some(packet.at));
            self.delivery.on_acked(now, &packet.rate, PACKET);
            if *number == largest && self.largest_acked.is_none_or(|before| largest > before) {
                self.rtt.update(now, now - packet.at, delay);
            }
        }
        self.largest_acked = self.largest_acked.max(Some(largest));
        let Some(sent_at) = newest else { return };
        self.last_heard = now;
        self.pto_count = 0;
        if self.suspected.take().is_some() {
            self.controller.on_return(now);
        }
        self.detect_lost(now);
        let rate = self.delivery.sample(now, self.rtt.min());
        if let Some(sample) = rate {
            self.delivery_rate = sample.bytes_per_second;
        }
        let subflows = self.subflows();
        self.controller.on_ack(&Ack {
            now,
            sent_at,
            bytes,
            packets,
            in_flight: self.in_flight,
            app_limited: self.app_limited,
            idle: Duration::ZERO,
            rtt: &self.rtt,
            route: 0,
            way_back: None,
            rate,
            coding: CodingFeedback::default(),
            group: Group {
                subflows: &subflows,
                me: 0,
            },
        });
    }

    /// This path, and a sibling that makes it the part that the scene wants.
    fn subflows(&self) -> [Subflow; 2] {
        let own = Subflow {
            cwnd: self.controller.cwnd(),
            srtt: self.rtt.smoothed(),
            delivery_rate: self.delivery_rate,
            drains: Drains::No,
        };
        let others = self.delivery_rate as f64 * (1.0 / self.part - 1.0);
        [
            own,
            Subflow {
                cwnd: 0,
                delivery_rate: others as u64,
                ..own
            },
        ]
    }

    fn detect_lost(&mut self, now: Instant) {
        let Some(largest) = self.largest_acked else {
            return;
        };
        let delay = self.loss_delay();
        let (mut lost, mut runs, mut newest) = (0_u32, 0, None::<Instant>);
        for (index, packet) in self.packets.iter_mut().enumerate() {
            let number = self.first + index as u64;
            if number >= largest {
                break;
            }
            if packet.state == State::InFlight
                && (number + 3 <= largest || packet.at + delay <= now)
            {
                packet.state = State::Lost;
                self.in_flight -= PACKET;
                lost += 1;
                runs += u32::from(self.last_lost.replace(number) != number.checked_sub(1));
                newest = newest.max(Some(packet.at));
            }
        }
        // What was lost long ago is forgotten; a late acknowledgement finds nothing.
        while self.packets.front().is_some_and(|packet| {
            packet.state == State::Done
                || (packet.state == State::Lost && packet.at + 3 * delay < now)
        }) {
            self.packets.pop_front();
            self.first += 1;
        }
        if let Some(sent_at) = newest {
            let subflows = self.subflows();
            self.controller.on_congestion_event(&CongestionEvent {
                now,
                sent_at,
                packets: lost,
                runs,
                ecn: false,
                coding: CodingFeedback::default(),
                rtt: &self.rtt,
                group: Group {
                    subflows: &subflows,
                    me: 0,
                },
            });
        }
    }
}
