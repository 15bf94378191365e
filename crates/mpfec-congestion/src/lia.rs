//! Linked increases (LIA, RFC 6356; the RTT Compensator of Couple+): all paths of a connection
//! together take no more of a shared bottleneck than one TCP flow on the best path would.

use std::time::{Duration, Instant};

use crate::window::Window;
use crate::{Ack, CongestionController, CongestionEvent, Group, LossVerdicts};

/// NewReno with the coupled increase of RFC 6356 §3.
#[derive(Debug)]
pub(crate) struct Lia {
    window: Window,
    verdicts: LossVerdicts,
}

impl Lia {
    pub(crate) fn new(mss: u16, initial_window_packets: u64) -> Self {
        Self {
            window: Window::new(mss, initial_window_packets),
            verdicts: LossVerdicts::default(),
        }
    }
}

/// Bytes that a window of `cwnd` bytes grows by when `bytes` are acknowledged (RFC 6356 §3):
/// `min(a bytes mss / cwnd_total, bytes mss / cwnd)` with
/// `a = cwnd_total max(cwnd_i / rtt_i^2) / (sum cwnd_i / rtt_i)^2`.
pub(crate) fn increase(group: &Group<'_>, cwnd: f64, mss: f64, bytes: f64) -> f64 {
    let alone = bytes * mss / cwnd;
    if group.me >= group.subflows.len() {
        return alone;
    }
    let (mut best, mut rates, mut total) = (0.0_f64, 0.0, 0.0);
    for (index, subflow) in group.subflows.iter().enumerate() {
        // The group may be an ACK old; one's own window is known better.
        let window = if index == group.me {
            cwnd
        } else {
            subflow.cwnd as f64
        };
        let rtt = subflow.srtt.max(SHORTEST_RTT).as_secs_f64();
        best = best.max(window / (rtt * rtt));
        rates += window / rtt;
        total += window;
    }
    let aggressiveness = total * best / (rates * rates);
    (aggressiveness * bytes * mss / total).min(alone)
}

const SHORTEST_RTT: Duration = Duration::from_micros(1);

impl CongestionController for Lia {
    fn on_packet_sent(&mut self, _now: Instant, _bytes: u64, _in_flight: u64) {}

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.window.on_ack(ack, |cwnd, mss, bytes| {
            increase(&ack.group, cwnd, mss, bytes)
        });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Subflow;

    fn subflow(packets: u64, rtt_ms: u64) -> Subflow {
        Subflow {
            cwnd: packets * 1000,
            srtt: Duration::from_millis(rtt_ms),
            delivery_rate: 0,
            mss: 1000,
        }
    }

    #[test]
    fn two_paths_grow_as_rfc_6356_computes() {
        // w = (10, 20), RTT = (0.1, 0.2) s: a = 0.75, one packet acknowledged on path 1.
        let subflows = [subflow(10, 100), subflow(20, 200)];
        let grown = increase(
            &Group {
                subflows: &subflows,
                me: 0,
            },
            10_000.0,
            1000.0,
            1000.0,
        );
        assert!((grown - 25.0).abs() < 1e-6, "{grown}");
    }

    #[test]
    fn one_path_grows_as_new_reno() {
        let subflows = [subflow(10, 100)];
        for group in [
            Group {
                subflows: &subflows,
                me: 0,
            },
            Group::ALONE,
        ] {
            let grown = increase(&group, 10_000.0, 1000.0, 1000.0);
            assert!((grown - 100.0).abs() < 1e-6, "{grown}");
        }
    }

    #[test]
    fn the_increase_never_exceeds_that_of_a_single_flow() {
        let subflows = [subflow(2, 1), subflow(1000, 500), subflow(50, 20)];
        for (me, subflow) in subflows.iter().enumerate() {
            let cwnd = subflow.cwnd as f64;
            let grown = increase(
                &Group {
                    subflows: &subflows,
                    me,
                },
                cwnd,
                1000.0,
                1000.0,
            );
            assert!(grown <= 1e6 / cwnd + 1e-9);
        }
    }
}
