//! The report as one page: no scripts, nothing from elsewhere.

use std::fmt::Write as _;

use super::chart::{STYLE, escaped};
use super::outline::{self, Entry, Group, Judged, Tally, by_paper, chart_of, counted, judged};
use super::table::{self, Table};
use super::{Report, figure};
use crate::scenario::{Chart, Outcome, Plotted, ScenarioResult, Verdict};

pub(super) fn page(report: &Report) -> String {
    let groups = by_paper(report);
    let mut out = String::new();
    head(&mut out, report);
    summary(&mut out, &groups);
    contents(&mut out, &groups);
    for group in &groups {
        let _ = writeln!(out, "<h2>{}</h2>", escaped(group.paper));
        for entry in &group.entries {
            scenario(&mut out, report, entry);
        }
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn head(out: &mut String, report: &Report) {
    let origin = &report.origin;
    let _ = writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>mpfec: claims and measurements</title>\n<style>\n{PAGE_STYLE}{STYLE}</style>\n\
         </head>\n<body>\n<main>\n<h1>Claims and measurements</h1>"
    );
    let _ = writeln!(
        out,
        "<p>{}: {}.</p>",
        counted(report.tally().count(), "claim"),
        report.tally()
    );
    let _ = writeln!(
        out,
        "<p>Made with mpfec {} by</p><pre>{}</pre>",
        escaped(&origin.version),
        escaped(&origin.command)
    );
    let _ = writeln!(
        out,
        "<p>{} of each variant in each case (unless a scenario wants fewer), {}. ± and error bars are 95 % confidence intervals of the mean (Student's t). The figures are in the CSV files \
         beside this page.</p>",
        counted(origin.runs, "run"),
        origin.seeds()
    );
}

fn summary(out: &mut String, groups: &[Group<'_>]) {
    out.push_str(
        "<div class=\"wide\"><table class=\"summary\">\n<tr><th>paper</th><th>claims</th>\
         <th>reproduced</th><th>partly</th><th>not reproduced</th><th>not measured</th></tr>\n",
    );
    let mut all = Tally::default();
    for group in groups {
        let tally = group.tally();
        all.add(&tally);
        summary_row(out, &escaped(group.paper), &tally);
    }
    if groups.len() > 1 {
        summary_row(out, "all", &all);
    }
    out.push_str("</table></div>\n");
}

fn summary_row(out: &mut String, name: &str, tally: &Tally) {
    let _ = write!(out, "<tr><th>{name}</th><td>{}</td>", tally.count());
    for (_, count) in tally.by_outcome() {
        let _ = write!(out, "<td>{count}</td>");
    }
    out.push_str("</tr>\n");
}

fn contents(out: &mut String, groups: &[Group<'_>]) {
    out.push_str("<nav>\n");
    for group in groups {
        let _ = writeln!(out, "<h2>{}</h2>\n<ul>", escaped(group.paper));
        for Entry { result, .. } in &group.entries {
            let scenario = &result.scenario;
            let name = escaped(&scenario.name);
            let what = if scenario.paper.is_empty() {
                &scenario.summary
            } else {
                &scenario.paper
            };
            let _ = write!(out, "<li><a href=\"#{name}\">{name}</a> {} ", escaped(what));
            for judged in judged(result) {
                let _ = write!(
                    out,
                    "<span class=\"sign {}\" title=\"{}: {}\">{}</span>",
                    class(judged.verdict.outcome),
                    judged.verdict.outcome,
                    escaped(&judged.claim.text),
                    sign(judged.verdict.outcome)
                );
            }
            out.push_str("</li>\n");
        }
        out.push_str("</ul>\n");
    }
    let _ = writeln!(out, "<p class=\"key\">{}</p>\n</nav>", key());
}

/// What the signs mean.
fn key() -> String {
    let words = Tally::default().by_outcome().map(|(outcome, _)| {
        format!(
            "<span class=\"sign {}\">{}</span> {outcome}",
            class(outcome),
            sign(outcome)
        )
    });
    words.join(" &nbsp; ")
}

fn scenario(out: &mut String, report: &Report, entry: &Entry<'_>) {
    let result = entry.result;
    let scenario = &result.scenario;
    let name = escaped(&scenario.name);
    let _ = writeln!(out, "<section id=\"{name}\">\n<h3>{name}</h3>");
    if !scenario.paper.is_empty() {
        let _ = writeln!(out, "<p class=\"paper\">{}</p>", escaped(&scenario.paper));
    }
    if let Some(most) = scenario.most_runs {
        let _ = writeln!(out, "<p>Run with {} at most.</p>", counted(most, "seed"));
    }
    if !scenario.summary.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", escaped(&scenario.summary));
    }
    variants(out, result);
    if let Some(command) = entry.command {
        let _ = writeln!(out, "<pre>{}</pre>", escaped(command));
    }
    failures(out, report, result);

    let judged = judged(result);
    let beside = |chart: Option<usize>| -> Vec<&Judged<'_>> {
        let claims = judged.iter();
        claims
            .filter(|judged| chart_of(result, judged.claim) == chart)
            .collect()
    };
    claims(out, &beside(None));
    for (index, chart) in scenario.charts.iter().enumerate() {
        drawn(out, result, chart, &beside(Some(index)));
    }
    if scenario.charts.is_empty() {
        for case in 0..result.cases.len() {
            if result.cases.len() > 1 {
                let _ = writeln!(out, "<h4>{}</h4>", escaped(&result.cases[case].name));
            }
            figures(out, &table::of_case(result, case));
        }
    }
    out.push_str("</section>\n");
}

/// What the variants are whose names do not say it all.
fn variants(out: &mut String, result: &ScenarioResult) {
    let described: Vec<String> = result
        .scenario
        .variants
        .iter()
        .map(|variant| (variant, outline::described(result, variant)))
        .filter(|(_, words)| !words.is_empty())
        .map(|(variant, words)| format!("<b>{}</b>: {}", escaped(&variant.name), escaped(&words)))
        .collect();
    if !described.is_empty() {
        let _ = writeln!(out, "<p class=\"fine\">{}</p>", described.join("; "));
    }
}

fn failures(out: &mut String, report: &Report, result: &ScenarioResult) {
    let failures = outline::failures(result, report.origin.first_seed);
    if failures.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<div class=\"failed\"><p>{} gave nothing and {} left out:</p>\n<ul>",
        counted(failures.len() as u64, "run"),
        if failures.len() == 1 { "is" } else { "are" }
    );
    for failure in failures.iter().take(MOST_FAILURES) {
        let _ = writeln!(
            out,
            "<li>{}, {}, seed {}: {}</li>",
            escaped(failure.case),
            escaped(failure.variant),
            failure.seed,
            escaped(failure.reason)
        );
    }
    if failures.len() > MOST_FAILURES {
        let _ = writeln!(out, "<li>and {} more</li>", failures.len() - MOST_FAILURES);
    }
    out.push_str("</ul></div>\n");
}

/// A chart with the claims beside it and its figures below.
fn drawn(out: &mut String, result: &ScenarioResult, chart: &Chart, beside: &[&Judged<'_>]) {
    let alone = if beside.is_empty() { " alone" } else { "" };
    let _ = writeln!(
        out,
        "<div class=\"pair{alone}\">\n<figure>\n<figcaption>{}</figcaption>",
        escaped(&figure::title(result, chart))
    );
    out.push_str(&figure::of(result, chart).to_element());
    if let Plotted::Metric(metric) = &chart.plotted {
        let _ = writeln!(
            out,
            "<details><summary>figures ({})</summary>",
            escaped(metric)
        );
        figures(out, &table::of_metric(result, metric, &chart.variants));
        out.push_str("</details>\n");
    }
    out.push_str("</figure>\n");
    claims(out, beside);
    out.push_str("</div>\n");
}

fn claims(out: &mut String, claims: &[&Judged<'_>]) {
    if claims.is_empty() {
        return;
    }
    out.push_str("<ul class=\"claims\">\n");
    for judged in claims {
        let Verdict { outcome, reason } = &judged.verdict;
        let _ = writeln!(
            out,
            "<li class=\"{}\"><p class=\"claim\">{}</p><p><b>{} {outcome}</b></p><p class=\"fine\">{}</p>",
            class(*outcome),
            escaped(&judged.claim.text),
            sign(*outcome),
            escaped(reason)
        );
        if !judged.claim.remark.is_empty() {
            let _ = writeln!(
                out,
                "<p class=\"fine\"><i>{}</i></p>",
                escaped(&judged.claim.remark)
            );
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
}

fn figures(out: &mut String, table: &Table) {
    out.push_str("<div class=\"wide\"><table>\n<tr>");
    for cell in &table.head {
        let _ = write!(out, "<th>{}</th>", escaped(cell));
    }
    out.push_str("</tr>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let tag = if index == 0 { "th" } else { "td" };
            let _ = write!(out, "<{tag}>{}</{tag}>", escaped(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
}

fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Reproduced => "yes",
        Outcome::Partly => "partly",
        Outcome::NotReproduced => "no",
        Outcome::NotMeasured => "unknown",
    }
}

/// For those who cannot go by colours.
fn sign(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Reproduced => "✓",
        Outcome::Partly => "◐",
        Outcome::NotReproduced => "✗",
        Outcome::NotMeasured => "○",
    }
}

/// Failed runs of a scenario that are listed.
const MOST_FAILURES: usize = 20;
const PAGE_STYLE: &str = include_str!("html/style.css");
