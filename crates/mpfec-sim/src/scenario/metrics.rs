//! What a run measures, by name.

use super::error::ScenarioProblem;
use super::file::ranked;
use super::{Plan, Scenario};

/// Metrics of every run, whatever its paths are called.
const METRICS: &[&str] = &[
    "goodput_mbps",
    "limit_percent",
    "window_limit_percent",
    "share",
    "completion_ratio",
    "completion_s",
    "completed_percent",
    "block_delay_ms.mean",
    "block_delay_ms.p50",
    "block_delay_ms.p99",
    "block_delay_ms.max",
    "block_delay_ms.jitter",
    "block_delay_ms.deviation",
    "repair_percent",
    "retransmitted_percent",
    "late_percent",
    "coefficient_percent",
    "header_overhead_percent",
    "redundant_percent",
    "overflow_percent",
    "out_of_order_bytes.mean",
    "out_of_order_bytes.max",
    "frames_complete_percent",
    "page_s",
    "parity.useful",
    "parity.useless",
];

/// Metrics of each path.
const PATH_METRICS: &[&str] = &[
    "srtt_ms.",
    "queue_ms.",
    "loss_percent.",
    "overflow_percent.",
    "parity_percent.",
    "share.",
];

/// Time series of every run.
const SERIES: &[&str] = &["goodput_mbps", "block_delay_ms"];

/// Time series of each path.
const PATH_SERIES: &[&str] = &["ratio.", "cwnd.", "srtt_ms.", "queue_ms."];

/// Whether some run of `scenario` may have a metric of that name.
pub(super) fn check_metric(scenario: &Scenario, name: &str) -> Result<(), ScenarioProblem> {
    if let Some((series, from, to)) = window(name) {
        if from >= to {
            return Err(ScenarioProblem::Other(format!(
                "{name:?} asks for the time from {from} s to {to} s"
            )));
        }
        return check_series(scenario, series);
    }
    check(scenario, "metric", name, metrics)
}

/// Whether some run of `scenario` may have a time series of that name.
pub(super) fn check_series(scenario: &Scenario, name: &str) -> Result<(), ScenarioProblem> {
    check(scenario, "time series", name, series)
}

/// `name@from-to` in its parts, times in seconds.
pub(super) fn window(name: &str) -> Option<(&str, f64, f64)> {
    let (series, window) = name.split_once('@')?;
    let (from, to) = window.split_once('-')?;
    let (from, to): (f64, f64) = (from.parse().ok()?, to.parse().ok()?);
    (from.is_finite() && to.is_finite()).then_some((series, from, to))
}

fn check(
    scenario: &Scenario,
    what: &'static str,
    name: &str,
    names: fn(&Plan) -> Vec<String>,
) -> Result<(), ScenarioProblem> {
    let plans = scenario.plans.iter().flatten();
    let mut known: Vec<String> = plans.flat_map(|plan| names(plan)).collect();
    known.sort_unstable();
    known.dedup();
    if known.iter().any(|known| known == name) {
        return Ok(());
    }
    Err(ScenarioProblem::Unknown {
        what,
        name: name.to_owned(),
        known: ranked(name, known.iter().map(String::as_str)),
    })
}

fn metrics(plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> = METRICS.iter().map(|&name| name.to_owned()).collect();
    for path in &plan.setup.paths {
        names.extend(
            PATH_METRICS
                .iter()
                .map(|metric| format!("{metric}{}", path.name)),
        );
        names.push(goodput_of("path", &path.name));
    }
    names.extend(
        plan.traffic
            .iter()
            .map(|flow| goodput_of("traffic", &flow.name)),
    );
    names.extend(
        plan.traffic
            .iter()
            .flat_map(|flow| ["lost_percent", "share"].map(|of| (&flow.name, of)))
            .map(|(name, of)| format!("traffic.{name}.{of}")),
    );
    names
}

fn series(plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> = SERIES.iter().map(|&name| name.to_owned()).collect();
    for path in &plan.setup.paths {
        names.extend(
            PATH_SERIES
                .iter()
                .map(|series| format!("{series}{}", path.name)),
        );
        names.push(goodput_of("path", &path.name));
    }
    names.extend(
        plan.traffic
            .iter()
            .map(|flow| goodput_of("traffic", &flow.name)),
    );
    names
}

/// `path.<name>.goodput_mbps`, `traffic.<name>.goodput_mbps`.
pub(super) fn goodput_of(kind: &str, name: &str) -> String {
    format!("{kind}.{name}.goodput_mbps")
}
