//! A policer on the path: above some rate it drops what comes, and lets nothing wait.
//!
//! No delay tells its losses from those of a noisy link, so that what is lost would be refilled, and
//! the more is sent, the more is lost. But what passes is as regular as no chance: so many packets per
//! second, whatever is sent, where a noisy link would let through now more and now less. Then the rate
//! is limited to what passes. If the losses stay, they are the link's, and the limit goes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::HOST_NOISE;

/// What was acknowledged, as far as it tells a policer, and the limit that answers it.
#[derive(Debug, Clone, Default)]
pub(super) struct Policed {
    span: Span,
    /// The last spans in which many packets were lost.
    spans: VecDeque<Span>,
    limit: Option<Limit>,
    /// There was a limit that was none of the path: not again before then, and how long that was.
    rests_until: Option<Instant>,
    rests: Duration,
}

/// Some packets in the order in which they left.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    /// When the last packet before them left, and the last of them.
    times: Option<(Instant, Instant)>,
    acked: f64,
    lost: f64,
    /// Sum of the delays of those acknowledged above that of the empty path, seconds.
    waited: f64,
}

/// Packets per second that may leave.
#[derive(Debug, Clone, Copy)]
struct Limit {
    rate: f64,
    /// What it was at first.
    first: f64,
    /// What left earlier says nothing about it.
    since: Instant,
    /// Share of packets that the link itself loses; not known before the first span.
    own: Option<f64>,
    /// Why the limit is what passed by itself at the moment: that shows what the link loses.
    lowered: Option<Lowered>,
    /// Packets that may leave at once after a pause, which of them may now, and as of when.
    burst: f64,
    saved: f64,
    saved_at: Instant,
    /// Whether the last span used it, and lost more than the link does by itself.
    is_used: bool,
    has_lost: bool,
    /// By which part the limit is raised next.
    step: f64,
    /// Spans before that, and after the next failure.
    holds: u32,
    patience: u32,
}

/// A limit that has just been set.
#[derive(Debug, Clone, Copy)]
struct Lowered {
    /// Share of packets lost before.
    lost: f64,
    /// The limit before, if there was one.
    from: Option<f64>,
}

/// An acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acked {
    pub(super) now: Instant,
    /// When the newest packet left that it is for.
    pub(super) sent_at: Instant,
    pub(super) packets: f64,
    /// Packets found lost with it.
    pub(super) lost: f64,
    /// Seconds by which it took longer than over the empty path.
    pub(super) delay: f64,
    /// Round-trip time, seconds.
    pub(super) rtt: f64,
}

impl Span {
    fn add(&mut self, ack: &Acked) {
        let Some((first, last)) = &mut self.times else {
            self.times = Some((ack.sent_at, ack.sent_at));
            return;
        };
        if ack.sent_at < *first {
            return;
        }
        *last = (*last).max(ack.sent_at);
        self.acked += ack.packets;
        self.lost += ack.lost;
        self.waited += ack.delay * ack.packets;
    }

    fn seconds(&self) -> f64 {
        self.times
            .map_or(0.0, |(first, last)| (last - first).as_secs_f64())
    }

    fn packets(&self) -> f64 {
        self.acked + self.lost
    }

    /// Share of packets lost.
    fn share(&self) -> f64 {
        self.lost / self.packets().max(1.0)
    }

    /// By how much the packets that pass a noisy link vary, squared.
    fn chance(&self) -> f64 {
        self.acked * self.share()
    }
}

impl Policed {
    /// Packets per second that pass in the long run; `None` if there is no policer.
    pub(super) fn limit(&self) -> Option<f64> {
        self.limit.map(|limit| limit.rate)
    }

    /// The same for now; `None` as well while a burst may leave.
    pub(super) fn pace(&self) -> Option<f64> {
        let limit = self.limit.filter(|limit| limit.saved < 1.0)?;
        Some(limit.rate)
    }

    /// A packet leaves.
    pub(super) fn on_sent(&mut self, now: Instant) {
        if let Some(limit) = &mut self.limit {
            let since = now.saturating_duration_since(limit.saved_at).as_secs_f64();
            let saved = (limit.saved + limit.rate * since).min(limit.burst);
            (limit.saved, limit.saved_at) = ((saved - 1.0).max(0.0), now);
        }
    }

    /// Whether losses are those of a limit that is tried, and answered by it.
    pub(super) fn answers_losses(&self) -> bool {
        let limit = self.limit.filter(|limit| limit.own.is_some());
        limit.is_some_and(|limit| limit.is_used)
    }

    /// Packets that counted as lost have arrived: others may as well.
    pub(super) fn on_spurious_loss(&mut self) {
        (self.span, self.spans) = Default::default();
    }

    /// Whether this acknowledgement shows that there is a policer: what was lost until now says nothing
    /// about the link.
    pub(super) fn on_ack(&mut self, ack: &Acked) -> bool {
        match &mut self.limit {
            Some(limit) => {
                if ack.sent_at >= limit.since {
                    self.span.add(ack);
                }
                // A span that is to show whether losses have gone must have had some.
                let lowered = limit.lowered.map_or(0.0, |lowered| EXPECTED / lowered.lost);
                let is_full = self.span.packets() >= FEW.max(lowered);
                if is_full && self.span.seconds() >= SHORT.max(4.0 * ack.rtt) {
                    let span = std::mem::take(&mut self.span);
                    return self.follow(ack, &span);
                }
                false
            }
            None => {
                self.watch(ack);
                false
            }
        }
    }

    /// Nothing is known of the path any more.
    pub(super) fn forget(&mut self) {
        *self = Self {
            rests_until: self.rests_until,
            rests: self.rests,
            ..Self::default()
        };
    }

    /// A packet of before is `scale` packets now.
    pub(super) fn resize(&mut self, scale: f64) {
        (self.span, self.spans) = Default::default();
        if let Some(limit) = &mut self.limit {
            limit.rate *= scale;
            limit.first *= scale;
            limit.burst *= scale;
            limit.saved *= scale;
            if let Some(from) = limit.lowered.as_mut().and_then(|it| it.from.as_mut()) {
                *from *= scale;
            }
        }
    }

    fn watch(&mut self, ack: &Acked) {
        if self.rests_until.is_some_and(|until| ack.now < until) {
            return;
        }
        self.span.add(ack);
        let tells = self.span.chance() >= TELLING;
        if !tells && self.span.acked > MANY {
            // Too little is lost to matter.
            (self.span, self.spans) = Default::default();
        }
        if !tells || self.span.seconds() < SHORT {
            return;
        }
        let next = Span {
            times: self.span.times.map(|(_, last)| (last, last)),
            ..Span::default()
        };
        let span = std::mem::replace(&mut self.span, next);
        if self.spans.len() >= SPANS {
            self.spans.pop_front();
        }
        self.spans.push_back(span);
        if self.spans.len() < SPANS || !self.is_regular() {
            return;
        }
        let all = self.all();
        let rate = all.acked / self.spans.iter().map(Span::seconds).sum::<f64>();
        self.limit = Some(Limit {
            rate,
            first: rate,
            since: ack.now + Duration::from_secs_f64(ack.rtt),
            own: None,
            lowered: Some(Lowered {
                lost: all.share(),
                from: None,
            }),
            burst: 0.0,
            saved: 0.0,
            saved_at: ack.now,
            is_used: false,
            has_lost: false,
            step: STEP,
            holds: 0,
            patience: PATIENCE,
        });
        (self.span, self.spans) = Default::default();
    }

    /// All of the last spans.
    fn all(&self) -> Span {
        self.spans.iter().fold(Span::default(), |sum, span| Span {
            times: None,
            acked: sum.acked + span.acked,
            lost: sum.lost + span.lost,
            waited: sum.waited + span.waited,
        })
    }

    /// Whether the same rate has passed in all of the last spans, without a queue.
    fn is_regular(&self) -> bool {
        let all = self.all();
        let rate = all.acked / self.spans.iter().map(Span::seconds).sum::<f64>();
        let waits = all.waited / all.acked.max(1.0);
        let varies: f64 = self
            .spans
            .iter()
            .map(|span| (span.acked - rate * span.seconds()).powi(2) / span.chance())
            .sum();
        waits < HOST_NOISE.max(1.0 / rate) && varies < REGULAR * SPANS as f64
    }

    /// A span of packets has left under the limit. Whether that showed that there is a policer.
    fn follow(&mut self, ack: &Acked, span: &Span) -> bool {
        let Some(limit) = &mut self.limit else {
            return false;
        };
        limit.since = ack.now;
        let share = span.share();
        if let Some(lowered) = limit.lowered.take() {
            let was_the_rate = share < STAYS * lowered.lost;
            let own = limit.own.map_or(share, |own| own + LEARNS * (share - own));
            limit.own = Some(own);
            match lowered.from {
                _ if was_the_rate => limit.rate /= 1.0 - own.min(MOST),
                Some(before) => limit.rate = before,
                None => {
                    self.rests = (2 * self.rests).clamp(RESTS, MOST_RESTS);
                    self.rests_until = Some(ack.now + self.rests);
                    self.forget();
                    return false;
                }
            }
            let is_new = lowered.from.is_none();
            if is_new {
                limit.first = limit.rate;
                self.rests = Duration::ZERO;
            }
            return is_new;
        }
        let own = limit.own.unwrap_or(0.0);
        let spread = (own.max(LITTLE) * (1.0 - own) / span.packets()).sqrt();
        limit.is_used = span.packets() > USED * limit.rate * span.seconds();
        // What the policer had saved up may have raised the limit above what passes in the long run.
        let is_above = span.packets() > limit.first * span.seconds();
        let had_lost =
            std::mem::replace(&mut limit.has_lost, share > own + TOLERATED + 2.0 * spread);
        if limit.has_lost {
            limit.burst *= 0.5;
            limit.since = ack.now + Duration::from_secs_f64(ack.rtt);
        }
        if limit.has_lost && had_lost && (limit.is_used || is_above) {
            // Once may have been a burst of losses.
            limit.lowered = Some(Lowered {
                lost: share,
                from: Some(limit.rate),
            });
            limit.step = STEP;
            limit.holds = limit.patience;
            limit.patience = (2 * limit.patience).min(MOST_PATIENCE);
            let passed = span.acked / span.seconds().max(SHORT);
            limit.rate = passed.clamp(0.5 * limit.rate, limit.rate);
            limit.has_lost = false;
        } else if limit.has_lost {
            if !limit.is_used && !is_above && limit.burst < 1.0 {
                // Who sends less than the limit loses that for another reason.
                limit.own = Some(own + LEARNS * (share - own));
            }
        } else if limit.holds > 0 {
            limit.holds -= 1;
        } else if !limit.is_used {
            // What is saved up in pauses may pass at once.
            limit.burst = (GROWS * limit.burst + 1.0).min(MOST_BURST);
        } else {
            limit.rate *= 1.0 + limit.step;
            limit.step = (2.0 * limit.step).min(LARGEST_STEP);
            if limit.step == LARGEST_STEP {
                limit.patience = PATIENCE;
            }
        }
        let likely = LEAST * limit.first..=GONE * limit.first;
        if limit.lowered.is_none() && !likely.contains(&limit.rate) {
            self.forget();
        }
        false
    }
}

/// Spans that must be alike.
const SPANS: usize = 12;
/// What the number of packets that pass a noisy link varies by in a span, squared, at least.
const TELLING: f64 = 64.0;
/// Part of it that packets which pass a policer vary by at most.
const REGULAR: f64 = 0.12;
/// Packets of a span in which fewer than that were lost.
const MANY: f64 = 6000.0;
/// Packets and seconds of a span under a limit at least.
const FEW: f64 = 100.0;
const SHORT: f64 = 0.25;
/// Losses that a span would have had that shows whether they have gone.
const EXPECTED: f64 = 20.0;
/// Part of what was lost that stays if the link loses it.
const STAYS: f64 = 0.6;
/// Share of packets lost beyond the link's own that lowers the limit, and a link's own at least.
const TOLERATED: f64 = 0.02;
const LITTLE: f64 = 0.005;
/// A link's own share of loss at most, and what a span tells of it that is not the first.
const MOST: f64 = 0.9;
const LEARNS: f64 = 0.3;
/// Part of a limit that must have been used for it to be raised.
const USED: f64 = 0.95;
/// By which part a limit is raised at first, and at most.
const STEP: f64 = 0.01;
const LARGEST_STEP: f64 = 0.25;
/// Spans before a limit is raised that was just lowered.
const PATIENCE: u32 = 4;
const MOST_PATIENCE: u32 = 16;
/// Times what it was at first that a limit is none any more.
const LEAST: f64 = 0.5;
const GONE: f64 = 2.0;
/// By how much the packets grow that may leave at once, and how many they are at most.
const GROWS: f64 = 1.25;
const MOST_BURST: f64 = 1000.0;
/// How long a mistake is remembered.
const RESTS: Duration = Duration::from_secs(30);
const MOST_RESTS: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests;
