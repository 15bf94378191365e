//! Delay: keeps the link busy with a small queue, whatever share of packets is lost.
//!
//! A *window* in flight is by itself corrected for loss: a lost packet holds its place for a
//! round trip like a delivered one, so `cwnd / RTT` is what arrives at the bottleneck, and
//! what leaves is what was delivered plus what refills the losses. The window aims at a queue
//! of some packets (FAST TCP); loss counts only where it exceeds what the link loses without a
//! queue (see `evidence`).
//!
//! It starts with 20 packets, on a long path with as many as a faster sibling makes likely, on a slow
//! one beside a fast sibling with fewer, and doubles them (see `startup`). The round that start-up leaves
//! behind bounds the window by what it delivers (see `steady`).
//!
//! With `floor` the RTT of the empty path, what its delay varies by included (see `noise`), `dq` the
//! smallest RTT of a round above it, `W` the window in packets, `p0` the link's own share of loss:
//!
//! - target: `min(1.5 sqrt W, 4.7 W^(1/4))` packets for the whole connection, of which the path
//!   keeps its part; at least what arrives in a millisecond, or in half the time by which delays
//!   differ without a queue, `floor / 4` at most; no more than losses in a short queue have left, and never less than
//!   two packets;
//! - bound: `1.3 delivered / (1 - p0) x srtt + 6`, `delivered` being a fading maximum of the
//!   packets really acknowledged per second, and `p0` 0.6 at most;
//! - pacing: `min(1.02 W / srtt, 1.5 delivered / (1 - p0) + 4 / srtt)`, `W / srtt` in a short
//!   queue, so that what leaves per second never exceeds what arrived and what refills the
//!   losses by more than half and a few packets; the window leaves room for what waits at the
//!   receiver for its acknowledgement, no more, which holds the queue at the target. In start-up
//!   `2 W / srtt`, in a drain of a longer queue `1.02 W` in the least RTT, beside flows that fill
//!   the buffer `1.2 W / srtt`, and `4 W / srtt` on paths too short for timers, where the window alone
//!   limits. While the application limits, `(W - target) / srtt`, and no more than the path has
//!   carried once it was the path that limited and unless delays vary, but at least `0.5 W / srtt`;
//!   where its bursts overrun the queue, however many rounds they take, 1 to 1.5 times the rate at
//!   which they arrive (see `overruns` and `stretch`);
//! - `p0` comes from *deep drains*: for a round no more is sent than 0.9 of what is delivered,
//!   which no queue is too short for; siblings with short queues join, for the queue may be the
//!   same. What drains lose while others keep the queue full does not count. Until the first of
//!   them, from what start-up lost without a queue, if that is little. Until several have shown
//!   enough packets, what is lost far below the largest delay of a longer queue counts as well
//!   (without what a host may have made late that stood still, see `stall`), unless others fill it.
//!   Who competes and has never seen the path empty takes it for one without loss;
//! - what passes a policer, which drops above some rate and lets nothing wait, is told from a noisy link
//!   by its regularity; then the pace is no more than that rate (see `policed`);
//! - where losses come in bursts, a packet whose acknowledgement is overdue in a silence holds no place
//!   in the window any more (see `overdue`);
//! - several subflows that drop packets before any of them waits may meet in one place: there a drain
//!   teaches only if others drain as well, losses of one are answered by all that lost as well, together they
//!   pace out no fewer packets than one would, and what is grown until an overflow shows is a tenth of the
//!   window (see `steady::unseen`);
//! - losses that come when delays are longer than otherwise, whatever these are, are those of a queue
//!   (see `evidence`): where delays vary by as much as a short queue makes, its delay alone does not
//!   tell;
//! - while an application pauses, losses at high delay take the window down only if, in many bursts, more
//!   of what waited was lost than of what did not (see `overruns`): of few packets some are soon lost by
//!   chance. Where its queue stands for rounds, for repair fills the slots between its blocks, it does not
//!   count as pausing (see `filled`);
//! - a short queue that overflows round by round where much is lost anyway has the same largest
//!   delay in all of these rounds: half of it becomes the target, and if it is that already, the
//!   window becomes `delivered / (1 - p0) x floor` and half of the target (see `heed_ceiling`);
//! - what holds up acknowledgements on their way back, as the peer's clock tells (see `way_back`), is
//!   taken from every RTT, and as many packets as arrive meanwhile are in flight besides (see
//!   `held_up`). Where nothing stands there, what the smallest RTT of a drain waited for on that way is
//!   the path's own (see `noise`);
//! - a delay that does not follow the window is no queue: the path has become longer (see `longer`);
//! - a queue that stays when our part of it is taken away, or overflows far above our part twice, is
//!   somebody else's: then the window grows and is cut as theirs (see `compete`). So is one that stands
//!   while the application pauses, longer than what was in flight can make it (see `others`), and one that
//!   grows while we have far less than half of what the path carried at best; and who has far more
//!   than that, while others fill a queue too short for drains to tell, answers every loss in it,
//!   at whatever delay if it holds but a few packets, and grows slower than they do, unless delays vary
//!   by as much as a queue makes (see `others`).
//!   An equal share is half of what the path carried, beside one other; who competes is told by how often
//!   more is lost than the link explains how much less it is beside more (see `rivals`).

mod acks;
mod carried;
mod compete;
mod count;
mod departures;
mod drained;
mod evidence;
mod filled;
mod floor;
mod held_up;
mod lately;
mod longer;
mod noise;
mod others;
mod overdue;
mod overruns;
mod pace;
mod passed;
mod policed;
mod rivals;
mod round;
mod silence;
mod stall;
mod startup;
mod steady;
mod stretch;
#[cfg(test)]
mod tests;
mod way_back;

use std::time::{Duration, Instant};

use self::carried::{Carried, KEPT_LATELY};
use self::compete::Compete;
use self::departures::Departures;
use self::drained::Drained;
use self::evidence::{Evidence, Losses};
use self::filled::Filled;
use self::floor::Floors;
use self::lately::Lately;
use self::longer::Flat;
use self::noise::Noise;
use self::overruns::Overruns;
use self::passed::Passed;
use self::policed::Policed;
use self::rivals::Rivals;
use self::round::Round;
use self::silence::Silence;
use self::stall::Stall;
use self::startup::Startup;
use self::steady::{MIN_TARGET, Steady};
use self::stretch::Stretch;
use crate::{
    Ack, CongestionController, CongestionEvent, Drains, Group, LossVerdicts, Overdue, RttEstimator,
};

/// Keeps a small queue. All windows are in packets, all times in seconds.
#[derive(Debug)]
pub(crate) struct Delay {
    mss: f64,
    initial_window: f64,
    mode: Mode,
    window: f64,
    floor: Floors,
    noise: Noise,
    stall: Stall,
    round: Round,
    evidence: Evidence,
    departures: Departures,
    stretch: Stretch,
    overruns: Overruns,
    passed: Passed,
    policed: Policed,
    rivals: Rivals,
    flat: Flat,
    /// Losses reported since the last acknowledgement, and when the newest of them left.
    losses: Losses,
    lost_sent_at: Option<Instant>,
    /// Packets are held back.
    is_held: bool,
    /// A sibling drains its path.
    sibling_drains: bool,
    /// When packets were held back last.
    drained: Option<Drained>,
    /// Of the last deep drains so many in a row were disturbed by siblings.
    disturbed: u32,
    /// A CE mark has not been answered yet.
    marked: bool,
    /// Rounds since the last one in which the application had nothing to send at times.
    busy_rounds: u32,
    /// Packets that have arrived since the last loss.
    intact: f64,
    filled: Filled,
    /// There was a steady round in which the application always had something to send, since
    /// start-up or since what had ended it turned out to be no queue.
    has_seen_limit: bool,
    srtt: f64,
    /// By how many seconds acknowledgements are held up on their way back, as far as that is none of
    /// ours: the mean of late. All RTTs here are without it.
    held_up: f64,
    /// Smallest and largest RTT of the last round above the floor.
    queue_delay: f64,
    delay_max: f64,
    /// RTT of the last acknowledgement above the floor.
    last_delay: f64,
    /// Packets per second that arrive at the bottleneck, delivered or lost at random.
    rate: f64,
    /// Most of it that was borne out by deliveries, fading by a thousandth per round.
    rate_max: f64,
    /// Packets per second delivered: maximum fading by 3 % per round, mean, newest sample.
    delivered_max: f64,
    delivered_mean: f64,
    delivered_now: f64,
    carried: Carried,
    /// The same, small packets counted as parts of full ones: data that were cut up before the path was
    /// known to take larger packets remain small, and more of them pass than ever will of full ones.
    carried_full: Carried,
    /// Limit of the queue target after losses in a short queue.
    target_cap: f64,
    /// This path's part of the connection's rate, 0.1..1.
    part: f64,
    /// Probes have been unanswered.
    silence: Option<Silence>,
    /// Losses of packets sent before this belong to a silence and say nothing.
    answered_at: Option<Instant>,
    /// Most packets that one acknowledgement of the last round was for.
    batch: f64,
    /// The same, of rounds lately in which the receiver had not waited for so many by itself.
    batches: Lately,
}

#[derive(Debug)]
enum Mode {
    Startup(Startup),
    Steady(Steady),
    Compete(Compete),
}

impl Delay {
    pub(crate) fn new(mss: u16, initial_window_packets: u64) -> Self {
        let window = initial_window_packets.clamp(MIN_WINDOW as u64, 10_000) as f64;
        Self {
            mss: f64::from(mss.max(1)),
            initial_window: window,
            mode: Mode::Startup(Startup::first(window)),
            window,
            floor: Floors::default(),
            noise: Noise::default(),
            stall: Stall::default(),
            round: Round::new(),
            evidence: Evidence::new(),
            departures: Departures::default(),
            stretch: Stretch::default(),
            overruns: Overruns::default(),
            passed: Passed::default(),
            policed: Policed::default(),
            rivals: Rivals::default(),
            flat: Flat::default(),
            losses: Losses::default(),
            lost_sent_at: None,
            is_held: false,
            sibling_drains: false,
            drained: None,
            disturbed: 0,
            marked: false,
            busy_rounds: BUSY,
            intact: 0.0,
            filled: Filled::default(),
            has_seen_limit: false,
            srtt: 0.0,
            held_up: 0.0,
            queue_delay: 0.0,
            delay_max: 0.0,
            last_delay: 0.0,
            rate: 0.0,
            rate_max: 0.0,
            delivered_max: 0.0,
            delivered_mean: 0.0,
            delivered_now: 0.0,
            carried: Carried::default(),
            carried_full: Carried::default(),
            target_cap: f64::INFINITY,
            part: 1.0,
            silence: None,
            answered_at: None,
            batch: 0.0,
            batches: Lately::default(),
        }
    }

    /// RTT of the empty path: what is above it is a queue.
    fn floor_seconds(&self) -> f64 {
        self.least_seconds() + self.noise.least()
    }

    /// The least that the RTT of the empty path may be.
    fn least_seconds(&self) -> f64 {
        self.floor.get().unwrap_or(self.srtt)
    }

    /// By how many seconds delays differ within a round without a queue. On a path that is shorter than what
    /// hosts stall for they do not: that makes bursts, which do overflow queues.
    fn swing(&self) -> f64 {
        if self.floor_seconds() < QUEUE_NOISE {
            0.0
        } else {
            self.noise.swing()
        }
    }

    /// Whether the application had nothing to send at times in the last round.
    fn is_app_limited(&self) -> bool {
        self.busy_rounds == 0
    }

    /// Whether it has had nothing to send at times lately.
    fn pauses(&self) -> bool {
        self.busy_rounds < BUSY
    }

    fn on_round(&mut self, round: &Round, length: f64) {
        let limited = !round.has_paused() || round.in_flight_max > 0.95 * self.effective_window();
        self.busy_rounds = match round.app_limited {
            true => 0,
            false => self.busy_rounds.saturating_add(1),
        };
        self.has_seen_limit |= !round.app_limited && !matches!(self.mode, Mode::Startup(_));
        let floor = self.floor_seconds();
        let length = length.max(0.7 * floor);
        let p0 = self.evidence.baseline();
        let explained = round.lost.min(1.5 * p0 * (round.acked + round.lost) + 1.0);
        let rate = (round.acked + explained) / length;
        let delivered = round.acked / length;
        // Rounds that the application limited show no limit of the path.
        if limited || rate > self.rate {
            self.rate = approach(self.rate, rate);
            self.delivered_mean = approach(self.delivered_mean, delivered);
            let carried = self.refilled(self.delivered_mean);
            self.rate_max = (0.999 * self.rate_max).max(carried);
        }
        self.carried.on_round(delivered, self.part, length, limited);
        let full = round.bytes / self.mss / length;
        self.carried_full.on_round(full, self.part, length, limited);
        let passed = self.passed.on_round();
        let arrived = self.stretch.take_new().unwrap_or(0.0);
        if !limited {
            self.carried.on_bursts(passed.max(arrived));
        }
        let fading = if limited { KEPT_LATELY } else { 1.0 };
        self.delivered_max = (self.delivered_max * fading).max(delivered);
        (self.queue_delay, self.delay_max) = (round.delay_min(), round.delay_max());
        let packet_time = 1.0 / self.carried.own().max(1.0);
        if !matches!(self.mode, Mode::Startup(_)) {
            self.noise.on_round(round, packet_time);
        }
        if self.is_answered() {
            self.noise.on_drained(round, packet_time);
            let above = (round.rise_min - self.noise.least()).max(0.0);
            self.queue_delay = self.queue_delay.min(above);
        }
        self.batch = round.batch;
        self.note_batch();
        match &self.mode {
            Mode::Startup(_) => self.startup_on_round(round, limited),
            Mode::Steady(_) => self.steady_on_round(round, limited, length),
            Mode::Compete(_) => self.compete_on_round(round, limited),
        }
        if round.app_limited && !limited {
            self.overruns.on_round(self.evidence.dispersion());
        }
        let packet_time = 1.0 / self.rate.max(1.0);
        self.evidence.on_round(
            packet_time,
            delivered * self.mss,
            self.delivered_mean * self.mss,
        );
        self.window = self.window.clamp(self.least_paced(), MAX_WINDOW);
    }

    fn set_part(&mut self, group: &Group<'_>) {
        let total: f64 = group
            .subflows
            .iter()
            .map(|subflow| subflow.delivery_rate as f64)
            .sum();
        self.part = match group.subflows.get(group.me) {
            Some(own) if total > 0.0 => (own.delivery_rate as f64 / total).clamp(0.1, 1.0),
            _ => 1.0,
        };
    }
}

impl CongestionController for Delay {
    fn on_packet_sent(&mut self, now: Instant, _bytes: u64, in_flight: u64) {
        self.policed.on_sent(now);
        let in_flight = (in_flight as f64 / self.mss - self.unheard()).max(0.0);
        self.round.in_flight_max = self.round.in_flight_max.max(in_flight);
        if let Mode::Startup(startup) = &mut self.mode {
            startup.on_packet_sent(now, in_flight);
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.follow_ack(ack);
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent<'_>) {
        let packets = u64::from(event.packets);
        if event.ecn {
            self.marked = true;
        } else if self.answered_at.is_some_and(|at| event.sent_at < at) {
            self.evidence.on_unexplained(packets);
        } else {
            self.losses.lost += packets;
            if let Mode::Startup(startup) = &mut self.mode {
                startup.on_lost(event.sent_at, packets);
            }
            self.lost_sent_at = self.lost_sent_at.max(Some(event.sent_at));
            self.losses.runs = self.losses.runs.saturating_add(event.runs);
            if self
                .drained
                .is_some_and(|drained| drained.holds(event.sent_at))
            {
                self.losses.drained += packets;
            }
        }
    }

    fn on_spurious_loss(&mut self) {
        self.evidence.on_spurious_loss();
        self.overruns.on_spurious_loss();
        self.policed.on_spurious_loss();
    }

    fn begin_packet_pair(&mut self) -> bool {
        self.await_packet_pair();
        true
    }

    fn on_packet_pair(&mut self, apart: Duration, rtt: &RttEstimator, group: &Group<'_>) {
        self.note_packet_pair(apart, rtt, group);
    }

    fn on_timeout(&mut self, now: Instant, count: u32) {
        self.on_silence(now, count);
    }

    fn sends_through_silence(&self) -> bool {
        !matches!(self.mode, Mode::Startup(_))
    }

    fn on_return(&mut self, now: Instant) {
        self.on_answer(now);
    }

    /// A burst of losses that took more than the window looks the same, and what the path
    /// carried is known: so it goes on with half of the window, and at the least only where
    /// nothing is known yet.
    fn on_persistent_congestion(&mut self, _now: Instant) {
        if !matches!(self.mode, Mode::Startup(_)) {
            self.window = (0.5 * self.window).max(MIN_WINDOW);
            return;
        }
        self.window = MIN_WINDOW;
        self.policed.forget();
        self.mode = Mode::Startup(Startup::new(self.window));
        self.floor = Floors::default();
        self.noise = Noise::default();
        self.departures = Departures::default();
        self.evidence.forget_delays();
        self.round = Round::new();
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        let mss = f64::from(mtu.max(1));
        let before = std::mem::replace(&mut self.mss, mss);
        let scale = before / mss;
        for packets in [
            &mut self.rate,
            &mut self.rate_max,
            &mut self.delivered_max,
            &mut self.delivered_mean,
            &mut self.delivered_now,
            &mut self.batch,
        ] {
            *packets *= scale;
        }
        self.carried.resize(scale);
        self.carried_full.resize(scale);
        self.stretch.resize(scale);
        self.passed = Passed::default();
        self.policed.resize(scale);
        self.batches = Lately::default();
        self.flat = Flat::default();
        let mut kept = scale;
        match &mut self.mode {
            Mode::Startup(startup) => {
                kept = startup::resized_window(before, mss);
                startup.resize(scale, kept);
            }
            Mode::Steady(steady) => steady.resize(scale),
            Mode::Compete(compete) => compete.resize(scale),
        }
        // A short queue is taken for one of so many bytes.
        self.target_cap = (self.target_cap * scale).max(MIN_TARGET);
        self.window = (self.window * kept).clamp(MIN_WINDOW, MAX_WINDOW);
    }

    fn cwnd(&self) -> u64 {
        self.window_bytes()
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some((self.pace()? * self.mss).max(1.0) as u64)
    }

    fn lasting_rate(&self) -> u64 {
        (self.lasting_pace() * self.mss) as u64
    }

    fn drains(&self) -> Drains {
        if self.is_held && self.is_drained_deeply() {
            match &self.mode {
                Mode::Steady(steady) if steady.is_answering() => Drains::Overrun,
                _ => Drains::Now,
            }
        } else if self.overflows_unseen() {
            Drains::WithOthers
        } else {
            Drains::No
        }
    }

    fn held_up(&self) -> Duration {
        Duration::try_from_secs_f64(self.held_up).unwrap_or_default()
    }

    fn overdue(&self) -> Option<Overdue> {
        self.overdue_packets()
    }

    fn state(&self) -> &'static str {
        match &self.mode {
            Mode::Startup(_) => "startup",
            Mode::Steady(steady) if steady.drain.window().is_some() => "drain",
            Mode::Steady(_) if self.policed.limit().is_some() => "policed",
            Mode::Steady(_) => "steady",
            Mode::Compete(_) => "compete",
        }
    }

    fn loss_verdicts(&self) -> LossVerdicts {
        self.evidence.verdicts()
    }
}

/// Moves a mean by 30 % towards a new value; the first value is taken as it is.
fn approach(mean: f64, value: f64) -> f64 {
    if mean == 0.0 {
        value
    } else {
        mean + 0.3 * (value - mean)
    }
}

const MIN_WINDOW: f64 = 4.0;
/// After so many rounds an application that paused does so no more.
const BUSY: u32 = 20;
/// More packets than any path holds.
const MAX_WINDOW: f64 = 4e5;
/// Delays below this many seconds come from the hosts, not from the path.
const HOST_NOISE: f64 = 0.001;
/// A queue shorter than this many seconds drowns in that noise and runs empty.
const QUEUE_NOISE: f64 = 0.002;
