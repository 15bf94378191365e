//! What one acknowledgement shows, and whom it concerns.

use std::time::Duration;

use super::evidence::{Delays, Lesson};
use super::floor::Sample;
use super::policed::Acked;
use super::round::Round;
use super::stretch::Arrival;
use super::{Delay, HOST_NOISE, Mode};
use crate::Ack;

impl Delay {
    /// An acknowledgement came: what it shows goes to everybody whom it concerns.
    pub(super) fn follow_ack(&mut self, ack: &Ack<'_>) {
        self.on_answer(ack.now);
        let (latest, smoothed) = (ack.rtt.adjusted(), ack.rtt.smoothed());
        let is_filled = matches!(self.mode, Mode::Compete(_));
        let queue = if is_filled {
            self.queue_delay
        } else if self.pauses() {
            // A block of the application makes a queue that is soon gone.
            0.0
        } else {
            // What stood all the round, so far.
            self.round.delay_min().min(self.last_delay)
        };
        let sample = Sample {
            now: ack.now,
            route: ack.route,
            way_back: ack.way_back,
            rtt: latest,
            whole: ack.rtt.latest(),
            smoothed,
            queue,
            is_filled,
        };
        let is_new = self.floor.is_new_route(ack.route);
        let rise = self.floor.on_sample(&sample);
        let (held_up, back) = (self.floor.held_up(), self.floor.varies());
        self.follow_way_back(held_up);
        let latest = latest.saturating_sub(Duration::from_secs_f64(held_up.unwrap_or(0.0)));
        let delay = (rise - self.noise.least()).max(0.0);
        // What only a queue makes.
        let queued = (rise - self.noise.most()).max(0.0);
        self.last_delay = delay;
        if let Mode::Steady(steady) = &mut self.mode
            && is_new
        {
            steady.make_drain_due();
        }
        self.srtt = (smoothed.as_secs_f64() - self.held_up).max(0.0);
        if let Some(sample) = ack.rate {
            self.delivered_now = sample.bytes_per_second as f64 / self.mss;
        }
        self.departures.on_ack(ack.sent_at, queued);
        let packet_time = 1.0 / self.rate.max(1.0);
        self.passed
            .on_ack(ack.sent_at, ack.sent_at + latest, f64::from(ack.packets));
        self.stretch.on_ack(
            Arrival::new(ack.sent_at, latest, delay, ack.route),
            f64::from(ack.packets),
            HOST_NOISE.max(packet_time),
        );
        let mut losses = std::mem::take(&mut self.losses);
        // What an application always has data for is spaced evenly: found a few packets later, a
        // loss met the same queue.
        let lost_sent_at = self.lost_sent_at.take().filter(|_| self.pauses());
        let around = lost_sent_at.and_then(|sent_at| self.departures.around(sent_at));
        losses.delay = around.filter(|_| self.is_app_limited());
        let lost = losses.lost;
        let intact = self.intact + f64::from(ack.packets);
        self.intact = if lost == 0 { intact } else { 0.0 };
        self.look_for_policer(ack, rise, lost as f64);
        self.note_bursts(f64::from(ack.packets), queued, lost as f64, around);
        let lesson = self.lesson();
        let of_lost = match self.drained {
            Some(drained) if drained.is_deep && drained.is_disturbed() => Lesson::Unclear,
            Some(drained) if drained.is_deep => Lesson::DeeplyDrained,
            _ => Lesson::None,
        };
        self.evidence.set_pauses(self.pauses());
        self.evidence.set_filled(self.is_filled_by_others());
        self.evidence.on_ack(
            Delays {
                own: queued,
                least: self.drained.map_or(0.0, |drained| drained.least_delay),
                swing: self.swing(),
                packet_time,
                least_packet_time: packet_time.min(1.0 / self.rate_max.max(1.0)),
                stalled: self.stall.on_ack(ack.now, packet_time),
            },
            f64::from(ack.packets),
            losses,
            (lesson, of_lost),
        );
        self.round
            .on_ack(ack, (rise, back), self.noise.least(), lost);
        self.round.on_held_up(held_up);
        match self.mode {
            Mode::Startup(_) => {
                self.startup_on_ack(ack, delay, lost);
                if !matches!(self.mode, Mode::Startup(_)) {
                    // What is in flight was sent in start-up.
                    self.round = Round::starting(ack.now);
                }
            }
            Mode::Compete(_) => self.compete_on_ack(ack, lost),
            Mode::Steady(_) => {}
        }
        if let Some((mut round, length)) = self.round.finish(ack) {
            self.set_part(&ack.group);
            let is_full = self.fills_path(&round, length);
            round.app_limited &= !self.filled.on_round(is_full);
            round.has_paused &= self.intact >= INTACT;
            self.on_round(&round, length);
        }
        self.watch_drains(ack, packet_time);
    }

    /// Of an application that pauses, `packets` have arrived behind a queue of `queued` seconds, and `lost`
    /// have not, which left when it was that of `around`, if that is known.
    fn note_bursts(&mut self, packets: f64, queued: f64, lost: f64, around: Option<f64>) {
        // A queue that others keep full drops packets of ours at whatever pace they come.
        if !self.pauses() || matches!(self.mode, Mode::Compete(_)) {
            return;
        }
        // Of packets that arrive together, the newest has waited least, and longer if those behind
        // it are lost.
        let together = self.aggregate().unwrap_or(0.0) / self.rate.max(1.0);
        let least = (0.5 * self.evidence.delay_max())
            .max(HOST_NOISE)
            .max(0.5 * together);
        let of_lost = around.unwrap_or(queued);
        self.overruns.add(packets, 0.0, queued >= least);
        self.overruns.add(lost, lost, of_lost >= least);
    }

    /// Where a policer shows, what was lost until now says nothing about the link. The acknowledgement
    /// took `rise` seconds longer than the least.
    fn look_for_policer(&mut self, ack: &Ack<'_>, rise: f64, lost: f64) {
        let shows_policer = self.policed.on_ack(&Acked {
            now: ack.now,
            sent_at: ack.sent_at,
            packets: f64::from(ack.packets),
            lost,
            delay: rise,
            rtt: self.srtt,
        });
        if shows_policer {
            self.evidence.forget_loss();
        }
    }
}

/// Packets in a row without a loss after which a path counts as one that loses none. What others lose,
/// and whether a queue is too short for them, shows in drains, and in the window that they fill.
const INTACT: f64 = 2000.0;
