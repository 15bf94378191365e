//! Start-up: doubles the window every round until a queue or a plateau shows.

use std::time::{Duration, Instant};

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
    /// Nothing is known yet of what the path carries.
    is_first: bool,
    /// Packets per second that two which left together showed.
    paired: Option<f64>,
    /// The most that four acknowledgements in a row have shown since.
    shown: f64,
    /// It begins with less for being slow.
    was_lowered: bool,
    /// When the last acknowledgements came, the newest first.
    came: [Option<Instant>; 3],
    /// Their answers are waited for.
    awaits_pair: bool,
    /// When the first packet left.
    since: Option<Instant>,
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
            is_first: false,
            paired: None,
            came: [None; 3],
            was_lowered: false,
            shown: 0.0,
            awaits_pair: false,
            since: None,
            pace: 2.0,
        }
    }

    /// The start of a path of which nothing is known.
    pub(super) fn first(window: f64) -> Self {
        Self {
            is_first: true,
            ..Self::new(window)
        }
    }

    pub(super) fn pace(&self) -> f64 {
        self.pace
    }

    /// A packet leaves, the last of `in_flight` packets.
    pub(super) fn on_packet_sent(&mut self, now: Instant, in_flight: f64) {
        self.since.get_or_insert(now);
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
            startup.awaits_pair = true;
            self.window = MIN_WINDOW;
            startup.window_before = self.window;
        }
    }

    /// Nothing holds a first window back any more.
    fn allow_first_window(&mut self) {
        let Mode::Startup(startup) = &mut self.mode else {
            return;
        };
        if std::mem::take(&mut startup.awaits_pair) {
            self.window = self.window.max(self.initial_window);
            startup.window_before = self.window;
        }
    }

    /// Whether this is about a packet that left once the address had answered, so that one of the two
    /// answers got lost.
    fn misses_packet_pair(&self, ack: &Ack<'_>) -> bool {
        let Mode::Startup(startup) = &self.mode else {
            return false;
        };
        let since = startup.since.filter(|_| startup.awaits_pair);
        since.is_some_and(|since| ack.sent_at >= since + ack.rtt.min() / 2)
    }

    /// Two packets that left together came `apart` of each other.
    pub(super) fn note_packet_pair(
        &mut self,
        apart: Duration,
        rtt: &RttEstimator,
        group: &Paths<'_>,
    ) {
        if let Mode::Startup(startup) = &mut self.mode {
            startup.paired = Some(1.0 / apart.as_secs_f64());
            startup.awaits_pair = false;
            self.choose_first_window(rtt, group);
        }
    }

    /// What a first window puts at stake is its rate for a round trip, and twenty packets are
    /// the less the longer that is. So a long path beside a shorter one that is under way begins
    /// with `min(2 x rate of the sibling, 400 packets/s) x RTT`, at most 250 packets, which take
    /// the whole round trip to leave: the sibling's rate is a round trip old, in which it may
    /// have doubled. But no faster than a pair of packets came, for a path may be long because it is
    /// slow: at 20 kbit/s a full packet takes half a second. Twenty packets would be too many there:
    /// beside a sibling of ten times its rate it begins with what it carries in two round trips, or in
    /// 0.2 s if that is more.
    fn choose_first_window(&mut self, rtt: &RttEstimator, group: &Paths<'_>) {
        let is_untried = self.round.acked < UNTRIED && rtt.has_sample();
        let Mode::Startup(startup) = &mut self.mode else {
            return;
        };
        let Some(paired) = startup.paired.filter(|_| startup.is_first && is_untried) else {
            return;
        };
        let rtt = rtt.min().as_secs_f64();
        let siblings = || {
            let others = group.subflows.iter().enumerate();
            others
                .filter(|(index, _)| *index != group.me)
                .map(|(_, sibling)| sibling)
        };
        let most = |rate: Option<u64>| rate.unwrap_or(0) as f64 / self.mss;
        let shorter = siblings().filter(|sibling| rtt > SLOWER * sibling.srtt.as_secs_f64());
        let shorter = most(shorter.map(|sibling| sibling.delivery_rate).max());
        let fastest = most(siblings().map(|sibling| sibling.delivery_rate).max());
        let rate = (2.0 * shorter).min(FIRST_RATE).min(paired);
        let long = (rate * rtt).min(MOST_FIRST);
        let carried = paired.max(startup.shown);
        let slow = carried * (2.0 * rtt).max(SHORT_WHILE);
        let short = if fastest > DISPENSABLE * carried {
            self.initial_window.min(slow)
        } else {
            self.initial_window
        };
        if long > self.window.max(short) {
            startup.pace = 1.0;
        }
        let window = short.max(long).max(MIN_WINDOW);
        // Only once, for what is acknowledged meanwhile makes it grow again.
        let is_lowered = window < self.window.min(self.initial_window)
            && !std::mem::replace(&mut startup.was_lowered, true);
        if is_lowered || window > self.window {
            self.window = window;
            startup.window_before = window;
        }
    }

    /// Where delays vary, one pair of packets may have come far apart by chance: four that come closer
    /// after one another show a faster path. (Of two, the first may have waited for the peer's
    /// acknowledgement.)
    fn note_pace(&mut self, ack: &Ack<'_>) {
        let Mode::Startup(startup) = &mut self.mode else {
            return;
        };
        let [last, second, first] = startup.came;
        startup.came = [Some(ack.now), last, second];
        if let Some(first) = first {
            let taken = ack.now.saturating_duration_since(first).as_secs_f64();
            startup.shown = startup.shown.max(3.0 / taken);
        }
    }

    /// One packet more per packet accounted for. Over when the smallest RTT of some
    /// acknowledgements is above the floor by `clamp(floor / 8, 2 ms, 16 ms)` and by two
    /// packet times, when loss leaves no doubt, or with a mark.
    pub(super) fn startup_on_ack(&mut self, ack: &Ack<'_>, delay: f64, lost: u64) {
        if self.misses_packet_pair(ack) {
            self.allow_first_window();
        }
        self.note_pace(ack);
        self.choose_first_window(ack.rtt, &ack.group);
        let floor = self.floor_seconds();
        let packet_time = 1.0 / self.rate.max(1.0);
        let may_grow = ack.fills(self.window_bytes());
        let stretched = self.stretched();
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
        let limit = (floor / 8.0)
            .clamp(0.002, 0.016)
            .max(2.0 * packet_time.min(0.02));
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
        startup.is_first &= !limited && round.acked < UNTRIED;
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
/// Packets per second: a first window of 20 packets in 50 ms.
const FIRST_RATE: f64 = 400.0;
/// Seconds that a first window may take to leave a slow path.
const SHORT_WHILE: f64 = 0.2;
/// Times the rate of a slow path that a sibling carries who hardly misses it.
const DISPENSABLE: f64 = 10.0;
/// Packets in a first window, however long the path is.
const MOST_FIRST: f64 = 250.0;
/// By how much a path is longer than a sibling that was under way when it began.
const SLOWER: f64 = 1.25;
/// Fewer packets that arrived say nothing of what the path carries.
const UNTRIED: f64 = 8.0;
