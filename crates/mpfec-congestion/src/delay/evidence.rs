//! Whether losses come from a full queue or from a noisy link.
//!
//! A drop-tail queue loses packets only while it is full, so congestion loss comes with high
//! delay; a noisy link loses them always. Hence loss is judged by delay: what is lost while
//! the own queue is drained gives the link's own share of loss, the *baseline* `p0`; only loss
//! at high delay beyond it is congestion.

use crate::LossVerdicts;

/// Counts of packets and losses at low and at high delay, older ones fading.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    low: Count,
    /// The same from deep drains, which no queue is too short for.
    deep: Count,
    high: Count,
    /// The last few hundred packets that were not sent during a drain, whatever their delay.
    recent: Count,
    /// Mean number of losses reported together.
    burst: f64,
    baseline: f64,
    /// Largest delay above the floor, fading; seconds.
    delay_max: f64,
    last_rtt: f64,
    verdicts: LossVerdicts,
    pending: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    packets: f64,
    lost: f64,
}

/// What an acknowledgement's packets may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lesson {
    /// Nothing about the baseline: our own queue may stand.
    None,
    /// The queue was drained when they were sent.
    Drained,
    /// They were sent at no more than the rate that really arrives.
    DeeplyDrained,
}

impl Evidence {
    pub(super) fn new() -> Self {
        Self {
            low: Count::default(),
            deep: Count::default(),
            high: Count::default(),
            recent: Count::default(),
            burst: 1.0,
            baseline: 0.0,
            delay_max: 0.0,
            last_rtt: 0.0,
            verdicts: LossVerdicts::default(),
            pending: 0,
        }
    }

    /// An acknowledgement came after `rtt` seconds on a path of `floor`; with it `acked`
    /// packets and `lost` ones are accounted for. `packet_time` is the bottleneck's time for
    /// one packet.
    pub(super) fn on_ack(
        &mut self,
        (rtt, floor, packet_time): (f64, f64, f64),
        acked: f64,
        lost: u64,
        lesson: Lesson,
    ) {
        let own = (rtt - floor).max(0.0);
        let near = own.max(self.last_rtt - floor);
        self.last_rtt = rtt;
        self.delay_max = self.delay_max.max(own);
        let threshold = (0.5 * self.delay_max).max((2.0 * packet_time).min(0.004));
        let is_low = near < threshold;
        let losses = lost as f64;
        let packets = acked + losses;
        if is_low && lesson != Lesson::None {
            if lesson == Lesson::DeeplyDrained {
                self.deep.add(packets, losses, 200.0);
            }
            self.low.add(packets, losses, 600.0);
            self.learn();
        } else if !is_low {
            self.high.add(packets, losses, f64::INFINITY);
        }
        if lesson == Lesson::None {
            self.recent.add(packets, losses, 400.0);
        }
        if lost > 0 {
            self.burst += 0.1 * (losses - self.burst);
            if is_low {
                self.verdicts.wireless += lost;
            } else {
                self.verdicts.unknown += lost;
                self.pending += lost;
            }
        }
    }

    fn learn(&mut self) {
        self.baseline = self.low.lost / (self.low.packets + 4.0);
        if self.knows_clean_loss() {
            let (clean, variance) = self.clean();
            let error = (variance / self.deep.packets).sqrt();
            self.baseline = self.baseline.min(clean + 0.01 + 2.0 * error);
        }
    }

    /// Whether deep drains have shown enough packets to bound the baseline.
    pub(super) fn knows_clean_loss(&self) -> bool {
        self.deep.packets > 24.0
    }

    /// What deep drains lose, a little towards the middle, and the variance of one packet.
    fn clean(&self) -> (f64, f64) {
        let clean = (self.deep.lost + 1.0) / (self.deep.packets + 2.0);
        (clean, 2.0 * self.burst * clean * (1.0 - clean))
    }

    /// The link's own share of loss, 0..1.
    pub(super) fn baseline(&self) -> f64 {
        self.baseline
    }

    pub(super) fn delay_max(&self) -> f64 {
        self.delay_max
    }

    /// Whether more was lost at high delay than the baseline explains:
    /// `l > e + k sqrt(2 burst e (1 + n / (n_low + 10))) + c n + (60 n / (n_low + 20) + 80) / (n_low + 20)` with
    /// `e = p0 n`. The last term is the ignorance of a path without a baseline, which also needs
    /// more than a loss or two.
    fn shows_congestion(&self) -> bool {
        let Count { packets, lost } = self.high;
        if lost <= 0.0 {
            return false;
        }
        let expected = self.baseline * packets;
        let spread =
            (expected * 2.0 * self.burst * (1.0 + packets / (self.low.packets + 10.0))).sqrt();
        let sigmas = if self.baseline > 0.005 { 4.0 } else { 3.0 };
        let slack = if self.baseline > 0.003 {
            0.01 * packets
        } else {
            0.0
        };
        let ignorance =
            (packets * 60.0 / (self.low.packets + 20.0) + 80.0) / (self.low.packets + 20.0);
        lost > expected + sigmas * spread + slack + ignorance
    }

    /// As [`Self::shows_congestion`], beyond doubt: in start-up there is no baseline yet.
    pub(super) fn shows_clear_congestion(&self) -> bool {
        self.shows_congestion() && self.high.lost > (0.1 * self.high.packets).max(4.0)
    }

    /// Share of the packets that congestion takes; 0 if none shows.
    pub(super) fn congestion(&self) -> f64 {
        let at_high_delay = if self.shows_congestion() {
            self.high.share() - self.baseline
        } else {
            0.0
        };
        at_high_delay.max(self.overload()).clamp(0.0, 1.0)
    }

    /// Share of the packets lost beyond what deep drains lose, whatever the delay: a queue of
    /// a few packets overflows before its delay shows. It must exceed 2 % and three standard
    /// deviations of the difference.
    fn overload(&self) -> f64 {
        if !self.knows_clean_loss() || self.recent.packets < 60.0 {
            return 0.0;
        }
        let (clean, variance) = self.clean();
        let excess = self.recent.share() - clean;
        let variance = variance * (1.0 / self.deep.packets + 1.0 / self.recent.packets);
        if excess > 0.02 + 3.0 * variance.sqrt() {
            excess
        } else {
            0.0
        }
    }

    /// What was seen at high delay has been answered as congestion.
    pub(super) fn answer(&mut self) {
        self.verdicts.congestion += self.pending;
        self.verdicts.unknown -= self.pending.min(self.verdicts.unknown);
        self.forget_recent();
    }

    /// Nothing seen so far but the baseline counts.
    pub(super) fn forget_recent(&mut self) {
        self.recent = Count::default();
        self.forget_high();
    }

    pub(super) fn forget_high(&mut self) {
        self.pending = 0;
        self.high = Count::default();
    }

    /// A round has passed: what was seen at high delay fades.
    pub(super) fn on_round(&mut self) {
        self.delay_max *= 0.99;
        self.high.packets *= 0.5;
        self.high.lost *= 0.5;
        if self.high.lost < 0.5 {
            self.pending = 0;
        }
    }

    /// The delays of the path are not what they were.
    pub(super) fn forget_delays(&mut self) {
        self.delay_max = 0.0;
        self.last_rtt = 0.0;
        self.forget_high();
    }

    /// Losses of a path that was silent: nobody knows why.
    pub(super) fn on_unexplained(&mut self, lost: u64) {
        self.verdicts.unknown += lost;
    }

    pub(super) fn on_marked(&mut self, marks: u64) {
        self.verdicts.congestion += marks;
    }

    pub(super) fn verdicts(&self) -> LossVerdicts {
        self.verdicts
    }
}

impl Count {
    fn share(&self) -> f64 {
        self.lost / self.packets.max(1.0)
    }

    fn add(&mut self, packets: f64, lost: f64, memory: f64) {
        self.packets += packets;
        self.lost += lost;
        if self.packets > memory {
            self.packets *= 0.5;
            self.lost *= 0.5;
        }
    }
}
