use std::collections::BTreeMap;

use super::*;
use crate::scenario::{CaseResult, RunResult, Scenario, VariantResult};

/// Two cases and two variants, with two runs each: the first with the figures given, the second
/// with figures 2 higher.
fn results(goodput: [[f64; 2]; 2]) -> ScenarioResult {
    let scenario = Scenario::from_toml(SCENARIO, "small.toml").expect("a valid scenario");
    let run = |goodput: f64| RunResult {
        metrics: BTreeMap::from([("goodput_mbps".to_owned(), goodput)]),
        series: BTreeMap::from([(
            "goodput_mbps".to_owned(),
            vec![(1.0, goodput), (2.0, goodput + 1.0)],
        )]),
        failure: None,
    };
    let cases = scenario.cases.iter().zip(goodput);
    let cases = cases.map(|(case, goodput)| CaseResult {
        name: case.name.clone(),
        x: case.x,
        variants: scenario
            .variants
            .iter()
            .zip(goodput)
            .map(|(variant, goodput)| VariantResult {
                name: variant.name.clone(),
                runs: vec![run(goodput), run(goodput + 2.0)],
            })
            .collect(),
    });
    ScenarioResult {
        cases: cases.collect(),
        scenario,
    }
}

fn report(results: Vec<ScenarioResult>) -> Report {
    let origin = Origin {
        command: "mpfec sim run small --runs 2".to_owned(),
        commands: vec!["mpfec sim run small --runs 2".to_owned(); results.len()],
        version: "0.1.0".to_owned(),
        first_seed: 7,
        runs: 2,
    };
    Report::new(origin, results)
}

fn text_of(report: &Report, name: &str) -> String {
    let files = report.files();
    let file = files.into_iter().find(|file| file.name == name);
    file.unwrap_or_else(|| panic!("no {name}")).text
}

#[test]
fn files_are_those_that_were_announced() {
    let report = report(vec![results([[9.0, 8.0], [8.0, 4.0]])]);
    let names: Vec<String> = report.files().into_iter().map(|file| file.name).collect();
    assert_eq!(names, Report::file_names(["small"]));
    assert_eq!(
        names,
        ["report.html", "papers.md", "small.csv", "small.series.csv"]
    );
    assert_eq!(report.files(), report.clone().files());
}

#[test]
fn the_tables_of_figures_have_mean_interval_and_count() {
    let report = report(vec![results([[9.0, 8.0], [8.0, 4.0]])]);
    // Of x and x + 2: the mean is x + 1, the interval t(1) * sqrt(2) / sqrt(2) = 12.706205.
    assert_eq!(
        text_of(&report, "small.csv"),
        "case,x,variant,profile,metric,mean,ci95,n,least,most\n\
         \"1 %, rare\",1,fmtcp,fmtcp,goodput_mbps,10,12.706205,2,9,11\n\
         \"1 %, rare\",1,<alone>,mptcp,goodput_mbps,9,12.706205,2,8,10\n\
         10 %,10,fmtcp,fmtcp,goodput_mbps,9,12.706205,2,8,10\n\
         10 %,10,<alone>,mptcp,goodput_mbps,5,12.706205,2,4,6\n"
    );
    let series = text_of(&report, "small.series.csv");
    assert!(
        series.starts_with(
            "case,variant,series,time_s,mean,ci95,n\n\
             \"1 %, rare\",fmtcp,goodput_mbps,1,10,12.706205,2\n\
             \"1 %, rare\",fmtcp,goodput_mbps,2,11,12.706205,2\n"
        ),
        "{series}"
    );
}

#[test]
fn the_page_shows_each_claim_beside_the_chart_of_its_metric() {
    let page = report(vec![results([[9.0, 8.0], [8.0, 4.0]])]).html();
    let parts: Vec<&str> = page.split("<figcaption>").collect();
    assert_eq!(parts.len(), 3, "two charts: {page}");
    assert!(
        parts[1].contains("FMTCP is ahead &amp; stays there"),
        "{}",
        parts[1]
    );
    assert!(parts[1].contains("✓ reproduced"), "{}", parts[1]);
    assert!(
        parts[2].contains("MPTCP reaches 7 in the end"),
        "{}",
        parts[2]
    );
    assert!(parts[2].contains("◐ partly"), "{}", parts[2]);
    assert!(parts[0].contains("Blocks are fast"), "{}", parts[0]);
    assert!(
        parts[0].contains("1 reproduced, 1 partly, 1 not reproduced"),
        "{}",
        parts[0]
    );
}

#[test]
fn a_claim_is_beside_the_chart_that_shows_its_variants() {
    let mut result = results([[9.0, 8.0], [8.0, 4.0]]);
    let mut of_one = result.scenario.charts[0].clone();
    of_one.variants = vec!["fmtcp".to_owned()];
    result.scenario.charts.insert(0, of_one);
    let claims = &result.scenario.claims;
    let beside = claims.iter().map(|claim| outline::chart_of(&result, claim));
    assert_eq!(beside.collect::<Vec<_>>(), [Some(1), Some(2), None]);
}

#[test]
fn the_page_needs_nothing_else_and_is_well_formed() {
    let page = report(vec![results([[9.0, 8.0], [8.0, 4.0]])]).html();
    for foreign in [
        "http:", "https:", "<script", "<link", "src=", "url(", "@import",
    ] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(!page.contains("<alone>"), "names are text: {page}");
    assert!(page.contains("width=device-width"));
    let mut open: Vec<&str> = Vec::new();
    for tag in page.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap_or_default();
        let name = tag.split([' ', '/', '\n']).next().unwrap_or_default();
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if !tag.ends_with('/') && !["!DOCTYPE", "meta"].contains(&name) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn the_document_has_verdicts_figures_and_the_command() {
    let document = text_of(
        &report(vec![results([[9.0, 8.0], [8.0, 4.0]])]),
        "papers.md",
    );
    for line in [
        "$ mpfec sim run small --runs 2",
        "2 runs of each variant in each case (unless a scenario wants fewer), seeds 7 to 8.",
        "| FMTCP | 3 | 1 | 1 | 1 | 0 |",
        "### small",
        "*&lt;alone>*: mptcp, over B.",
        "| case | fmtcp | &lt;alone> |",
        "| 10 % | 9.0 ± 12.7 | 5.0 ± 12.7 |",
        " (*one path &amp; &lt;nothing> else*) |",
    ] {
        assert!(document.contains(line), "{line}\n{document}");
    }
}

#[test]
fn a_run_that_failed_is_told_with_its_seed_and_not_counted() {
    let mut result = results([[9.0, 8.0], [8.0, 4.0]]);
    result.cases[1].variants[0].runs[1] = RunResult {
        failure: Some("panicked: <index> out of range".to_owned()),
        ..RunResult::default()
    };
    let report = report(vec![result]);
    let failures = report.failures();
    assert_eq!(failures.len(), 1);
    assert_eq!(
        (failures[0].case, failures[0].variant, failures[0].seed),
        ("10 %", "fmtcp", 8)
    );
    let page = report.html();
    assert!(
        page.contains("10 %, fmtcp, seed 8: panicked: &lt;index&gt; out of range"),
        "{page}"
    );
    assert!(
        report.markdown().contains("1 run gave nothing"),
        "{}",
        report.markdown()
    );
    let figures = text_of(&report, "small.csv");
    assert!(
        figures.contains("10 %,10,fmtcp,fmtcp,goodput_mbps,8,,1,8,8"),
        "{figures}"
    );
}

#[test]
fn other_profiles_take_the_place_of_those_that_a_chart_asks_for() {
    let mut result = results([[9.0, 8.0], [8.0, 4.0]]);
    let auto = "auto".parse().expect("a profile");
    result.scenario.add_profile("auto", auto);
    result
        .scenario
        .retain_variants(|variant| variant.name == "auto")
        .expect("auto is there");
    for case in &mut result.cases {
        case.variants.truncate(1);
        case.variants[0].name = "auto".to_owned();
    }
    let report = report(vec![result]);
    assert_eq!(report.tally().not_measured, 3);
    let page = report.html();
    assert_eq!(page.matches("<polyline").count(), 2, "{page}");
    assert!(page.contains("fmtcp was not run"), "{page}");
}

#[test]
fn scenarios_of_a_paper_are_together() {
    let mut other = results([[1.0, 1.0], [1.0, 1.0]]);
    other.scenario.name = "other".to_owned();
    other.scenario.paper = String::new();
    let mut third = results([[1.0, 1.0], [1.0, 1.0]]);
    third.scenario.name = "third".to_owned();
    let document = report(vec![results([[9.0, 8.0], [8.0, 4.0]]), other, third]).markdown();
    let headings: Vec<&str> = document
        .lines()
        .filter(|line| line.starts_with("##"))
        .collect();
    assert_eq!(
        headings,
        [
            "## FMTCP",
            "### small",
            "### third",
            "## Our own",
            "### other"
        ]
    );
    assert!(document.contains("| all | 9 |"), "{document}");
}

const SCENARIO: &str = r#"
name = "small"
paper = "FMTCP Fig. 8"
summary = "goodput against loss"
duration_s = 2
application = { kind = "bulk" }

[[path]]
name = "A"
both = { rate_mbps = 10, delay_ms = 10 }

[[path]]
name = "B"
both = { rate_mbps = 10, delay_ms = 20 }

[[variant]]
profile = "fmtcp"

[[variant]]
name = "<alone>"
profile = "mptcp"
paths = ["B"]

[[case]]
name = "1 %, rare"
x = 1
set = { "path.B.forward.loss_percent" = 1 }

[[case]]
name = "10 %"
x = 10
set = { "path.B.forward.loss_percent" = 10 }

[[chart]]
title = "Goodput"
metric = "goodput_mbps"
y_label = "Mbit/s"

[[chart]]
title = "Over time"
series = "goodput_mbps"
case = "10 %"
variants = ["fmtcp"]

[[claim]]
text = "FMTCP is ahead & stays there"
check = { order = "goodput_mbps", variants = ["fmtcp", "<alone>"] }

[[claim]]
text = "MPTCP reaches 7 in the end"
remark = "one path & <nothing> else"
check = { bound = "goodput_mbps@2-2.5", of = "<alone>", at_least = 7 }

[[claim]]
text = "Blocks are fast"
check = { bound = "block_delay_ms.mean", of = "fmtcp", at_most = 100 }
"#;
