//! Which figures are shown.

use crate::scenario::{Claim, Plotted, ScenarioResult};

/// A metric that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column<'a> {
    /// As [`RunResult::metric`](crate::scenario::RunResult::metric) takes it.
    pub metric: &'a str,
    /// What it is called where it is drawn; may be empty.
    pub title: &'a str,
    /// Its unit as the chart says it; may be empty.
    pub unit: &'a str,
}

/// What the charts of a scenario draw over its cases, then what its claims ask for besides;
/// the goodput if that is nothing. Metrics that no run has are left out.
#[must_use]
pub fn columns(result: &ScenarioResult) -> Vec<Column<'_>> {
    let scenario = &result.scenario;
    let mut columns: Vec<Column<'_>> = Vec::new();
    for chart in &scenario.charts {
        if let Plotted::Metric(metric) = &chart.plotted {
            push(
                &mut columns,
                Column {
                    metric,
                    title: &chart.title,
                    unit: &chart.y_label,
                },
            );
        }
    }
    for metric in scenario.claims.iter().flat_map(Claim::metrics) {
        push(&mut columns, named(metric));
    }
    if columns.is_empty() {
        columns.push(named("goodput_mbps"));
    }
    columns.retain(|column| has(result, column.metric));
    columns
}

fn push<'a>(columns: &mut Vec<Column<'a>>, column: Column<'a>) {
    if columns.iter().all(|known| known.metric != column.metric) {
        columns.push(column);
    }
}

fn named(metric: &str) -> Column<'_> {
    Column {
        metric,
        title: "",
        unit: "",
    }
}

fn has(result: &ScenarioResult, metric: &str) -> bool {
    let mut variants = result.cases.iter().flat_map(|case| &case.variants);
    variants.any(|variant| variant.runs.iter().any(|run| run.metric(metric).is_some()))
}

impl Column<'_> {
    /// For people: the title and the unit if it has them, otherwise the metric.
    #[must_use]
    pub fn heading(&self) -> String {
        match (self.title, self.unit) {
            ("", _) => self.metric.to_owned(),
            (title, "") => title.to_owned(),
            (title, unit) => format!("{title}, {unit}"),
        }
    }
}

/// A table of text, its first row and its first column being headings.
pub(super) struct Table {
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A metric: a row for each case, a column for each variant.
pub(super) fn of_metric(result: &ScenarioResult, metric: &str, variants: &[String]) -> Table {
    let shown: Vec<&str> = result
        .cases
        .iter()
        .flat_map(|case| &case.variants)
        .map(|variant| variant.name.as_str())
        .filter(|name| variants.is_empty() || variants.iter().any(|wanted| wanted == name))
        .fold(Vec::new(), |mut names, name| {
            if !names.contains(&name) {
                names.push(name);
            }
            names
        });
    let head = ["case"].iter().chain(&shown);
    let row = |(index, case): (usize, &crate::scenario::CaseResult)| {
        let cells = shown.iter().map(|name| cell(result, index, name, metric));
        [case.name.clone()].into_iter().chain(cells).collect()
    };
    Table {
        head: head.map(|name| (*name).to_owned()).collect(),
        rows: result.cases.iter().enumerate().map(row).collect(),
    }
}

/// The only case: a row for each variant, a column for each metric.
pub(super) fn of_case(result: &ScenarioResult, case: usize) -> Table {
    let columns = columns(result);
    let head = columns.iter().map(Column::heading);
    let variants = result.cases.get(case).map(|case| case.variants.as_slice());
    let row = |name: &String| {
        let cells = columns
            .iter()
            .map(|column| cell(result, case, name, column.metric));
        [name.clone()].into_iter().chain(cells).collect()
    };
    Table {
        head: ["variant".to_owned()].into_iter().chain(head).collect(),
        rows: variants
            .unwrap_or_default()
            .iter()
            .map(|variant| row(&variant.name))
            .collect(),
    }
}

fn cell(result: &ScenarioResult, case: usize, variant: &str, metric: &str) -> String {
    let summary = result.summary(case, variant, metric);
    summary.map_or_else(|| "–".to_owned(), |summary| summary.to_string())
}
