//! Whether the path itself has become longer: a delay that stays the same whatever the window does is
//! no queue.

mod slope;

use self::slope::Slope;
use super::departures::Departures;
use super::others::Others;
use super::overruns::Overruns;
use super::round::Round;
use super::steady::{SHORT_QUEUE, Steady};
use super::{Delay, HOST_NOISE, Mode, QUEUE_NOISE};

/// Rounds in a row whose smallest delays were the same, and the windows meanwhile.
///
/// A queue follows the window: what a window has less is missing from it a round later, and what others
/// send instead comes with theirs, seldom packet for packet. So a delay that stays while the window moves by
/// a good part of what a queue of that delay holds is the path's own. Where the delay has risen within a
/// round, as that of a queue seldom does, a few rounds tell. Where delays vary, a line through many does.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flat {
    run: Option<Run>,
    slope: Slope,
    /// Delay of the round before, and the windows of the two rounds before, the last one first.
    last: Option<f64>,
    windows: [f64; 2],
    /// Window when the delay last rose at once, and rounds since then.
    step: Option<(f64, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    rounds: u32,
    /// Least and most of the smallest delays, seconds.
    least: f64,
    most: f64,
    /// Least and most of the windows that they answer, packets.
    fewest: f64,
    largest: f64,
}

/// What a round has shown.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Its smallest delay above the least round trip, seconds; what a queue makes of it at most.
    rise: f64,
    queued: f64,
    window: f64,
    /// Packets per second that the path carries.
    rate: f64,
    floor: f64,
    /// What delays differ by without a queue.
    swing: f64,
}

/// A path that is longer than it was.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Longer {
    /// Seconds above the least round trip.
    by: f64,
    /// The window before that was seen, if it was seen at once.
    window: Option<f64>,
}

impl Flat {
    /// A round in which the window was all that limited.
    fn on_round(&mut self, seen: &Seen) -> Option<Longer> {
        let packet_time = seen.packet_time();
        let last = self.last.replace(seen.rise);
        let [before, earlier] = self.windows;
        self.windows = [seen.window, before];
        if earlier > 0.0 {
            self.slope.add(earlier, seen.rise / packet_time);
        }
        self.step = self
            .step
            .map(|(window, rounds)| (window, rounds + 1))
            .filter(|(_, rounds)| *rounds <= REMEMBERED);
        let jump = (8.0 * packet_time).max(HOST_NOISE).max(seen.swing);
        if last.is_some_and(|last| seen.rise - last > jump) {
            let window = self.step.map_or(before, |(window, _)| window);
            self.step = Some((window, 0));
            self.slope = Slope::default();
        }
        let mut run = Run::following(self.run, seen);
        run.add(seen.rise, earlier);
        self.run = Some(run);
        let by = run.level(seen, self.step.is_some());
        let by = by.or_else(|| self.varying_level(seen))?;
        let window = self.step.map(|(window, _)| window);
        Some(Longer { by, window })
    }

    /// Part of the delays has turned out to be none of the way there: those from now on are others.
    pub(super) fn forget_delays(&mut self) {
        (self.run, self.last) = (None, None);
        self.slope = Slope::default();
    }

    /// What nearly all delays were at least while the window moved, if they did not follow it.
    fn varying_level(&self, seen: &Seen) -> Option<f64> {
        let packet_time = seen.packet_time();
        let level = packet_time * self.slope.level()?;
        let queued = level - (seen.rise - seen.queued);
        // As far from the middle to either end of a stretch as its standard deviation times 1.7.
        let moved = 3.4 * self.slope.spread() * packet_time;
        // A queue of so many that none of them matters varies by itself, whatever the path's delay does.
        let is_usual = self.slope.off() * packet_time < seen.swing.max(seen.tolerated());
        (queued > seen.least() && moved > seen.moves(level) && is_usual).then_some(level)
    }
}

impl Seen {
    fn packet_time(&self) -> f64 {
        1.0 / self.rate.max(1.0)
    }

    /// Seconds by which delays that are the same differ.
    fn tolerated(&self) -> f64 {
        (3.0 * self.packet_time())
            .max(0.03 * self.rise)
            .max(0.2 * HOST_NOISE)
    }

    /// A delay of less is not worth a thought.
    fn least(&self) -> f64 {
        (6.0 * self.packet_time())
            .max(HOST_NOISE)
            .max(0.02 * self.floor)
    }

    /// Seconds of queue by which the window has to move to tell one of `delay` from a longer path.
    fn moves(&self, delay: f64) -> f64 {
        (MOVED * delay).max(4.0 * self.tolerated())
    }
}

impl Run {
    /// The run that this round belongs to: a new one if its delay is another.
    fn following(run: Option<Self>, seen: &Seen) -> Self {
        run.filter(|run| run.most.max(seen.rise) - run.least.min(seen.rise) <= seen.tolerated())
            .unwrap_or(Self {
                rounds: 0,
                least: seen.rise,
                most: seen.rise,
                fewest: f64::INFINITY,
                largest: 0.0,
            })
    }

    fn add(&mut self, rise: f64, window: f64) {
        self.rounds += 1;
        self.least = self.least.min(rise);
        self.most = self.most.max(rise);
        // What was sent in the round before is acknowledged in this one.
        if self.rounds > 2 && window > 0.0 {
            self.fewest = self.fewest.min(window);
            self.largest = self.largest.max(window);
        }
    }

    /// The least of its delays, if they have lasted long enough while the window moved.
    fn level(&self, seen: &Seen, is_step: bool) -> Option<f64> {
        let rounds = if is_step { STEPPED } else { ROUNDS };
        let moved = (self.largest - self.fewest) * seen.packet_time();
        let shows = seen.queued > seen.least().max(seen.swing)
            && self.rounds >= rounds
            && moved > seen.moves(seen.queued);
        shows.then_some(self.least)
    }
}

/// A window that falls because of the queue; its start counts as 0 once the delay has varied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fall {
    pub(super) window: f64,
    /// Least and most of the queue delay since.
    least: f64,
    most: f64,
    rounds: u32,
}

impl Delay {
    /// A round in which only the window limited, and nothing was answered or held back. If it shows that
    /// the path has become longer, the window is what fills it.
    pub(super) fn heed_longer_path(&mut self, round: &Round) -> bool {
        let floor = self.floor_seconds();
        if floor < QUEUE_NOISE {
            return false;
        }
        let rate = self.rate_max;
        let longer = self.flat.on_round(&Seen {
            rise: round.rise_min,
            queued: self.queue_delay,
            window: self.window,
            rate,
            floor,
            swing: self.swing(),
        });
        let Some(Longer { by, window }) = longer else {
            return false;
        };
        self.lengthen(by);
        let peak = rate * self.floor_seconds();
        let filled = window.map_or(0.0, |window| window + by * rate);
        self.window = self.window.max(filled.min(peak));
        match &mut self.mode {
            Mode::Steady(steady) => {
                steady.fall = None;
                steady.others = Others::default();
                steady.prior_window = self.window;
            }
            _ => self.mode = Mode::Steady(Steady::after_competing(self.window)),
        }
        self.bound_window();
        true
    }

    /// The path is longer by so many seconds above its least round trip.
    pub(super) fn lengthen(&mut self, by: f64) {
        self.floor.rise(by);
        self.noise.forget_least();
        (self.queue_delay, self.last_delay) = (0.0, 0.0);
        self.departures = Departures::default();
        self.overruns = Overruns::default();
        self.evidence.forget_delays();
        self.flat = Flat::default();
        self.forget_rates();
    }

    /// Whether the delay has risen at once, and stays as it is although the window has fallen by
    /// two fifths: it is no queue that makes the path longer.
    pub(super) fn is_longer_path(&mut self, target: f64) -> bool {
        let (window, delay) = (self.window, self.queue_delay);
        let rate = self.rate_max.max(self.carried.bursts());
        let least = (2.0 * target).max(2.0 * SHORT_QUEUE);
        let is_high = delay * rate >= least && delay > 0.25 * self.floor_seconds();
        let Mode::Steady(steady) = &mut self.mode else {
            return false;
        };
        if !is_high {
            steady.fall = None;
            return false;
        }
        let start = Fall {
            window: steady.prior_window,
            least: delay,
            most: delay,
            rounds: 0,
        };
        let fall = steady.fall.get_or_insert(start);
        // What falls may be what is left of a queue that a change of the path has made.
        if delay > 1.5 * fall.most || delay < 0.98 * fall.least {
            *fall = start;
        }
        fall.rounds += 1;
        if fall.rounds <= 2 {
            // Part of the first round may have passed before.
            (fall.least, fall.most) = (delay, delay);
        }
        fall.least = fall.least.min(delay);
        fall.most = fall.most.max(delay);
        // A queue that somebody fills grows by some packets.
        let is_steady = fall.most - fall.least <= (0.02 * fall.most).max(2.0 / rate);
        if !is_steady {
            fall.window = 0.0;
        }
        fall.rounds >= 4 && window < 0.6 * fall.window
    }
}

#[cfg(test)]
mod tests;

/// Rounds of one delay that tell where it has risen at once, and where it has not.
const STEPPED: u32 = 5;
const ROUNDS: u32 = 12;
/// Rounds for which it is remembered that it has.
const REMEMBERED: u32 = 60;
/// Part of what a queue of that delay holds by which the window moves meanwhile.
const MOVED: f64 = 0.35;
