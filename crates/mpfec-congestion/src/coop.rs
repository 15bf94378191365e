//! Control that spares the flows of relays (UC §7.2.3): MCC-Coop, GMCC-Coop and MPAIMD.

use std::time::Instant;

use crate::coupling::Coupling;
use crate::window::Window;
use crate::{Ack, Aimd, CongestionController, CongestionEvent, Group, LossVerdicts};

/// Grows as RFC 6356 while a relay's own flows lose nothing by it (`rho <= 1`), and by
/// `1 / rho` of what one of them would where they do.
///
/// With local flows of TCP's kind this is MCC-Coop, of any AIMD kind GMCC-Coop. MPAIMD, their
/// reference, is the same without a look at `rho`.
#[derive(Debug)]
pub(crate) struct Coop {
    window: Window,
    local: Aimd,
    heeds_share: bool,
    /// The relay's latest word (`rho_r`); 1 before the first.
    rho: f64,
    verdicts: LossVerdicts,
}

impl Coop {
    /// Beside local flows of the kind `local`.
    pub(crate) fn new(mss: u16, initial_window_packets: u64, local: Aimd) -> Self {
        Self {
            window: Window::new(mss, initial_window_packets),
            local,
            heeds_share: true,
            rho: 1.0,
            verdicts: LossVerdicts::default(),
        }
    }

    /// The reference that never asks what a relay's flows need.
    pub(crate) fn heedless(self) -> Self {
        Self {
            heeds_share: false,
            ..self
        }
    }
}

/// Bytes that a window of `cwnd` bytes grows by when `bytes` are acknowledged, per packet
/// `min(a_r / w_total, alpha' / w_r)` with `a_r = alpha' a` (UC Eq. 7.15), or
/// `min(alpha' / w_r, alpha' / (rho w_r))` if `rho > 1` (UC Eq. 7.9).
fn increase(group: &Group<'_>, cwnd: f64, mss: f64, bytes: f64, alpha: f64, rho: f64) -> f64 {
    let per_window = if rho > 1.0 {
        alpha / (rho * cwnd)
    } else {
        let coupled = Coupling::of(group, cwnd);
        alpha * (coupled.aggressiveness() / coupled.total).min(1.0 / cwnd)
    };
    per_window * bytes * mss
}

impl CongestionController for Coop {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        let (alpha, rho) = (self.local.alpha(), self.rho);
        self.window.on_ack(ack, |cwnd, mss, bytes| {
            increase(&ack.group, cwnd, mss, bytes, alpha, rho)
        });
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent<'_>) {
        if !event.ecn {
            self.verdicts.congestion += u64::from(event.packets);
        }
        let left = self.window.cwnd() * self.local.beta();
        self.window.cut(event.now, event.sent_at, left);
    }

    fn on_share(&mut self, rho: f64) {
        if self.heeds_share && rho > 0.0 {
            self.rho = rho;
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
        if self.rho > 1.0 && !self.window.is_slow_start() {
            "sparing"
        } else {
            self.window.state()
        }
    }

    fn loss_verdicts(&self) -> LossVerdicts {
        self.verdicts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupling::tests::subflow;

    fn grown(alpha: f64, rho: f64) -> f64 {
        let subflows = [subflow(10, 100), subflow(20, 200)];
        let group = Group {
            subflows: &subflows,
            me: 0,
        };
        increase(&group, 10_000.0, 1000.0, 1000.0, alpha, rho)
    }

    #[test]
    fn up_to_rho_one_it_is_the_rtt_compensator() {
        for rho in [0.5, 1.0] {
            assert!((grown(1.0, rho) - 25.0).abs() < 1e-6);
            assert!((grown(0.7, rho) - 17.5).abs() < 1e-6);
        }
    }

    #[test]
    fn above_it_grows_by_a_part_of_what_a_local_flow_would() {
        // 1 / (1.25 x 10) packets, and 0.7 of it.
        assert!((grown(1.0, 1.25) - 80.0).abs() < 1e-6);
        assert!((grown(0.7, 1.25) - 56.0).abs() < 1e-6);
        assert_eq!(grown(1.0, f64::INFINITY), 0.0);
    }
}
