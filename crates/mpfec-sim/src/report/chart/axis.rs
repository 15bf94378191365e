//! Where ticks are, and what is written at them.

/// An axis from one value to another, with ticks between them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    first: f64,
    last: f64,
    is_log: bool,
    /// Values at which there are ticks, ascending.
    pub(super) ticks: Vec<f64>,
}

impl Scale {
    /// Over all of `values`, up to a round number at each end of a linear axis. What was measured
    /// (`is_measured`), other than what was chosen, is shown with zero if that is possible, and
    /// with ticks at round numbers.
    pub(super) fn over(values: impl Iterator<Item = f64>, is_log: bool, is_measured: bool) -> Self {
        let values: Vec<f64> = values
            .filter(|value| value.is_finite() && (!is_log || *value > 0.0))
            .collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if values.is_empty() {
            return Self::linear(0.0, 1.0);
        }
        if is_log {
            let most_ticks = if is_measured { 0 } else { FEW };
            return Self::log(least, most, &values, most_ticks);
        }
        match is_measured {
            true => Self::linear(least.min(0.0), most.max(0.0)),
            false => Self::linear(least, most),
        }
    }

    fn linear(least: f64, most: f64) -> Self {
        let most = if most > least {
            most
        } else {
            // A single value, which is to have some room.
            least + least.abs().max(1.0)
        };
        let step = round_step((most - least) / STEPS);
        let first = (least / step).floor();
        let last = ((most / step) - 1e-9).ceil();
        // The bounds are within STEPS steps and two, whatever the values are.
        let count = (last - first).clamp(1.0, 2.0 * STEPS + 2.0) as usize;
        Self {
            first: first * step,
            last: last * step,
            is_log: false,
            ticks: (0..=count)
                .map(|index| (first + index as f64) * step)
                .collect(),
        }
    }

    /// Ticks are at the values themselves if these are not more than `few`: sizes of buffers are
    /// powers of two, of which a decade has none. Otherwise the axis is from one round number to
    /// another.
    fn log(least: f64, most: f64, values: &[f64], few: usize) -> Self {
        let (mut first, mut last) = if most > least {
            (least, most)
        } else {
            (least / 2.0, most * 2.0)
        };
        let mut ticks = values.to_vec();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        if ticks.len() > few {
            let decades = last.log10() - first.log10();
            let steps: &[f64] = if decades > 4.0 {
                &[1.0]
            } else {
                &[1.0, 2.0, 5.0]
            };
            let (from, to) = (first.log10().floor() as i32, last.log10().ceil() as i32);
            let round: Vec<f64> = (from..=to)
                .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
                .filter(|tick| tick.is_normal())
                .collect();
            let below = round.iter().rev().find(|tick| **tick <= first);
            let above = round.iter().find(|tick| **tick >= last);
            first = below.map_or(first, |below| first.min(*below));
            last = above.map_or(last, |above| last.max(*above));
            ticks = round;
            ticks.retain(|tick| (first..=last).contains(tick));
        }
        Self {
            first,
            last,
            is_log: true,
            ticks,
        }
    }

    /// One place for each of `count` categories.
    pub(super) fn categories(count: usize) -> Self {
        Self {
            first: -0.5,
            last: count.max(1) as f64 - 0.5,
            is_log: false,
            ticks: (0..count).map(|index| index as f64).collect(),
        }
    }

    /// Whether equal distances are equal ratios.
    pub(super) fn is_log(&self) -> bool {
        self.is_log
    }

    /// From 0 at the first value to 1 at the last.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = if self.is_log {
            (value / self.first).ln() / (self.last / self.first).ln()
        } else {
            (value - self.first) / (self.last - self.first)
        };
        share.clamp(0.0, 1.0)
    }

    /// What is written at each tick.
    pub(super) fn labels(&self) -> Vec<String> {
        if self.is_log {
            return self.ticks.iter().map(|tick| short(*tick)).collect();
        }
        let step = match self.ticks[..] {
            [first, second, ..] => second - first,
            _ => 1.0,
        };
        let most = self.first.abs().max(self.last.abs());
        let (unit, suffix) = unit_of(most);
        // As many digits as it takes to tell the ticks apart.
        let digits = (-(step / unit).log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize;
        self.ticks
            .iter()
            .map(|tick| {
                let value = tick / unit + 0.0;
                let suffix = if value == 0.0 { "" } else { suffix };
                format!("{value:.digits$}{suffix}")
            })
            .collect()
    }
}

/// Whole and with a suffix if large, otherwise with as many digits as matter.
fn short(value: f64) -> String {
    let (unit, suffix) = unit_of(value.abs());
    let rounded = format!("{:.3}", value / unit);
    let value = if value / unit >= 0.01 {
        rounded.trim_end_matches('0').trim_end_matches('.')
    } else {
        return format!("{value:e}");
    };
    format!("{value}{suffix}")
}

fn unit_of(most: f64) -> (f64, &'static str) {
    match most {
        most if most >= 2e9 => (1e9, "G"),
        most if most >= 2e6 => (1e6, "M"),
        most if most >= 2e4 => (1e3, "k"),
        _ => (1.0, ""),
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let found = steps
        .into_iter()
        .find(|round| round * power >= step * (1.0 - 1e-9));
    found.unwrap_or(10.0) * power
}

/// Steps of a linear axis, about.
const STEPS: f64 = 5.0;
/// As many values get ticks of their own on a logarithmic axis.
const FEW: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_around_all_values() {
        for (values, labels) in [
            (vec![0.3, 9.2], vec!["0", "2", "4", "6", "8", "10"]),
            (
                vec![0.01, 0.042],
                vec!["0.00", "0.01", "0.02", "0.03", "0.04", "0.05"],
            ),
            (vec![1000.0, 131_072.0], vec!["0", "50k", "100k", "150k"]),
            (vec![-3.0, 4.0], vec!["-4", "-2", "0", "2", "4"]),
            (vec![0.0], vec!["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (
                vec![f64::NAN],
                vec!["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"],
            ),
        ] {
            let scale = Scale::over(values.iter().copied(), false, true);
            assert_eq!(scale.labels(), labels, "{values:?}");
            assert!(
                values
                    .iter()
                    .all(|value| value.is_nan() || (0.0..=1.0).contains(&scale.at(*value)))
            );
        }
    }

    #[test]
    fn a_logarithmic_axis_has_its_ticks_at_few_values() {
        let scale = Scale::over([64.0, 512.0, 128.0, 256.0, -1.0].into_iter(), true, false);
        assert_eq!(scale.labels(), ["64", "128", "256", "512"]);
        assert!((scale.at(128.0) - 1.0 / 3.0).abs() < 1e-12);
        let many = Scale::over((1..=100).map(f64::from), true, false);
        assert_eq!(many.labels(), ["1", "2", "5", "10", "20", "50", "100"]);
    }

    #[test]
    fn a_logarithmic_axis_of_measurements_is_between_round_numbers() {
        let scale = Scale::over([1.9, 7.3].into_iter(), true, true);
        assert_eq!(scale.labels(), ["1", "2", "5", "10"]);
        assert_eq!((scale.at(1.0), scale.at(10.0)), (0.0, 1.0));
    }

    #[test]
    fn extreme_values_make_few_ticks() {
        for most in [1e-300, 1e-9, 1e15, 1e300, f64::MAX / 4.0] {
            for is_log in [false, true] {
                let scale = Scale::over([most / 3.0, most].into_iter(), is_log, true);
                assert!(scale.ticks.len() <= 16, "{most}: {scale:?}");
                assert!(scale.labels().iter().all(|label| label.len() < 330));
            }
        }
    }
}
