//! What a paper says comes out, and whether it does.

use std::fmt;

use super::number::Short;
use super::{CaseResult, ScenarioResult};

/// A sentence of a paper, and when it counts as held.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// For people.
    pub text: String,
    /// Why it comes out as it does, where that is not the obvious; may be empty.
    pub remark: String,
    /// Cases that it is about, of those that the checks name; all of them if absent.
    pub only: Option<Condition>,
    /// All of them must hold.
    pub checks: Vec<Check>,
}

/// Which cases a claim is about, by what comes out in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// This figure,
    pub of: Figure,
    /// lies here.
    pub range: Bounds,
}

/// A question to the results, each figure in it being a mean over the seeds.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// One figure divided by another one.
    Ratio {
        /// Above the line.
        of: Figure,
        /// Below the line.
        to: Figure,
        /// Where the ratio must lie.
        range: Bounds,
        /// The cases in which it must, by position.
        cases: Vec<usize>,
    },
    /// How far a metric falls from its largest to its smallest value over the cases.
    Fall {
        /// What falls.
        metric: String,
        /// Of which variant.
        variant: String,
        /// Where the fall must lie, in percent of the largest value.
        range: Bounds,
        /// Over these cases, by position.
        cases: Vec<usize>,
    },
    /// A figure by itself.
    Bound {
        /// Which figure.
        of: Figure,
        /// Where it must lie.
        range: Bounds,
        /// The cases in which it must, by position.
        cases: Vec<usize>,
    },
    /// Variants from the best to the worst.
    Order {
        /// By this metric.
        metric: String,
        /// The best first.
        variants: Vec<String>,
        /// Whether low values are good.
        lowest_first: bool,
        /// How far the next one may be ahead nevertheless, in percent.
        slack_percent: f64,
        /// The cases in which they must be in this order, by position.
        cases: Vec<usize>,
    },
}

/// A metric of a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Its name, as [`RunResult::metric`](super::RunResult::metric) takes it.
    pub metric: String,
    /// [`Variant::name`](super::Variant::name).
    pub variant: String,
    /// In this case, by position; in each case that is asked about if absent.
    pub case: Option<usize>,
}

/// Where a value must lie; each end is included.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bounds {
    /// The least that is allowed.
    pub least: Option<f64>,
    /// The most that is allowed.
    pub most: Option<f64>,
}

/// Whether a claim holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// In a word.
    pub outcome: Outcome,
    /// The figures behind it: in how many cases it holds, and the one that is worst.
    pub reason: String,
}

/// Whether a claim holds, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Everywhere.
    Reproduced,
    /// In some cases.
    Partly,
    /// In none.
    NotReproduced,
    /// A variant that it is about was not run.
    NotMeasured,
}

impl Claim {
    /// Whether it holds for these results, and why.
    #[must_use]
    pub fn evaluate(&self, result: &ScenarioResult) -> Verdict {
        let mut findings = Vec::new();
        for check in &self.checks {
            let condition = self.only.iter().map(|only| only.of.variant.as_str());
            let missing = check.variants().into_iter().chain(condition);
            if let Some(missing) = first_missing(missing, result) {
                return Verdict {
                    outcome: Outcome::NotMeasured,
                    reason: format!("{missing} was not run"),
                };
            }
            let is_meant = |case: usize| match &self.only {
                Some(only) => only.holds(result, case),
                None => true,
            };
            check.findings(result, &is_meant, &mut findings);
        }
        let held = findings
            .iter()
            .filter(|finding| finding.margin >= 0.0)
            .count();
        let Some(worst) = findings.iter().min_by(|a, b| a.margin.total_cmp(&b.margin)) else {
            return Verdict {
                outcome: Outcome::NotMeasured,
                reason: "there is nothing to compare".to_owned(),
            };
        };
        let of = findings.len();
        let (outcome, reason) = match held {
            0 => (Outcome::NotReproduced, worst.words.clone()),
            _ if held == of => (Outcome::Reproduced, worst.words.clone()),
            _ => {
                let units = self.checks.iter().all(Check::is_per_case);
                let units = if units { "cases" } else { "comparisons" };
                let words = &worst.words;
                (
                    Outcome::Partly,
                    format!("in {held} of {of} {units}; the worst: {words}"),
                )
            }
        };
        Verdict { outcome, reason }
    }
}

/// What one comparison found.
struct Finding {
    /// How far it is from failing, relative to the bound: 0 and more if it holds.
    margin: f64,
    words: String,
}

impl Check {
    /// Names of the metrics that it asks for.
    #[must_use]
    pub fn metrics(&self) -> Vec<&str> {
        match self {
            Self::Ratio { of, to, .. } => vec![&of.metric, &to.metric],
            Self::Bound { of, .. } => vec![&of.metric],
            Self::Fall { metric, .. } | Self::Order { metric, .. } => vec![metric],
        }
    }

    fn is_per_case(&self) -> bool {
        !matches!(self, Self::Fall { .. })
    }

    /// Names of the variants that it is about.
    #[must_use]
    pub fn variants(&self) -> Vec<&str> {
        match self {
            Self::Ratio { of, to, .. } => vec![&of.variant, &to.variant],
            Self::Fall { variant, .. } => vec![variant],
            Self::Bound { of, .. } => vec![&of.variant],
            Self::Order { variants, .. } => variants.iter().map(String::as_str).collect(),
        }
    }

    fn cases(&self) -> &[usize] {
        match self {
            Self::Ratio { cases, .. }
            | Self::Fall { cases, .. }
            | Self::Bound { cases, .. }
            | Self::Order { cases, .. } => cases,
        }
    }

    fn findings(
        &self,
        result: &ScenarioResult,
        is_meant: &dyn Fn(usize) -> bool,
        findings: &mut Vec<Finding>,
    ) {
        let cases = self.cases().iter().copied();
        let cases: Vec<usize> = cases.filter(|case| is_meant(*case)).collect();
        if cases.is_empty() {
            return;
        }
        match self {
            Self::Ratio { of, to, range, .. } => findings.extend(
                cases
                    .iter()
                    .map(|&case| ratio(result, case, of, to, *range)),
            ),
            Self::Fall {
                metric,
                variant,
                range,
                ..
            } => findings.push(fall(result, &cases, metric, variant, *range)),
            Self::Bound { of, range, .. } => {
                findings.extend(cases.iter().map(|&case| bound(result, case, of, *range)));
            }
            Self::Order {
                metric,
                variants,
                lowest_first,
                slack_percent,
                ..
            } => {
                let slack = slack_percent / 100.0;
                findings.extend(
                    cases
                        .iter()
                        .map(|&case| order(result, case, metric, variants, *lowest_first, slack)),
                );
            }
        }
    }
}

fn ratio(result: &ScenarioResult, case: usize, of: &Figure, to: &Figure, range: Bounds) -> Finding {
    let place = place(result, case);
    let (Some(above), Some(below)) = (of.mean(result, case), to.mean(result, case)) else {
        return nothing(
            &place,
            if of.mean(result, case).is_none() {
                of
            } else {
                to
            },
        );
    };
    let value = above / below;
    let metric = &of.metric;
    let mut left = of.variant.clone();
    let mut right = to.variant.clone();
    if of.metric != to.metric {
        right = format!("{right} {}", to.metric);
    }
    for (words, figure) in [(&mut left, of), (&mut right, to)] {
        if let Some(case) = figure.case {
            *words = format!("{words} in {}", result.cases[case].name);
        }
    }
    Finding {
        margin: range.margin(value),
        words: format!(
            "{place}{metric} {} of {left} to {} of {right} is {}, {}",
            Short(above),
            Short(below),
            Short(value),
            range.words(value, "")
        ),
    }
}

fn fall(
    result: &ScenarioResult,
    cases: &[usize],
    metric: &str,
    variant: &str,
    range: Bounds,
) -> Finding {
    let mut best: Option<(f64, usize)> = None;
    let mut worst: Option<(f64, usize)> = None;
    for &case in cases {
        let Some(summary) = result.summary(case, variant, metric) else {
            return Finding {
                margin: f64::NEG_INFINITY,
                words: format!("{}{variant} has no {metric}", place(result, case)),
            };
        };
        if best.is_none_or(|(value, _)| summary.mean > value) {
            best = Some((summary.mean, case));
        }
        if worst.is_none_or(|(value, _)| summary.mean < value) {
            worst = Some((summary.mean, case));
        }
    }
    let (Some((best, best_case)), Some((worst, worst_case))) = (best, worst) else {
        return Finding {
            margin: f64::NEG_INFINITY,
            words: "no cases".to_owned(),
        };
    };
    let percent = 100.0 * (best - worst) / best;
    Finding {
        margin: range.margin(percent),
        words: format!(
            "{metric} of {variant} falls by {} %, from {} ({}) to {} ({}), {}",
            Short(percent),
            Short(best),
            result.cases[best_case].name,
            Short(worst),
            result.cases[worst_case].name,
            range.words(percent, " %")
        ),
    }
}

fn bound(result: &ScenarioResult, case: usize, of: &Figure, range: Bounds) -> Finding {
    let place = place(result, of.case.unwrap_or(case));
    let Some(value) = of.mean(result, case) else {
        return nothing(&place, of);
    };
    Finding {
        margin: range.margin(value),
        words: format!(
            "{place}{} of {} is {}, {}",
            of.metric,
            of.variant,
            Short(value),
            range.words(value, "")
        ),
    }
}

fn order(
    result: &ScenarioResult,
    case: usize,
    metric: &str,
    variants: &[String],
    lowest_first: bool,
    slack: f64,
) -> Finding {
    let place = place(result, case);
    let mut means = Vec::new();
    for variant in variants {
        let Some(summary) = result.summary(case, variant, metric) else {
            return Finding {
                margin: f64::NEG_INFINITY,
                words: format!("{place}{variant} has no {metric}"),
            };
        };
        means.push(summary.mean);
    }
    let margins = means.windows(2).map(|pair| {
        let (good, bad) = if lowest_first {
            (pair[1], pair[0])
        } else {
            (pair[0], pair[1])
        };
        relative(good - bad, bad) + slack
    });
    let figures: Vec<String> = variants
        .iter()
        .zip(&means)
        .map(|(variant, mean)| format!("{variant} {}", Short(*mean)))
        .collect();
    Finding {
        margin: margins.fold(f64::INFINITY, |least, margin| {
            // What cannot be compared is in no order.
            if margin.is_nan() {
                f64::NEG_INFINITY
            } else {
                least.min(margin)
            }
        }),
        words: format!("{place}{metric}: {}", figures.join(", ")),
    }
}

fn nothing(place: &str, figure: &Figure) -> Finding {
    Finding {
        margin: f64::NEG_INFINITY,
        words: format!("{place}{} has no {}", figure.variant, figure.metric),
    }
}

/// The case in front of what is said about it; nothing if there is only one.
fn place(result: &ScenarioResult, case: usize) -> String {
    if result.cases.len() == 1 {
        return String::new();
    }
    format!("{}: ", result.cases[case].name)
}

/// The first of these variants that was not run.
fn first_missing<'a>(
    mut variants: impl Iterator<Item = &'a str>,
    result: &ScenarioResult,
) -> Option<&'a str> {
    variants.find(|name| {
        let has = |case: &CaseResult| case.variants.iter().any(|found| found.name == *name);
        !result.cases.iter().all(has)
    })
}

impl Condition {
    fn holds(&self, result: &ScenarioResult, case: usize) -> bool {
        let value = self.of.mean(result, case);
        value.is_some_and(|value| self.range.margin(value) >= 0.0)
    }
}

impl Claim {
    /// Names of the metrics that it asks for.
    #[must_use]
    pub fn metrics(&self) -> Vec<&str> {
        let checks = self.checks.iter().flat_map(Check::metrics);
        let condition = self.only.iter().map(|only| only.of.metric.as_str());
        checks.chain(condition).collect()
    }
}

impl Figure {
    fn mean(&self, result: &ScenarioResult, case: usize) -> Option<f64> {
        let case = self.case.unwrap_or(case);
        Some(result.summary(case, &self.variant, &self.metric)?.mean)
    }
}

impl Bounds {
    /// How far `value` is inside, relative to the nearer bound; below 0 outside. What is not a
    /// number is outside.
    fn margin(self, value: f64) -> f64 {
        if value.is_nan() {
            return f64::NEG_INFINITY;
        }
        let above = self
            .least
            .map_or(f64::INFINITY, |least| relative(value - least, least));
        let below = self
            .most
            .map_or(f64::INFINITY, |most| relative(most - value, most));
        above.min(below)
    }

    fn words(self, value: f64, unit: &str) -> String {
        let holds = self.margin(value) >= 0.0;
        let not = if holds { "" } else { "not " };
        match (self.least, self.most) {
            (Some(least), Some(most)) => {
                format!("{not}from {} to {}{unit}", Short(least), Short(most))
            }
            (Some(least), None) => format!("{not}at least {}{unit}", Short(least)),
            (None, Some(most)) => format!("{not}at most {}{unit}", Short(most)),
            (None, None) => "whatever it is".to_owned(),
        }
    }
}

/// A difference as a share of what it is a difference to.
fn relative(difference: f64, base: f64) -> f64 {
    if difference == 0.0 {
        0.0
    } else {
        difference / base.abs().max(f64::MIN_POSITIVE)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.outcome, self.reason)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reproduced => "reproduced",
            Self::Partly => "partly",
            Self::NotReproduced => "not reproduced",
            Self::NotMeasured => "not measured",
        })
    }
}

#[cfg(test)]
mod tests;
