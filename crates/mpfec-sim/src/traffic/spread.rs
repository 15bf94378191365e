//! How random times vary around their mean.

use std::time::Duration;

use crate::Rng;

/// A distribution of times.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Spread {
    /// Always the mean.
    #[default]
    Constant,
    /// Memoryless.
    Exponential,
    /// Most times are short, few are very long.
    Pareto {
        /// Above 1: the closer to 1, the more the long ones count.
        shape: f64,
    },
}

impl Spread {
    /// A time; `mean` is what they are on average.
    pub fn draw(self, mean: Duration, rng: &mut Rng) -> Duration {
        if self == Self::Constant {
            return mean;
        }
        // In 0 < u <= 1: the inverse of either distribution is finite there.
        let u = 1.0 - rng.unit();
        let factor = match self {
            Self::Constant => 1.0,
            Self::Exponential => -u.ln(),
            // The mean of a Pareto distribution from `least` on is shape / (shape - 1) x least.
            Self::Pareto { shape } => {
                let shape = shape.max(LEAST_SHAPE);
                (shape - 1.0) / shape * u.powf(-1.0 / shape)
            }
        };
        mean.mul_f64(factor.min(LONGEST))
    }
}

const LEAST_SHAPE: f64 = 1.01;

/// Times the mean: no draw is longer than that.
const LONGEST: f64 = 1000.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(spread: Spread, draws: u32) -> f64 {
        let mut rng = Rng::new(5);
        let mean = Duration::from_secs(2);
        let sum: f64 = (0..draws)
            .map(|_| spread.draw(mean, &mut rng).as_secs_f64())
            .sum();
        sum / f64::from(draws)
    }

    #[test]
    fn draws_have_the_mean_they_should() {
        assert_eq!(mean_of(Spread::Constant, 10), 2.0);
        let exponential = mean_of(Spread::Exponential, 100_000);
        assert!((exponential - 2.0).abs() < 0.03, "{exponential}");
        let pareto = mean_of(Spread::Pareto { shape: 2.5 }, 100_000);
        assert!((pareto - 2.0).abs() < 0.05, "{pareto}");
    }

    #[test]
    fn pareto_times_have_a_least_and_a_long_tail() {
        let mut rng = Rng::new(9);
        let mean = Duration::from_secs(1);
        let draws: Vec<f64> = (0..10_000)
            .map(|_| {
                Spread::Pareto { shape: 1.5 }
                    .draw(mean, &mut rng)
                    .as_secs_f64()
            })
            .collect();
        assert!(draws.iter().all(|&draw| draw >= 1.0 / 3.0));
        // P(X > x) = (least / x)^shape: 0.6 % are above ten times the mean.
        let long = draws.iter().filter(|&&draw| draw > 10.0).count();
        assert!((40..90).contains(&long), "{long}");
    }
}
