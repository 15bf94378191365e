//! The steady state: a few packets in the queue, which is drained now and then.

use super::round::Round;
use super::startup::Startup;
use super::{Delay, MIN_WINDOW, Mode};

/// What the steady state remembers from round to round.
#[derive(Debug, Clone)]
pub(super) struct Steady {
    /// Window of the round before: what the present queue delay answers.
    prior_window: f64,
    /// Rounds in which a change is left to take effect.
    hold: u32,
    /// Rounds since the last drain, and drains so far.
    cycle: u32,
    drains: u32,
    pub(super) drain: Drain,
    mean_delay: f64,
    /// Rounds in a row with nearly no queue.
    low_rounds: u32,
    /// No queue has shown since start-up: it may have ended too early.
    fresh: bool,
    acceleration: f64,
    fall: Option<Fall>,
}

/// A window that falls because of the queue.
#[derive(Debug, Clone, Copy)]
struct Fall {
    window: f64,
    delay: f64,
    rounds: u32,
}

/// Packets are held back for a round or two to see the path without our queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Drain {
    No,
    /// No more than `window` packets are let out.
    First {
        window: f64,
        deep: bool,
    },
    Second {
        window: f64,
    },
    /// What was let out meanwhile is being acknowledged.
    Answered {
        deep: bool,
    },
}

impl Drain {
    /// The limit while packets are held back.
    pub(super) fn window(&self) -> Option<f64> {
        match *self {
            Self::First { window, .. } | Self::Second { window } => Some(window),
            Self::No | Self::Answered { .. } => None,
        }
    }
}

impl Steady {
    pub(super) fn new(window: f64) -> Self {
        Self {
            prior_window: window,
            hold: 1,
            cycle: 0,
            drains: 0,
            drain: Drain::No,
            mean_delay: 0.0,
            low_rounds: 0,
            fresh: true,
            acceleration: 1.0,
            fall: None,
        }
    }
}

impl Delay {
    pub(super) fn steady_on_round(&mut self, round: &Round, limited: bool) {
        let target = self.target();
        let floor = self.floor_seconds();
        let shrink = floor / (floor + self.queue_delay);
        let excess = self.evidence.congestion();
        let drained = DEEP * self.delivered_mean * floor;
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        if steady.hold > 0 {
            steady.hold -= 1;
            self.evidence.forget_recent();
        } else if self.marked || excess > 0.0 {
            // What the answer leaves in flight shows what the link loses without a queue, so a
            // verdict that was wrong is not given twice.
            steady.hold = 2;
            steady.drain = Drain::First {
                window: drained.max(3.0),
                deep: true,
            };
            steady.cycle = 0;
            steady.low_rounds = 0;
            steady.fresh = false;
            steady.acceleration = 1.0;
            self.window *= shrink * (1.0 - excess.min(0.5));
            steady.prior_window = self.window;
            self.target_cap = (target / 2.0).max(MIN_TARGET);
            self.marked = false;
            self.evidence.answer();
            return;
        }
        self.target_cap *= 1.003;
        match steady.drain {
            Drain::No if limited && steady.hold == 0 => self.follow(round, target, shrink),
            Drain::No => {}
            Drain::First {
                window,
                deep: false,
            } => steady.drain = Drain::Second { window },
            Drain::First { deep: true, .. } => steady.drain = Drain::Answered { deep: true },
            Drain::Second { .. } => steady.drain = Drain::Answered { deep: false },
            Drain::Answered { .. } => {
                steady.drain = Drain::No;
                steady.prior_window = self.window;
            }
        }
        // Little's law: what is delivered, what refills the losses, and 30 % to grow.
        let arrives = self.delivered_max / (1.0 - self.evidence.baseline().min(MAX_REFILL));
        self.window = self.window.min(1.3 * arrives * self.srtt + 6.0);
    }

    /// `w += 0.5 (w_prior floor / (floor + dq) + target - w)` (FAST TCP), at most x 0.5..2.
    fn follow(&mut self, round: &Round, target: f64, shrink: f64) {
        let floor = self.floor_seconds();
        let arrives = self.delivered_max / (1.0 - self.evidence.baseline().min(MAX_REFILL));
        let delay = self.queue_delay;
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        let wanted = steady.prior_window * shrink + target;
        steady.prior_window = self.window;
        steady.cycle += 1;
        // Far below the target for some rounds: there is more capacity than before.
        if delay * self.rate < 0.25 * target.min(8.0) {
            steady.low_rounds += 1;
        } else {
            steady.low_rounds = 0;
            steady.fresh = false;
            steady.acceleration = 1.0;
        }
        if steady.low_rounds > if steady.fresh { 0 } else { 4 } {
            let gain = if steady.fresh { 1.25 } else { 1.1 };
            steady.acceleration = (steady.acceleration * gain).min(1.5);
            self.window *= steady.acceleration;
        }
        if !steady.fresh {
            let step = 0.5 * (wanted - self.window);
            self.window = (self.window + step).clamp(0.5 * self.window, 2.0 * self.window);
        }
        self.window = self
            .window
            .min(1.3 * arrives * floor + 2.0 * target)
            .max(MIN_WINDOW);
        if self.is_longer_path(target) {
            return self.restart(round.rtt_min);
        }
        self.start_drain(shrink);
    }

    /// Every eighth round, or when the queue halves although we did nothing: somebody else is
    /// draining, and two who drain together both see the path empty.
    fn start_drain(&mut self, shrink: f64) {
        let floor = self.floor_seconds();
        let p0 = self.evidence.baseline();
        let delay = self.queue_delay;
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        let joins = steady.cycle >= 4
            && delay < 0.5 * steady.mean_delay
            && steady.mean_delay * self.rate > 4.0;
        steady.mean_delay += 0.3 * (delay - steady.mean_delay);
        if steady.cycle < 8 && !joins {
            return;
        }
        steady.cycle = 0;
        steady.drains += 1;
        // A deep drain costs what it holds back of a round; one of ten rounds is a drain. So
        // often, it costs half a percent of the rate.
        let often = (20.0 * (1.0 - DEEP * (1.0 - p0))).ceil().max(1.0) as u32;
        let is_due = !self.evidence.knows_clean_loss() || steady.drains.is_multiple_of(often);
        let deep = p0 > 0.01 && is_due;
        let mut window = self.window * shrink - 1.0;
        if deep {
            window = window.min(DEEP * self.delivered_mean * floor);
        }
        steady.drain = Drain::First {
            window: window.max(3.0),
            deep,
        };
    }

    /// Whether the window has fallen by two fifths and the delay has not: it is not our queue
    /// that makes the path longer.
    fn is_longer_path(&mut self, target: f64) -> bool {
        let (window, delay) = (self.window, self.queue_delay);
        let Mode::Steady(steady) = &mut self.mode else {
            return false;
        };
        if delay * self.rate < 2.0 * target {
            steady.fall = None;
            return false;
        }
        let start = Fall {
            window: steady.prior_window,
            delay,
            rounds: 0,
        };
        let fall = steady.fall.get_or_insert(start);
        if delay < 0.8 * fall.delay {
            steady.fall = None;
            return false;
        }
        fall.rounds += 1;
        fall.rounds >= 4 && window < 0.6 * fall.window
    }

    /// The path has become one with this RTT: it is explored anew.
    pub(super) fn restart(&mut self, rtt: f64) {
        self.set_floor(rtt);
        self.evidence.forget_delays();
        self.mode = Mode::Startup(Startup::new(self.window));
    }
}

/// Part of what is delivered that a deep drain lets out: the queue empties even if nothing is lost.
const DEEP: f64 = 0.9;
pub(super) const MIN_TARGET: f64 = 2.0;
/// Above this share of loss sending more to refill it is no longer worth a larger bound.
pub(super) const MAX_REFILL: f64 = 0.6;
