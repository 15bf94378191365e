//! The JSON objects of scenarios.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mpfec_sim::report::{Report, Tally, judged};
use mpfec_sim::scenario::{CaseResult, Scenario, Summary, VariantResult};
use serde::Serialize;

use crate::output::Event;
use crate::units;

/// A built-in scenario.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ScenarioReport {
    name: String,
    paper: String,
    summary: String,
    cases: Vec<String>,
    variants: Vec<String>,
    claims: Vec<String>,
}

/// A variant in a case, over all seeds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RunReport {
    scenario: String,
    paper: String,
    case: String,
    x: Option<f64>,
    variant: String,
    profile: Option<String>,
    runs: usize,
    failed: usize,
    metrics: BTreeMap<String, MetricReport>,
}

/// A figure.
#[derive(Debug, Clone, Copy, Serialize)]
struct MetricReport {
    mean: f64,
    /// Half the width of the 95 % confidence interval of the mean; unknown of a single run.
    ci95: Option<f64>,
    n: usize,
    least: f64,
    most: f64,
}

/// A run that gave nothing.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FailureReport {
    scenario: String,
    case: String,
    variant: String,
    seed: u64,
    reason: String,
}

/// What a paper says, and whether it holds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ClaimReport {
    scenario: String,
    paper: String,
    text: String,
    verdict: String,
    reason: String,
}

/// All scenarios have been run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SimulatedReport {
    ok: bool,
    scenarios: usize,
    first_seed: u64,
    runs: u32,
    claims: ClaimCounts,
    seconds: f64,
    files: Vec<String>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct ClaimCounts {
    reproduced: u32,
    partly: u32,
    not_reproduced: u32,
    not_measured: u32,
}

/// All results, scenario by scenario.
pub(super) fn events(report: &Report) -> Vec<Event> {
    let mut events = Vec::new();
    for result in report.results() {
        let scenario = &result.scenario;
        for case in &result.cases {
            for variant in &case.variants {
                events.push(Event::Run(RunReport::new(scenario, case, variant)));
            }
        }
        let failures = report.failures().into_iter();
        for failure in failures.filter(|failure| failure.scenario == scenario.name) {
            events.push(Event::Failure(FailureReport {
                scenario: failure.scenario.to_owned(),
                case: failure.case.to_owned(),
                variant: failure.variant.to_owned(),
                seed: failure.seed,
                reason: failure.reason.to_owned(),
            }));
        }
        for judged in judged(result) {
            events.push(Event::Claim(ClaimReport {
                scenario: scenario.name.clone(),
                paper: scenario.paper.clone(),
                text: judged.claim.text.clone(),
                verdict: judged.verdict.outcome.to_string(),
                reason: judged.verdict.reason,
            }));
        }
    }
    events
}

impl From<&Scenario> for ScenarioReport {
    fn from(scenario: &Scenario) -> Self {
        let names = |names: &mut dyn Iterator<Item = &String>| names.cloned().collect();
        Self {
            name: scenario.name.clone(),
            paper: scenario.paper.clone(),
            summary: scenario.summary.clone(),
            cases: names(&mut scenario.cases.iter().map(|case| &case.name)),
            variants: names(&mut scenario.variants.iter().map(|variant| &variant.name)),
            claims: names(&mut scenario.claims.iter().map(|claim| &claim.text)),
        }
    }
}

impl RunReport {
    fn new(scenario: &Scenario, case: &CaseResult, variant: &VariantResult) -> Self {
        let known = scenario.variants.iter();
        let profile = known
            .filter(|known| known.name == variant.name)
            .map(|known| known.profile.to_string())
            .next();
        let names = variant.runs.iter().flat_map(|run| run.metrics.keys());
        let metrics = names.filter_map(|name| {
            let summary = case.summary(&variant.name, name)?;
            Some((name.clone(), summary.into()))
        });
        Self {
            scenario: scenario.name.clone(),
            paper: scenario.paper.clone(),
            case: case.name.clone(),
            x: case.x,
            variant: variant.name.clone(),
            profile,
            runs: variant.runs.len(),
            failed: variant
                .runs
                .iter()
                .filter(|run| run.failure.is_some())
                .count(),
            metrics: metrics.collect(),
        }
    }
}

impl From<Summary> for MetricReport {
    fn from(summary: Summary) -> Self {
        Self {
            mean: summary.mean,
            ci95: (summary.count > 1).then_some(summary.half_width),
            n: summary.count,
            least: summary.least,
            most: summary.most,
        }
    }
}

impl SimulatedReport {
    pub(super) fn new(report: &Report, files: &[PathBuf], seconds: f64) -> Self {
        Self {
            ok: true,
            scenarios: report.results().len(),
            first_seed: report.origin().first_seed,
            runs: report.origin().runs,
            claims: report.tally().into(),
            seconds: units::rounded(seconds),
            files: files
                .iter()
                .map(|file| file.display().to_string())
                .collect(),
        }
    }
}

impl From<Tally> for ClaimCounts {
    fn from(tally: Tally) -> Self {
        Self {
            reproduced: tally.reproduced,
            partly: tally.partly,
            not_reproduced: tally.not_reproduced,
            not_measured: tally.not_measured,
        }
    }
}
