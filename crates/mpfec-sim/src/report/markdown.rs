//! The report as Markdown.

use std::fmt::Write as _;

use super::Report;
use super::outline::{self, Entry, Group, Judged, Tally, by_paper, counted, judged};
use super::table::{self, Table, columns};
use crate::scenario::ScenarioResult;

pub(super) fn document(report: &Report) -> String {
    let groups = by_paper(report);
    let origin = &report.origin;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "# Claims and measurements\n\n\
         What the papers say comes out, and what comes out here. A claim is *reproduced* if it holds in every case, \
         *partly* if it holds in some; why it does not hold is in brackets.\nWhat the engine and the links were like is in each scenario's file.\n\n\
         This file is what the following command leaves as `papers.md` in DIR, with mpfec {}:\n\n\
         ```console\n$ {}\n```\n\n\
         {} of each variant in each case (unless a scenario wants fewer), {}. ± is the 95 % confidence interval of the mean (Student's t).\n",
        text(&origin.version),
        origin.command,
        counted(origin.runs, "run"),
        origin.seeds()
    );
    summary(&mut out, &groups);
    for group in &groups {
        let _ = writeln!(out, "\n## {}", text(group.paper));
        for entry in &group.entries {
            scenario(&mut out, report, entry);
        }
    }
    out
}

fn summary(out: &mut String, groups: &[Group<'_>]) {
    out.push_str(
        "| paper | claims | reproduced | partly | not reproduced | not measured |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let mut all = Tally::default();
    for group in groups {
        let tally = group.tally();
        all.add(&tally);
        summary_row(out, group.paper, &tally);
    }
    if groups.len() > 1 {
        summary_row(out, "all", &all);
    }
}

fn summary_row(out: &mut String, name: &str, tally: &Tally) {
    let counts = tally.by_outcome().map(|(_, count)| count.to_string());
    let _ = writeln!(
        out,
        "| {} | {} | {} |",
        text(name),
        tally.count(),
        counts.join(" | ")
    );
}

fn scenario(out: &mut String, report: &Report, entry: &Entry<'_>) {
    let result = entry.result;
    let scenario = &result.scenario;
    let _ = writeln!(out, "\n### {}", text(&scenario.name));
    let words = [&scenario.paper, &scenario.summary].map(|words| text(words));
    let words: Vec<String> = words
        .into_iter()
        .filter(|words| !words.is_empty())
        .collect();
    if !words.is_empty() {
        let _ = writeln!(out, "\n{}.", words.join(": ").trim_end_matches('.'));
    }
    if let Some(most) = scenario.most_runs {
        let _ = writeln!(out, "\nRun with {} at most.", counted(most, "seed"));
    }
    let described: Vec<String> = scenario
        .variants
        .iter()
        .map(|variant| (variant, outline::described(result, variant)))
        .filter(|(_, words)| !words.is_empty())
        .map(|(variant, words)| format!("*{}*: {}", text(&variant.name), text(&words)))
        .collect();
    if !described.is_empty() {
        let _ = writeln!(out, "\n{}.", described.join("; "));
    }
    if let Some(command) = entry.command {
        let _ = writeln!(out, "\n```console\n$ {command}\n```");
    }
    let failures = outline::failures(result, report.origin.first_seed);
    if let Some(first) = failures.first() {
        let _ = writeln!(
            out,
            "\n{} gave nothing; the first: {}, {}, seed {}: {}.",
            counted(failures.len() as u64, "run"),
            text(first.case),
            text(first.variant),
            first.seed,
            text(first.reason)
        );
    }
    claims(out, result);
    if result.cases.len() == 1 {
        out.push('\n');
        write_table(out, &table::of_case(result, 0));
        return;
    }
    for column in columns(result) {
        let _ = match column.title {
            "" => writeln!(out, "\n`{}`:\n", column.metric),
            _ => writeln!(
                out,
                "\n{} (`{}`):\n",
                text(&column.heading()),
                column.metric
            ),
        };
        write_table(out, &table::of_metric(result, column.metric, &[]));
    }
}

fn claims(out: &mut String, result: &ScenarioResult) {
    let judged = judged(result);
    if judged.is_empty() {
        return;
    }
    out.push_str("\n| claim | | figures |\n| --- | --- | --- |\n");
    for Judged { claim, verdict } in &judged {
        let _ = write!(
            out,
            "| {} | {} | {}",
            text(&claim.text),
            verdict.outcome,
            text(&verdict.reason)
        );
        if !claim.remark.is_empty() {
            let _ = write!(out, " (*{}*)", text(&claim.remark));
        }
        out.push_str(" |\n");
    }
}

fn write_table(out: &mut String, table: &Table) {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| text(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    out.push_str(&row(&table.head));
    let lines = vec!["---:"; table.head.len().saturating_sub(1)];
    let _ = writeln!(out, "| --- | {} |", lines.join(" | "));
    for cells in &table.rows {
        out.push_str(&row(cells));
    }
}

/// Text without what Markdown would take for more than that.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '|' | '\\' | '*' | '`' | '[' | ']' | '_' | '#' => {
                out.push('\\');
                out.push(letter);
            }
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
