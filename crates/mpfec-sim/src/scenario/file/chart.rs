//! `[[chart]]`: what the report draws.

use serde::Deserialize;

use super::place::Trouble;
use super::{case_called, check_metric, check_variant};
use crate::scenario::error::ScenarioProblem;
use crate::scenario::{Chart, ChartKind, Plotted, Scenario, metrics};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChartTable {
    title: Option<String>,
    metric: Option<String>,
    series: Option<String>,
    case: Option<String>,
    kind: Option<ChartKindName>,
    #[serde(default)]
    log_x: bool,
    #[serde(default)]
    x_label: String,
    #[serde(default)]
    y_label: String,
    #[serde(default)]
    variants: Vec<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChartKindName {
    Line,
    Bar,
}

impl ChartTable {
    pub(super) fn read(&self, scenario: &Scenario) -> Result<Chart, Trouble> {
        let (plotted, name) = match (&self.metric, &self.series) {
            (Some(metric), None) => {
                check_metric(scenario, "metric", metric)?;
                if self.case.is_some() {
                    let problem = "a metric is drawn over all cases; case is for a series";
                    return Err(Trouble::at(
                        ["case"],
                        ScenarioProblem::Other(problem.to_owned()),
                    ));
                }
                (Plotted::Metric(metric.clone()), metric)
            }
            (None, Some(series)) => {
                metrics::check_series(scenario, series)
                    .map_err(|problem| Trouble::at(["series"], problem))?;
                let name = series.clone();
                let case = match &self.case {
                    Some(case) => case_called(scenario, case)
                        .map_err(|problem| Trouble::at(["case"], problem))?,
                    None => 0,
                };
                (Plotted::Series { name, case }, series)
            }
            _ => {
                let problem = "a chart has either a metric or a series";
                return Err(Trouble::new(ScenarioProblem::Other(problem.to_owned())));
            }
        };
        for variant in &self.variants {
            check_variant(scenario, variant)
                .map_err(|problem| Trouble::at(["variants"], problem))?;
        }
        Ok(Chart {
            title: self.title.clone().unwrap_or_else(|| name.clone()),
            plotted,
            kind: match self.kind {
                None | Some(ChartKindName::Line) => ChartKind::Line,
                Some(ChartKindName::Bar) => ChartKind::Bar,
            },
            log_x: self.log_x,
            x_label: self.x_label.clone(),
            y_label: self.y_label.clone(),
            variants: self.variants.clone(),
        })
    }
}
