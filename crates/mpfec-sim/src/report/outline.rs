//! What a report is about, in which order.

use std::fmt;

use super::Report;
use crate::scenario::{
    Chart, Check, Claim, Outcome, PathChoice, Plotted, ScenarioResult, Variant, Verdict,
};

/// A claim and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged<'a> {
    /// The paper's sentence.
    pub claim: &'a Claim,
    /// Whether it holds, and why.
    pub verdict: Verdict,
}

/// A run that gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure<'a> {
    /// [`Scenario::name`](crate::scenario::Scenario::name).
    pub scenario: &'a str,
    /// Name of the case.
    pub case: &'a str,
    /// Name of the variant.
    pub variant: &'a str,
    /// With which it happens again.
    pub seed: u64,
    /// What the run ended with.
    pub reason: &'a str,
}

/// How many claims hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// In every case.
    pub reproduced: u32,
    /// In some cases.
    pub partly: u32,
    /// In none.
    pub not_reproduced: u32,
    /// What they are about was not run.
    pub not_measured: u32,
}

impl Tally {
    /// Of these claims.
    #[must_use]
    pub fn of(claims: &[Judged<'_>]) -> Self {
        let mut tally = Self::default();
        for judged in claims {
            *match judged.verdict.outcome {
                Outcome::Reproduced => &mut tally.reproduced,
                Outcome::Partly => &mut tally.partly,
                Outcome::NotReproduced => &mut tally.not_reproduced,
                Outcome::NotMeasured => &mut tally.not_measured,
            } += 1;
        }
        tally
    }

    /// All of them.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.reproduced + self.partly + self.not_reproduced + self.not_measured
    }

    /// Adds another one's.
    pub fn add(&mut self, other: &Self) {
        self.reproduced += other.reproduced;
        self.partly += other.partly;
        self.not_reproduced += other.not_reproduced;
        self.not_measured += other.not_measured;
    }

    /// How many there are of each outcome, those that are not in demand included.
    #[must_use]
    pub fn by_outcome(&self) -> [(Outcome, u32); 4] {
        [
            (Outcome::Reproduced, self.reproduced),
            (Outcome::Partly, self.partly),
            (Outcome::NotReproduced, self.not_reproduced),
            (Outcome::NotMeasured, self.not_measured),
        ]
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self
            .by_outcome()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(outcome, count)| format!("{count} {outcome}"))
            .collect();
        if parts.is_empty() {
            return f.write_str("no claims");
        }
        f.write_str(&parts.join(", "))
    }
}

/// Scenarios of a paper.
pub(super) struct Group<'a> {
    pub(super) paper: &'a str,
    pub(super) entries: Vec<Entry<'a>>,
}

/// A scenario.
pub(super) struct Entry<'a> {
    pub(super) result: &'a ScenarioResult,
    /// What makes it again.
    pub(super) command: Option<&'a str>,
}

impl Group<'_> {
    /// How many of the paper's claims hold.
    pub(super) fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for entry in &self.entries {
            tally.add(&Tally::of(&judged(entry.result)));
        }
        tally
    }
}

/// By paper, in the order in which papers first occur.
pub(super) fn by_paper(report: &Report) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (index, result) in report.results.iter().enumerate() {
        let paper = paper_of(&result.scenario.paper);
        let command = report.origin.commands.get(index);
        let entry = Entry {
            result,
            command: command.map(String::as_str),
        };
        match groups.iter_mut().find(|group| group.paper == paper) {
            Some(group) => group.entries.push(entry),
            None => groups.push(Group {
                paper,
                entries: vec![entry],
            }),
        }
    }
    groups
}

/// The paper without its figure: `FMTCP` of `FMTCP Fig. 8`.
fn paper_of(figure: &str) -> &str {
    figure.split_whitespace().next().unwrap_or("Our own")
}

pub(super) fn judged(result: &ScenarioResult) -> Vec<Judged<'_>> {
    let claims = result.scenario.claims.iter();
    claims
        .map(|claim| Judged {
            claim,
            verdict: claim.evaluate(result),
        })
        .collect()
}

/// The chart that a claim is beside: the first that draws what it asks for, of all the variants
/// that it is about if there is such a chart.
pub(super) fn chart_of(result: &ScenarioResult, claim: &Claim) -> Option<usize> {
    let checks = &claim.checks;
    let metrics: Vec<&str> = checks.iter().flat_map(Check::metrics).collect();
    let draws = |chart: &Chart| match &chart.plotted {
        Plotted::Metric(name) => metrics.contains(&name.as_str()),
        Plotted::Series { name, .. } => metrics.iter().any(|metric| {
            metric
                .split_once('@')
                .is_some_and(|(series, _)| series == name)
        }),
    };
    let shows_all = |chart: &Chart| {
        let mut wanted = checks.iter().flat_map(Check::variants);
        let shows = |name: &str| chart.variants.iter().any(|shown| shown == name);
        chart.variants.is_empty() || wanted.all(shows)
    };
    let charts = &result.scenario.charts;
    let position = |is_it: &dyn Fn(&Chart) -> bool| charts.iter().position(is_it);
    position(&|chart| draws(chart) && shows_all(chart)).or_else(|| position(&draws))
}

pub(super) fn failures(result: &ScenarioResult, first_seed: u64) -> Vec<Failure<'_>> {
    let mut failures = Vec::new();
    for case in &result.cases {
        for variant in &case.variants {
            for (index, run) in (0..).zip(&variant.runs) {
                if let Some(reason) = &run.failure {
                    failures.push(Failure {
                        scenario: &result.scenario.name,
                        case: &case.name,
                        variant: &variant.name,
                        seed: first_seed.wrapping_add(index),
                        reason,
                    });
                }
            }
        }
    }
    failures
}

/// What a variant is, beyond its name; nothing if that says all.
pub(super) fn described(result: &ScenarioResult, variant: &Variant) -> String {
    let mut words = Vec::new();
    let profile = variant.profile.to_string();
    // `mptcp` and `mptcp 64` speak for themselves.
    if variant.name.split_whitespace().next() != Some(profile.as_str()) {
        words.push(profile);
    }
    let index = |other: &Variant| other.name == variant.name;
    let index = result.scenario.variants.iter().position(index);
    let plan = index.and_then(|index| result.scenario.plan(0, index));
    if variant.paths == PathChoice::Best {
        words.push("over the best path alone".to_owned());
    } else if let (PathChoice::Named(paths), Some(plan)) = (&variant.paths, plan)
        && paths.len() < plan.setup.paths.len()
    {
        let names = paths.iter().filter_map(|path| plan.setup.paths.get(*path));
        let names: Vec<&str> = names.map(|path| path.name.as_str()).collect();
        words.push(format!("over {}", names.join(" and ")));
    }
    if variant.connection_per_path {
        words.push("a connection on each path".to_owned());
    }
    words.join(", ")
}

/// Counts and what is counted: `1 run`, `10 runs`.
pub(super) fn counted(count: impl Into<u64>, what: &str) -> String {
    match count.into() {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}
