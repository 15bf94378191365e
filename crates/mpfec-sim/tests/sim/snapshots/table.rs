//! A table of a scenario: a row for each of its cases.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use mpfec_sim::scenario::{Scenario, ScenarioResult};

use super::missed::Missed;
use super::tables::TABLES;

/// A table: which figures of a scenario it has, and which of them are judged.
pub(super) struct Table {
    pub(super) scenario: &'static str,
    pub(super) columns: &'static [Column],
    pub(super) figures: &'static [Figure],
}

pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) variant: &'static str,
    pub(super) metric: &'static str,
}

/// What is judged of a row.
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) value: fn(&Row) -> f64,
    /// The least and the most that it may be; `None` if the row is not judged by it.
    pub(super) range: fn(&Row) -> Option<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) case: String,
    /// In the order of the columns.
    pub(super) values: Vec<f64>,
}

impl Table {
    pub(super) fn named(scenario: &str) -> &'static Self {
        let mut tables = TABLES.iter();
        let table = tables.find(|table| table.scenario == scenario);
        table.unwrap_or_else(|| panic!("there is no table {scenario:?}"))
    }

    fn file(&self) -> PathBuf {
        file(&format!("{}.csv", self.scenario))
    }

    /// The rows of the committed file.
    pub(super) fn committed(&self) -> Vec<Row> {
        let file = self.file();
        let text =
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(&*self.head()), "{}", file.display());
        let rows = lines.map(|line| {
            let (case, rest) = case_and_rest(line);
            let values = rest
                .split(',')
                .map(|value| value.parse().unwrap_or(f64::NAN));
            Row {
                case: case.to_owned(),
                values: values.collect(),
            }
        });
        let rows: Vec<Row> = rows.collect();
        for row in &rows {
            let is_whole = row.values.iter().all(|value| value.is_finite());
            assert!(
                is_whole && row.values.len() == self.columns.len(),
                "{row:?}"
            );
        }
        rows
    }

    pub(super) fn write(&self, rows: &[Row]) {
        let mut text = self.head() + "\n";
        for row in rows {
            text += &format!("\"{}\"", row.case);
            for value in &row.values {
                text += &format!(",{value:.3}");
            }
            text.push('\n');
        }
        fs::write(self.file(), text).expect("the tables can be written");
    }

    fn head(&self) -> String {
        let columns = self.columns.iter().map(|column| column.name);
        let names: Vec<&str> = std::iter::once("case").chain(columns).collect();
        names.join(",")
    }

    /// The rows that these results make.
    pub(super) fn of(&self, result: &ScenarioResult) -> Vec<Row> {
        let cases = result.cases.iter().map(|case| {
            let values = self.columns.iter().map(|column| {
                let summary = case.summary(column.variant, column.metric);
                let value = summary.map(|summary| summary.mean);
                rounded(column.found(&case.name, value))
            });
            Row {
                case: case.name.clone(),
                values: values.collect(),
            }
        });
        cases.collect()
    }

    /// The figures of one case, run now: means over these seeds.
    pub(super) fn run(&self, scenario: &Scenario, case: &str, seeds: &[u64]) -> Vec<f64> {
        let position = scenario.cases.iter().position(|found| found.name == case);
        let position = position.unwrap_or_else(|| panic!("there is no case {case:?}"));
        let mut runs = BTreeMap::new();
        let values = self.columns.iter().map(|column| {
            let runs = runs.entry(column.variant).or_insert_with(|| {
                let mut variants = scenario.variants.iter();
                let variant = variants.position(|variant| variant.name == column.variant);
                let variant = variant.expect("columns name variants");
                let runs = seeds.iter();
                let runs = runs.map(|&seed| scenario.run(position, variant, seed));
                runs.collect::<Vec<_>>()
            });
            let values = runs
                .iter()
                .map(|run| column.found(case, run.metric(column.metric)));
            rounded(values.sum::<f64>() / seeds.len() as f64)
        });
        values.collect()
    }
}

impl Column {
    fn found(&self, case: &str, value: Option<f64>) -> f64 {
        let Self {
            variant, metric, ..
        } = self;
        value.unwrap_or_else(|| panic!("{case}: no {metric} of {variant}"))
    }
}

impl Figure {
    /// Whether a row keeps the bound of its figure, or the one that it is listed with because it
    /// does not.
    pub(super) fn judge(&self, row: &Row, listed: Option<&Missed>) -> Result<(), String> {
        let value = (self.value)(row);
        let missed = (self.range)(row).filter(|(least, most)| !(*least..=*most).contains(&value));
        match (missed, listed) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(format!(
                "is {value:.3} and keeps its bound: list it no more"
            )),
            (Some((least, most)), None) => Err(format!("is {value:.3}, not {least} to {most}")),
            (Some(_), Some(listed)) if listed.allows(value) => Ok(()),
            (Some(_), Some(listed)) => Err(format!(
                "is {value:.3}, worse than it is listed: {}",
                listed.line()
            )),
        }
    }
}

/// As it is in the file.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

pub(super) fn file(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");
    PathBuf::from(folder).join(name)
}

/// The first field of a line, which is in quotes, and what follows it.
pub(super) fn case_and_rest(line: &str) -> (&str, &str) {
    let parts = line
        .strip_prefix('"')
        .and_then(|line| line.split_once("\","));
    parts.unwrap_or_else(|| panic!("{line:?} does not begin with a name in quotes"))
}
