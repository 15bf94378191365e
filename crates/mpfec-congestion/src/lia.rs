//! Linked increases (LIA, RFC 6356; the RTT Compensator of Couple+): all paths of a connection
//! together take no more of a shared bottleneck than one TCP flow on the best path would.

use crate::Group;
use crate::coupling::Coupling;

/// Bytes that a window of `cwnd` bytes grows by when `bytes` are acknowledged (RFC 6356 §3):
/// `min(a bytes mss / cwnd_total, bytes mss / cwnd)` with
/// `a = cwnd_total max(cwnd_i / rtt_i^2) / (sum cwnd_i / rtt_i)^2`.
pub(crate) fn increase(group: &Group<'_>, cwnd: f64, mss: f64, bytes: f64) -> f64 {
    let coupled = Coupling::of(group, cwnd);
    let per_window = (coupled.aggressiveness() / coupled.total).min(1.0 / cwnd);
    per_window * bytes * mss
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupling::tests::subflow;

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
