//! Linked increases (LIA, RFC 6356; the RTT Compensator of Couple+): all paths of a connection
//! together take no more of a shared bottleneck than one TCP flow on the best path would.

use std::time::Duration;

use crate::Group;

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
