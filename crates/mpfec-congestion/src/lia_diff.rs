//! LIA that answers only losses that come with a queue (MPTCP-PNC Eq. 20 to 22).

use std::time::Instant;

use crate::differentiation::{Differentiation, queued_packets};
use crate::lia::increase;
use crate::window::Window;
use crate::{Ack, CongestionController, CongestionEvent, LossVerdicts, RttEstimator};

/// LIA with loss differentiation by queueing delay.
///
/// `diff = cwnd (1 - RTT_min / RTT)` estimates the packets that this path keeps in the queue
/// (Eq. 20). From three on a loss is congestion; up to one it is the link's noise and costs
/// nothing; between the two the verdict before stays. Congestion sets
/// `ssthresh = max(cwnd / 2, BW RTT_min)` (Eq. 21): never below the bandwidth-delay product.
#[derive(Debug)]
pub(crate) struct LiaDiff {
    window: Window,
    verdicts: LossVerdicts,
    differentiation: Differentiation,
    /// Bytes per second delivered: mean over samples that the path limited.
    bandwidth: f64,
}

impl LiaDiff {
    pub(crate) fn new(mss: u16, initial_window_packets: u64) -> Self {
        Self {
            window: Window::new(mss, initial_window_packets),
            verdicts: LossVerdicts::default(),
            differentiation: Differentiation::new(),
            bandwidth: 0.0,
        }
    }

    /// PNC Eq. 21, bytes.
    fn threshold(&self, rtt: &RttEstimator) -> f64 {
        let floor = self.bandwidth * rtt.min().as_secs_f64();
        (self.window.cwnd() / 2.0).max(floor)
    }
}

impl CongestionController for LiaDiff {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if let Some(sample) = ack.rate {
            let rate = sample.bytes_per_second as f64;
            if self.bandwidth == 0.0 {
                self.bandwidth = rate;
            } else if !sample.app_limited || rate > self.bandwidth {
                self.bandwidth += GAIN * (rate - self.bandwidth);
            }
        }
        self.window.on_ack(ack, |cwnd, mss, bytes| {
            increase(&ack.group, cwnd, mss, bytes)
        });
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent<'_>) {
        let packets = u64::from(event.packets);
        let threshold = self.threshold(event.rtt);
        if event.ecn {
            self.window.cut(event.now, event.sent_at, threshold);
            return;
        }
        let packets_queued = queued_packets(self.window.cwnd() / self.window.mss(), event.rtt);
        let is_clear = self.differentiation.judge(packets_queued);
        if self.differentiation.is_congestion() {
            self.verdicts.congestion += packets;
            self.window.cut(event.now, event.sent_at, threshold);
        } else if is_clear {
            self.verdicts.wireless += packets;
        } else {
            self.verdicts.unknown += packets;
        }
    }

    fn on_timeout(&mut self, _now: Instant, count: u32) {
        // Eq. 22, but not for the first: a lost tail is no reason to start again.
        if count == TIMEOUTS {
            self.window.time_out();
        }
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

/// Gain of the mean bandwidth per acknowledgement.
const GAIN: f64 = 0.05;
/// Unanswered probes in a row after which the window starts again.
const TIMEOUTS: u32 = 2;
