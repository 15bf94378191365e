//! A sender, a drop-tail bottleneck and a receiver in virtual time, to see what a controller
//! makes of a link.

mod sender;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use mpfec_congestion::ControllerKind;

use self::sender::Sender;

/// Bytes of every packet.
pub(crate) const PACKET: u64 = 1500;

/// A link and what is sent over it.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) kind: ControllerKind,
    pub(crate) mbit: f64,
    pub(crate) one_way: Duration,
    /// Share of packets lost at random, after the queue.
    pub(crate) loss: f64,
    /// Share of packets lost in bursts of five on average, after the queue.
    pub(crate) burst_loss: f64,
    pub(crate) queue_packets: usize,
    /// Hosts that do nothing for 1 to 5 ms every 20 ms or so.
    pub(crate) stalls: bool,
    /// Share of acknowledgements lost.
    pub(crate) ack_loss: f64,
    /// Bytes per second that the application writes; `None`: always more than fits.
    pub(crate) app_rate: Option<f64>,
    /// While true for a time, the link carries nothing.
    pub(crate) dead: Option<(Duration, Duration)>,
    /// A sibling path exists, so silence makes the path suspected instead of probed in doubt.
    pub(crate) sibling: bool,
    /// This path's part of the connection's rate; the rest is a sibling's.
    pub(crate) part: f64,
    /// Rate and one-way delay from a time on.
    pub(crate) changes: Vec<(Duration, f64, Duration)>,
    pub(crate) seed: u64,
}

impl Scene {
    /// A link with a queue of one bandwidth-delay product.
    pub(crate) fn new(kind: ControllerKind, mbit: f64, one_way: Duration) -> Self {
        let bdp = mbit * 1e6 / 8.0 * 2.0 * one_way.as_secs_f64() / PACKET as f64;
        Self {
            kind,
            mbit,
            one_way,
            loss: 0.0,
            burst_loss: 0.0,
            queue_packets: (bdp as usize).max(5),
            stalls: false,
            ack_loss: 0.0,
            app_rate: None,
            dead: None,
            sibling: false,
            part: 1.0,
            changes: Vec::new(),
            seed: 7,
        }
    }

    pub(crate) fn loss(self, loss: f64) -> Self {
        Self { loss, ..self }
    }

    pub(crate) fn queue(self, queue_packets: usize) -> Self {
        Self {
            queue_packets,
            ..self
        }
    }

    pub(crate) fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sends for `span` of virtual time.
    pub(crate) fn run(self, span: Duration) -> Report {
        let mut world = World::new(self);
        world.run(span.as_nanos() as u64);
        world.report
    }
}

/// What happened at the bottleneck, in steps of [`STEP`].
#[derive(Debug, Default)]
pub(crate) struct Report {
    steps: Vec<Step>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Step {
    capacity: f64,
    /// Bytes that left the queue, whether lost afterwards or not.
    carried: f64,
    sent: u64,
    overflowed: u64,
    queue_seconds: f64,
    queued: u64,
}

const STEP: u64 = 10_000_000;

impl Report {
    fn between(&self, from: f64, to: f64) -> &[Step] {
        let index = |at: f64| ((at * 1e9) as u64 / STEP) as usize;
        &self.steps[index(from).min(self.steps.len())..index(to).min(self.steps.len())]
    }

    /// Share of the link's rate that was used between two times in seconds.
    pub(crate) fn utilisation(&self, from: f64, to: f64) -> f64 {
        let steps = self.between(from, to);
        let carried: f64 = steps.iter().map(|step| step.carried).sum();
        carried / steps.iter().map(|step| step.capacity).sum::<f64>()
    }

    /// Mean time in the queue, seconds.
    pub(crate) fn mean_queue(&self, from: f64, to: f64) -> f64 {
        let steps = self.between(from, to);
        let queued: u64 = steps.iter().map(|step| step.queued).sum();
        steps.iter().map(|step| step.queue_seconds).sum::<f64>() / queued.max(1) as f64
    }

    /// Share of the packets sent that found the queue full.
    pub(crate) fn overflow(&self, from: f64, to: f64) -> f64 {
        let steps = self.between(from, to);
        let sent: u64 = steps.iter().map(|step| step.sent).sum();
        steps.iter().map(|step| step.overflowed).sum::<u64>() as f64 / sent.max(1) as f64
    }

    /// Seconds from `from` until a stretch of `span` seconds of the link is used to `share`.
    pub(crate) fn reaches(&self, share: f64, from: f64, span: f64) -> f64 {
        let mut at = from;
        while at + span < self.steps.len() as f64 * STEP as f64 / 1e9 {
            if self.utilisation(at, at + span) >= share {
                return at - from;
            }
            at += 0.01;
        }
        f64::INFINITY
    }
}

/// Splitmix64: small, and the same everywhere.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0..1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// What travels or waits. Times are nanoseconds since the start.
#[derive(Debug)]
enum Event {
    /// A packet reaches the receiver.
    Arrival { packet: u64 },
    /// The receiver's acknowledgement timer.
    AckTimer,
    /// An acknowledgement reaches the sender.
    Ack { packets: Vec<u64>, delay: u64 },
    /// The sender looks again.
    Wake,
}

struct World {
    scene: Scene,
    start: Instant,
    now: u64,
    order: u64,
    /// Keys of events, with the slot that holds the event.
    agenda: BinaryHeap<Reverse<(u64, u64, usize)>>,
    events: Vec<Option<Event>>,
    free: Vec<usize>,
    dice: Dice,
    in_burst: bool,
    /// Times at which packets leave the queue.
    departures: VecDeque<u64>,
    last_departure: u64,
    last_arrival: u64,
    stall: (u64, u64),
    receiver: Receiver,
    sender: Sender,
    next_wake: u64,
    report: Report,
}

#[derive(Debug, Default)]
struct Receiver {
    received: u64,
    pending: Vec<u64>,
    pending_since: Option<u64>,
    newest_at: u64,
    largest: Option<u64>,
}

impl World {
    fn new(scene: Scene) -> Self {
        let start = epoch();
        let sender = Sender::new(&scene, start);
        let dice = Dice::new(scene.seed);
        Self {
            start,
            now: 0,
            order: 0,
            agenda: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
            dice,
            in_burst: false,
            departures: VecDeque::new(),
            last_departure: 0,
            last_arrival: 0,
            stall: (0, 0),
            receiver: Receiver::default(),
            sender,
            next_wake: u64::MAX,
            report: Report::default(),
            scene,
        }
    }

    fn at(&mut self, time: u64, event: Event) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() - 1
        });
        self.events[slot] = Some(event);
        self.order += 1;
        self.agenda.push(Reverse((time, self.order, slot)));
    }

    fn run(&mut self, end: u64) {
        self.at(0, Event::Wake);
        while let Some(Reverse((time, _, slot))) = self.agenda.pop() {
            let Some(event) = self.events[slot].take() else {
                continue;
            };
            self.free.push(slot);
            if time >= end {
                break;
            }
            self.now = time;
            if let Some(later) = self.stalled_until() {
                self.at(later, event);
                continue;
            }
            while self
                .scene
                .changes
                .first()
                .is_some_and(|(at, ..)| at.as_nanos() as u64 <= time)
            {
                let (_, mbit, one_way) = self.scene.changes.remove(0);
                self.scene.mbit = mbit;
                self.scene.one_way = one_way;
            }
            match event {
                Event::Arrival { packet } => self.on_arrival(packet),
                Event::AckTimer => {
                    let due = self
                        .receiver
                        .pending_since
                        .is_some_and(|since| since + ACK_DELAY <= time);
                    if due {
                        self.send_ack();
                    }
                }
                Event::Ack { packets, delay } => {
                    let now = self.start + Duration::from_nanos(time);
                    self.sender
                        .on_ack(now, &packets, Duration::from_nanos(delay));
                    self.send();
                }
                Event::Wake => {
                    if self.next_wake <= time {
                        self.next_wake = u64::MAX;
                    }
                    self.send();
                }
            }
        }
    }

    fn stalled_until(&mut self) -> Option<u64> {
        if !self.scene.stalls {
            return None;
        }
        while self.now >= self.stall.1 {
            let begin = self.stall.1 + (-self.dice.unit().max(1e-9).ln() * 20e6) as u64;
            self.stall = (begin, begin + 1_000_000 + (self.dice.unit() * 4e6) as u64);
        }
        (self.now >= self.stall.0).then_some(self.stall.1)
    }

    fn send(&mut self) {
        let now = self.start + Duration::from_nanos(self.now);
        self.sender.on_timers(now);
        while let Some(packet) = self.sender.poll_packet(now) {
            self.transmit(packet);
        }
        let Some(wake) = self.sender.next_wake(now) else {
            return;
        };
        // Timers of an ordinary runtime fire on the next full millisecond.
        let wake = wake.saturating_duration_since(self.start).as_nanos() as u64;
        let wake = wake.max(self.now + 1).div_ceil(TIMER_GRAIN) * TIMER_GRAIN;
        if wake < self.next_wake {
            self.next_wake = wake;
            self.at(wake, Event::Wake);
        }
    }

    fn transmit(&mut self, packet: u64) {
        let now = self.now;
        while self.departures.front().is_some_and(|at| *at <= now) {
            self.departures.pop_front();
        }
        let rate = self.scene.mbit * 1e6 / 8.0;
        let is_dead = self.scene.dead.is_some_and(|(from, to)| {
            (from.as_nanos() as u64..to.as_nanos() as u64).contains(&now)
        });
        let is_full = self.departures.len() >= self.scene.queue_packets;
        let begins = self.last_departure.max(now);
        let step = self.step(now);
        step.sent += 1;
        if is_dead {
            return;
        }
        if is_full {
            step.overflowed += 1;
            return;
        }
        let waited = (begins - now) as f64 / 1e9;
        step.queue_seconds += waited;
        step.queued += 1;
        let leaves = begins + (PACKET as f64 / rate * 1e9) as u64;
        self.last_departure = leaves;
        self.departures.push_back(leaves);
        self.step(leaves).carried += PACKET as f64;
        if self.is_lost() {
            return;
        }
        let arrives = (leaves + self.scene.one_way.as_nanos() as u64).max(self.last_arrival);
        self.last_arrival = arrives;
        self.at(arrives, Event::Arrival { packet });
    }

    fn is_lost(&mut self) -> bool {
        let bursts = self.scene.burst_loss;
        if bursts > 0.0 {
            let leave = 1.0 / 5.0;
            let enter = leave * bursts / (1.0 - bursts);
            let roll = self.dice.unit();
            self.in_burst = if self.in_burst {
                roll >= leave
            } else {
                roll < enter
            };
            if self.in_burst {
                return true;
            }
        }
        self.scene.loss > 0.0 && self.dice.unit() < self.scene.loss
    }

    fn step(&mut self, at: u64) -> &mut Step {
        let index = (at / STEP) as usize;
        while self.report.steps.len() <= index {
            let begins = self.report.steps.len() as u64 * STEP;
            let mut mbit = self.scene.mbit;
            for (at, later, _) in &self.scene.changes {
                if at.as_nanos() as u64 <= begins {
                    mbit = *later;
                }
            }
            let capacity = mbit * 1e6 / 8.0 * STEP as f64 / 1e9;
            self.report.steps.push(Step {
                capacity,
                ..Step::default()
            });
        }
        &mut self.report.steps[index]
    }

    fn on_arrival(&mut self, packet: u64) {
        let receiver = &mut self.receiver;
        receiver.received += 1;
        receiver.pending.push(packet);
        receiver.newest_at = self.now;
        let gap = receiver.largest.is_some_and(|largest| packet > largest + 1);
        receiver.largest = receiver.largest.max(Some(packet));
        let per_rtt =
            self.scene.mbit * 1e6 / 8.0 * 2.0 * self.scene.one_way.as_secs_f64() / PACKET as f64;
        let every = if receiver.received < 100 {
            2
        } else {
            ((per_rtt / 8.0) as usize).clamp(2, 32)
        };
        if receiver.pending.len() >= every || (gap && receiver.pending.len() >= 2) {
            self.send_ack();
        } else if receiver.pending_since.is_none() {
            receiver.pending_since = Some(self.now);
            self.at(self.now + ACK_DELAY, Event::AckTimer);
        }
    }

    fn send_ack(&mut self) {
        let delay = self.now - self.receiver.newest_at;
        self.receiver.pending_since = None;
        if self.scene.ack_loss > 0.0 && self.dice.unit() < self.scene.ack_loss {
            // The ranges stay and go into the next one.
            return;
        }
        let is_dead = self.scene.dead.is_some_and(|(from, to)| {
            (from.as_nanos() as u64..to.as_nanos() as u64).contains(&self.now)
        });
        if is_dead {
            return;
        }
        let packets = std::mem::take(&mut self.receiver.pending);
        self.at(
            self.now + self.scene.one_way.as_nanos() as u64,
            Event::Ack { packets, delay },
        );
    }
}

const ACK_DELAY: u64 = 5_000_000;
const TIMER_GRAIN: u64 = 1_000_000;

#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
fn epoch() -> Instant {
    Instant::now()
}
