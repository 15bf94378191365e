//! Whether others fill the queue, and whether they leave us our share, seen while we keep a
//! small queue ourselves.

use super::compete::{DOUBTFUL, law, slowdown};
use super::round::Round;
use super::steady::{Drain, ONE_PACKET, QUIET, TCP_SURVIVES};
use super::{Delay, MAX_WINDOW, MIN_WINDOW, Mode, QUEUE_NOISE};

/// What shows others from round to round.
#[derive(Debug, Clone, Default)]
pub(super) struct Others {
    /// Drains that left a standing queue, each that did not taking one back.
    stands: u32,
    /// Rounds in a row in which we gave way to a queue that may not be ours.
    given_way: u32,
    /// A drain is to tell whose queue that is.
    is_asked: bool,
    /// Least and most delay of the queue in these rounds, seconds.
    least: f64,
    most: f64,
    /// Part of the rounds in which a queue stood although what we had in flight does not fill the
    /// path, 0..1.
    presence: f64,
    /// Part of the rounds in which we had far less than the path carries of a queue that is too
    /// short for bursts, and never was empty, 0..1.
    crowd: f64,
    /// Part of what the path carried at best that others have, a mean, 0..1.
    theirs: f64,
    /// Rounds in a row in which a queue stood that cannot be ours, for the application paused.
    while_paused: u32,
}

impl Delay {
    /// Packets per second that an equal share of the path would give us beside one other, as far as
    /// what it carried at best tells.
    fn equal_share(&self) -> f64 {
        0.5 * self.carried.part(self.part)
    }

    /// The same, as far as bursts tell as well that did not fill it.
    fn share_beside_bursts(&self) -> f64 {
        0.5 * self.carried.shared(self.part)
    }

    /// Whether we have less than an equal share.
    pub(super) fn is_weak(&self) -> bool {
        self.delivered_mean < self.equal_share()
    }

    /// The window of an equal share: where one returns to quickly that had given way for too long.
    pub(super) fn share_of_peak(&self) -> f64 {
        let share = self.share_beside_bursts() * self.srtt;
        self.window.max(share.min(MAX_WINDOW))
    }

    /// What a round shows of others: less in flight than fills the path makes no queue.
    pub(super) fn watch_others(&mut self, round: &Round, limited: bool) {
        let floor = self.floor_seconds();
        let carried = self.carried.part(self.part).max(1.0);
        let (window, delivered) = (self.window, self.delivered_mean);
        // With packets that were smaller than they are now, each path would seem to lack something.
        let full = self.carried_full.part(self.part).min(carried);
        let rate = self.rate * round.fullness(self.mss);
        let lacks = rate < MISSING * full && carried * floor >= FEWEST && self.favours_paced();
        // On a path that has become slower what we keep ourselves stands as well.
        let varies = match self.swing() {
            swing if swing > 0.0 => swing + self.target() / self.rate.max(1.0),
            _ => 0.0,
        };
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        let held = carried * floor;
        // Of the few packets of a small path, too many wait at the receiver to tell.
        let ours = if held < FEW {
            window
        } else {
            window.max(round.in_flight_max)
        };
        let is_unfilled = ours < UNFILLED * held;
        let others = &mut steady.others;
        if limited && steady.drain == Drain::No {
            let noise = (ONE_PACKET / carried).max(NOISE * floor).max(varies);
            if is_unfilled || lacks {
                let stands = f64::from(u8::from(round.delay_mean() > noise));
                others.presence += (stands - others.presence) / WATCHED;
            }
            let stands = f64::from(u8::from(lacks && round.delay_min() > noise));
            others.crowd += (stands - others.crowd) / WATCHED;
        }
        let theirs = (1.0 - delivered / carried).max(0.0);
        others.theirs += (theirs - others.theirs) / WATCHED;
    }

    /// Whether a queue stands for rounds although the application pauses, and had too little in flight
    /// for it to be ours: somebody else fills it, or the path has become longer. Our window is too
    /// small for either, and taking it down as if the queue were ours would starve the application.
    pub(super) fn meets_others(&mut self, round: &Round, limited: bool) -> bool {
        let floor = self.floor_seconds();
        let least = (STANDING * floor).max(STANDING_DELAY).max(self.swing());
        let held = self.carried.shared(self.part) * (floor + self.queue_delay);
        let stands = self.queue_delay > least
            && floor >= QUEUE_NOISE
            && round.in_flight_max < PAUSED_PART * held;
        let survives = self.evidence.knows_baseline() && self.evidence.baseline() < TCP_SURVIVES;
        let Mode::Steady(steady) = &mut self.mode else {
            return false;
        };
        let others = &mut steady.others;
        if !round.app_limited || limited || !stands {
            others.while_paused = 0;
            return false;
        }
        others.while_paused += 1;
        survives && others.while_paused >= PAUSED_ROUNDS
    }

    /// Our share of a short queue that others use as well, if it is more than an equal one: then
    /// every loss in the queue is answered, whatever the link loses by itself, and the window
    /// follows TCP's law, for packets that are paced are lost less often than bursts of others. Where delays
    /// vary by as much as a queue makes, they tell of nobody.
    pub(super) fn excessive_share(&self) -> Option<f64> {
        let Mode::Steady(steady) = &self.mode else {
            return None;
        };
        let share = 1.0 - steady.others.theirs;
        let is_excessive = share > EXCESSIVE
            && steady.others.presence > PRESENT
            && steady.quiet_rounds < QUIET
            && self.evidence.doubt() < DOUBTFUL
            && self.evidence.baseline() < TCP_SURVIVES;
        is_excessive.then_some(share)
    }

    /// Whether the queue is somebody else's, as far as it is more than our target and what delays vary by: the
    /// path may also have become slower or longer, which is soon known.
    pub(super) fn is_filled_by_others(&self) -> bool {
        match self.mode {
            Mode::Startup(_) => false,
            Mode::Steady(_) => {
                let ours = self.target().max(FEWEST_OURS) / self.rate_max.max(1.0);
                self.queue_delay > FAR_MORE * ours + self.swing()
            }
            Mode::Compete(_) => true,
        }
    }

    /// Whether others keep a queue full that is too short for its delay to show when it overflows:
    /// then any loss beyond the link's own is its overflow.
    pub(super) fn is_crowded(&self) -> bool {
        let Mode::Steady(steady) = &self.mode else {
            return false;
        };
        steady.others.crowd > PRESENT && self.favours_paced()
    }

    /// Whether the queue holds so few packets that it drops some of each burst of TCP's, while
    /// ours, which are paced, pass.
    fn favours_paced(&self) -> bool {
        self.evidence.delay_max() * self.carried.all() < BURST
    }

    /// Part of TCP's growth that is left to such a share.
    pub(super) fn restraint(&self) -> f64 {
        let handicap = if self.favours_paced() { HANDICAP } else { 0.0 };
        self.excessive_share()
            .map_or(1.0, |share| slowdown(law(share, 0.5) - handicap))
    }

    /// The smallest window, in packets: TCP's (RFC 9002 §7.2) for each of several subflows where
    /// more would be more than their share.
    pub(super) fn fewest(&self) -> f64 {
        let is_one_of_several = self.part < ONE_OF_SEVERAL;
        if is_one_of_several && self.favours_paced() && self.excessive_share().is_some() {
            TCP_FEWEST
        } else {
            MIN_WINDOW
        }
    }

    /// Whether a queue stands that our drains do not take away: three drains in a row left half
    /// of one that is longer than what flows like ours make together.
    pub(super) fn is_contended(&mut self) -> bool {
        let floor = self.floor_seconds();
        let packets = (self.rate_max * floor).sqrt().max(2.0);
        let ours = (packets / self.rate_max).min(self.target() / self.rate.max(1.0));
        let delay = self.queue_delay;
        let Mode::Steady(steady) = &mut self.mode else {
            return false;
        };
        let stands = floor >= QUEUE_NOISE
            && steady.delay_before > MORE * ours
            && delay > STANDS * steady.delay_before;
        let others = &mut steady.others;
        others.stands = if stands {
            others.stands + 1
        } else {
            others.stands.saturating_sub(1)
        };
        others.stands >= STANDING_DRAINS
    }

    /// Whether for some rounds we had far less than an equal share, in a queue that has grown
    /// meanwhile: then a drain begins that tells whether it is ours, on a path that carries less
    /// than before. If the path were longer, the delay would stay.
    pub(super) fn ask_whose_queue(&mut self, limited: bool) {
        let floor = self.floor_seconds();
        let carried = self.carried.own();
        let ours = MORE * (carried * floor).sqrt().max(2.0);
        let delay = self.queue_delay;
        let is_behind = limited
            && floor >= QUEUE_NOISE
            && self.evidence.baseline() < 0.5 * TCP_SURVIVES
            && self.delivered_mean < FAR_LESS * self.share_beside_bursts()
            && delay * carried > ours;
        let Mode::Steady(steady) = &mut self.mode else {
            return;
        };
        let is_draining = steady.is_draining();
        let others = &mut steady.others;
        if !is_behind {
            others.given_way = 0;
            return;
        }
        others.given_way += 1;
        if is_draining && others.given_way > 1 {
            return;
        }
        if others.given_way <= 2 {
            // Part of the first round may have passed before the path became longer.
            (others.least, others.most) = (delay, delay);
        }
        others.least = others.least.min(delay);
        others.most = others.most.max(delay);
        let has_grown = delay > GROWN * others.least && delay >= 0.95 * others.most;
        if others.given_way >= ROUNDS && has_grown && !is_draining {
            others.is_asked = true;
            steady.make_drain_due();
        }
    }

    /// Whether a drain has left most of a queue in which we gave way: it is not ours. Of a drain
    /// that was not begun for that, the queue must have grown meanwhile.
    pub(super) fn has_given_way(&mut self) -> bool {
        let delay = self.queue_delay;
        let Mode::Steady(steady) = &mut self.mode else {
            return false;
        };
        let stands = delay > STANDS * steady.delay_before;
        let others = &mut steady.others;
        let was_asked = std::mem::take(&mut others.is_asked);
        if !stands {
            others.given_way = 0;
        }
        others.given_way >= ROUNDS && (was_asked || delay > GROWN * others.least)
    }
}

/// By how much a queue is longer than what flows that keep a small one make.
const MORE: f64 = 1.5;
/// By how much it is longer than ours where those of a few like us stand together.
const FAR_MORE: f64 = 4.0;
/// Packets that count as ours at least: a target after losses is none that a queue keeps to.
const FEWEST_OURS: f64 = 12.0;
/// Part of the queue that a drain leaves if somebody else fills it.
const STANDS: f64 = 0.5;
/// Once may be chance, and somebody of our kind who drains at other times.
const STANDING_DRAINS: u32 = 3;
/// Part of an equal share that no flow like ours would leave us.
const FAR_LESS: f64 = 0.8;
/// Rounds in which a queue of our own would have shrunk.
const ROUNDS: u32 = 4;
/// By how much a queue that others fill grows meanwhile.
const GROWN: f64 = 1.2;
/// Part of what path and queue hold together; with less of it in flight, not all of it is ours.
const PAUSED_PART: f64 = 0.7;
/// Rounds that an application pauses in, in which a queue of our own would be gone.
const PAUSED_ROUNDS: u32 = 3;
/// Delay of a queue that no burst of ours leaves: part of the path's own, and seconds.
const STANDING: f64 = 0.3;
const STANDING_DELAY: f64 = 0.01;
/// Rounds over which others are watched.
const WATCHED: f64 = 100.0;
/// Part of what a path held at best that no queue of ours stands with.
const UNFILLED: f64 = 0.85;
/// Part of what a path carried at best; who sends less while a queue stands has it with others.
const MISSING: f64 = 0.88;
/// Packets that a path holds at least if that part is to be no chance.
const FEWEST: f64 = 12.0;
/// Packets of a path that holds so few that what waits for its acknowledgement is a large part.
const FEW: f64 = 32.0;
/// Part of the empty path's round trip that is no queue.
const NOISE: f64 = 0.03;
/// Part of the rounds in which a queue that is not ours shows others.
const PRESENT: f64 = 0.1;
/// More than an equal share by more than chance.
const EXCESSIVE: f64 = 0.55;
/// Packets in a queue that bursts of TCP's do not fit in.
const BURST: f64 = 8.0;
/// What is taken from the law that an excessive share follows there.
const HANDICAP: f64 = 0.5;
/// A path with less of the connection's rate has siblings that carry something.
const ONE_OF_SEVERAL: f64 = 0.95;
const TCP_FEWEST: f64 = 2.0;
