//! How many symbols get lost.

/// How a path loses symbols: a Gilbert channel, in which a run of losses begins and ends with
/// fixed probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossProcess {
    /// Share of symbols lost, from 0 to below 1.
    pub rate: f64,
    /// Mean number of losses in a row. Losses that are independent have `1 / (1 - rate)`, and
    /// less is taken for that.
    pub burst: f64,
}

impl LossProcess {
    /// Each symbol is lost on its own.
    #[must_use]
    pub const fn independent(rate: f64) -> Self {
        Self { rate, burst: 1.0 }
    }

    /// Probability that a symbol arrives after one that was lost.
    fn ends(self) -> f64 {
        (1.0 / self.burst.clamp(1.0, LONGEST)).min(1.0 - self.rate)
    }

    /// Probability that a symbol is lost after one that arrived.
    fn begins(self) -> f64 {
        self.rate * self.ends() / (1.0 - self.rate)
    }

    fn is_independent(self) -> bool {
        self.ends() >= 1.0 - self.rate
    }

    /// What each symbol of many adds to the variance of the number lost if it is lost on its own.
    fn single_variance(self) -> f64 {
        self.rate * (1.0 - self.rate)
    }

    /// How many symbols that are lost on their own each of many is worth, from 0 to 1: where one
    /// is lost the next is as well.
    pub(crate) fn weight(self) -> f64 {
        1.0 / self.dispersion().max(1.0)
    }

    /// How many times as large the variance is for the bursts.
    fn dispersion(self) -> f64 {
        let correlation = 1.0 - self.begins() - self.ends();
        (1.0 + correlation) / (1.0 - correlation)
    }
}

/// Distribution of the number of lost symbols: those on one path, the *own*, to which symbols are
/// added one by one, and those on others.
#[derive(Clone)]
pub(super) struct Losses {
    process: LossProcess,
    /// Symbols on all paths.
    pub(super) count: u32,
    mean: f64,
    variance: f64,
    /// The variance of so many single losses as there are bursts.
    spread: f64,
    is_independent: bool,
    /// Of the others, and of the own ones.
    others: Terms,
    own: Chain,
}

impl Losses {
    /// The own symbols are lost like `process`.
    pub(super) fn new(process: LossProcess) -> Self {
        Self {
            process,
            count: 0,
            mean: 0.0,
            variance: 0.0,
            spread: 0.0,
            is_independent: true,
            others: Terms::none(),
            own: Chain::new(process),
        }
    }

    /// Whether the normal approximation is close enough, and convolution dear.
    pub(super) fn is_normal(&self) -> bool {
        let is_too_wide = self.mean + 4.0 * self.variance.sqrt() > KEPT as f64;
        self.count > EXACT_SYMBOLS && (self.spread > EXACT_VARIANCE || is_too_wide)
    }

    /// Adds `count` symbols on another path.
    pub(super) fn add(&mut self, count: u32, process: LossProcess) {
        if self.count_in(count, process) {
            let useful = self.useful();
            let terms = Terms::of(count, process, useful);
            self.others.convolve(&terms, useful);
        }
    }

    /// Adds `count` own symbols.
    pub(super) fn add_own(&mut self, count: u32) {
        if self.count_in(count, self.process) {
            let useful = self.useful();
            self.own.add(count, self.process, useful);
        }
    }

    /// Whether the exact distribution has to follow.
    fn count_in(&mut self, count: u32, process: LossProcess) -> bool {
        self.count = self.count.saturating_add(count);
        if count == 0 || process.rate <= 0.0 {
            return false;
        }
        let number = f64::from(count);
        self.mean += number * process.rate;
        let (single, dispersion) = (process.single_variance(), process.dispersion());
        self.variance += number * single * dispersion;
        self.spread += number * single / dispersion;
        self.is_independent &= process.is_independent();
        !self.is_normal()
    }

    /// Entries that matter: long bursts are not as unlikely as that many single losses.
    fn useful(&self) -> usize {
        if !self.is_independent {
            return KEPT;
        }
        ((self.mean + 8.0 * self.variance.sqrt() + 12.0) as usize).min(KEPT)
    }

    /// Probability that more than `spare` are lost.
    pub(super) fn exceed(&self, spare: f64) -> f64 {
        if self.is_normal() {
            return self.exceed_with(0, spare);
        }
        let spare = spare as usize;
        // So many of the own ones at most.
        let mut at_most = [0.0; KEPT];
        let kept = self.own.len.min(spare.saturating_add(1));
        let mut sum = 0.0;
        for (i, at_most) in at_most[..kept].iter_mut().enumerate() {
            sum += self.own.arrived[i] + self.own.lost[i];
            *at_most = sum;
        }
        let others = self.others.as_slice().iter().enumerate();
        let fine = others
            .take_while(|&(lost, _)| lost <= spare)
            .map(|(lost, likely)| likely * at_most[(spare - lost).min(kept - 1)]);
        (1.0 - fine.sum::<f64>()).max(0.0)
    }

    /// The same with `count` own symbols more, under the normal distribution.
    pub(super) fn exceed_with(&self, count: u32, spare: f64) -> f64 {
        let number = f64::from(count);
        let mean = self.mean + number * self.process.rate;
        let each = self.process.single_variance() * self.process.dispersion();
        let variance = self.variance + number * each;
        let deviations = (spare + 0.5 - mean) / variance.sqrt().max(f64::MIN_POSITIVE);
        0.5 * complementary_error(deviations / std::f64::consts::SQRT_2)
    }
}

/// Probability of 0, 1, ... losses while the last symbol arrived, and while it was lost, as far as
/// kept; the rest counts as more than all kept.
#[derive(Clone)]
struct Chain {
    arrived: [f64; KEPT],
    lost: [f64; KEPT],
    /// How many entries are in use, at least one.
    len: usize,
}

impl Chain {
    fn new(process: LossProcess) -> Self {
        let (mut arrived, mut lost) = ([0.0; KEPT], [0.0; KEPT]);
        (arrived[0], lost[0]) = (1.0 - process.rate, process.rate);
        Self {
            arrived,
            lost,
            len: 1,
        }
    }

    /// Adds `count` symbols; no more than `useful` entries come into use.
    fn add(&mut self, count: u32, process: LossProcess, useful: usize) {
        // Whether the last one arrived makes no difference then.
        if count > 1 && self.len == 1 && process.is_independent() {
            let terms = Terms::binomial(count, process.rate, useful);
            self.len = terms.len;
            for (i, term) in terms.as_slice().iter().enumerate() {
                self.arrived[i] = term * (1.0 - process.rate);
                self.lost[i] = term * process.rate;
            }
            return;
        }
        let (begins, ends) = (process.begins(), process.ends());
        for _ in 0..count {
            self.len = (self.len + 1).min(useful.max(self.len));
            self.step(begins, ends);
        }
    }

    /// One symbol more.
    fn step(&mut self, begins: f64, ends: f64) {
        let (mut one_less, mut one_less_lost) = (0.0, 0.0);
        let entries = self.arrived.iter_mut().zip(&mut self.lost);
        for (arrived, lost) in entries.take(self.len) {
            let (before, before_lost) = (*arrived, *lost);
            *arrived = before * (1.0 - begins) + before_lost * ends;
            *lost = one_less * begins + one_less_lost * (1.0 - ends);
            (one_less, one_less_lost) = (before, before_lost);
        }
    }
}

/// Probability of 0, 1, ... losses, as far as kept.
#[derive(Clone)]
struct Terms {
    exact: [f64; KEPT],
    /// How many entries are in use, at least one.
    len: usize,
}

impl Terms {
    /// Of no symbols.
    fn none() -> Self {
        let mut exact = [0.0; KEPT];
        exact[0] = 1.0;
        Self { exact, len: 1 }
    }

    fn of(count: u32, process: LossProcess, useful: usize) -> Self {
        if process.is_independent() {
            return Self::binomial(count, process.rate, useful);
        }
        let mut chain = Chain::new(process);
        chain.add(count, process, useful);
        let mut exact = chain.arrived;
        for (term, lost) in exact.iter_mut().zip(&chain.lost) {
            *term += lost;
        }
        Self {
            exact,
            len: chain.len,
        }
    }

    fn binomial(count: u32, rate: f64, useful: usize) -> Self {
        let len = (count as usize + 1).min(useful);
        let mut exact = [0.0; KEPT];
        let number = f64::from(count);
        let mut probability = (number * (-rate).ln_1p()).exp();
        for (lost, term) in exact[..len].iter_mut().enumerate() {
            *term = probability;
            let lost = lost as f64;
            probability *= (number - lost) / (lost + 1.0) * rate / (1.0 - rate);
        }
        Self { exact, len }
    }

    /// Adds independent losses, of which at most `useful` entries are kept.
    fn convolve(&mut self, other: &Self, useful: usize) {
        let len = (self.len + other.len - 1).min(useful);
        let mut sum = [0.0; KEPT];
        for (i, before) in self.as_slice().iter().enumerate().take(len) {
            for (into, term) in sum[i..len].iter_mut().zip(other.as_slice()) {
                *into += before * term;
            }
        }
        *self = Self { exact: sum, len };
    }

    fn as_slice(&self) -> &[f64] {
        &self.exact[..self.len]
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

/// Bursts of more symbols than that are taken for as long.
const LONGEST: f64 = 64.0;

/// Above this many symbols the normal approximation may take over.
const EXACT_SYMBOLS: u32 = 200;

/// It does so once the distribution is wide enough to look normal.
const EXACT_VARIANCE: f64 = 9.0;

/// Terms of the exact distribution; enough for `EXACT_SYMBOLS` and for rare losses among more.
const KEPT: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    const BURSTS: LossProcess = LossProcess {
        rate: 0.1,
        burst: 4.0,
    };

    /// Probability that more than `spare` of `count` are lost, by adding up all ways to lose them.
    fn enumerated(process: LossProcess, count: u32, spare: u32) -> f64 {
        let likely = |lost_before: bool, lost: bool| match (lost_before, lost) {
            (false, true) => process.begins(),
            (false, false) => 1.0 - process.begins(),
            (true, true) => 1.0 - process.ends(),
            (true, false) => process.ends(),
        };
        let mut more = 0.0;
        for lost in 0..1u32 << count {
            if lost.count_ones() <= spare {
                continue;
            }
            let is_lost = |at: u32| lost >> at & 1 == 1;
            let first = if is_lost(0) {
                process.rate
            } else {
                1.0 - process.rate
            };
            let rest = (1..count).map(|at| likely(is_lost(at - 1), is_lost(at)));
            more += first * rest.product::<f64>();
        }
        more
    }

    #[test]
    fn bursts_are_as_likely_as_all_ways_to_lose_symbols_in_them() {
        for process in [
            BURSTS,
            LossProcess {
                burst: 1.5,
                ..BURSTS
            },
        ] {
            for spare in 0..12 {
                let want = enumerated(process, 12, spare);
                let mut own = Losses::new(process);
                own.add_own(7);
                own.add_own(5);
                let mut other = Losses::new(LossProcess::independent(0.3));
                other.add(12, process);
                for losses in [own, other] {
                    let shown = losses.exceed(f64::from(spare));
                    assert!((shown - want).abs() < 1e-12, "{spare}: {shown} {want}");
                }
            }
        }
    }

    #[test]
    fn symbols_count_in_full_where_they_are_lost_on_their_own_and_hardly_where_bursts_are_long() {
        for rate in [0.0005, 0.1, 0.5, 0.95] {
            let weight = LossProcess::independent(rate).weight();
            assert!((weight - 1.0).abs() < 1e-9, "{rate}: {weight}");
        }
        let weights = [2.0, 4.0, 8.0].map(|burst| LossProcess { rate: 0.05, burst }.weight());
        assert!(
            weights.is_sorted_by(|more, less| more > less),
            "{weights:?}"
        );
        assert!(weights[2] > 0.0 && weights[2] < 0.1, "{weights:?}");
    }

    /// 24 symbols, of which all are lost in one case in 2900 or so.
    #[test]
    fn a_burst_that_takes_nearly_all_is_not_cut_off() {
        let rare = LossProcess {
            rate: 0.005,
            burst: 8.0,
        };
        let mut own = Losses::new(rare);
        own.add_own(24);
        let mut other = Losses::new(LossProcess::independent(0.0005));
        other.add(24, rare);
        let all = rare.rate * (1.0 - rare.ends()).powi(23);
        for losses in [own, other] {
            let shown = losses.exceed(23.0);
            assert!((shown / all - 1.0).abs() < 1e-6, "{shown} {all}");
            assert!(losses.exceed(24.0) < 1e-12);
        }
    }

    #[test]
    fn bursts_of_eight_are_no_normal_distribution_among_two_hundred_symbols() {
        let mut losses = Losses::new(LossProcess {
            rate: 0.01,
            burst: 8.0,
        });
        losses.add_own(201);
        assert!(!losses.is_normal());
        // Above all for one long burst.
        let tail = losses.exceed(18.0);
        assert!((0.01..0.05).contains(&tail), "{tail}");
    }

    #[test]
    fn runs_no_longer_than_those_of_independent_losses_are_independent() {
        let mut chain = Losses::new(LossProcess {
            rate: 0.3,
            burst: 1.0 / 0.7,
        });
        (0..40).for_each(|_| chain.add_own(1));
        let mut binomial = Losses::new(LossProcess::independent(0.3));
        binomial.add_own(40);
        for spare in 0..40 {
            let spare = f64::from(spare);
            assert!((chain.exceed(spare) - binomial.exceed(spare)).abs() < 1e-9);
        }
    }

    #[test]
    fn the_normal_approximation_meets_the_exact_sum_where_they_meet() {
        for (process, near) in [(LossProcess::independent(0.1), 0.015), (BURSTS, 0.05)] {
            let mut losses = Losses::new(process);
            losses.add_own(200);
            let exact = losses.exceed(20.0);
            let normal = losses.exceed_with(0, 20.0);
            assert!((exact - normal).abs() < near, "{exact} {normal}");
        }
    }

    #[test]
    fn the_tail_of_the_normal_distribution_is_right_to_six_digits() {
        let upper = |z: f64| 0.5 * complementary_error(z / std::f64::consts::SQRT_2);
        assert!((upper(1.644_853_627) - 0.05).abs() < 1e-7);
        assert!((upper(3.090_232_306) - 0.001).abs() < 1e-8);
        assert!((upper(-1.0) - 0.841_344_746).abs() < 1e-6);
    }
}
