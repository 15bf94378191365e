//! Numbers as people read them.

use std::fmt;

use super::Summary;

/// A number with three significant digits, or all digits before the point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Short(pub f64);

impl Short {
    /// How many digits are behind the point.
    fn decimals(self) -> usize {
        let size = self.0.abs();
        if size >= 100.0 || size == 0.0 || !size.is_finite() {
            0
        } else {
            // Below a millionth nobody counts.
            (2 - size.log10().floor() as i32).clamp(0, 8) as usize
        }
    }
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.*}", self.decimals(), self.0)
    }
}

/// `8.41 ± 0.12`, both with the digits of the larger one; the mean alone for a single run.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 1 {
            return f.pad(&Short(self.mean).to_string());
        }
        let decimals = Short(self.mean.abs().max(self.half_width)).decimals();
        f.pad(&format!(
            "{:.decimals$} ± {:.decimals$}",
            self.mean, self.half_width
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_matter() {
        for (value, text) in [
            (0.0, "0"),
            (0.012_34, "0.0123"),
            (1.0, "1.00"),
            (58.31, "58.3"),
            (131_072.4, "131072"),
            (-2.5, "-2.50"),
            (1e-9, "0.00000000"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(Short(value).to_string(), text);
        }
    }

    #[test]
    fn mean_and_interval_have_the_same_digits() {
        let summary = Summary::of([8.2, 8.6]).expect("two values");
        assert_eq!(summary.to_string(), "8.40 ± 2.54");
        let summary = Summary::of([0.0, 0.02]).expect("two values");
        assert_eq!(summary.to_string(), "0.010 ± 0.127");
        let summary = Summary::of([123.4]).expect("one value");
        assert_eq!(format!("{summary:>6}"), "   123");
    }
}
