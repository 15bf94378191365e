//! Whether a loss comes with a queue (MPTCP-PNC Eq. 20).

use crate::RttEstimator;

/// Packets that a window of `cwnd` packets keeps in the queue:
/// `diff = cwnd (1 - RTT_min / RTT)` (PNC Eq. 20), at least 0.
#[must_use]
pub fn queued_packets(cwnd: f64, rtt: &RttEstimator) -> f64 {
    let ratio = rtt.min().as_secs_f64() / rtt.smoothed().as_secs_f64().max(1e-6);
    cwnd * (1.0 - ratio.min(1.0))
}

/// The verdict on losses by the packets in the queue, with a memory for cases that are not
/// clear: congestion until shown otherwise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Differentiation {
    is_congestion: bool,
}

impl Differentiation {
    pub(crate) fn new() -> Self {
        Self {
            is_congestion: true,
        }
    }

    /// Judges by `queued` packets: from three on congestion, up to one the link's noise,
    /// between the two as before. Returns whether the case was clear.
    pub(crate) fn judge(&mut self, queued: f64) -> bool {
        if queued >= CONGESTION {
            self.is_congestion = true;
        } else if queued <= WIRELESS {
            self.is_congestion = false;
        }
        queued >= CONGESTION || queued <= WIRELESS
    }

    /// The latest verdict.
    pub(crate) fn is_congestion(&self) -> bool {
        self.is_congestion
    }
}

/// Packets in the queue from which a loss is congestion, and up to which it is noise.
const CONGESTION: f64 = 3.0;
const WIRELESS: f64 = 1.0;
