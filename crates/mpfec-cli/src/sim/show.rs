//! Scenarios and their results as tables for people.

use console::measure_text_width;
use mpfec_sim::report::{Report, columns, judged};
use mpfec_sim::scenario::{Scenario, ScenarioResult};

/// A line for each scenario.
pub(super) fn listing(scenarios: &[Scenario]) -> Vec<String> {
    let rows = scenarios.iter().map(|scenario| {
        vec![
            scenario.name.clone(),
            scenario.paper.clone(),
            scenario.summary.clone(),
        ]
    });
    aligned(&rows.collect::<Vec<_>>())
}

/// All results: a table and the claims of each scenario, and how many claims hold.
pub(super) fn results(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for result in report.results() {
        scenario(&mut lines, report, result);
        lines.push(String::new());
    }
    let tally = report.tally();
    match tally.count() {
        0 => drop(lines.pop()),
        1 => lines.push(format!("1 claim: {tally}")),
        count => lines.push(format!("{count} claims: {tally}")),
    }
    lines
}

fn scenario(lines: &mut Vec<String>, report: &Report, result: &ScenarioResult) {
    let scenario = &result.scenario;
    lines.push(match scenario.paper.as_str() {
        "" => scenario.name.clone(),
        paper => format!("{}: {paper}", scenario.name),
    });
    if !scenario.summary.is_empty() {
        lines.push(scenario.summary.clone());
    }
    let origin = report.origin();
    lines.push(match origin.runs {
        1 => format!("one run, seed {}", origin.first_seed),
        runs => format!(
            "{runs} runs from seed {}, means with 95 % confidence intervals",
            origin.first_seed
        ),
    });
    lines.push(String::new());
    lines.extend(aligned(&table(result)));
    let failures = report.failures().into_iter();
    for failure in failures.filter(|failure| failure.scenario == scenario.name) {
        lines.push(format!(
            "{}, {}, seed {} gave nothing: {}",
            failure.case, failure.variant, failure.seed, failure.reason
        ));
    }
    let judged = judged(result);
    if !judged.is_empty() {
        lines.push(String::new());
    }
    for judged in judged {
        let outcome = judged.verdict.outcome;
        lines.push(format!("{outcome:OUTCOME$}  {}", judged.claim.text));
        lines.push(format!("{:OUTCOME$}  {}", "", judged.verdict.reason));
    }
}

/// A row for each case and variant, a column for each metric.
fn table(result: &ScenarioResult) -> Vec<Vec<String>> {
    let columns = columns(result);
    // The name of the only case says nothing.
    let has_cases = result.cases.len() > 1;
    let names = ["case", "variant"]
        .into_iter()
        .skip(usize::from(!has_cases));
    let metrics = columns.iter().map(|column| column.metric);
    let mut rows = vec![names.chain(metrics).map(str::to_owned).collect::<Vec<_>>()];
    for (index, case) in result.cases.iter().enumerate() {
        for (nth, variant) in case.variants.iter().enumerate() {
            let name = if nth == 0 { case.name.as_str() } else { "" };
            let mut row: Vec<String> = has_cases.then(|| name.to_owned()).into_iter().collect();
            row.push(variant.name.clone());
            for column in &columns {
                let summary = result.summary(index, &variant.name, column.metric);
                row.push(summary.map_or_else(|| "–".to_owned(), |summary| summary.to_string()));
            }
            rows.push(row);
        }
    }
    rows
}

/// Rows with their columns below one another.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..count)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| measure_text_width(cell))
                .max()
                .unwrap_or_default()
        })
        .collect();
    rows.iter()
        .map(|row| {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let gap = width - measure_text_width(cell);
                line.push_str(cell);
                line.push_str(&" ".repeat(gap + 2));
            }
            line.trim_end().to_owned()
        })
        .collect()
}

/// Width of the longest outcome.
const OUTCOME: usize = "not reproduced".len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_below_one_another_whatever_is_in_them() {
        let rows = [["a", "8.41 ± 0.12", "x"], ["längst", "9", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows), ["a       8.41 ± 0.12  x", "längst  9"]);
    }

    #[test]
    fn every_built_in_scenario_is_listed_with_its_name_and_what_it_is() {
        let scenarios = Scenario::built_in();
        let lines = listing(&scenarios);
        assert_eq!(lines.len(), scenarios.len());
        for (line, scenario) in lines.iter().zip(&scenarios) {
            assert!(line.starts_with(&scenario.name), "{line}");
            assert!(line.ends_with(&scenario.summary), "{line}");
        }
    }
}
