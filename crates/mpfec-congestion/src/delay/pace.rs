//! What may leave: the window, the pace, and the queue that they aim at.

use super::steady::{DEEP, MAX_REFILL, MIN_TARGET, SHORT_QUEUE};
use super::{Delay, HOST_NOISE, MIN_WINDOW, Mode, QUEUE_NOISE};

impl Delay {
    /// The window, or what a drain leaves of it.
    pub(super) fn effective_window(&self) -> f64 {
        let drained = match &self.mode {
            Mode::Steady(steady) => steady.drain.window(),
            Mode::Startup(_) => None,
            Mode::Compete(compete) => compete.window(),
        };
        drained
            .map_or(self.window, |limit| limit.min(self.window))
            .max(self.least_paced())
    }

    /// The window is what the path itself holds, and leaves room for what waits at the receiver
    /// for its acknowledgement: so the queue is what the window makes of it, and what is sent
    /// never stops for an acknowledgement that is not due yet. Pacing alone would let the queue
    /// swing, for it answers a round trip late.
    pub(super) fn window_bytes(&self) -> u64 {
        let rtt = self.floor_seconds() + self.queue_delay;
        let window = match &self.mode {
            // There the window alone limits.
            _ if rtt < QUEUE_NOISE => self.effective_window(),
            // In a short queue pacing alone holds back: what the window had held back would
            // leave as a burst.
            Mode::Steady(_) if self.has_short_queue() => {
                let window = self.window.max(self.least_window());
                let room = (2.0 * window / ACKS_PER_ROUND - 1.0).max(1.0);
                window + self.aggregate().map_or(room, |packets| packets.max(room))
            }
            Mode::Steady(_) => self.effective_window() + self.batch(),
            _ => self.effective_window(),
        };
        ((window.max(self.least_window()) + self.unheard()) * self.mss) as u64
    }

    /// Packets that wait for an acknowledgement just before it is sent: as many as it is for, of
    /// which the receiver sends eight per round trip at least.
    fn batch(&self) -> f64 {
        let most = (self.window / ACKS_PER_ROUND).max(1.0);
        self.aggregate()
            .unwrap_or_else(|| self.batch.max(self.round.batch).clamp(1.0, most))
    }

    /// A round has ended, of which `batch` tells how many packets were acknowledged at once.
    pub(super) fn note_batch(&mut self) {
        let by_itself = (self.window + self.unheard()) / ACKS_PER_ROUND;
        let is_more = self.batch > AGGREGATED * by_itself.max(1.0) + FEW;
        self.batches.add(if is_more { self.batch } else { 0.0 });
    }

    /// Packets that arrive together, as aggregates of Wi-Fi and grants of LTE do; `None` if they do
    /// not, or so few that the receiver waits for more by itself.
    pub(super) fn aggregate(&self) -> Option<f64> {
        let packets = self.batches.large().min(self.window).min(MOST_TOGETHER);
        (packets > 0.0).then_some(packets)
    }

    /// Seconds in which a window is paced out; `None` before the first sample. A drain lets out
    /// what the empty path takes, which the smoothed RTT tells only when the drain is over, unless
    /// that is too short for timers.
    fn pacing_rtt(&self) -> Option<f64> {
        let floor = self.floor.get()?;
        let drains = self.holds_back();
        let has_timers = floor >= QUEUE_NOISE;
        Some(if drains && has_timers && !self.has_short_queue() {
            floor
        } else {
            self.queued_rtt(floor)
        })
    }

    fn queued_rtt(&self, floor: f64) -> f64 {
        (floor + self.queue_delay).max(self.srtt)
    }

    /// Whether losses have shown that the queue holds a few packets only.
    pub(super) fn has_short_queue(&self) -> bool {
        self.target_cap < SHORT_QUEUE
    }

    /// What arrives within a millisecond: below that, the noise of the hosts' schedulers
    /// would starve the path. At most 256 packets, and 64 once a short queue overflowed.
    pub(super) fn least_window(&self) -> f64 {
        self.least_window_of(self.fewest())
    }

    /// The same of what is paced out in a round trip, which may be less.
    pub(super) fn least_paced(&self) -> f64 {
        self.least_window_of(self.fewest_paced())
    }

    fn least_window_of(&self, fewest: f64) -> f64 {
        let most = self.target_cap.clamp(64.0, 256.0);
        (self.delivered_max * HOST_NOISE).clamp(fewest, most)
    }

    /// Packets to keep in the queue: more than the path's own delay makes it look like.
    pub(super) fn target(&self) -> f64 {
        let root = (self.window / self.part).sqrt();
        let target = (1.5 * root).min(4.7 * root.sqrt()) * self.part;
        // In less chance takes the window down; but no more than a part of the path holds anyway.
        let least = (0.5 * self.noise.swing()).min(0.25 * self.floor_seconds());
        target
            .max(self.delivered_max * HOST_NOISE.max(least))
            .min(self.target_cap)
            .max((MIN_TARGET * self.part_unseen()).max(0.5))
    }

    /// Packets per second that leave where so many are delivered: these, and what refills the
    /// losses.
    pub(super) fn refilled(&self, delivered: f64) -> f64 {
        refill(delivered, self.evidence.baseline())
    }

    /// Packets per second that the window stands for, a drain aside, as far as they were delivered
    /// of late; 0 before the first sample.
    pub(super) fn lasting_pace(&self) -> f64 {
        let Some(floor) = self.floor.get() else {
            return 0.0;
        };
        let stands_for = self.window / self.queued_rtt(floor);
        let passes = self.policed.limit().unwrap_or(f64::INFINITY);
        let carried = self.refilled(self.carried.lately());
        self.kept_in_silence() * stands_for.min(carried).min(passes)
    }

    /// Packets per second that may leave; `None` before the first sample.
    pub(super) fn pace(&self) -> Option<f64> {
        let rtt = self.pacing_rtt()?;
        let window = self.effective_window();
        let full = match &self.mode {
            Mode::Startup(startup) => startup.pace() * window / rtt,
            Mode::Compete(_) => 1.2 * window / rtt,
            // Timers are no finer than such a round trip: the window alone does better.
            Mode::Steady(_) if rtt < QUEUE_NOISE => 4.0 * window / rtt,
            Mode::Steady(_) => {
                let delivered = self.delivered_max.max(self.delivered_now);
                let refilled = self.refilled(delivered);
                let paced = if self.is_app_limited() {
                    // No queue stands that the target's packets would fill. Where a delay without
                    // one passes for it, what was carried may have been far less than fits.
                    let is_known = self.has_seen_limit && self.noise.swing() <= self.least_delay();
                    let known = is_known.then(|| self.rate_max.max(self.rate));
                    let carried = known.map_or(f64::INFINITY, |rate| STEADY_PACE * rate * rtt);
                    (window - self.target()).min(carried).max(0.5 * window)
                } else if self.part_unseen() < 1.0 && self.is_held && self.is_drained_deeply() {
                    // Fewer packets than the window may have.
                    window.min((DEEP * self.delivered_mean * rtt).max(self.least_drained()))
                } else if self.has_short_queue() {
                    window
                } else {
                    STEADY_PACE * window
                };
                (paced / rtt).min(1.5 * refilled + MIN_WINDOW / rtt)
            }
        };
        let most = self.pace_of_bursts().unwrap_or(f64::INFINITY);
        let passes = self.policed.pace().unwrap_or(f64::INFINITY);
        Some(self.kept_in_silence() * full.min(most).min(passes))
    }

    /// Packets per second at which bursts leave that would otherwise overrun the queue: their
    /// window may be one that nothing has ever filled.
    fn pace_of_bursts(&self) -> Option<f64> {
        let are_bursts = match self.mode {
            Mode::Startup(_) => self.is_app_limited(),
            // A block may take several rounds.
            Mode::Steady(_) => self.pauses(),
            Mode::Compete(_) => false,
        };
        if !are_bursts {
            return None;
        }
        let pace = self.overruns.pace()?;
        // In a queue of a few packets six seldom wait one behind the other.
        let stretch = self.stretch.rate().unwrap_or(self.carried.own());
        if stretch <= 0.0 {
            return None;
        }
        // Packets that arrive together did not all wait one behind the other.
        let passed = self.aggregate().map_or(0.0, |_| self.passed.lately());
        // What start-up overran, or a burst in a drain, may have passed for the link's own loss.
        let of_link = self.overruns.most_of_link(self.evidence.dispersion());
        let refilled = refill(stretch.max(passed), self.evidence.baseline().min(of_link));
        Some(pace * refilled)
    }
}

/// Packets per second that leave where so many arrive and the link loses the share `lost`.
fn refill(delivered: f64, lost: f64) -> f64 {
    delivered / (1.0 - lost.min(MAX_REFILL))
}

/// Hardly above the rate that the window stands for: bursts would overflow short queues.
pub(super) const STEADY_PACE: f64 = 1.02;
/// Times what the receiver acknowledges at once, and packets above that. What is more in several rounds
/// comes from the link, or acknowledgements are lost.
const AGGREGATED: f64 = 1.1;
const FEW: f64 = 2.0;
/// More packets than any link lets go together.
const MOST_TOGETHER: f64 = 1e5;
/// The receiver acknowledges what arrives in an eighth of a round trip at once.
const ACKS_PER_ROUND: f64 = 8.0;
