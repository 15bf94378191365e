//! Controllers for which every loss is congestion: NewReno as QUIC has it (RFC 9002 §7), leaving
//! slow start by delay (RFC 9406), and those that differ from it in how the window grows and
//! shrinks.

use std::time::Instant;

use crate::window::Window;
use crate::{Ack, CongestionController, CongestionEvent, Group, LossVerdicts};

/// Bytes that a window of `cwnd` bytes grows by when `bytes` are acknowledged in packets of
/// `mss` bytes at most.
pub(crate) type Increase = fn(group: &Group<'_>, cwnd: f64, mss: f64, bytes: f64) -> f64;

/// Bytes that remain of a window of `cwnd` bytes after a loss.
pub(crate) type Decrease = fn(group: &Group<'_>, cwnd: f64, mss: f64) -> f64;

/// Half the window at a loss, or what `decrease` leaves of it; in between it grows as
/// `increase` says.
#[derive(Debug)]
pub(crate) struct NewReno {
    window: Window,
    increase: Increase,
    decrease: Decrease,
    verdicts: LossVerdicts,
}

/// One packet more per window acknowledged (RFC 9002 §7.3.3).
pub(crate) fn increase(_group: &Group<'_>, cwnd: f64, mss: f64, bytes: f64) -> f64 {
    mss * bytes / cwnd
}

/// Half the window (RFC 9002 §7.3.2).
fn halve(_group: &Group<'_>, cwnd: f64, _mss: f64) -> f64 {
    cwnd / 2.0
}

impl NewReno {
    pub(crate) fn new(mss: u16, initial_window_packets: u64, increase: Increase) -> Self {
        Self {
            window: Window::new(mss, initial_window_packets),
            increase,
            decrease: halve,
            verdicts: LossVerdicts::default(),
        }
    }

    /// After a loss `decrease` bytes remain, which may be a single packet.
    pub(crate) fn with_decrease(self, decrease: Decrease) -> Self {
        Self {
            window: self.window.down_to_one_packet(),
            decrease,
            ..self
        }
    }
}

impl CongestionController for NewReno {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.window.on_ack(ack, |cwnd, mss, bytes| {
            (self.increase)(&ack.group, cwnd, mss, bytes)
        });
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent<'_>) {
        if !event.ecn {
            self.verdicts.congestion += u64::from(event.packets);
        }
        let left = (self.decrease)(&event.group, self.window.cwnd(), self.window.mss());
        self.window.cut(event.now, event.sent_at, left);
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
        self.window.state()
    }

    fn loss_verdicts(&self) -> LossVerdicts {
        self.verdicts
    }
}
