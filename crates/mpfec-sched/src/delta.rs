//! How likely a block is not to decode, and how many symbols make it likely enough
//! (FMTCP Eq. 4, read for several paths).
//!
//! A block decodes once `want` distinct symbols arrived. The sender knows how many are `held`
//! and how many are in flight on each path; each of those is lost on its own with the path's
//! loss rate. The number of losses is convolved exactly as long as it can be small, and taken
//! as normal with continuity correction above about 200 symbols.

/// Probability that fewer than `want` symbols are there in the end, of `held` ones and of the
/// `flights`: (symbols in flight, loss rate) per path.
#[must_use]
pub fn failure(want: u32, held: u32, flights: &[(u32, f64)]) -> f64 {
    let mut losses = Losses::new();
    for &(count, loss) in flights {
        losses.add(count, loss);
    }
    let sent = u64::from(held) + u64::from(losses.count);
    match sent.checked_sub(u64::from(want)) {
        Some(spare) => losses.exceed(spare as f64),
        None => 1.0,
    }
}

/// The fewest further symbols on a path that loses `loss` of them so that the block fails with
/// probability `target` at most. A `target` of 1 or more asks for as many as are missing if
/// nothing in flight is lost.
#[must_use]
pub fn further(want: u32, held: u32, flights: &[(u32, f64)], loss: f64, target: f64) -> u32 {
    let flying: u32 = flights.iter().map(|&(count, _)| count).sum();
    let missing = want.saturating_sub(held).saturating_sub(flying);
    if target >= 1.0 {
        return missing;
    }
    let mut losses = Losses::new();
    for &(count, loss) in flights {
        losses.add(count, loss);
    }
    losses.add(missing, loss);
    // What may be lost without harm.
    let spare = (u64::from(held) + u64::from(flying) + u64::from(missing))
        .saturating_sub(u64::from(want)) as f64;
    let mut more = 0;
    while !losses.is_normal() {
        if losses.exceed(spare + f64::from(more)) <= target {
            return missing + more;
        }
        losses.add_one(loss);
        more += 1;
    }
    let enough = |extra: u32| {
        losses
            .with(extra, loss)
            .exceed(spare + f64::from(more + extra))
            <= target
    };
    let mut step = 1;
    while !enough(step) && step < MOST_FURTHER {
        step *= 2;
    }
    let (mut low, mut high) = (0, step);
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    missing + more + low
}

/// `l*` of FMTCP Eq. 4: packets to append to a window of `window` packets so that more than
/// that many are lost with probability `target` at most.
#[must_use]
pub fn extra_packets(window: u32, loss: f64, target: f64) -> u32 {
    further(window, 0, &[], loss, target).saturating_sub(window)
}

/// Distribution of the number of lost symbols.
#[derive(Clone)]
struct Losses {
    count: u32,
    mean: f64,
    variance: f64,
    /// Probability of 0, 1, ... losses, as far as kept; the rest counts as more than all kept.
    exact: [f64; KEPT],
    /// How many entries of `exact` are in use.
    len: usize,
}

impl Losses {
    fn new() -> Self {
        let mut exact = [0.0; KEPT];
        exact[0] = 1.0;
        Self {
            count: 0,
            mean: 0.0,
            variance: 0.0,
            exact,
            len: 1,
        }
    }

    /// Whether the normal approximation is close enough, and convolution dear.
    fn is_normal(&self) -> bool {
        self.count > EXACT_SYMBOLS && self.variance > EXACT_VARIANCE
    }

    /// Adds `count` symbols that are lost with probability `loss` each.
    fn add(&mut self, count: u32, loss: f64) {
        self.count = self.count.saturating_add(count);
        if count == 0 || loss <= 0.0 {
            return;
        }
        let number = f64::from(count);
        self.mean += number * loss;
        self.variance += number * loss * (1.0 - loss);
        if self.is_normal() {
            return;
        }
        let useful = (self.mean + 8.0 * self.variance.sqrt() + 12.0) as usize;
        let terms = (count as usize + 1).min(useful).min(KEPT);
        let mut binomial = [0.0; KEPT];
        let mut probability = (number * (-loss).ln_1p()).exp();
        for (lost, term) in binomial[..terms].iter_mut().enumerate() {
            *term = probability;
            let lost = lost as f64;
            probability *= (number - lost) / (lost + 1.0) * loss / (1.0 - loss);
        }
        let len = (self.len + terms - 1).min(useful).min(KEPT);
        let mut sum = [0.0; KEPT];
        for (i, before) in self.exact[..self.len].iter().enumerate() {
            for (into, term) in sum[i.min(len)..len].iter_mut().zip(&binomial[..terms]) {
                *into += before * term;
            }
        }
        self.exact = sum;
        self.len = len;
    }

    /// Adds one symbol.
    fn add_one(&mut self, loss: f64) {
        self.count += 1;
        if loss <= 0.0 {
            return;
        }
        self.mean += loss;
        self.variance += loss * (1.0 - loss);
        self.len = (self.len + 1).min(KEPT);
        for i in (1..self.len).rev() {
            self.exact[i] = self.exact[i] * (1.0 - loss) + self.exact[i - 1] * loss;
        }
        self.exact[0] *= 1.0 - loss;
    }

    /// The moments with `count` symbols more.
    fn with(&self, count: u32, loss: f64) -> Moments {
        let number = f64::from(count);
        Moments {
            mean: self.mean + number * loss,
            variance: self.variance + number * loss * (1.0 - loss),
        }
    }

    /// Probability that more than `spare` are lost.
    fn exceed(&self, spare: f64) -> f64 {
        if self.is_normal() {
            return self.with(0, 0.0).exceed(spare);
        }
        let fine: f64 = self.exact[..self.len].iter().take(spare as usize + 1).sum();
        (1.0 - fine).max(0.0)
    }
}

#[derive(Clone, Copy)]
struct Moments {
    mean: f64,
    variance: f64,
}

impl Moments {
    /// Probability of more than `spare` under the normal distribution.
    fn exceed(self, spare: f64) -> f64 {
        let deviations = (spare + 0.5 - self.mean) / self.variance.sqrt().max(f64::MIN_POSITIVE);
        0.5 * complementary_error(deviations / std::f64::consts::SQRT_2)
    }
}

/// erfc by a Chebyshev fit with a relative error of 1.2e-7 everywhere (Numerical Recipes §6.2).
fn complementary_error(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    let fit = ERFC_FIT
        .iter()
        .rev()
        .fold(0.0, |sum, coefficient| sum * t + coefficient);
    let tail = t * (fit - x * x).exp();
    if x >= 0.0 { tail } else { 2.0 - tail }
}

const ERFC_FIT: [f64; 10] = [
    -1.265_512_23,
    1.000_023_68,
    0.374_091_96,
    0.096_784_18,
    -0.186_288_06,
    0.278_868_07,
    -1.135_203_98,
    1.488_515_87,
    -0.822_152_23,
    0.170_872_77,
];

/// Above this many symbols the normal approximation may take over.
const EXACT_SYMBOLS: u32 = 200;

/// It does so once the distribution is wide enough to look normal.
const EXACT_VARIANCE: f64 = 9.0;

/// Terms of the exact distribution; enough for `EXACT_SYMBOLS` and for rare losses among more.
const KEPT: usize = 256;

/// Where the search for more symbols gives up: no block needs as many.
const MOST_FURTHER: u32 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_symbol_in_flight_fails_as_often_as_it_is_lost() {
        assert!((failure(1, 0, &[(1, 0.3)]) - 0.3).abs() < 1e-12);
        assert!((failure(1, 0, &[(1, 0.3), (1, 0.5)]) - 0.15).abs() < 1e-12);
        assert_eq!(failure(3, 1, &[(1, 0.0)]), 1.0);
        assert_eq!(failure(3, 3, &[]), 0.0);
    }

    #[test]
    fn paths_of_equal_loss_fail_like_one_path_with_all_symbols() {
        let split = failure(40, 4, &[(20, 0.1), (11, 0.1), (12, 0.1)]);
        let whole = failure(40, 4, &[(43, 0.1)]);
        assert!((split - whole).abs() < 1e-12, "{split} {whole}");
    }

    #[test]
    fn the_normal_approximation_meets_the_exact_sum_where_they_meet() {
        let exact = failure(180, 0, &[(200, 0.1)]);
        let mut normal = Losses::new();
        normal.add(200, 0.1);
        let normal = normal.with(0, 0.0).exceed(20.0);
        assert!((exact - normal).abs() < 0.015, "{exact} {normal}");
    }

    #[test]
    fn the_answer_is_the_smallest_that_meets_the_target() {
        for (want, flights, loss) in [
            (24, vec![(20, 0.02)], 0.02),
            (64, vec![(30, 0.2), (30, 0.01)], 0.2),
            (6, vec![], 0.1),
            (300, vec![(250, 0.1)], 0.05),
            (1024, vec![(900, 0.3), (10, 0.5)], 0.5),
            (190, vec![(150, 0.05)], 0.4),
        ] {
            for target in [0.05, 1e-3] {
                let more = further(want, 0, &flights, loss, target);
                let fails = |more: u32| {
                    let mut all = flights.clone();
                    all.push((more, loss));
                    failure(want, 0, &all)
                };
                assert!(fails(more) <= target, "{want} {more} {}", fails(more));
                assert!(
                    more == 0 || fails(more - 1) > target,
                    "{want} {more} {}",
                    fails(more - 1)
                );
            }
        }
    }

    #[test]
    fn a_path_that_loses_nearly_everything_gets_a_finite_answer() {
        assert!(further(1024, 0, &[], 0.95, 1e-4) < 40_000);
    }

    #[test]
    fn the_tail_of_the_normal_distribution_is_right_to_six_digits() {
        let upper = |z: f64| 0.5 * complementary_error(z / std::f64::consts::SQRT_2);
        assert!((upper(1.644_853_627) - 0.05).abs() < 1e-7);
        assert!((upper(3.090_232_306) - 0.001).abs() < 1e-8);
        assert!((upper(-1.0) - 0.841_344_746).abs() < 1e-6);
    }
}
