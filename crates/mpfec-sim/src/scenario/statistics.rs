//! A mean, and how sure it is.

/// Figures of several runs in short.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean (Student's t distribution);
    /// 0 for a single run, of which nothing is known.
    pub half_width: f64,
    /// How many runs there were; at least 1.
    pub count: usize,
    /// The smallest of them.
    pub least: f64,
    /// The largest of them.
    pub most: f64,
}

impl Summary {
    /// Of at least one value; `None` without any.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let count = values.len();
        if count == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let half_width = if count == 1 {
            0.0
        } else {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let deviation = (squares / (count - 1) as f64).sqrt();
            student_t_95(count - 1) * deviation / (count as f64).sqrt()
        };
        Some(Self {
            mean,
            half_width,
            count,
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// The value that Student's t distribution with so many degrees of freedom (at least 1)
/// exceeds, one way or the other, in 5 % of cases.
fn student_t_95(degrees: usize) -> f64 {
    if let Some(t) = degrees.checked_sub(1).and_then(|index| T_95.get(index)) {
        return *t;
    }
    // Cornish-Fisher expansion around the normal distribution (Abramowitz and Stegun 26.7.5):
    // right to 1e-5 from 31 degrees on.
    let (z, n) = (NORMAL_95, degrees as f64);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / n + second / (n * n) + third / (n * n * n)
}

const NORMAL_95: f64 = 1.959_963_985;

/// For 1 to 30 degrees of freedom.
const T_95: [f64; 30] = [
    12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004,
    2.262_157, 2.228_139, 2.200_985, 2.178_813, 2.160_369, 2.144_787, 2.131_450, 2.119_905,
    2.109_816, 2.100_922, 2.093_024, 2.085_963, 2.079_614, 2.073_873, 2.068_658, 2.063_899,
    2.059_539, 2.055_529, 2.051_831, 2.048_407, 2.045_230, 2.042_272,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_runs_have_the_interval_of_the_t_table() {
        // Mean 5.5, standard deviation 3.02765, t(9) = 2.262157.
        let summary = Summary::of((1..=10).map(f64::from)).expect("ten values");
        assert_eq!((summary.mean, summary.count), (5.5, 10));
        assert_eq!((summary.least, summary.most), (1.0, 10.0));
        assert!(
            (summary.half_width - 2.165_85).abs() < 1e-4,
            "{}",
            summary.half_width
        );
    }

    #[test]
    fn one_run_says_nothing_about_its_spread() {
        let summary = Summary::of([3.5]).expect("one value");
        assert_eq!(
            (summary.mean, summary.half_width, summary.count),
            (3.5, 0.0, 1)
        );
        assert_eq!(Summary::of([]), None);
    }

    #[test]
    fn equal_runs_are_sure() {
        let summary = Summary::of([0.25; 7]).expect("seven values");
        assert_eq!((summary.mean, summary.half_width), (0.25, 0.0));
    }

    #[test]
    fn many_degrees_of_freedom_follow_the_expansion() {
        // From the usual tables.
        for (degrees, t) in [
            (1, 12.706),
            (9, 2.262),
            (30, 2.042),
            (40, 2.0211),
            (60, 2.0003),
            (120, 1.9799),
        ] {
            assert!(
                (student_t_95(degrees) - t).abs() < 6e-4,
                "{degrees}: {}",
                student_t_95(degrees)
            );
        }
        assert!((student_t_95(1_000_000) - NORMAL_95).abs() < 1e-5);
    }
}
