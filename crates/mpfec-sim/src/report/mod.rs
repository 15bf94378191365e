//! Results of scenarios as files: figures as CSV, one page with charts, and Markdown.
//!
//! A [`Report`] is text and nothing else; whoever has it decides where it goes. The same
//! results and the same [`Origin`] make the same bytes.

pub mod chart;
mod csv;
mod figure;
mod html;
mod markdown;
mod outline;
mod table;

use crate::scenario::ScenarioResult;

pub use self::outline::{Failure, Judged, Tally};
pub use self::table::{Column, columns};

/// What is reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    origin: Origin,
    results: Vec<ScenarioResult>,
}

/// How results were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// What made all of them, for a shell.
    pub command: String,
    /// What makes each of them again by itself, in the order of the results.
    pub commands: Vec<String>,
    /// Of the program.
    pub version: String,
    /// The seed of the first run of each variant in each case; the next ones count on.
    pub first_seed: u64,
    /// Runs of each variant in each case.
    pub runs: u32,
}

/// A file of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile {
    /// Without a directory.
    pub name: String,
    /// All of it.
    pub text: String,
}

impl Report {
    /// Of these results.
    #[must_use]
    pub fn new(origin: Origin, results: Vec<ScenarioResult>) -> Self {
        Self { origin, results }
    }

    /// What is reported.
    #[must_use]
    pub fn results(&self) -> &[ScenarioResult] {
        &self.results
    }

    /// How the results were made.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Names of the files that [`files`](Self::files) makes of scenarios of these names. Those of
    /// two scenarios differ unless the scenarios' names do not, or one ends in `.series`.
    #[must_use]
    pub fn file_names<'a>(scenarios: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut names = vec![PAGE.to_owned(), MARKDOWN.to_owned()];
        for scenario in scenarios {
            names.push(figures_name(scenario));
            names.push(series_name(scenario));
        }
        names
    }

    /// All files: the page, the Markdown, and two tables for each scenario.
    #[must_use]
    pub fn files(&self) -> Vec<ReportFile> {
        let mut files = vec![
            ReportFile {
                name: PAGE.to_owned(),
                text: self.html(),
            },
            ReportFile {
                name: MARKDOWN.to_owned(),
                text: self.markdown(),
            },
        ];
        for result in &self.results {
            let scenario = &result.scenario.name;
            files.push(ReportFile {
                name: figures_name(scenario),
                text: csv::figures(result),
            });
            files.push(ReportFile {
                name: series_name(scenario),
                text: csv::series(result),
            });
        }
        files
    }

    /// The page: one file that needs nothing else, with a chart and the paper's claim for each
    /// figure.
    #[must_use]
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// Claims and tables for the project's documentation.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::document(self)
    }

    /// Runs without a result, in the order of the results.
    #[must_use]
    pub fn failures(&self) -> Vec<Failure<'_>> {
        let failures = |result| outline::failures(result, self.origin.first_seed);
        self.results.iter().flat_map(failures).collect()
    }

    /// How many claims hold.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for result in &self.results {
            tally.add(&Tally::of(&outline::judged(result)));
        }
        tally
    }
}

/// Claims of a scenario with what became of them, in the order of the scenario.
#[must_use]
pub fn judged(result: &ScenarioResult) -> Vec<Judged<'_>> {
    outline::judged(result)
}

impl Origin {
    /// The seeds in words.
    fn seeds(&self) -> String {
        let first = self.first_seed;
        match self.runs {
            0 | 1 => format!("seed {first}"),
            runs => {
                let last = first.wrapping_add(u64::from(runs) - 1);
                format!("seeds {first} to {last}")
            }
        }
    }
}

fn figures_name(scenario: &str) -> String {
    format!("{scenario}.csv")
}

fn series_name(scenario: &str) -> String {
    format!("{scenario}.series.csv")
}

const PAGE: &str = "report.html";
const MARKDOWN: &str = "papers.md";

#[cfg(test)]
mod tests;
