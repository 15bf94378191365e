//! Beside flows that fill the buffer: a window that only loss stops, as theirs does.

mod capacity;
mod pauses;

use std::time::Instant;

use self::capacity::Capacity;
use self::pauses::Pauses;
use super::carried::Carried;
use super::lately::Lately;
use super::passed::Passed;
use super::rivals::Rivals;
use super::round::Round;
use super::startup::Startup;
use super::steady::{LOSS_FREE, ONE_PACKET, SHORT_QUEUE, Steady, TCP_SURVIVES};
use super::stretch::Stretch;
use super::{Delay, MAX_WINDOW, MIN_WINDOW, Mode};
use crate::Ack;
use crate::coupling::Coupling;

/// What is remembered while competing.
#[derive(Debug, Clone)]
pub(super) struct Compete {
    growth: Growth,
    /// Rounds in which a cut is left to take effect.
    hold: u32,
    /// Rounds since the last test.
    cycle: u32,
    capacity: Capacity,
    /// The queue was seen to be others': until a test tells, the path carries what it carried at
    /// best.
    is_others: bool,
    /// Delay of the queue in the round before.
    last_delay: f64,
    pub(super) test: Test,
    /// Tests in a row that emptied the queue, and stretches in which it was empty.
    alone: u32,
    /// Smallest and largest delay above the floor of the present stretch of rounds, and its rounds.
    least: f64,
    most: f64,
    /// Largest of the rounds' smallest delays meanwhile: what stands in the queue.
    standing: f64,
    stretch: u32,
    /// The delay has been high and steady: a test is to tell a queue from a longer path.
    may_be_longer: bool,
    pauses: Pauses,
}

/// Our own part of the queue is taken away for a round, to see what remains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Test {
    No,
    /// No more than `window` packets are let out.
    Draining {
        window: f64,
        before: Before,
    },
    /// What was let out meanwhile is being acknowledged.
    Answered {
        removed: f64,
        before: Before,
    },
}

/// What a test is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Before {
    window: f64,
    /// Smallest delay of the queue, seconds.
    delay: f64,
    /// Mean delay to be expected without the test, seconds.
    mean: f64,
    /// The queue moves by itself, or a sibling holds packets back as well: what is seen is not our
    /// doing.
    is_disturbed: bool,
}

/// What is seen once a test has taken effect.
#[derive(Debug)]
struct After {
    /// Smallest and mean delay of the queue, seconds.
    delay: f64,
    mean: f64,
    /// Seconds that the bottleneck takes for one of our packets.
    packet_time: f64,
    /// A delay that is no queue, seconds.
    noise: f64,
    /// The queue holds too few packets to compete in.
    is_short: bool,
}

/// Between Reno and CUBIC (RFC 9438), nearer to the one that brings an equal share: no fixed law
/// is fair to both on long fat paths, for they are not fair to each other.
#[derive(Debug, Clone)]
struct Growth {
    /// 0 for Reno, 1 for CUBIC.
    cubic_part: f64,
    /// Part of that growth that is left where even Reno's takes more than an equal share, 0..1.
    slowdown: f64,
    /// What the curve aims at.
    w_max: f64,
    /// Window before the last cut: from there on CUBIC grows at least as Reno does (RFC 9438 §4.3).
    cwnd_prior: f64,
    epoch: Option<Instant>,
    /// Seconds from the epoch until the window is back at `w_max`.
    k: f64,
    /// `CUBIC_C` in packets that are of another size than at the epoch.
    c: f64,
}

impl Growth {
    /// Packets by which a window of `window` grows for `acked` packets, uncoupled.
    fn increase(&mut self, now: Instant, rtt: f64, window: f64, acked: f64) -> f64 {
        if self.epoch.is_none() {
            self.c = CUBIC_C;
            self.k = ((self.w_max - window).max(0.0) / self.c).cbrt();
            self.w_max = self.w_max.max(window);
        }
        let epoch = *self.epoch.get_or_insert(now);
        let t = now.saturating_duration_since(epoch).as_secs_f64() + rtt;
        let target = (self.c * (t - self.k).powi(3) + self.w_max).clamp(window, 1.5 * window);
        let curve = (target - window) / window * acked;
        let reno = 3.0 * (1.0 - BETA) / (1.0 + BETA) / window * acked;
        let cubic = if window < self.cwnd_prior {
            curve
        } else {
            curve.max(acked / window)
        };
        self.slowdown * (reno + self.cubic_part * (cubic - reno).max(0.0))
    }

    /// What remains of a window. A flow that shrinks makes room for others (RFC 9438 §4.7),
    /// unless `aim`, the window of an equal share, is larger still.
    fn cut(&mut self, window: f64, aim: f64) -> f64 {
        self.w_max = if window < aim {
            aim
        } else if window < self.w_max {
            window * (1.0 + BETA) / 2.0
        } else {
            window
        };
        self.cwnd_prior = window;
        self.epoch = None;
        // Nearer to what Reno keeps if growing slower still takes too much.
        let excess = (1.0 - self.slowdown) / (1.0 - SLOWEST);
        window * (BETA - (BETA - BETA_RENO) * excess)
    }
}

/// What the share of a path asks for: 1 for CUBIC's growth, 0 for Reno's, less for slower growth.
pub(super) fn law(share: f64, fair: f64) -> f64 {
    0.5 + GUIDANCE * (1.0 - share / fair)
}

/// Part of Reno's growth that is left by this law.
pub(super) fn slowdown(law: f64) -> f64 {
    (1.0 + law).clamp(SLOWEST, 1.0)
}

impl Compete {
    fn new(w_max: f64) -> Self {
        Self {
            growth: Growth {
                cubic_part: 0.5,
                slowdown: 1.0,
                w_max,
                cwnd_prior: w_max,
                epoch: None,
                k: 0.0,
                c: CUBIC_C,
            },
            hold: 0,
            cycle: FIRST_TEST,
            capacity: Capacity::default(),
            is_others: false,
            last_delay: f64::INFINITY,
            test: Test::No,
            alone: 0,
            least: f64::INFINITY,
            most: 0.0,
            standing: 0.0,
            stretch: 0,
            may_be_longer: false,
            pauses: Pauses::default(),
        }
    }

    /// A packet of before is `scale` packets now.
    pub(super) fn resize(&mut self, scale: f64) {
        self.growth.w_max *= scale;
        self.growth.cwnd_prior *= scale;
        self.growth.c *= scale;
        self.capacity.resize(scale);
        self.pauses.resize(scale);
        match &mut self.test {
            Test::No => {}
            Test::Draining {
                window: packets,
                before,
            }
            | Test::Answered {
                removed: packets,
                before,
            } => {
                *packets *= scale;
                before.window *= scale;
            }
        }
    }

    /// Of `capacity` packets per second, `own` are ours: more like CUBIC below the share of `fair`,
    /// more like Reno above it, and slower still far above it.
    fn guide(&mut self, capacity: f64, own: f64, fair: f64) {
        let law = law(own / capacity, fair);
        self.growth.cubic_part = law.clamp(0.0, 1.0);
        self.growth.slowdown = slowdown(law);
    }

    /// What a test has shown, which took `removed` packets away.
    fn evaluate(&mut self, removed: f64, before: Before, after: &After) {
        let &After {
            delay,
            mean,
            packet_time,
            ..
        } = after;
        if before.is_disturbed || before.delay <= after.noise {
            return;
        }
        // Packets are let out in a drain as well, so that one of them may wait.
        let left = (ALONE * before.delay).max(ONE_PACKET * packet_time);
        if delay >= left {
            self.alone = 0;
            let moved = (before.mean - mean).abs().max((before.delay - delay).abs());
            if moved > MOVES * before.delay {
                self.capacity.learn(removed, before.mean - mean);
            }
        } else if after.is_short || HALF_OF_HALF * before.delay > left {
            self.alone += 1;
            self.cycle = AFTER_ALONE;
        }
    }

    /// The limit while packets are held back.
    pub(super) fn window(&self) -> Option<f64> {
        match self.test {
            Test::Draining { window, .. } => Some(window),
            Test::No | Test::Answered { .. } => None,
        }
    }

    /// Whether the packets acknowledged now were sent into a queue without our part.
    pub(super) fn is_drained(&self) -> bool {
        matches!(self.test, Test::Answered { .. })
    }
}

impl Delay {
    /// Somebody else fills the buffer.
    pub(super) fn compete(&mut self, w_max: f64) {
        let mut compete = Compete::new(w_max);
        compete.is_others = true;
        self.window = self.window.max(MIN_WINDOW);
        self.evidence.on_others();
        self.mode = Mode::Compete(compete);
    }

    /// As [`Self::compete`], answering a loss.
    pub(super) fn compete_after_cut(&mut self) {
        let mut compete = Compete::new(self.window);
        self.window = compete.growth.cut(self.window, 0.0).max(MIN_WINDOW);
        compete.hold = 2;
        self.evidence.on_others();
        self.mode = Mode::Compete(compete);
    }

    pub(super) fn compete_on_ack(&mut self, ack: &Ack<'_>, lost: u64) {
        let may_grow = ack.fills(self.window_bytes());
        let (srtt, window, stretched) = (self.srtt, self.window, self.stretched());
        let Mode::Compete(compete) = &mut self.mode else {
            return;
        };
        if !may_grow || compete.hold > 0 || compete.window().is_some() {
            return;
        }
        let acked = f64::from(ack.packets);
        // As many packets more in flight make as much less of a part of the window.
        let counted = (acked + (lost as f64).min(acked)) / (stretched * stretched);
        let grown = compete.growth.increase(ack.now, srtt, window, counted);
        let coupling = Coupling::of(&ack.group, window * self.mss);
        let own = window * self.mss / coupling.total;
        // Where RTTs differ LIA alone would let a path beside others grow as if it were alone.
        let coupled = (coupling.aggressiveness() * own).min(self.part);
        // Several subflows that lose together get less than one flow by LIA.
        let want = (2.0 * compete.growth.cubic_part - 1.0).max(0.0);
        let coupled = coupled + want * (self.part - coupled);
        self.window = (window + coupled * grown).min(MAX_WINDOW);
    }

    pub(super) fn compete_on_round(&mut self, round: &Round, limited: bool) {
        let excess = self.evidence.congestion();
        let proven = self.evidence.proven_baseline();
        let beyond = self.evidence.lost_beyond(proven);
        let p0 = self.evidence.baseline();
        let floor = self.floor_seconds();
        let delay = self.queue_delay;
        let shrink = floor / (floor + delay);
        let packet_time = 1.0 / self.rate.max(1.0);
        let (window, part) = (self.window, self.part);
        let srtt = self.srtt.max(floor);
        let peak = self.rate_max;
        let carried = self.carried.shared(part);
        let own = self.delivered_mean;
        let sibling_drains = self.sibling_drains;
        let is_short = self.evidence.delay_max() * peak < SHORT_QUEUE;
        let share = self.share_of_peak();
        let noise = (2.0 / self.carried.shared(1.0).max(self.rate).max(1.0)).min(0.004);
        // Losses of a noisy link, where delays vary by as much as a queue makes, or of an application that
        // pauses, do not tell of others.
        if !round.app_limited {
            let packets = round.acked + round.lost;
            let burst = self.evidence.burst();
            self.rivals.on_round(packets, round.lost, proven, burst);
        }
        let tells = proven < LOSS_FREE && !self.pauses() && self.evidence.doubt() < DOUBTFUL;
        let equal = self.rivals.window(floor + delay, part);
        let equal = equal.filter(|_| tells);
        let Mode::Compete(compete) = &mut self.mode else {
            return;
        };
        let paused = round.app_limited && !limited;
        let window = compete.pauses.window(paused, window, srtt, share);
        self.window = window;
        if compete.pauses.is_calm(paused, delay, noise) {
            // A delay that is short for the path may be what the last of others has left.
            return if delay > LONGER * floor {
                self.restart(delay)
            } else {
                self.stop_competing()
            };
        }
        let is_known = compete.is_others || compete.capacity.is_confirmed();
        // A path that has a small part of a connection may be in one bottleneck with the others.
        let known = peak.max(self.carried.all());
        // As far as tests do not tell, the path carries what it carried, and others have some of it.
        let assumed = known
            .max(self.carried.shared(1.0))
            .max(LEAST_CROWD * own / part);
        let tested = compete.capacity.get(known, assumed, floor + delay);
        let tested = tested.filter(|_| is_known);
        let tested = tested.map(|tested| part * tested);
        let capacity = match tested {
            Some(tested) => Some(tested),
            None if compete.is_others => Some(carried),
            None => None,
        };
        if let Some(capacity) = capacity.filter(|capacity| *capacity > 0.0) {
            let capacity = capacity.max(part * own);
            let fair = equal.map_or(HALF, |window| {
                (part * window / (capacity * (floor + delay))).min(HALF)
            });
            compete.guide(capacity, own, fair);
        }
        // Who has more than TCP's law gives answers every loss, as those who have that do.
        let is_excessive = equal.is_some_and(|equal| window > part * equal);
        let excess = if is_excessive {
            excess.max(beyond)
        } else {
            excess
        };
        let mean = round.delay_mean();
        let rises = mean - std::mem::replace(&mut compete.last_delay, mean);
        let expected = (mean + 2.0 * rises).max(0.0);
        let limit = 0.97 * window * shrink;
        // Half of what the test takes away would make its result worthless.
        let is_calm = (2.0 * rises).abs() < 0.5 * (window - limit) / peak;
        let aim = HALF * capacity.unwrap_or(part * peak).max(part * own) * (floor + delay);
        let aim = equal.map_or(aim, |window| aim.min(part * window));
        if compete.hold > 0 {
            compete.hold -= 1;
            self.evidence.forget_recent();
            self.marked = false;
        } else if p0 > TCP_SURVIVES {
            // Such losses leave no TCP flow to compete with.
            return self.stop_competing();
        } else if self.marked || excess > 0.0 {
            self.window = compete.growth.cut(window, aim).max(MIN_WINDOW);
            compete.hold = 2;
            compete.test = Test::No;
            self.marked = false;
            self.evidence.answer();
            return;
        }
        compete.least = compete.least.min(round.delay_min());
        compete.most = compete.most.max(round.delay_max());
        compete.standing = compete.standing.max(round.delay_min());
        compete.stretch += 1;
        if compete.stretch >= STRETCH {
            // The delay is high and steady: a queue that hardly grows, or a longer path.
            let (least, most) = (compete.least, compete.most);
            if least > LONGER * floor && most - least < 0.1 * least {
                compete.may_be_longer = true;
                compete.cycle = LATEST_TEST;
            }
            // Nobody fills a queue that is empty at some time of every round.
            if compete.standing < (0.03 * floor).max(3.0 * packet_time) {
                compete.alone += 1;
            }
            compete.least = f64::INFINITY;
            compete.most = 0.0;
            compete.standing = 0.0;
            compete.stretch = 0;
        }
        let is_even = !round.app_limited && compete.hold == 0 && compete.test == Test::No;
        if is_even && self.heed_longer_path(round) {
            return;
        }
        let Mode::Compete(compete) = &mut self.mode else {
            return;
        };
        match &mut compete.test {
            Test::No if limited && compete.hold == 0 => {
                compete.cycle += 1;
                let is_due = compete.cycle >= if is_calm { TEST_EVERY } else { LATEST_TEST };
                if is_due && !sibling_drains {
                    compete.cycle = 0;
                    compete.test = Test::Draining {
                        // No more than our part: what is left of a short queue is the others'.
                        window: limit.max(3.0),
                        before: Before {
                            window,
                            delay,
                            mean: expected,
                            is_disturbed: !is_calm,
                        },
                    };
                }
            }
            Test::No => {}
            Test::Draining {
                window: drained,
                before,
            } => {
                before.is_disturbed |= sibling_drains;
                compete.test = Test::Answered {
                    removed: before.window - *drained,
                    before: *before,
                };
            }
            Test::Answered { removed, before } => {
                before.is_disturbed |= sibling_drains;
                let (removed, before) = (*removed, *before);
                compete.test = Test::No;
                let stays = before.delay - delay < STAYS * removed / peak.max(1.0);
                if std::mem::take(&mut compete.may_be_longer) && stays && !before.is_disturbed {
                    return self.restart(delay);
                }
                let after = After {
                    delay,
                    mean,
                    packet_time,
                    noise: (0.03 * floor).max(3.0 * packet_time),
                    is_short,
                };
                compete.evaluate(removed, before, &after);
            }
        }
        if let Mode::Compete(compete) = &self.mode
            && compete.alone >= TESTS
        {
            return self.stop_competing();
        }
        self.bound_window();
    }

    fn stop_competing(&mut self) {
        let floor = self.floor_seconds();
        let shrink = floor / (floor + self.queue_delay);
        self.window = (self.window * shrink).max(MIN_WINDOW);
        self.rate_max = self.rate;
        self.mode = Mode::Steady(Steady::after_competing(self.window));
        self.evidence.forget_recent();
    }

    /// What the path carried says nothing any more.
    pub(super) fn forget_rates(&mut self) {
        self.carried = Carried::default();
        self.policed.forget();
        self.rivals = Rivals::default();
        self.batches = Lately::default();
        (self.stretch, self.passed) = (Stretch::default(), Passed::default());
        self.has_seen_limit = false;
    }

    /// The path has become longer by `delay` seconds: it is explored anew.
    pub(super) fn restart(&mut self, delay: f64) {
        self.lengthen(delay + self.noise.least());
        self.mode = Mode::Startup(Startup::new(self.window));
    }
}

#[cfg(test)]
mod tests;

/// RFC 9438 §5: packets per second cubed, and what remains of the window after a loss.
const CUBIC_C: f64 = 0.4;
const BETA: f64 = 0.7;
/// What remains of Reno's window (RFC 5681 §3.1).
const BETA_RENO: f64 = 0.5;
/// How fast the law follows the share: a flow with four fifths of its share grows as CUBIC, one
/// with a fifth too much as Reno. It is the difference that remains beside either of them.
const GUIDANCE: f64 = 2.5;
/// An equal share beside one other.
const HALF: f64 = 0.5;
/// Doubt whether what losses meet is a queue.
pub(super) const DOUBTFUL: f64 = 0.5;
/// What a path that others use as well carries at least, of what it carries for us.
const LEAST_CROWD: f64 = 1.4;
/// How slowly we grow at least, beside flows that Reno's law would take most from.
const SLOWEST: f64 = 0.25;
/// Rounds after which the first test begins, counted from below.
const FIRST_TEST: u32 = TEST_EVERY - 6;
/// The same, counted from a test that emptied the queue.
const AFTER_ALONE: u32 = TEST_EVERY - 8;
/// Rounds between two tests: a test costs at most one of them.
const TEST_EVERY: u32 = 20;
/// The same, if the queue never is calm enough to measure it.
const LATEST_TEST: u32 = 60;
/// Part of the delay that may remain when the whole queue was ours.
const ALONE: f64 = 0.15;
/// A competitor's own cut may empty the queue once or twice just when we test.
const TESTS: u32 = 3;
/// Part by which the delay of a queue moves at least when packets of ours are missing from it, or
/// else it is the path's own.
const MOVES: f64 = 0.02;
/// A competitor with an equal share leaves half of the queue: half of that must be told from none.
const HALF_OF_HALF: f64 = 0.25;
/// Part of the queue that a test takes away at least, if it is one.
const STAYS: f64 = 0.25;
/// Part of the path's own delay that another path has more at least.
const LONGER: f64 = 0.3;
/// Rounds over which a delay that stays may be no queue.
const STRETCH: u32 = 12;
