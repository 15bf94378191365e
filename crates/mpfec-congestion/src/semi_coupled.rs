//! SEMI-COUPLED (Couple+ Table I): growth is shared by all paths, losses are answered where
//! they happen, so that every path keeps some traffic.

use crate::Group;
use crate::coupling::Coupling;

/// Bytes that a window of `cwnd` bytes grows by when `bytes` are acknowledged: `a / w_total`
/// packets per packet.
///
/// The scheme takes all RTTs for equal (Couple+ §II-A), where a connection is as aggressive as
/// TCP on its best path with `a = max(w_t) / w_total`; the RTT Compensator is what became of it
/// for unequal ones.
pub(crate) fn increase(group: &Group<'_>, cwnd: f64, mss: f64, bytes: f64) -> f64 {
    let coupled = Coupling::of(group, cwnd);
    coupled.aggressiveness_at_equal_rtts() * mss * bytes / coupled.total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupling::tests::subflow;

    #[test]
    fn all_paths_grow_alike() {
        let subflows = [subflow(10, 100), subflow(20, 200)];
        for (me, cwnd) in [10_000.0, 20_000.0].into_iter().enumerate() {
            let group = Group {
                subflows: &subflows,
                me,
            };
            // a = 20 / 30; per packet a / 30 packets.
            let grown = increase(&group, cwnd, 1000.0, 1000.0);
            assert!((grown - 2000.0 / 90.0).abs() < 1e-9, "{grown}");
        }
    }
}
