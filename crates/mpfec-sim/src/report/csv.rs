//! Figures as comma-separated values (RFC 4180), a header line first.

use std::fmt::Write as _;

use super::figure::{mean_series, series_names};
use crate::scenario::{ScenarioResult, Summary};

/// A row for each case, variant and metric.
pub(super) fn figures(result: &ScenarioResult) -> String {
    let mut out = "case,x,variant,profile,metric,mean,ci95,n,least,most\n".to_owned();
    for case in &result.cases {
        for variant in &case.variants {
            let mut metrics: Vec<&String> = variant
                .runs
                .iter()
                .flat_map(|run| run.metrics.keys())
                .collect();
            metrics.sort_unstable();
            metrics.dedup();
            let known = &result.scenario.variants;
            let profile = known.iter().find(|known| known.name == variant.name);
            let profile = profile.map(|known| known.profile.to_string());
            for metric in metrics {
                let Some(summary) = case.summary(&variant.name, metric) else {
                    continue;
                };
                let x = case.x.map(|x| x.to_string()).unwrap_or_default();
                let _ = writeln!(
                    out,
                    "{},{x},{},{},{},{},{},{}",
                    field(&case.name),
                    field(&variant.name),
                    field(profile.as_deref().unwrap_or_default()),
                    field(metric),
                    mean(&summary),
                    summary.least,
                    summary.most
                );
            }
        }
    }
    out
}

/// A row for each case, variant, time series and point in time.
pub(super) fn series(result: &ScenarioResult) -> String {
    let mut out = "case,variant,series,time_s,mean,ci95,n\n".to_owned();
    for case in &result.cases {
        for variant in &case.variants {
            for name in series_names(variant) {
                for (time, summary) in mean_series(variant, name) {
                    let _ = writeln!(
                        out,
                        "{},{},{},{time},{}",
                        field(&case.name),
                        field(&variant.name),
                        field(name),
                        mean(&summary)
                    );
                }
            }
        }
    }
    out
}

fn mean(summary: &Summary) -> String {
    let ci95 = if summary.count > 1 {
        summary.half_width.to_string()
    } else {
        // Of a single run nothing is known.
        String::new()
    };
    format!("{},{ci95},{}", summary.mean, summary.count)
}

/// In quotes if it has to be.
fn field(text: &str) -> String {
    if text.contains(|letter: char| ",\"\r\n".contains(letter)) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
