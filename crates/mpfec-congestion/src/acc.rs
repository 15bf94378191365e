//! Adaptive congestion control (UC Algorithm 3): the slowest path is held back so that data of
//! all paths arrive about when they are needed.

use std::time::{Duration, Instant};

use crate::window::Window;
use crate::{Ack, CongestionController, CongestionEvent, LossVerdicts, lia};

/// The RTT Compensator, whose window on the slowest path is divided by the ratio of the largest
/// to the smallest delay, `eta`, every two seconds while `eta` is within 1..=3.
///
/// **Reading.** The algorithm compares the start of the fastest path in one line; it means the
/// slowest one's. A ratio of 1 asks for nothing. After three cuts in a row one is left out. The
/// delay of a path is its smoothed RTT: one-way delays cannot be compared without clocks that
/// agree.
#[derive(Debug)]
pub(crate) struct Acc {
    window: Window,
    started: Instant,
    next_look: Instant,
    /// Cuts in a row (`count_j`).
    cuts: u32,
    verdicts: LossVerdicts,
}

impl Acc {
    pub(crate) fn new(mss: u16, initial_window_packets: u64, now: Instant) -> Self {
        Self {
            window: Window::new(mss, initial_window_packets),
            started: now,
            next_look: now + PERIOD,
            cuts: 0,
            verdicts: LossVerdicts::default(),
        }
    }

    /// Algorithm 3 for the path that asks.
    fn adapt(&mut self, ack: &Ack<'_>) {
        let Some(delays) = Delays::of(ack) else {
            self.cuts = 0;
            return;
        };
        let ratio = delays.ratio();
        if !delays.is_slowest || !(MIN_RATIO..=MAX_RATIO).contains(&ratio) || ratio <= 1.0 {
            self.cuts = 0;
            return;
        }
        if self.cuts >= MOST_CUTS {
            self.cuts = 0;
            return;
        }
        let age = ack.now.saturating_duration_since(self.started);
        if age > delays.longest * WARM_UP_RTTS {
            self.window.reduce(self.window.cwnd() / ratio);
            self.cuts += 1;
        }
    }
}

/// The delays of all paths that have been measured.
struct Delays {
    longest: Duration,
    shortest: Duration,
    /// The path that asks has the longest.
    is_slowest: bool,
}

impl Delays {
    /// `None` if there is nothing to compare.
    fn of(ack: &Ack<'_>) -> Option<Self> {
        let own = ack.group.subflows.get(ack.group.me)?;
        let measured = || {
            let subflows = ack.group.subflows.iter();
            subflows.filter(|subflow| subflow.delivery_rate > 0)
        };
        let longest = measured().map(|subflow| subflow.srtt).max()?;
        let shortest = measured().map(|subflow| subflow.srtt).min()?;
        (measured().count() > 1 && own.delivery_rate > 0).then_some(Self {
            longest,
            shortest,
            is_slowest: own.srtt >= longest,
        })
    }

    /// `eta`.
    fn ratio(&self) -> f64 {
        self.longest.as_secs_f64() / self.shortest.as_secs_f64().max(1e-6)
    }
}

impl CongestionController for Acc {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.window.on_ack(ack, |cwnd, mss, bytes| {
            lia::increase(&ack.group, cwnd, mss, bytes)
        });
        if ack.now >= self.next_look {
            self.next_look = ack.now + PERIOD;
            self.adapt(ack);
        }
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent<'_>) {
        if !event.ecn {
            self.verdicts.congestion += u64::from(event.packets);
        }
        self.window
            .cut(event.now, event.sent_at, self.window.cwnd() / 2.0);
    }

    fn on_persistent_congestion(&mut self, _now: Instant) {
        self.window.collapse();
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.window.on_mtu_update(mtu);
    }

    fn cwnd(&self) -> u64 {
        self.window.bytes()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.window.ssthresh()
    }

    fn state(&self) -> &'static str {
        if self.cuts > 0 {
            "held-back"
        } else {
            self.window.state()
        }
    }

    fn loss_verdicts(&self) -> LossVerdicts {
        self.verdicts
    }
}

/// Delays are compared so often (UC §5.3).
const PERIOD: Duration = Duration::from_secs(2);
/// `eta_min` and `eta_max` (UC §5.3).
const MIN_RATIO: f64 = 1.0;
const MAX_RATIO: f64 = 3.0;
/// `m`: so many cuts in a row, then one is left out (UC §5.2).
const MOST_CUTS: u32 = 3;
/// `Gamma`, in largest RTTs: what a new path has measured says little.
const WARM_UP_RTTS: u32 = 5;
