//! Delay: keeps the link busy with a small queue, whatever share of packets is lost.
//!
//! A *window* in flight is by itself corrected for loss: a lost packet holds its place for a
//! round trip like a delivered one, so `cwnd / RTT` is what arrives at the bottleneck, and
//! sending never exceeds what was delivered plus what refills the losses.

mod evidence;
mod floor;
mod round;

use std::time::{Duration, Instant};

use self::evidence::{Evidence, Lesson};
use self::floor::Floor;
use self::round::Round;
use crate::{Ack, CongestionController, CongestionEvent, Group, LossVerdicts};

#[derive(Debug)]
pub(crate) struct Delay {
    mss: f64,
    initial_packets: f64,
    mode: Mode,
    /// Window in packets, and the one of the round before.
    window: f64,
    prior_window: f64,
    floor: Floor,
    round: Round,
    rounds: u64,
    evidence: Evidence,
    /// Losses reported since the last acknowledgement.
    lost: u64,
    srtt: f64,
    /// Smallest RTT of the last round above the floor, seconds.
    queue_delay: f64,
    /// Packets per second that arrive at the bottleneck: delivered ones and lost ones.
    rate: f64,
    /// Packets per second delivered: maximum, fading by 3 % per round.
    delivered_max: f64,
    /// The same of the newest rate sample.
    delivered_now: f64,
    /// Limit of the queue target after losses in a short queue.
    target_cap: f64,
    /// Rounds during which a cut is left to take effect.
    hold: u32,
    /// Packets sent before this were lost while the path was silent.
    silent: bool,
    returned_at: Option<Instant>,
    silent_since: Option<Instant>,
    marked: bool,
    part: f64,
}

#[derive(Debug)]
enum Mode {
    Startup(Startup),
    Steady(Steady),
}

#[derive(Debug, Clone)]
struct Startup {
    rounds: u32,
    prior_acked: f64,
    flat: u32,
    window_min: f64,
    window_packets: u32,
    window_acks: u32,
}

impl Startup {
    fn new() -> Self {
        Self {
            rounds: 0,
            prior_acked: 0.0,
            flat: 0,
            window_min: f64::INFINITY,
            window_packets: 0,
            window_acks: 0,
        }
    }
}

#[derive(Debug, Clone)]
struct Steady {
    /// Rounds since the last drain.
    cycle: u32,
    cycles: u32,
    drain: Drain,
    mean_delay: f64,
    low_rounds: u32,
    acceleration: f64,
    /// Window and queue delay when the window began to fall.
    fall: Option<Fall>,
}

#[derive(Debug, Clone, Copy)]
struct Fall {
    window: f64,
    delay: f64,
    rounds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Drain {
    No,
    /// Fewer packets are let out.
    First {
        window: f64,
        deep: bool,
    },
    Second {
        window: f64,
    },
    /// What was let out during the drain is acknowledged.
    Answered {
        deep: bool,
    },
}

impl Steady {
    fn new() -> Self {
        Self {
            cycle: 0,
            cycles: 0,
            drain: Drain::No,
            mean_delay: 0.0,
            low_rounds: 0,
            acceleration: 1.0,
            fall: None,
        }
    }
}

impl Delay {
    pub(crate) fn new(mss: u16, initial_window_packets: u64) -> Self {
        let initial_packets = initial_window_packets.clamp(MIN_WINDOW as u64, 10_000) as f64;
        Self {
            mss: f64::from(mss.max(1)),
            initial_packets,
            mode: Mode::Startup(Startup::new()),
            window: initial_packets,
            prior_window: initial_packets,
            floor: Floor::default(),
            round: Round::new(),
            rounds: 0,
            evidence: Evidence::new(),
            lost: 0,
            srtt: 0.0,
            queue_delay: 0.0,
            rate: 0.0,
            delivered_max: 0.0,
            delivered_now: 0.0,
            target_cap: f64::INFINITY,
            hold: 0,
            silent: false,
            returned_at: None,
            silent_since: None,
            marked: false,
            part: 1.0,
        }
    }

    fn effective_window(&self) -> f64 {
        let window = match &self.mode {
            Mode::Steady(Steady {
                drain: Drain::First { window, .. } | Drain::Second { window },
                ..
            }) => window.min(self.window),
            _ => self.window,
        };
        window.max(self.least_window())
    }

    /// No window below what arrives within a millisecond, up to 64 packets.
    fn least_window(&self) -> f64 {
        (self.delivered_max * 0.001).clamp(MIN_WINDOW, 64.0)
    }

    /// Packets to keep in the queue.
    fn target(&self) -> f64 {
        let total = self.window / self.part;
        let root = total.sqrt();
        let target = (1.5 * root).min(4.7 * root.sqrt()) * self.part;
        // A millisecond's worth drowns in the noise of the hosts.
        target.max(self.rate * 0.001).min(self.target_cap).max(2.0)
    }

    fn startup_on_ack(
        &mut self,
        ack: &Ack<'_>,
        (rtt, floor): (f64, f64),
        lost: u64,
        may_grow: bool,
    ) {
        let rtt_so_far = self.round.rtt_min;
        let packet_time = 1.0 / self.rate.max(1.0);
        let Mode::Startup(startup) = &mut self.mode else {
            return;
        };
        if may_grow {
            self.window += f64::from(ack.packets) + lost as f64;
        }
        let rise = (floor / 8.0)
            .clamp(0.002, 0.016)
            .max(2.0 * packet_time.min(0.02));
        startup.window_min = startup.window_min.min(rtt);
        startup.window_packets += ack.packets;
        startup.window_acks += 1;
        let mut risen = 0.0;
        if startup.window_packets >= 8 && startup.window_acks >= 3 {
            risen = startup.window_min - floor;
            startup.window_min = f64::INFINITY;
            startup.window_packets = 0;
            startup.window_acks = 0;
        } else if self.window < 32.0 && rtt_so_far.is_finite() {
            risen = rtt_so_far - floor;
        }
        let overshot = startup.rounds > 2 && self.window > 16.0 * (startup.prior_acked + 4.0);
        let congested = lost > 0
            && rtt - floor > 0.5 * self.evidence.delay_max()
            && self.evidence.shows_clear_congestion();
        if risen > rise || overshot || congested {
            self.leave_startup(rtt, floor);
        }
    }

    fn leave_startup(&mut self, rtt: f64, floor: f64) {
        let delivered = self.delivered_now.max(self.delivered_max);
        let needed = 1.1 * delivered * floor / (1.0 - self.evidence.baseline().min(0.9));
        self.window = (self.window * floor / rtt)
            .min(needed.max(MIN_WINDOW))
            .max(MIN_WINDOW);
        self.prior_window = self.window;
        self.mode = Mode::Steady(Steady::new());
        self.hold = 2;
        self.evidence.forget_high();
    }

    fn startup_on_round(&mut self, round: &Round, floor: f64, limited: bool) {
        let Mode::Startup(startup) = &mut self.mode else {
            return;
        };
        if !limited {
            return;
        }
        startup.rounds += 1;
        if startup.rounds > 2 {
            startup.flat = if round.acked < 1.3 * startup.prior_acked {
                startup.flat + 1
            } else {
                0
            };
            if startup.flat >= if round.acked > 60.0 { 1 } else { 3 } {
                return self.leave_startup(round.rtt_min.min(60.0), floor);
            }
        }
        startup.prior_acked = round.acked;
    }

    fn on_round(&mut self, round: &Round, length: f64, floor: f64) {
        self.rounds += 1;
        let window = self.effective_window();
        let limited = !round.app_limited || round.in_flight_max > 0.75 * window;
        let length = length.max(0.7 * floor);
        let p0 = self.evidence.baseline();
        let counted = round.acked + round.lost.min(1.5 * p0 * (round.acked + round.lost) + 1.0);
        let rate = counted / length;
        if limited || rate > self.rate {
            self.rate = if self.rate == 0.0 {
                rate
            } else {
                self.rate + 0.3 * (rate - self.rate)
            };
        }
        let fading = if limited { 0.97 } else { 1.0 };
        self.delivered_max = (self.delivered_max * fading).max(round.acked / length);
        self.queue_delay = (round.rtt_min - floor).max(0.0);
        if let Mode::Startup(_) = self.mode {
            self.startup_on_round(round, floor, limited);
        } else {
            self.steady_on_round(floor, limited);
        }
        self.evidence.on_round();
        self.window = self.window.clamp(self.least_window(), MAX_WINDOW);
    }

    fn steady_on_round(&mut self, floor: f64, limited: bool) {
        let target = self.target();
        let dq = self.queue_delay;
        let shrink = floor / (floor + dq);
        let p0 = self.evidence.baseline();
        if self.hold > 0 {
            self.evidence.forget_high();
            self.hold -= 1;
            return self.bound(target);
        }
        if self.marked || self.evidence.shows_congestion() {
            self.marked = false;
            self.target_cap = (target / 2.0).max(2.0);
            self.window *= shrink * (1.0 - self.evidence.excess());
            self.prior_window = self.window;
            self.evidence.answer();
            self.hold = 2;
            if let Mode::Steady(steady) = &mut self.mode {
                steady.low_rounds = 0;
                steady.acceleration = 1.0;
            }
            return self.bound(target);
        }
        self.target_cap *= 1.003;
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        match steady.drain {
            Drain::No => {}
            Drain::First { deep: true, .. } => {
                steady.drain = Drain::Answered { deep: true };
                return self.bound(target);
            }
            Drain::First {
                window,
                deep: false,
            } => {
                steady.drain = Drain::Second { window };
                return self.bound(target);
            }
            Drain::Second { .. } => {
                steady.drain = Drain::Answered { deep: false };
                return self.bound(target);
            }
            Drain::Answered { .. } => {
                steady.drain = Drain::No;
                self.prior_window = self.window;
                return self.bound(target);
            }
        }
        if !limited {
            return;
        }
        steady.cycle += 1;
        let wanted = self.prior_window * shrink + target;
        self.prior_window = self.window;
        if dq * self.rate < 0.25 * target.min(8.0) {
            steady.low_rounds += 1;
        } else {
            steady.low_rounds = 0;
            steady.acceleration = 1.0;
        }
        if steady.low_rounds > 4 {
            steady.acceleration = (steady.acceleration * 1.1).min(1.5);
            self.window *= steady.acceleration;
        }
        let step = 0.5 * (wanted - self.window);
        self.window = (self.window + step).clamp(0.5 * self.window, 2.0 * self.window);
        let bound = 1.3 * self.delivered_max * floor / (1.0 - p0.min(0.6)) + 2.0 * target;
        self.window = self.window.min(bound);
        let joins = steady.cycle >= 4
            && dq < 0.5 * steady.mean_delay
            && steady.mean_delay * self.rate > 4.0;
        steady.mean_delay += 0.3 * (dq - steady.mean_delay);
        if steady.cycle >= 8 || joins {
            steady.cycle = 0;
            steady.cycles += 1;
            let deep = steady.cycles.is_multiple_of(8) && p0 > 0.03;
            let mut window = self.window * shrink - 1.0;
            if deep {
                window = window.min(self.delivered_max * floor);
            }
            steady.drain = Drain::First {
                window: window.max(3.0),
                deep,
            };
        }
        self.bound(target);
    }

    /// Little's law: no more than 1.3 times what is delivered and what refills the losses.
    fn bound(&mut self, _target: f64) {
        let p0 = self.evidence.baseline().min(0.6);
        self.window = self
            .window
            .min(1.3 * self.delivered_max * self.srtt / (1.0 - p0) + 6.0);
    }

    fn lesson(&self) -> Lesson {
        match &self.mode {
            Mode::Startup(_) => Lesson::DeeplyDrained,
            Mode::Steady(steady) => match steady.drain {
                Drain::Answered { deep: true } => Lesson::DeeplyDrained,
                Drain::Answered { deep: false } | Drain::Second { .. } => Lesson::Drained,
                _ => Lesson::None,
            },
        }
    }
}

impl CongestionController for Delay {
    fn on_packet_sent(&mut self, _now: Instant, _bytes: u64, in_flight: u64) {
        self.round.in_flight_max = self.round.in_flight_max.max(in_flight as f64 / self.mss);
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let latest = ack.rtt.latest();
        self.floor.on_sample(ack.now, latest, ack.rtt.smoothed());
        let Some(floor) = self.floor.get() else {
            return;
        };
        self.srtt = ack.rtt.smoothed().as_secs_f64();
        let rtt = latest.as_secs_f64();
        if let Some(sample) = ack.rate {
            self.delivered_now = sample.bytes_per_second as f64 / self.mss;
        }
        let lost = std::mem::take(&mut self.lost);
        let times = (rtt, floor, 1.0 / self.rate.max(1.0));
        self.evidence
            .on_ack(times, f64::from(ack.packets), lost, self.lesson());
        self.round.on_ack(ack, latest);
        self.round.lost += lost as f64;
        let may_grow = ack.fills(self.cwnd());
        self.startup_on_ack(ack, (rtt, floor), lost, may_grow);
        if let Some((round, length)) = self.round.finish(ack) {
            self.on_round(&round, length, floor);
        }
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent<'_>) {
        if event.ecn {
            self.evidence.on_marked(u64::from(event.packets));
            self.marked = true;
            return;
        }
        self.lost += u64::from(event.packets);
    }

    fn on_timeout(&mut self, now: Instant, _count: u32) {
        self.silent_since.get_or_insert(now);
        self.silent = true;
    }

    fn on_return(&mut self, now: Instant) {
        self.returned_at = Some(now);
    }

    fn on_persistent_congestion(&mut self, _now: Instant) {
        self.window = MIN_WINDOW;
        self.mode = Mode::Startup(Startup::new());
        self.floor.restart(None);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        let mss = f64::from(mtu.max(1));
        self.window = (self.window * self.mss / mss).max(MIN_WINDOW);
        self.mss = mss;
    }

    fn cwnd(&self) -> u64 {
        (self.effective_window() * self.mss) as u64
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn pacing_rate(&self) -> Option<u64> {
        let floor = self.floor.get()?;
        let rtt = floor + self.queue_delay;
        let gain = match self.mode {
            Mode::Startup(_) => 2.0,
            Mode::Steady(_) => 1.15,
        };
        Some((gain * self.effective_window() * self.mss / rtt) as u64)
    }

    fn state(&self) -> &'static str {
        match &self.mode {
            Mode::Startup(_) => "startup",
            Mode::Steady(Steady {
                drain: Drain::First { .. } | Drain::Second { .. },
                ..
            }) => "drain",
            Mode::Steady(_) => "steady",
        }
    }

    fn loss_verdicts(&self) -> LossVerdicts {
        self.evidence.verdicts()
    }
}

const MIN_WINDOW: f64 = 4.0;
const MAX_WINDOW: f64 = 4e6;
