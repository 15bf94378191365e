//! What a relay that lends its link should tell the source (UC §7.2.1).

/// How much more a subflow would take of a link under standard control than what the link's
/// own flows leave unused (`rho_r`, UC Eq. 7.3):
/// `((B - sum_{l<=J} lam_l) / (K - J + 1)) / (B - sum_{l<=K} lam_l)`, where `J` of the `K`
/// local flows send less than the fair share `B / (K + 1)`.
///
/// `bandwidth` (`B`) and the sending rates of the local flows (`lam_l`, in any order) have the
/// same unit, any. Above 1 a subflow would take from the local flows. Infinity if these need
/// the whole link or more, and 1 for a link without local flows.
#[must_use]
pub fn share(bandwidth: f64, local_rates: &[f64]) -> f64 {
    let fair = bandwidth / (local_rates.len() as f64 + 1.0);
    let (mut all, mut slow, mut slow_flows) = (0.0, 0.0, 0);
    for rate in local_rates.iter().map(|rate| rate.max(0.0)) {
        all += rate;
        if rate < fair {
            slow += rate;
            slow_flows += 1;
        }
    }
    let unused = bandwidth - all;
    if unused.is_nan() || unused <= 0.0 {
        return f64::INFINITY;
    }
    (bandwidth - slow) / (local_rates.len() - slow_flows + 1) as f64 / unused
}

/// The share of a path as a relay measures it, announcement by announcement.
///
/// Eq. 7.3 makes a subflow `rho` times slower than a local flow if both lose packets at the
/// same times (UC Eq. 7.4, 7.5). Over a drop-tail queue the flow that sends more loses more
/// often, and the windows differ by less. So what the subflow really took corrects the share:
/// twice what is unused doubles it.
#[derive(Debug, Clone, Copy, Default)]
pub struct MeasuredShare {
    rho: Option<f64>,
}

impl MeasuredShare {
    /// The share to announce after a period in which the subflow took `subflow_rate` of a link
    /// as [`share`] describes it; all rates in the same unit.
    pub fn update(&mut self, bandwidth: f64, local_rates: &[f64], subflow_rate: f64) -> f64 {
        let expected = share(bandwidth, local_rates);
        if expected <= 1.0 || expected.is_infinite() {
            self.rho = None;
            return expected;
        }
        let unused = bandwidth - local_rates.iter().map(|rate| rate.max(0.0)).sum::<f64>();
        let excess = (subflow_rate / unused).clamp(LEAST_AT_ONCE, MOST_AT_ONCE);
        let rho = match self.rho {
            Some(rho) if excess.is_finite() => (rho * excess).clamp(1.0, LARGEST),
            _ => expected,
        };
        self.rho = Some(rho);
        rho
    }
}

/// Corrections are by factors within these bounds: a local flow that lost rate gets it back
/// fast, and a subflow that took less than it may is let on slowly.
const LEAST_AT_ONCE: f64 = 0.95;
const MOST_AT_ONCE: f64 = 2.0;
/// No correction makes a share larger than this: hardly any growth is left.
const LARGEST: f64 = 200.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_share_begins_with_the_expected_one_and_follows_the_excess() {
        let mut measured = MeasuredShare::default();
        assert!((measured.update(1.2, &[1.0], 0.6) - 3.0).abs() < 1e-9);
        // 0.3 where 0.2 is unused.
        assert!((measured.update(1.2, &[1.0], 0.3) - 4.5).abs() < 1e-9);
        assert!((measured.update(1.2, &[1.0], 0.1) - 4.275).abs() < 1e-9);
        for _ in 0..40 {
            assert!(measured.update(1.2, &[1.0], 9.0) <= LARGEST);
        }
        // The local flow needs less than its part again.
        assert!((measured.update(1.2, &[0.1], 9.0) - 1.0).abs() < 1e-9);
        assert!((measured.update(1.2, &[1.0], 9.0) - 3.0).abs() < 1e-9);
        assert_eq!(measured.update(1.2, &[1.2], 9.0), f64::INFINITY);
    }

    #[test]
    fn the_thesis_example_gives_one_and_a_quarter() {
        for rates in [[0.5, 1.5], [1.5, 0.5]] {
            assert!((share(3.0, &rates) - 1.25).abs() < 1e-12);
        }
    }

    #[test]
    fn links_with_one_local_flow_give_three_and_two() {
        // B = 1.2, lam = 1.0 and 0.9, which the thesis prints as 5 and 3.
        assert!((share(1.2, &[1.0]) - 3.0).abs() < 1e-9);
        assert!((share(1.2, &[0.9]) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn flows_below_their_share_lose_nothing() {
        assert!((share(1.2, &[]) - 1.0).abs() < 1e-12);
        assert!((share(1.2, &[0.1]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_link_that_its_own_flows_fill_is_not_to_be_had() {
        for rates in [[0.7, 0.6], [f64::NAN, 1.2], [f64::INFINITY, 0.1]] {
            assert_eq!(share(1.2, &rates), f64::INFINITY, "{rates:?}");
        }
        assert_eq!(share(0.0, &[]), f64::INFINITY);
    }
}
