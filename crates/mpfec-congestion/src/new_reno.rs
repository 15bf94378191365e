//! NewReno as QUIC has it (RFC 9002 §7), leaving slow start by delay (RFC 9406).

use std::time::Instant;

use crate::window::Window;
use crate::{Ack, CongestionController, CongestionEvent, LossVerdicts};

/// One packet more per round trip, half the window at a loss.
#[derive(Debug)]
pub(crate) struct NewReno {
    window: Window,
    verdicts: LossVerdicts,
}

impl NewReno {
    pub(crate) fn new(mss: u16, initial_window_packets: u64) -> Self {
        Self {
            window: Window::new(mss, initial_window_packets),
            verdicts: LossVerdicts::default(),
        }
    }
}

impl CongestionController for NewReno {
    fn on_packet_sent(&mut self, _now: Instant, _bytes: u64, _in_flight: u64) {}

    fn on_ack(&mut self, ack: &Ack<'_>) {
        // RFC 9002 §7.3.3: one packet per window acknowledged.
        self.window
            .on_ack(ack, |cwnd, mss, bytes| mss * bytes / cwnd);
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent<'_>) {
        if !event.ecn {
            self.verdicts.congestion += u64::from(event.packets);
        }
        self.window
            .cut(event.now, event.sent_at, self.window.cwnd() / 2.0);
    }

    // RFC 9002 §7.5: a probe timeout says nothing about the window.
    fn on_timeout(&mut self, _now: Instant, _count: u32) {}

    fn on_return(&mut self, _now: Instant) {}

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

    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    fn state(&self) -> &'static str {
        self.window.state()
    }

    fn loss_verdicts(&self) -> LossVerdicts {
        self.verdicts
    }
}
