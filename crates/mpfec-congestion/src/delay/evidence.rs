//! Whether losses come from a full queue or from a noisy link.
//!
//! A drop-tail queue loses packets only while it is full, so congestion loss comes with high
//! delay; a noisy link loses them always. Hence loss is judged by delay: what is lost while
//! the own queue is drained gives the link's own share of loss, the *baseline* `p0`; only loss
//! at high delay beyond it is congestion. What is high is told by the largest delays that the queue
//! has had, and, where these say nothing, by the ranks of losses among the delays around them.

mod depth;
mod ranks;
mod runs;
mod verdict;

use self::depth::Depth;
use self::ranks::Ranks;
use self::runs::Runs;
use super::count::Count;
use crate::LossVerdicts;

/// Counts of packets and losses at low and at high delay, older ones fading.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    low: Count,
    /// The same from deep drains, which no queue is too short for.
    deep: Count,
    /// The present deep drain alone.
    lesson: Count,
    /// Some of it was noticed in the present round.
    has_grown: bool,
    /// Drains that may follow at once, for the last one lost far more than those before.
    repeats: u32,
    high: Count,
    /// Runs of consecutive packets that were lost at high delay.
    high_runs: f64,
    /// The last few hundred packets that were not sent in a deep drain or in start-up, whatever their delay.
    recent: Count,
    /// Of these, those lost at low delay.
    recent_low: Count,
    runs: Runs,
    ranks: Ranks,
    baseline: f64,
    /// Largest delay above the floor, fading; seconds.
    delay_max: f64,
    depth: Depth,
    /// The same, without what hosts made late that stood still.
    clean: Depth,
    /// Rounds so far, as far as they matter.
    rounds: u32,
    /// The application pauses: bursts overflow the queue before its delay shows.
    pauses: bool,
    /// Others fill the queue.
    is_filled: bool,
    /// What delays differ by within a round without a queue, seconds, and in packets.
    swing: f64,
    swing_packets: f64,
    last_delay: f64,
    /// What the last deep drain let out has found no queue.
    is_drained: bool,
    /// Whether the delay would show a queue before it is full.
    is_doubtful: bool,
    /// Delay at the last loss at high delay, seconds.
    loss_delay: f64,
    verdicts: LossVerdicts,
    pending: u64,
}

/// Losses that were noticed with an acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Losses {
    pub(super) lost: u64,
    /// Those of them that left while packets were held back.
    pub(super) drained: u64,
    /// Runs of consecutive packets among them.
    pub(super) runs: u32,
    /// Delay above that of the empty path around the time at which they left; `None` counts as
    /// that of the acknowledgement.
    pub(super) delay: Option<f64>,
}

/// Delays of an acknowledgement, seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delays {
    /// Above that of the empty path.
    pub(super) own: f64,
    /// The same, of the fewest packets that a drain lets out.
    pub(super) least: f64,
    /// What they differ by within a round without a queue.
    pub(super) swing: f64,
    /// What the bottleneck takes for one packet at the rate that is carried now, and at the most that was.
    pub(super) packet_time: f64,
    pub(super) least_packet_time: f64,
    /// What of it a host may have made that stood still.
    pub(super) stalled: f64,
}

/// What an acknowledgement's packets may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lesson {
    /// Nothing about the baseline: our own queue may stand.
    None,
    /// They were sent at no more than the rate that really arrives, but siblings may have kept the
    /// queue full.
    Unclear,
    /// They were sent in start-up.
    StartingUp,
    /// They were sent at no more than the rate that really arrives.
    DeeplyDrained,
}

impl Evidence {
    pub(super) fn new() -> Self {
        Self {
            low: Count::default(),
            deep: Count::default(),
            lesson: Count::default(),
            has_grown: false,
            repeats: 0,
            high: Count::default(),
            high_runs: 0.0,
            recent: Count::default(),
            recent_low: Count::default(),
            runs: Runs::default(),
            ranks: Ranks::default(),
            baseline: 0.0,
            delay_max: 0.0,
            depth: Depth::default(),
            clean: Depth::default(),
            rounds: 0,
            pauses: false,
            is_filled: false,
            swing: 0.0,
            swing_packets: 0.0,
            last_delay: 0.0,
            is_drained: true,
            is_doubtful: false,
            loss_delay: 0.0,
            verdicts: LossVerdicts::default(),
            pending: 0,
        }
    }

    /// Whether the application has had nothing to send at times lately.
    pub(super) fn set_pauses(&mut self, pauses: bool) {
        self.pauses = pauses;
    }

    /// Whether others fill the queue now.
    pub(super) fn set_filled(&mut self, is_filled: bool) {
        self.is_filled = is_filled;
    }

    /// An acknowledgement came, with which `acked` packets and `lost` ones are accounted for.
    pub(super) fn on_ack(
        &mut self,
        Delays {
            own,
            least,
            swing,
            packet_time,
            least_packet_time,
            stalled,
        }: Delays,
        acked: f64,
        Losses {
            lost,
            drained,
            runs,
            delay,
        }: Losses,
        (lesson, of_lost): (Lesson, Lesson),
    ) {
        let near = own.max(self.last_delay);
        self.last_delay = own;
        (self.swing, self.swing_packets) = (swing, swing / least_packet_time);
        self.delay_max = self.delay_max.max(own);
        self.depth.on_delay(own);
        self.clean.on_delay(own - (stalled - swing).max(0.0));
        // Where delays vary anyway, by much of what a queue makes, what comes late comes together at
        // all times.
        let is_even = self.rounds >= KNOWN && swing <= EVEN * self.clean.full();
        let noise = (2.0 * packet_time).min(0.004);
        let (half, longest) = if is_even {
            (self.clean.half(), self.clean.full())
        } else {
            (self.depth.half(), self.delay_max)
        };
        let half = if self.pauses {
            0.5 * self.delay_max
        } else {
            half
        };
        let limit = half.max(noise);
        let near_lost = delay.unwrap_or(near);
        let (is_low, is_lost_low) = (near < limit, near_lost < limit);
        let losses = lost as f64;
        if lesson == Lesson::None {
            // An application that pauses makes bursts, which find other queues than acknowledgements.
            let is_spaced = !self.pauses && (drained == 0 || of_lost == Lesson::None);
            if is_lost_low && is_spaced && runs > 0 {
                self.ranks.on_lost(near_lost, self.runs.dispersion());
            }
            if is_low {
                self.ranks.on_acked(near, acked);
            }
            let at_low = if is_lost_low { losses } else { 0.0 };
            self.recent_low.add(acked + losses, at_low, RECENT_MEMORY);
        }
        // Where the queue does not show in the delay alone, none is low.
        let is_hidden = self.ranks.show_queue();
        let (is_low, is_lost_low) = (is_low && !is_hidden, is_lost_low && !is_hidden);
        let (mut low, mut high) = (Count::default(), Count::default());
        let of_acked = if is_low { &mut low } else { &mut high };
        of_acked.packets += acked;
        let of_losses = if is_lost_low { &mut low } else { &mut high };
        of_losses.packets += losses;
        of_losses.lost += losses;
        let drained = drained as f64;
        let of_deep_drain = lesson == Lesson::DeeplyDrained;
        if of_deep_drain {
            let most = (self.delay_max - least).max(0.0);
            self.is_drained = near - least < (0.5 * most).max(noise);
        }
        if of_lost == Lesson::DeeplyDrained && self.is_drained {
            self.teach(drained, drained, true);
        }
        // A queue of a few packets overflows before its delay shows: there only what was sent
        // below the rate that arrives is beyond doubt, unless others fill the queue meanwhile:
        // then they lose our packets too.
        if of_deep_drain && self.is_drained {
            self.teach(acked, 0.0, true);
        } else {
            // What is lost far below the delay of a queue that no burst of others fills is the
            // link's. Who fills it all the time does so below a delay which a host that stood still
            // has made, too.
            let is_clear = lesson == Lesson::None
                && drained == 0.0
                && !self.is_filled
                && self.knows_baseline()
                && !self.knows_clean_loss_well()
                && longest > LONG * packet_time;
            if lesson == Lesson::StartingUp || is_clear {
                self.teach(low.packets, low.lost, false);
            }
            self.high.add(high.packets, high.lost, f64::INFINITY);
            if !is_lost_low {
                self.high_runs += f64::from(runs);
            }
        }
        if lesson == Lesson::None {
            self.recent.add(acked + losses, losses, RECENT_MEMORY);
        }
        self.runs.add(acked, losses, f64::from(runs));
        if lost > 0 {
            if is_lost_low {
                self.verdicts.wireless += lost;
            } else {
                self.loss_delay = near_lost;
                self.verdicts.unknown += lost;
                self.pending += lost;
            }
        }
    }

    /// Packets that had counted as lost have arrived.
    pub(super) fn on_spurious_loss(&mut self) {
        self.ranks.forget_losses();
    }

    /// What packets that no queue of ours has lost say about the link.
    fn teach(&mut self, packets: f64, lost: f64, is_deep: bool) {
        if packets <= 0.0 {
            return;
        }
        if is_deep {
            self.deep.add(packets, lost, DEEP_MEMORY);
            self.lesson.add(packets, lost, f64::INFINITY);
            self.has_grown = true;
        }
        self.low.add(packets, lost, 600.0);
        self.learn();
    }

    /// A drain that lost far less than the earlier ones shows that those were not drained: others
    /// kept the queue full. One that lost far more shows that the link has changed, or a long burst.
    fn compare_lesson(&mut self) {
        let lesson = std::mem::take(&mut self.lesson);
        if lesson.packets < 4.0 {
            return;
        }
        let p0 = self.baseline;
        let deviation = (self.dispersion() * p0 * (1.0 - p0) / lesson.packets).sqrt();
        let expected = p0.max(LITTLE_LOSS);
        let spread = (self.dispersion() * expected * (1.0 - expected) / lesson.packets).sqrt();
        let is_more = lesson.packets >= 10.0 && lesson.share() > expected + 3.0 * spread;
        self.repeats = if is_more { REPEATS } else { 0 };
        if lesson.share() < p0 - 2.0 * deviation || is_more {
            for count in [&mut self.low, &mut self.deep] {
                count.packets *= CONTRADICTED;
                count.lost *= CONTRADICTED;
            }
            self.low.add(lesson.packets, lesson.lost, f64::INFINITY);
            self.deep.add(lesson.packets, lesson.lost, f64::INFINITY);
            self.learn();
        }
    }

    /// How much more the number of losses varies than that of independent ones: 1 for these.
    pub(super) fn dispersion(&self) -> f64 {
        self.runs.dispersion()
    }

    /// Packets that the losses of the link take together: 1 of independent ones.
    pub(super) fn burst(&self) -> f64 {
        0.5 * (1.0 + self.dispersion())
    }

    fn learn(&mut self) {
        self.baseline = self.low.lost / (self.low.packets + 4.0);
        if self.knows_clean_loss() {
            let (clean, variance) = self.clean();
            let error = (variance / self.deep.packets).sqrt();
            self.baseline = self.baseline.min(clean + 0.01 + 2.0 * error);
        }
    }

    /// Whether a deep drain is due because the last one lost far more than those before: another
    /// one tells a link that has changed from a burst, which would keep a short queue full until
    /// then. Some in a row that show nothing, for others fill the queue, are enough.
    pub(super) fn take_repeat(&mut self) -> bool {
        let is_due = self.repeats > 0;
        self.repeats = self.repeats.saturating_sub(1);
        is_due
    }

    /// Whether deep drains have shown enough packets to rely on.
    pub(super) fn knows_clean_loss_well(&self) -> bool {
        self.deep.packets > 0.4 * DEEP_MEMORY
    }

    /// Whether deep drains have shown enough packets to bound the baseline.
    pub(super) fn knows_clean_loss(&self) -> bool {
        self.deep.packets > 24.0
    }

    /// What deep drains lose, as if they had also seen one burst lost and one arrive, and the
    /// variance of one packet.
    fn clean(&self) -> (f64, f64) {
        let burst = self.burst();
        let clean = (self.deep.lost + burst) / (self.deep.packets + 2.0 * burst);
        (clean, self.dispersion() * clean * (1.0 - clean))
    }

    /// The link's own share of loss, 0..1.
    pub(super) fn baseline(&self) -> f64 {
        self.baseline
    }

    /// The link's own share of loss if what its deep drains have shown is all that is believed.
    pub(super) fn proven_baseline(&self) -> f64 {
        let clean = if self.knows_clean_loss_well() {
            (self.deep.lost + 0.5) / (self.deep.packets + 1.0)
        } else {
            1.0
        };
        self.baseline.min(clean)
    }

    /// Whether no delay has been seen that only a queue of some packets makes, at `packet_time`
    /// seconds each.
    pub(super) fn is_shallow(&self, packet_time: f64) -> bool {
        self.delay_max <= SHALLOW * packet_time
    }

    /// Whether losses at high delay cannot be judged because nothing is known of the link's own: a
    /// window of a few packets teaches that only in several drains.
    pub(super) fn is_blind(&self) -> bool {
        !self.knows_baseline() && self.lost_at_high_delay() > 0.0
    }

    /// Whether the baseline is more than a guess.
    pub(super) fn knows_baseline(&self) -> bool {
        self.low.packets > 20.0
    }

    /// Whether more than a few of the last packets were lost at low delay: a link that loses
    /// packets, or a queue of a few packets.
    pub(super) fn loses_at_low_delay(&self) -> bool {
        self.recent_low.lost >= 2.0 && self.recent_low.share() > FEW_LOSSES
    }

    pub(super) fn delay_max(&self) -> f64 {
        self.delay_max
    }

    /// The delay above the floor at the last loss at high delay, seconds.
    pub(super) fn loss_delay(&self) -> f64 {
        self.loss_delay
    }

    /// What was seen at high delay has been answered as congestion.
    pub(super) fn answer(&mut self) {
        self.verdicts.congestion += self.pending;
        self.verdicts.unknown -= self.pending.min(self.verdicts.unknown);
        self.forget_recent();
    }

    /// Nothing seen so far but the baseline counts.
    pub(super) fn forget_recent(&mut self) {
        (self.recent, self.recent_low) = Default::default();
        self.forget_high();
    }

    /// Start-up is over. Its lessons end, and true is returned, if it lost more than a little:
    /// it may have overrun a short queue.
    /// A path that is too short for drains to teach anything counts as one without loss.
    pub(super) fn forget_start(&mut self, can_learn: bool) -> bool {
        if !can_learn {
            self.assume_loss_free();
            self.forget_recent();
            return false;
        }

        let (lost, packets) = (
            self.low.lost + self.high.lost,
            self.low.packets + self.high.packets,
        );
        let is_doubtful = lost > LITTLE_LOSS * packets.max(1.0);
        if is_doubtful {
            self.forget_loss();
        }
        self.forget_recent();
        is_doubtful
    }

    /// Nothing seen so far says what the link loses.
    pub(super) fn forget_loss(&mut self) {
        (self.low, self.deep) = Default::default();
        self.baseline = 0.0;
        self.runs = Runs::default();
        self.forget_recent();
    }

    /// Others fill the queue, which a noisy link would not leave them the rate for: where no drain
    /// has ever found the queue empty, the path counts as one without loss until one does.
    pub(super) fn on_others(&mut self) {
        if !self.knows_baseline() {
            self.assume_loss_free();
        }
    }

    fn assume_loss_free(&mut self) {
        self.low = Count {
            packets: 300.0,
            lost: 0.0,
        };
        self.baseline = 0.0;
    }

    pub(super) fn forget_high(&mut self) {
        self.pending = 0;
        self.high = Count::default();
        self.high_runs = 0.0;
    }

    /// A round has passed, in which `latest` bytes per second arrived, and `mean` of late: what was
    /// seen at high delay fades.
    pub(super) fn on_round(&mut self, packet_time: f64, latest: f64, mean: f64) {
        self.depth.on_round(latest, mean);
        self.clean.on_round(latest, mean);
        self.rounds = (self.rounds + 1).min(KNOWN);
        self.is_doubtful = !self.is_shallow(packet_time);
        // Losses are noticed before what left with them is acknowledged, or a round later.
        if !std::mem::take(&mut self.has_grown) {
            self.compare_lesson();
        }
        self.delay_max *= 0.99;
        self.high.packets *= 0.5;
        self.high.lost *= 0.5;
        self.high_runs *= 0.5;
        if self.high.lost < 0.5 {
            self.pending = 0;
        }
    }

    /// The delays of the path are not what they were.
    pub(super) fn forget_delays(&mut self) {
        self.delay_max = 0.0;
        (self.depth, self.clean) = Default::default();
        self.ranks = Ranks::default();
        self.last_delay = 0.0;
        self.forget_high();
    }

    /// Losses of a path that was silent: nobody knows why.
    pub(super) fn on_unexplained(&mut self, lost: u64) {
        self.verdicts.unknown += lost;
    }

    pub(super) fn verdicts(&self) -> LossVerdicts {
        self.verdicts
    }
}

#[cfg(test)]
pub(super) mod tests;

/// A queue of so many packets shows in the delay before it overflows.
const SHALLOW: f64 = 16.0;
/// Rounds after which it is known by how much delays vary.
const KNOWN: u32 = 9;
/// Part of the longest queue's delay that delays may vary by if what a host made late is to be told
/// from it.
const EVEN: f64 = 0.1;
/// Drains in a row that may follow one that surprised.
const REPEATS: u32 = 3;
/// A queue of so many packets is not filled by a burst of others at once.
const LONG: f64 = 24.0;
/// Loss in start-up that a mistake about it would not matter much.
const LITTLE_LOSS: f64 = 0.03;
/// Packets that count as recent.
const RECENT_MEMORY: f64 = 400.0;
/// Loss of late that asks for a drain which tells where it comes from.
const FEW_LOSSES: f64 = 0.01;
/// What remains of earlier lessons that a new one contradicts.
const CONTRADICTED: f64 = 0.3;
/// Packets of deep drains that count.
const DEEP_MEMORY: f64 = 400.0;
