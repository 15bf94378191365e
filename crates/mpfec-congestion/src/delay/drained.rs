//! Which packets left while ours were held back, and what they may teach.

use std::time::Instant;

use super::evidence::Lesson;
use super::steady::Drain;
use super::{Delay, MIN_WINDOW, Mode, QUEUE_NOISE};
use crate::{Ack, Drains};

/// When packets were held back: those sent meanwhile say what the link loses by itself, whenever
/// their loss is noticed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drained {
    pub(super) from: Instant,
    pub(super) until: Option<Instant>,
    pub(super) is_deep: bool,
    /// Delay of the queue that the fewest packets make where the path holds less, seconds.
    pub(super) least_delay: f64,
    /// Siblings that may overflow the same place: some held packets back as well meanwhile, and some did
    /// not at times.
    pub(super) is_joined: bool,
    pub(super) is_missed: bool,
    /// What it shows is believed all the same, for several before it were in vain.
    pub(super) is_believed: bool,
}

impl Drained {
    /// What leaves at the very instant at which the drain ends is the burst that it had held back.
    pub(super) fn holds(&self, sent_at: Instant) -> bool {
        sent_at >= self.from && self.until.is_none_or(|until| sent_at < until)
    }

    /// Whether siblings that may overflow the same place went on as usual. Who has the shorter round trip
    /// soon does so again, and may as well be elsewhere.
    pub(super) fn is_disturbed(&self) -> bool {
        self.is_missed && !self.is_joined && !self.is_believed
    }
}

impl Delay {
    /// Whether packets are held back to see the path without our queue.
    pub(super) fn holds_back(&self) -> bool {
        match &self.mode {
            Mode::Startup(_) => false,
            Mode::Steady(steady) => steady.drain.window().is_some(),
            Mode::Compete(compete) => compete.window().is_some(),
        }
    }

    pub(super) fn is_drained_deeply(&self) -> bool {
        self.drained.is_some_and(|drained| drained.is_deep)
    }

    fn drains_deeply(&self) -> bool {
        match &self.mode {
            Mode::Startup(_) => false,
            // What hosts stall for is not held back, and may overflow a queue all the same.
            Mode::Steady(steady) => match steady.drain {
                Drain::First { window, deep } => {
                    let least = self.least_window();
                    let can_drain = least <= MIN_WINDOW || window >= least;
                    deep && can_drain && self.floor_seconds() >= QUEUE_NOISE
                }
                _ => false,
            },
            Mode::Compete(_) => self.floor_seconds() >= QUEUE_NOISE,
        }
    }

    /// Whether what is acknowledged now was sent in a drain.
    pub(super) fn is_answered(&self) -> bool {
        match &self.mode {
            Mode::Startup(_) => false,
            Mode::Steady(steady) => matches!(steady.drain, Drain::Answered { .. }),
            Mode::Compete(compete) => compete.is_drained(),
        }
    }

    /// What the packets acknowledged now may teach about the link's own loss.
    pub(super) fn lesson(&self) -> Lesson {
        let of_drain = if self.drained.is_some_and(|drained| drained.is_disturbed()) {
            Lesson::Unclear
        } else {
            Lesson::DeeplyDrained
        };
        match &self.mode {
            Mode::Startup(_) => Lesson::StartingUp,
            Mode::Steady(steady) => match steady.drain {
                Drain::Answered { deep: true } if self.is_drained_deeply() => of_drain,
                _ => Lesson::None,
            },
            Mode::Compete(compete) if compete.is_drained() && self.is_drained_deeply() => of_drain,
            Mode::Compete(_) => Lesson::None,
        }
    }

    /// An acknowledgement may have begun a drain, or ended one, or told of a sibling's, on a path whose
    /// bottleneck takes `packet_time` seconds for a packet.
    pub(super) fn watch_drains(&mut self, ack: &Ack<'_>, packet_time: f64) {
        let siblings = ack.group.subflows.iter().enumerate();
        let siblings = siblings.filter(|(index, _)| *index != ack.group.me);
        let mut siblings = siblings.map(|(_, sibling)| sibling.drains);
        let drains = siblings.clone().any(Drains::is_held);
        let overruns = siblings.clone().any(|drains| drains == Drains::Overrun);
        if self.is_held
            && let Some(drained) = &mut self.drained
        {
            drained.is_joined |= drains;
            drained.is_missed |= siblings.any(|drains| drains == Drains::WithOthers);
        }
        if drains && !std::mem::replace(&mut self.sibling_drains, drains) {
            self.join_drain(ack.now, overruns);
        }
        self.sibling_drains = drains;
        let holds = self.holds_back();
        // A verdict in an ordinary drain makes it a deep one.
        let deepens = holds && !self.is_drained_deeply() && self.drains_deeply();
        if holds != self.is_held || deepens {
            self.is_held = holds;
            if holds {
                self.drained = Some(Drained {
                    from: ack.now,
                    until: None,
                    is_deep: self.drains_deeply(),
                    least_delay: (MIN_WINDOW * packet_time - self.floor_seconds()).max(0.0),
                    is_joined: false,
                    is_missed: false,
                    is_believed: self.disturbed >= IN_VAIN,
                });
            } else if let Some(drained) = &mut self.drained {
                drained.until = Some(ack.now);
                self.disturbed = match drained.is_disturbed() {
                    true => self.disturbed.saturating_add(u32::from(drained.is_deep)),
                    false if drained.is_deep => 0,
                    false => self.disturbed,
                };
            }
        }
    }
}

/// Drains in a row that were disturbed: siblings that never join may have gone silent, or be elsewhere.
const IN_VAIN: u32 = 3;
