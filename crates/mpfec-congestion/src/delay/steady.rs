//! The steady state: a few packets in the queue, which is drained now and then.

mod ceiling;
mod drain;
mod unseen;

pub(super) use self::drain::{DEEP, Drain};
use super::longer::Fall;
use super::others::Others;
use super::round::Round;
use super::{Delay, MIN_WINDOW, Mode, QUEUE_NOISE};

/// What the steady state remembers from round to round.
#[derive(Debug, Clone)]
pub(super) struct Steady {
    /// Window of the round before: what the present queue delay answers.
    pub(super) prior_window: f64,
    /// Rounds in which a change is left to take effect.
    hold: u32,
    /// Rounds since the last drain, and drains so far.
    cycle: u32,
    pub(super) drains: u32,
    pub(super) drain: Drain,
    /// The last loss that was answered came without a delay: what the path holds drops packets before
    /// any of them waits.
    overflows_unseen: bool,
    mean_delay: f64,
    /// Queue delay before the last drain.
    pub(super) delay_before: f64,
    /// After a loss in a short queue: the window before it, up to which growth is slow.
    cautious_until: f64,
    /// Rounds since a loss was last answered.
    pub(super) quiet_rounds: u32,
    pub(super) others: Others,
    /// Rounds in a row with nearly no queue.
    low_rounds: u32,
    /// No queue has shown since start-up: it may have ended too early.
    fresh: bool,
    acceleration: f64,
    pub(super) fall: Option<Fall>,
    /// Rounds in a row with the largest delay there is.
    full_rounds: u32,
    /// What is acknowledged in this round was sent in start-up.
    is_first_round: bool,
    /// Largest delay that has passed for a queue since one ended start-up, seconds above the least
    /// RTT; `None` if none has, or it was none.
    pub(super) taken_for_queue: Option<f64>,
}

impl Steady {
    pub(super) fn new(window: f64) -> Self {
        Self {
            prior_window: window,
            hold: 1,
            cycle: 0,
            drains: 0,
            drain: Drain::No,
            overflows_unseen: false,
            mean_delay: 0.0,
            delay_before: 0.0,
            cautious_until: 0.0,
            quiet_rounds: QUIET,
            others: Others::default(),
            low_rounds: 0,
            fresh: true,
            acceleration: 1.0,
            fall: None,
            full_rounds: 0,
            is_first_round: false,
            taken_for_queue: None,
        }
    }
}

impl Steady {
    /// What is in flight was sent in start-up.
    pub(super) fn after_startup(window: f64) -> Self {
        Self {
            is_first_round: true,
            ..Self::new(window)
        }
    }

    /// Others have filled the queue until now: after a drain, one loss shows that they are back.
    pub(super) fn after_competing(window: f64) -> Self {
        Self {
            drains: SETTLED - 1,
            quiet_rounds: 0,
            ..Self::new(window)
        }
    }

    /// A packet of before is `scale` packets now.
    pub(super) fn resize(&mut self, scale: f64) {
        self.prior_window *= scale;
        self.cautious_until *= scale;
        if let Drain::First { window, .. } | Drain::Second { window } = &mut self.drain {
            *window *= scale;
        }
        if let Some(fall) = &mut self.fall {
            fall.window *= scale;
        }
    }

    /// A loss has been answered a round ago.
    #[cfg(test)]
    pub(super) fn answered_now(&mut self) {
        (self.hold, self.fresh, self.cycle, self.quiet_rounds) = (0, false, 0, 1);
    }
}

impl Delay {
    /// Share of the packets that the queue has dropped, as far as delays tell: 0 if they do not show it.
    /// An application that pauses has few packets at a time, so that some losses among them are soon
    /// there by chance: they count only if those of many bursts show it too.
    fn lost_at_queue(&self) -> f64 {
        if !self.pauses() {
            self.evidence.at_high_delay()
        } else if self.overruns.show_queue(self.evidence.dispersion()) {
            self.evidence.at_high_delay_of_pauses()
        } else {
            0.0
        }
    }

    pub(super) fn steady_on_round(&mut self, round: &Round, limited: bool, length: f64) {
        let target = self.target();
        let floor = self.floor_seconds();
        let shrink = floor / (floor + self.queue_delay);
        let at_high_delay = self.lost_at_queue();
        // What the application limits fills no queue, and overflows none before its delay shows.
        let excess = if round.app_limited && self.queue_delay < QUEUE_NOISE {
            0.0
        } else if round.app_limited {
            at_high_delay
        } else {
            // The limit answers what a policer drops.
            let is_answered = self.policed.answers_losses();
            let overload = if is_answered {
                0.0
            } else {
                self.evidence.overload()
            };
            at_high_delay.max(overload)
        };
        self.watch_others(round, limited);
        if self.meets_others(round, limited) {
            self.window = self.share_of_peak();
            return self.compete(self.window);
        }
        let is_excessive = self.excessive_share().is_some();
        let excess = if is_excessive && !round.app_limited {
            let lost = if self.is_crowded() {
                self.evidence.lost_beyond_baseline()
            } else {
                0.0
            };
            excess.max(self.evidence.lost_at_high_delay()).max(lost)
        } else {
            excess
        };
        let drained = (DEEP * self.delivered_mean * self.least_seconds()).max(self.least_drained());
        let loss_delay = self.evidence.loss_delay();
        let is_doubtful = self.evidence.doubt() >= 0.5;
        let p0 = self.evidence.baseline();
        // A path that has just become slower overflows by itself what it then holds.
        let is_slower = self.delivered_now < SLOWER * self.delivered_mean;
        let is_deep = floor >= QUEUE_NOISE
            && !is_slower
            && loss_delay >= (0.1 * floor).max(QUEUE_NOISE)
            && loss_delay * self.rate_max >= SHORT_QUEUE
            && (loss_delay * self.rate >= 2.0 * target || self.target_cap <= 4.0)
            && p0 < 0.5 * TCP_SURVIVES
            && self.evidence.knows_baseline()
            && self.evidence.overload() == 0.0;
        let trips = self.trips_in_a_round();
        let least_seen = SEEN * self.swing() * self.delivered_max;
        let keeps_target = self.is_weak() && p0 < LOSS_FREE && loss_delay < LONG_QUEUE * floor;
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        if let Some(delay) = &mut steady.taken_for_queue {
            *delay = delay.max(round.rise_min);
        }
        if steady.hold > 0 {
            steady.hold -= 1;
            self.evidence.forget_recent();
            // What is marked now left before the answer.
            self.marked = false;
        } else if excess > 0.0
            && is_deep
            && steady.drains >= SETTLED
            && steady.quiet_rounds < RECENT
        {
            self.evidence.answer();
            return self.compete_after_cut();
        } else if self.marked || excess > 0.0 {
            // It shows what the link loses without a queue, so a verdict that was wrong is not given
            // twice.
            steady.begin_answer(drained);
            let most = if self.evidence.knows_baseline() {
                0.5
            } else {
                0.2
            };
            // Of all packets, those at low delay included.
            let of_all = (round.loss() - p0).max(self.evidence.overload());
            let cut = if floor < QUEUE_NOISE {
                excess
            } else {
                excess.min(of_all)
            };
            let kept = shrink * (1.0 - cut.clamp(0.0, most));
            // Where nothing is lost at random, TCP flows may share the queue, however short:
            // we cut and grow as they do until the window is back.
            let quiet_rounds = std::mem::take(&mut steady.quiet_rounds);
            let recurs = quiet_rounds < QUIET;
            if recurs && (p0 < LOSS_FREE || is_excessive) && self.evidence.knows_baseline() {
                steady.cautious_until = self.window;
                self.window *= kept.min(TCP_KEEPS);
            } else {
                self.window *= kept;
            }
            steady.prior_window = self.window;
            // A queue that held far more of ours when it overflowed is not too short for the target.
            let is_long = loss_delay >= (LONG_QUEUE * floor).max(LONG_DELAY);
            let safe = if is_long && loss_delay * self.rate >= 2.0 * target {
                target
            } else {
                0.0
            };
            // Who has less than an equal share of a short queue does not make it too long. Where delays
            // vary a verdict may be chance, but a queue that is too short soon overflows again.
            let may_be_chance = is_doubtful && quiet_rounds > RECENT;
            if !keeps_target && !may_be_chance {
                self.target_cap = (target / 2.0).max(safe).max(MIN_TARGET);
            }
            self.note_answer(at_high_delay);
            self.marked = false;
            self.evidence.answer();
            self.overruns.answer();
            return;
        }
        steady.quiet_rounds = steady.quiet_rounds.saturating_add(trips);
        self.ask_whose_queue(limited);
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        self.target_cap *= if keeps_target {
            1.02
        } else if self.target_cap < least_seen {
            // A queue that does not show leaves the window where chance has put it.
            1.01
        } else if self.target_cap < SHORT_QUEUE {
            1.001
        } else {
            1.003
        };
        let is_first_round = std::mem::take(&mut steady.is_first_round);
        if is_first_round {
            // What start-up has overrun is answered by its end.
            self.overruns.answer();
        }
        if steady.drain == Drain::No {
            self.heed_ceiling(round, limited);
        }
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        match steady.drain {
            Drain::No if limited && steady.hold == 0 => {
                self.follow(round, target, shrink);
                if is_first_round && !self.pauses() {
                    self.settle(round.acked / length);
                }
            }
            Drain::No => self.reconsider_start(),
            Drain::First {
                window,
                deep: false,
            } => steady.drain = Drain::Second { window },
            Drain::First { deep: true, .. } => steady.drain = Drain::Answered { deep: true },
            Drain::Second { .. } => steady.drain = Drain::Answered { deep: false },
            Drain::Answered { .. } => {
                steady.drain = Drain::No;
                steady.prior_window = self.window;
                self.reconsider_start();
                if self.has_given_way() {
                    let share = self.share_of_peak();
                    self.window = self.window.max(RETURN * share);
                    return self.compete(share);
                }
                if self.is_contended() {
                    return self.compete(self.share_of_peak());
                }
            }
        }
        self.bound_window();
    }

    /// Drains, or the rounds of an application that pauses, may have shown how far a delay is above the
    /// least RTT without a queue. Until then it passes for the queue that ends start-up: if it explains
    /// all that has been seen since, start-up may have ended too early.
    fn reconsider_start(&mut self) {
        let most = self.noise.most();
        if let Mode::Steady(steady) = &self.mode
            && steady.taken_for_queue.is_some_and(|delay| most > delay)
        {
            self.begin_anew();
        }
    }

    /// No queue has shown: what passed for one was none.
    pub(super) fn begin_anew(&mut self) {
        if let Mode::Steady(steady) = &mut self.mode {
            steady.fresh = true;
            steady.taken_for_queue = None;
            steady.low_rounds = 0;
            steady.acceleration = 1.0;
            self.has_seen_limit = false;
        }
    }

    /// Little's law: what is delivered, what refills the losses, and 30 % to grow.
    pub(super) fn bound_window(&mut self) {
        let arrives = self.refilled(self.delivered_max);
        self.window = self.window.min(1.3 * arrives * self.srtt + 6.0);
    }

    /// After start-up, while data never pause: what the first round filled the path with, of which
    /// `delivered` packets per second are left, bounds the window. Its smallest delay does not show
    /// whether a queue stands: start-up sends twice as fast as the window, in bursts between which a
    /// queue that they overflow is empty.
    fn settle(&mut self, delivered: f64) {
        let arrives = self.refilled(delivered) * self.floor_seconds();
        let most = SETTLES * arrives + self.target();
        self.window = self.window.min(most).max(MIN_WINDOW);
        if let Mode::Steady(steady) = &mut self.mode {
            steady.prior_window = self.window;
        }
    }

    /// `w += 0.5 (w_prior floor / (floor + dq) + target - w)` (FAST TCP), 0.25 in a short queue, at most x
    /// 0.5..2.
    fn follow(&mut self, round: &Round, target: f64, shrink: f64) {
        let floor = self.floor_seconds();
        let arrives = self.refilled(self.delivered_max);
        let delay = self.queue_delay;
        let is_short = self.has_short_queue();
        let is_shallow = self.evidence.is_shallow(1.0 / self.rate.max(1.0));
        let gain = if is_short { 0.25 } else { 0.5 };
        let is_weak = self.is_weak();
        let is_excessive = self.excessive_share().is_some();
        let restraint = self.restraint();
        let fewest = self.fewest_paced();
        let most = self.unseen_growth();
        let swing = self.noise.swing();
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        let wanted = steady.prior_window * shrink + target;
        let before = self.window;
        steady.prior_window = self.window;
        steady.cycle += 1;
        // Far below the target for some rounds: there is more capacity than before.
        let low = (0.25 * target.min(8.0)).max(ONE_PACKET);
        let unclear = if steady.fresh { swing * self.rate } else { 0.0 };
        if delay * self.rate < low.max(unclear) {
            steady.low_rounds += 1;
        } else {
            steady.low_rounds = 0;
            steady.fresh = false;
            steady.acceleration = 1.0;
        }
        let is_loss_free = self.evidence.baseline() < LOSS_FREE;
        let is_below = is_loss_free && self.window < steady.cautious_until;
        let is_cautious = is_below || is_excessive;
        let peak = self.rate_max * floor;
        // Where a queue shows before it is full, what the path carried before is soon tried again.
        let patience = if steady.fresh {
            0
        } else if self.window < peak && !is_shallow {
            2
        } else {
            4
        };
        if !is_cautious && steady.low_rounds > patience {
            if steady.fresh || self.window >= peak {
                // In a short queue every other round: what the step before has brought shows a
                // round later.
                if steady.fresh || !is_short || steady.low_rounds.is_multiple_of(2) {
                    let gain = if steady.fresh { 1.25 } else { 1.1 };
                    steady.acceleration = (steady.acceleration * gain).min(1.5);
                    self.window *= steady.acceleration;
                }
            } else {
                // The path carried more than this before.
                self.window = (1.25 * self.window).min(peak);
            }
            self.window = self.window.min(before + most);
        }
        if !steady.fresh || is_cautious {
            let mut step = gain * (wanted - self.window);
            step = step.min(before + most - self.window);
            // Beside flows that fill a short queue, who stops at a few packets gives way for good.
            let is_beaten = is_loss_free
                && is_weak
                && steady.quiet_rounds < QUIET
                && delay < LONG_QUEUE * floor;
            if is_beaten {
                step = step.max(TCP_GROWS * self.part * self.part);
            }
            if is_cautious {
                let gap = CAUTIOUS_RETURN * (steady.cautious_until - self.window).max(0.0);
                let tcp = TCP_GROWS * self.part * self.part + gap * self.part;
                let slow = restraint * tcp;
                step = if step > 0.0 || is_beaten { slow } else { step };
            }
            self.window = (self.window + step).clamp(0.5 * self.window, 2.0 * self.window);
        }
        self.window = self
            .window
            .min(1.3 * arrives * floor + 2.0 * target)
            .max(fewest);
        if !round.app_limited && self.heed_longer_path(round) {
            return;
        }
        if self.is_longer_path(target) {
            return self.restart(round.delay_min());
        }
        // An application that leaves the path idle now and then drains it by itself.
        if round.has_paused() {
            self.reconsider_start();
        } else {
            self.start_drain();
        }
    }
}

/// Times what the first round shows that the path holds.
const SETTLES: f64 = 1.15;
/// A queue of fewer packets is too short to compete in: the window alone is as fair.
pub(super) const SHORT_QUEUE: f64 = 12.0;
/// Delay of a queue that is long for its path: part of the path's own, and seconds that no noise
/// of hosts makes.
const LONG_QUEUE: f64 = 0.3;
const LONG_DELAY: f64 = 0.01;
/// After so many rounds without a loss, one is no sign of a TCP flow.
pub(super) const QUIET: u32 = 200;
/// Drains that take away the queue which start-up has made.
const SETTLED: u32 = 3;
/// Rounds within which a second loss in a long queue is none by chance: somebody fills it.
const RECENT: u32 = 60;
/// With more random loss than this no TCP flow fills a queue.
pub(super) const TCP_SURVIVES: f64 = 0.02;
/// Part of what was delivered on average that tells a path which has become slower from chance.
const SLOWER: f64 = 0.7;
/// A baseline that is no more than what is left of a mistake.
pub(super) const LOSS_FREE: f64 = 0.005;
/// What remains of the window after a loss, and the packets it grows by in a round trip, of a
/// CUBIC flow with a small window (RFC 9438 §4.3).
const TCP_KEEPS: f64 = 0.7;
const TCP_GROWS: f64 = 0.53;
/// A queue of so many packets is what measuring with packets comes to.
pub(super) const ONE_PACKET: f64 = 1.2;
/// Part of the way back to the window before a cut that is made up per round, as the concave
/// part of CUBIC does for large windows.
const CAUTIOUS_RETURN: f64 = 0.05;
/// Part of an equal share that we return to at once.
const RETURN: f64 = 0.7;
pub(super) const MIN_TARGET: f64 = 2.0;
/// Part of what delays differ by without a queue that one has to be of to be seen among them.
const SEEN: f64 = 0.25;
/// Above this share of loss sending more to refill it is no longer worth a larger bound.
pub(super) const MAX_REFILL: f64 = 0.6;
