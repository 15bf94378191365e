//! Couple+: the RTT Compensator for coded subflows, which tells congestion from what the code
//! makes up for (Couple+ §IV).

use std::time::Instant;

use crate::window::Window;
use crate::{Ack, CongestionController, CongestionEvent, LossVerdicts, lia};

/// The RTT Compensator behind a code. A loss starts a *transient state* in which a window a
/// little smaller (`twnd`) limits the rate until it is clear what the loss was:
///
/// - the code made up for it within a redundant cycle, and the path's own redundancy would
///   have: noise, the larger window counts;
/// - it did not, and the RTT is twice the smallest or more: congestion, half of the smaller
///   window counts;
/// - while undecided, the peer's receive buffer is nearly full: congestion.
///
/// Bursts of losses and timeouts are congestion at once. **Reading.** What is not made up for
/// at a low RTT gets another cycle, three in all, and is congestion then.
#[derive(Debug)]
pub(crate) struct CouplePlus {
    window: Window,
    exposure: Exposure,
    /// Packets in a redundant cycle (`DT`).
    cycle: f64,
    redundancy: Redundancy,
    transient: Option<Transient>,
    verdicts: LossVerdicts,
}

/// What tells of congestion that the code hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exposure {
    /// All of Couple+ §IV-C.
    Full,
    /// Nothing but what the code cannot make up for: MPTCP with network coding under the RTT
    /// Compensator, the reference of Couple+.
    Hidden,
}

/// Losses that the path's own redundancy has to make up for: one packet in each cycle does so
/// for one. **Reading.** Couple+ codes each subflow by itself; where one code is over several paths,
/// congestion of one must not hide behind the redundancy of the others.
#[derive(Debug, Clone, Copy, Default)]
struct Redundancy {
    /// Packets since the latest redundant one, arrived or lost.
    phase: f64,
    /// Losses not made up for.
    owed: u64,
}

impl Redundancy {
    /// Whether the redundant packet of this cycle is enough for all losses: one at most in a
    /// cycle is what a noisy link is like (Couple+ §V-A).
    fn suffices(&self) -> bool {
        self.owed <= 1
    }

    /// So many packets arrived or were lost, all in all, in cycles of `cycle` packets.
    fn advance(&mut self, packets: u32, cycle: f64) {
        self.phase += f64::from(packets);
        let redundant = (self.phase / cycle).floor();
        self.phase -= redundant * cycle;
        self.owed = self.owed.saturating_sub(redundant as u64);
    }
}

/// The cause of a loss is not known yet (Couple+ §IV-B).
#[derive(Debug, Clone, Copy)]
struct Transient {
    /// The transient window, bytes.
    window: f64,
    /// Packets sent since the first that could not be decoded, arrived or lost.
    counter: f64,
    /// Cycles that ended without a verdict.
    cycles: u32,
    /// Losses that wait for the verdict.
    pending: u64,
    /// When the newest of them was sent.
    sent_at: Instant,
}

/// What the losses of a transient state were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Wireless,
    Congestion,
}

impl CouplePlus {
    pub(crate) fn new(mss: u16, initial_window_packets: u64, exposure: Exposure) -> Self {
        Self {
            window: Window::new(mss, initial_window_packets),
            exposure,
            cycle: cycle_of(DEFAULT_REDUNDANCY),
            redundancy: Redundancy::default(),
            transient: None,
            verdicts: LossVerdicts::default(),
        }
    }

    /// Both windows, the transient one being infinite outside the transient state.
    fn smaller_window(&self) -> f64 {
        self.transient.map_or(self.window.cwnd(), |transient| {
            transient.window.min(self.window.cwnd())
        })
    }

    /// Judges the losses that wait, if that can be done now (Couple+ §IV-C).
    fn judge(&mut self, ack: &Ack<'_>) -> Option<Verdict> {
        let transient = self.transient.as_mut()?;
        let is_full = self.exposure == Exposure::Full;
        if ack.coding.undecoded == 0 && (!is_full || self.redundancy.suffices()) {
            return Some(Verdict::Wireless);
        }
        if is_full && ack.coding.receive_window_nearly_full {
            return Some(Verdict::Congestion);
        }
        if transient.counter < self.cycle {
            return None;
        }
        transient.counter = 0.0;
        transient.cycles += 1;
        let is_queued = is_full && ack.rtt.smoothed() >= 2 * ack.rtt.min();
        (is_queued || transient.cycles >= MOST_CYCLES).then_some(Verdict::Congestion)
    }

    fn settle(&mut self, now: Instant, verdict: Verdict) {
        let smaller = self.smaller_window();
        let Some(transient) = self.transient.take() else {
            return;
        };
        self.redundancy.owed = 0;
        self.verdicts.unknown -= transient.pending;
        match verdict {
            Verdict::Wireless => self.verdicts.wireless += transient.pending,
            Verdict::Congestion => {
                self.verdicts.congestion += transient.pending;
                self.window.cut(now, transient.sent_at, smaller / 2.0);
            }
        }
    }

    fn is_burst(&self, packets: u32) -> bool {
        self.exposure == Exposure::Full && packets >= BURST
    }
}

impl CongestionController for CouplePlus {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        let before = self.window.cwnd();
        self.window.on_ack(ack, |cwnd, mss, bytes| {
            lia::increase(&ack.group, cwnd, mss, bytes)
        });
        let grown = self.window.cwnd() - before;
        self.redundancy.advance(ack.packets, self.cycle);
        if let Some(transient) = &mut self.transient {
            transient.window += grown;
            transient.counter += f64::from(ack.packets);
            if let Some(verdict) = self.judge(ack) {
                self.settle(ack.now, verdict);
            }
        }
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent<'_>) {
        if event.ecn {
            let left = self.smaller_window() / 2.0;
            self.window.cut(event.now, event.sent_at, left);
            return;
        }
        let packets = u64::from(event.packets);
        if self.window.is_in_recovery(event.sent_at) {
            self.verdicts.congestion += packets;
            return;
        }
        self.redundancy.advance(event.packets, self.cycle);
        self.redundancy.owed += packets;
        let part = match self.exposure {
            Exposure::Full => TRANSIENT_PART,
            Exposure::Hidden => 1.0,
        };
        let transient = self.transient.get_or_insert(Transient {
            window: self.window.cwnd() * part,
            counter: 0.0,
            cycles: 0,
            pending: 0,
            sent_at: event.sent_at,
        });
        transient.counter += f64::from(event.packets);
        transient.pending += packets;
        transient.sent_at = transient.sent_at.max(event.sent_at);
        self.verdicts.unknown += packets;
        if self.is_burst(event.packets) {
            self.settle(event.now, Verdict::Congestion);
        }
    }

    fn on_timeout(&mut self, now: Instant, count: u32) {
        // Not for the first: a lost tail is no reason to start again.
        if count == TIMEOUTS {
            self.settle(now, Verdict::Congestion);
            self.window.time_out();
        }
    }

    fn on_persistent_congestion(&mut self, now: Instant) {
        self.settle(now, Verdict::Congestion);
        self.window.collapse();
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.window.on_mtu_update(mtu);
    }

    fn wants_coding_feedback(&self) -> bool {
        true
    }

    fn set_redundancy(&mut self, redundancy: f64) {
        self.cycle = cycle_of(redundancy);
    }

    fn cwnd(&self) -> u64 {
        (self.smaller_window() as u64).max(self.window.floor())
    }

    fn ssthresh(&self) -> Option<u64> {
        self.window.ssthresh()
    }

    fn state(&self) -> &'static str {
        if self.transient.is_some() {
            "transient"
        } else {
            self.window.state()
        }
    }

    fn loss_verdicts(&self) -> LossVerdicts {
        self.verdicts
    }
}

/// Packets in a redundant cycle, `DT = r / (r - 1)` (Couple+ §IV-C): one of them is redundant
/// if `r` packets are sent for each packet of data. Infinity without redundancy.
#[must_use]
pub fn redundant_cycle(redundancy: f64) -> f64 {
    if redundancy > 1.0 {
        redundancy / (redundancy - 1.0)
    } else {
        f64::INFINITY
    }
}

/// The cycle within bounds that a verdict can wait for.
fn cycle_of(redundancy: f64) -> f64 {
    redundant_cycle(redundancy).clamp(2.0, LONGEST_CYCLE)
}

/// `r` until it is told: one redundant packet for four.
const DEFAULT_REDUNDANCY: f64 = 1.25;
/// Without redundancy a verdict waits for so many packets.
const LONGEST_CYCLE: f64 = 101.0;
/// What of cwnd the transient window starts with: a little less.
const TRANSIENT_PART: f64 = 7.0 / 8.0;
/// Undecided cycles after which it is congestion.
const MOST_CYCLES: u32 = 3;
/// Losses found together that need no analysis: more than the reordering of three that
/// duplicate acknowledgements tell of.
const BURST: u32 = 4;
/// Unanswered probes in a row after which the window starts again.
const TIMEOUTS: u32 = 2;
