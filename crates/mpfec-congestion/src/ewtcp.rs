//! EWTCP (Couple+ Table I): every path is a TCP flow of a weight, so that `n` paths over one
//! bottleneck get what one TCP flow would.

use crate::Group;
use crate::coupling::Coupling;

/// Bytes that a window of `cwnd` bytes grows by when `bytes` are acknowledged:
/// `a / w_t` packets per packet with `a = 1 / sqrt(n)`.
pub(crate) fn increase(group: &Group<'_>, cwnd: f64, mss: f64, bytes: f64) -> f64 {
    let paths = Coupling::of(group, cwnd).paths;
    mss * bytes / (cwnd * paths.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupling::tests::subflow;

    #[test]
    fn each_of_four_paths_grows_half_as_fast_as_tcp() {
        let subflows = [subflow(10, 100); 4];
        let group = Group {
            subflows: &subflows,
            me: 2,
        };
        let grown = increase(&group, 10_000.0, 1000.0, 1000.0);
        assert!((grown - 50.0).abs() < 1e-9, "{grown}");
        let alone = increase(&Group::ALONE, 10_000.0, 1000.0, 1000.0);
        assert!((alone - 100.0).abs() < 1e-9, "{alone}");
    }
}
