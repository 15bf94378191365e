//! Start-up: doubles the window every round until a queue or a plateau shows.

mod first_window;

use std::time::{Duration, Instant};

use self::first_window::FirstWindow;
use super::round::Round;
use super::steady::{DEEP, Drain, Steady};
use super::{Delay, MAX_WINDOW, MIN_WINDOW, Mode, QUEUE_NOISE};
use crate::{Ack, Group as Paths, RttEstimator};

/// What start-up has seen so far.
#[derive(Debug, Clone)]
pub(super) struct Startup {
    rounds: u32,
    /// Window when the round began: it at most doubles in one.
    window_before: f64,
    acked_before: f64,
    /// Rounds in a row in which hardly more was acknowledged than in the one before.
    flat: u32,
    recent: Option<Group>,
    /// Those of this round so far.
    opening: Option<Group>,
    /// Since when there have been bursts: losses of before are not theirs.
    bursts_since: Option<Instant>,
    /// Packets of before that were noticed as lost in this round.
    lost_before: f64,
    first: FirstWindow,
    /// Windows per round trip that the pacer lets out.
    pace: f64,
}

impl Startup {
    pub(super) fn new(window: f64) -> Self {
        Self {
            rounds: 0,
            window_before: window,
            acked_before: 0.0,
            flat: 0,
            recent: None,
            opening: None,
            bursts_since: None,
            lost_before: 0.0,
            first: FirstWindow::default(),
            pace: 2.0,
        }
    }

    /// The start of a path of which nothing is known.
    pub(super) fn first(window: f64) -> Self {
        Self {
            first: FirstWindow::open(),
            ..Self::new(window)
        }
    }

    pub(super) fn pace(&self) -> f64 {
        self.pace
    }

    /// A packet leaves, the last of `in_flight` packets.
    pub(super) fn on_packet_sent(&mut self, now: Instant, in_flight: f64) {
        self.first.on_packet_sent(now);
        if in_flight >= BURST {
            self.bursts_since.get_or_insert(now);
        }
    }

    /// Packets were lost, the newest of which left at `sent_at`.
    pub(super) fn on_lost(&mut self, sent_at: Instant, packets: u64) {
        if self.bursts_since.is_none_or(|since| sent_at < since) {
            self.lost_before += packets as f64;
        }
    }

    /// A packet of before is `scale` packets now, and the window `kept` times as many.
    pub(super) fn resize(&mut self, scale: f64, kept: f64) {
        self.window_before *= kept;
        self.acked_before *= scale;
    }
}

/// Acknowledgements in a row, enough of them to tell a queue from noise.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// When the first of them came, and when the packet left that it was for.
    since: (Instant, Instant),
    /// Smallest delay above the floor, seconds.
    delay_min: f64,
    packets: u32,
    acks: u32,
}

impl Group {
    fn new(ack: &Ack<'_>) -> Self {
        Self {
            since: (ack.now, ack.sent_at),
            delay_min: f64::INFINITY,
            packets: 0,
            acks: 0,
        }
    }

    fn add(&mut self, ack: &Ack<'_>, delay: f64) {
        self.delay_min = self.delay_min.min(delay);
        self.packets = self.packets.saturating_add(ack.packets);
        self.acks = self.acks.saturating_add(1);
    }

    /// The times in which a group that ends with `ack` came and had left.
    fn times(&self, ack: &Ack<'_>) -> (Duration, Duration) {
        let came_in = ack.now.saturating_duration_since(self.since.0);
        let left_in = ack.sent_at.saturating_duration_since(self.since.1);
        (came_in, left_in)
    }

    /// The smallest delay of a group that ends with `ack`, if it does. What came in less than half
    /// of the time in which it left was held up by a host that stood still, and not by a queue, or
    /// came in an aggregate: it waits for more. For no longer than `floor` seconds, and says nothing
    /// then: the first packets of a path may have been acknowledged long after they left.
    fn ends(&self, ack: &Ack<'_>, floor: f64) -> Option<f64> {
        if self.packets < 8 || self.acks < 3 {
            return None;
        }
        let (came_in, left_in) = self.times(ack);
        if 2 * came_in >= left_in {
            Some(self.delay_min)
        } else {
            (came_in.as_secs_f64() > floor).then_some(0.0)
        }
    }

    /// The smallest delay so far, where a window is so small that a few packets more may overrun
    /// a queue: of two acknowledgements at least, for one may have been held up, and not of such
    /// as a host that stood still lets go at once.
    fn shows(&self, ack: &Ack<'_>) -> Option<f64> {
        let (came_in, left_in) = self.times(ack);
        let is_paced = came_in >= APART && 2 * came_in >= left_in;
        is_paced.then_some(self.delay_min)
    }
}

/// How many times as many packets of `mss` bytes the window of start-up is, of those of `before`
/// bytes. What a path begins with is so many packets, and a first window is made anew where
/// larger ones prove to pass (RFC 9002 §7.2): the first ones are of 1200 bytes, for a probe tells
/// a round trip later what the path takes. As bytes, that left start-up a fifth behind. What
/// jumbo frames hold beyond Ethernet's is not put at stake.
pub(super) fn resized_window(before: f64, mss: f64) -> f64 {
    let bytes = |mss: f64| mss.min(ETHERNET);
    before / mss * bytes(mss) / bytes(before)
}

impl Delay {
    /// Two packets leave together. Until their answers have told how slow the path may be, few others
    /// follow them.
    pub(super) fn await_packet_pair(&mut self) {
        if let Mode::Startup(startup) = &mut self.mode {
            startup.first.await_pair();
            self.window = MIN_WINDOW;
            startup.window_before = self.window;
        }
    }

    /// Two packets that left together came `apart` of each other.
    pub(super) fn note_packet_pair(
        &mut self,
        apart: Duration,
        rtt: &RttEstimator,
        group: &Paths<'_>,
    ) {
        if let Mode::Startup(startup) = &mut self.mode {
            startup.first.note_pair(apart);
            self.choose_first_window(rtt, group);
        }
    }

    fn choose_first_window(&mut self, rtt: &RttEstimator, group: &Paths<'_>) {
        let is_untried = self.round.acked < UNTRIED;
        let Mode::Startup(startup) = &mut self.mode else {
            return;
        };
        if !is_untried {
            return;
        }
        let (window, usual) = (self.window, self.initial_window);
        if let Some(chosen) = startup.first.choose(window, usual, self.mss, rtt, group) {
            self.window = chosen.window;
            startup.window_before = chosen.window;
            if chosen.is_long {
                startup.pace = 1.0;
            }
        }
    }

    /// What an acknowledgement says of the window that the path began with.
    fn reconsider_first_window(&mut self, ack: &Ack<'_>) {
        let Mode::Startup(startup) = &mut self.mode else {
            return;
        };
        if startup.first.misses_pair(ack) {
            self.window = self.window.max(self.initial_window);
            startup.window_before = self.window;
        }
        startup.first.note_pace(ack);
        self.choose_first_window(ack.rtt, &ack.group);
    }

    /// One packet more per packet accounted for. Over when the smallest RTT of some
    /// acknowledgements is above the floor by `clamp(floor / 8, 2 ms, 16 ms)` and by two
    /// packet times, when loss leaves no doubt, or with a mark.
    pub(super) fn startup_on_ack(&mut self, ack: &Ack<'_>, delay: f64, lost: u64) {
        self.reconsider_first_window(ack);
        let floor = self.floor_seconds();
        // An application that pauses never fills what doubles in each of its bursts.
        let window = self.window_bytes();
        let may_grow = ack.fills(window) && (!self.pauses() || ack.uses_half_of(window));
        let stretched = self.stretched();
        let limit = self.least_delay();
        let Mode::Startup(startup) = &mut self.mode else {
            return;
        };
        if may_grow {
            let grown = self.window + (f64::from(ack.packets) + lost as f64) / stretched;
            let limit = (2.0 * startup.window_before).min(MAX_WINDOW);
            self.window = grown.min(limit).max(self.window);
        }
        let recent = startup.recent.get_or_insert_with(|| Group::new(ack));
        recent.add(ack, delay);
        let opening = startup.opening.get_or_insert_with(|| Group::new(ack));
        opening.add(ack, delay);
        let mut risen = 0.0;
        if let Some(delay_min) = recent.ends(ack, floor) {
            risen = delay_min;
            startup.recent = None;
        } else if may_grow && self.window < SMALL {
            risen = opening.shows(ack).unwrap_or(0.0);
        }
        let overflows = lost > 0
            && delay > 0.5 * self.evidence.delay_max()
            && self.evidence.shows_clear_congestion();
        let congested = overflows || std::mem::take(&mut self.marked);
        if risen > limit || congested {
            self.leave_startup(delay);
            if let Mode::Steady(steady) = &mut self.mode
                && !congested
            {
                steady.taken_for_queue = Some(limit + self.noise.least());
            }
        }
    }

    /// Seconds above the floor from which on a delay passes for a queue.
    pub(super) fn least_delay(&self) -> f64 {
        let packet_time = 1.0 / self.rate.max(1.0);
        (self.floor_seconds() / 8.0)
            .clamp(0.002, 0.016)
            .max(2.0 * packet_time.min(0.02))
    }

    /// Over as well when the rate of acknowledgements stops growing: once for many packets,
    /// three times for few.
    pub(super) fn startup_on_round(&mut self, round: &Round, limited: bool) {
        let Mode::Startup(startup) = &mut self.mode else {
            return;
        };
        startup.window_before = self.window;
        startup.opening = None;
        startup.pace = 2.0;
        // What validates a path, and keeps it, says nothing of what it carries.
        startup.first.is_open &= !limited && round.acked < UNTRIED;
        let is_flat = round.acked < 1.3 * startup.acked_before;
        // Paced by a window that nothing has filled yet, an application's bursts overrun a short
        // queue again and again, and no rate that stops growing would ever show it. A few packets
        // are none: what a link takes of those that validate it says nothing of a queue, and may
        // be noticed when bulk has begun.
        let lost = round.lost - std::mem::take(&mut startup.lost_before);
        let is_burst_overrun = !limited
            && round.in_flight_max >= BURST
            && lost >= BURST_LOSSES
            && lost > BURST_OVERRUN * round.acked;
        let is_overrun = is_flat && limited && round.lost > OVERRUN * round.acked;
        if is_overrun || is_burst_overrun {
            return self.leave_overrun();
        }
        if !limited {
            return;
        }
        startup.rounds += 1;
        if startup.rounds > 2 {
            startup.flat = if is_flat { startup.flat + 1 } else { 0 };
            let enough = if round.acked > 60.0 { 1 } else { 3 };
            let is_lost = self.window > 8.0 * (round.acked + 4.0);
            if startup.flat >= enough || is_lost {
                return self.leave_startup(round.delay_min());
            }
        }
        startup.acked_before = round.acked;
    }

    /// More than before brought nothing more and was nearly all lost: it overran a queue of a few
    /// packets. What start-up lost says nothing about the link, and only what was delivered is
    /// believed.
    fn leave_overrun(&mut self) {
        let floor = self.floor_seconds();
        self.window = (1.1 * self.delivered_max * floor).clamp(MIN_WINDOW, self.window);
        let mut steady = Steady::after_startup(self.window);
        if self.evidence.forget_start(floor >= QUEUE_NOISE) {
            let window = (DEEP * self.delivered_max * floor).max(3.0);
            steady.drain = Drain::First { window, deep: true };
        }
        self.mode = Mode::Steady(steady);
    }

    /// What is in the queue is given back. No more stays than 1.1 times what is delivered and
    /// what refills the losses, or the middle between the window that made no queue and the
    /// one that did: on long paths the rate measured is that of a round ago.
    fn leave_startup(&mut self, delay: f64) {
        let floor = self.floor_seconds();
        let Mode::Startup(startup) = &self.mode else {
            return;
        };
        let window_before = startup.window_before;
        let middle = (window_before * self.window).sqrt();
        let is_shallow = self.evidence.is_shallow(1.0 / self.rate.max(1.0));
        let delivered = self.delivered_now.max(self.delivered_max);
        let needed = 1.1 * delivered * floor / (1.0 - self.evidence.baseline().min(0.9));
        let needed = needed.max(middle);
        let drained = self.window * floor / (floor + delay.max(0.0));
        self.window = drained.min(needed).max(MIN_WINDOW);
        let mut steady = Steady::after_startup(self.window);
        // Start-up may have overrun a short queue: what it lost says nothing about the link.
        if self.evidence.forget_start(floor >= QUEUE_NOISE) {
            // Where a queue shows before it is full, what made none a round ago is clean too.
            let clean = if is_shallow { 0.0 } else { window_before };
            let window = (DEEP * (delivered * floor).max(clean)).max(3.0);
            steady.drain = Drain::First { window, deep: true };
        }
        self.mode = Mode::Steady(steady);
    }
}

/// With a smaller window the first acknowledgements of a round may show a queue.
const SMALL: f64 = 32.0;
/// What comes in less time may have been read at once.
const APART: Duration = Duration::from_millis(1);
/// Packets lost for each delivered one, which no link loses by itself and remains of use.
const OVERRUN: f64 = 4.0;
/// As many times as many lost, and no fewer, of a round that the window did not limit.
const BURST_OVERRUN: f64 = 0.15;
const BURST_LOSSES: f64 = 4.0;
/// Packets in flight at once that may overrun a queue.
const BURST: f64 = 2.0 * MIN_WINDOW;
/// Bytes of the largest packets that a first window is meant for.
const ETHERNET: f64 = 1500.0;
/// Fewer packets that arrived say nothing of what the path carries.
const UNTRIED: f64 = 8.0;
