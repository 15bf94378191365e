//! COUPLED (Couple+ Table I): growth and losses count for the sum of all windows, so that
//! traffic leaves the more congested paths altogether.

use crate::Group;
use crate::coupling::Coupling;

/// Bytes that a window grows by when `bytes` are acknowledged: `1 / w_total` packets per
/// packet.
pub(crate) fn increase(group: &Group<'_>, cwnd: f64, mss: f64, bytes: f64) -> f64 {
    mss * bytes / Coupling::of(group, cwnd).total
}

/// Bytes that remain of a window of `cwnd` bytes after a loss: `w_t - w_total / 2`, and one
/// packet at least.
pub(crate) fn decrease(group: &Group<'_>, cwnd: f64, mss: f64) -> f64 {
    (cwnd - Coupling::of(group, cwnd).total / 2.0).max(mss)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupling::tests::subflow;

    #[test]
    fn a_loss_takes_half_of_all_windows_from_the_path_that_lost() {
        let subflows = [subflow(10, 100), subflow(20, 200)];
        let of = |me| Group {
            subflows: &subflows,
            me,
        };
        let grown = increase(&of(0), 10_000.0, 1000.0, 1000.0);
        assert!((grown - 1000.0 / 30.0).abs() < 1e-9, "{grown}");
        // 20 - 30 / 2 packets on one path; 10 - 15 is less than the packet that remains.
        assert_eq!(decrease(&of(1), 20_000.0, 1000.0), 5_000.0);
        assert_eq!(decrease(&of(0), 10_000.0, 1000.0), 1_000.0);
    }

    #[test]
    fn alone_it_is_new_reno() {
        assert_eq!(decrease(&Group::ALONE, 20_000.0, 1000.0), 10_000.0);
        assert_eq!(increase(&Group::ALONE, 20_000.0, 1000.0, 20_000.0), 1_000.0);
    }
}
