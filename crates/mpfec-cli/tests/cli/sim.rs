//! Scenarios: tables, JSON, reports, and what is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ended, LONG, Mpfec};

/// A directory with a scenario of two cases and two variants that is run in no time.
fn scene() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tiny.toml");
    fs::write(&file, TINY).unwrap();
    (dir, file)
}

fn run(file: &Path, more: &[&str]) -> Ended {
    let words = ["sim", "run", file.to_str().unwrap(), "--runs", "3"];
    Mpfec::start(words.iter().chain(more)).end(LONG)
}

/// All files of a directory by their names.
fn files(dir: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn a_table_shows_means_with_intervals_and_whether_claims_hold() {
    let (_dir, file) = scene();
    let ended = run(&file, &[]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    for text in [
        "tiny: FMTCP Fig. 8",
        "3 runs from seed 1",
        "case   variant  goodput_mbps",
        " ± ",
        "reproduced      both lose to the loss",
        "not reproduced  MPTCP carries a gigabit",
        "2 claims: 1 reproduced, 1 not reproduced",
    ] {
        assert!(ended.out.contains(text), "{text}: {ended:#?}");
    }
}

#[test]
fn json_has_a_line_for_each_variant_in_each_case_and_each_claim() {
    let (_dir, file) = scene();
    let ended = run(&file, &["--json", "--seed", "5"]);
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (Some(0), ""),
        "{ended:#?}"
    );
    let lines = ended.lines();
    let of_type =
        |kind: &str| -> Vec<&Value> { lines.iter().filter(|line| line["type"] == kind).collect() };
    let runs = of_type("run");
    assert_eq!(runs.len(), 4);
    assert_eq!(runs[0]["scenario"], "tiny");
    assert_eq!(
        (&runs[0]["case"], &runs[0]["variant"]),
        (&"clean".into(), &"auto".into())
    );
    for run in &runs {
        assert_eq!((&run["runs"], &run["failed"]), (&3.into(), &0.into()));
        let goodput = &run["metrics"]["goodput_mbps"];
        let [mean, least, most] =
            ["mean", "least", "most"].map(|key| goodput[key].as_f64().unwrap());
        assert!(0.0 < least && least <= mean && mean <= most, "{run:#}");
        assert_eq!(goodput["n"], 3);
    }
    assert_eq!(of_type("claim").len(), 2);
    let done = lines.last().unwrap();
    assert_eq!((&done["type"], &done["ok"]), (&"done".into(), &true.into()));
    assert_eq!(done["first_seed"], 5);
    assert_eq!(done["claims"]["reproduced"], 1);
    assert_eq!(done["claims"]["not_reproduced"], 1);
}

#[test]
fn the_report_is_written_and_never_over_another_one() {
    let (dir, file) = scene();
    let out = dir.path().join("report");
    let with_out = ["--out", out.to_str().unwrap(), "--json"];
    let done = run(&file, &with_out).last();
    let names = ["papers.md", "report.html", "tiny.csv", "tiny.series.csv"];
    let written = files(&out);
    assert_eq!(written.keys().collect::<Vec<_>>(), names);
    assert_eq!(done["files"].as_array().unwrap().len(), 4, "{done:#}");
    assert!(written["report.html"].contains("<svg"));
    assert!(written["papers.md"].contains("mpfec sim run"));
    assert!(written["tiny.csv"].contains("\nlossy,5,mptcp,mptcp,goodput_mbps,"));
    assert!(written["tiny.series.csv"].contains("clean,auto,goodput_mbps,"));

    let began = crate::support::now();
    run(&file, &with_out).failed(4, &["report.html"]);
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "told before anything is run"
    );
    assert_eq!(files(&out), written);

    let again = [&with_out[..], &["--overwrite", "--seed", "9"]].concat();
    assert_eq!(run(&file, &again).code, Some(0));
    assert_ne!(files(&out), written);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (dir, file) = scene();
    let results = ["1", "2"].map(|threads| {
        let out = dir.path().join(threads);
        let ended = run(
            &file,
            &["--threads", threads, "--out", out.to_str().unwrap()],
        );
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        (ended.out, files(&out))
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn profiles_replace_what_a_scenario_compares() {
    let (_dir, file) = scene();
    let ended = run(
        &file,
        &["--profile", "fmtcp", "--profile", "auto", "--json"],
    );
    let lines = ended.lines();
    let runs = lines.iter().filter(|line| line["type"] == "run");
    let variants: Vec<&str> = runs.map(|run| run["variant"].as_str().unwrap()).collect();
    assert_eq!(variants, ["auto", "fmtcp", "auto", "fmtcp"]);
    let claims = lines.iter().filter(|line| line["type"] == "claim");
    assert!(
        claims
            .into_iter()
            .all(|claim| claim["verdict"] == "not measured")
    );
}

#[test]
fn built_in_scenarios_are_listed() {
    let ended = Mpfec::start(["sim", "list", "--json"]).end(LONG);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let mut lines = ended.lines();
    assert_eq!(lines.pop().unwrap()["type"], "done");
    for line in &lines {
        assert_eq!(line["type"], "scenario");
        assert!(!line["summary"].as_str().unwrap().is_empty(), "{line:#}");
    }
    assert!(lines.iter().any(|line| line["name"] == "fmtcp-table2"));
    let table = Mpfec::start(["sim", "list"]).end(LONG);
    assert_eq!(table.out.lines().count(), lines.len());
}

#[test]
fn what_does_not_exist_is_told_the_nearest_names_and_the_list() {
    let (_dir, file) = scene();
    Mpfec::start(["sim", "run", "fmtcp-tabel2"])
        .end(LONG)
        .failed(2, &["perhaps fmtcp-table2", "shared-bottleneck"]);
    run(&file, &["--profile", "mptpc"]).failed(2, &["perhaps mptcp", "uncoded"]);
    run(&file, &["--profile", "mptcp", "--redundancy", "fixed"])
        .failed(2, &["impossible", "uncoded"]);
    run(&file, &["--recv-buffer", "64k"]).failed(2, &["--recv-buffer"]);
}

#[test]
fn a_file_that_is_no_scenario_is_told_where_and_what_is_allowed() {
    let (dir, _) = scene();
    let cases = [
        (
            "duration_s = 1",
            "duration_s = -1",
            &["bad.toml, line 5", "duration_s", "0.1 to 100000"][..],
        ),
        (
            "rate_mbps = 10",
            "rate_mps = 10",
            &["bad.toml, line", "rate_mps", "rate_mbps"],
        ),
        (
            "profile = \"auto\"",
            "profile = \"atuo\"",
            &["line", "atuo", "auto"],
        ),
        ("[[variant]]", "[[variant", &["bad.toml, line"]),
    ];
    for (good, bad, told) in cases {
        let file = dir.path().join("bad.toml");
        fs::write(&file, TINY.replacen(good, bad, 1)).unwrap();
        run(&file, &[]).failed(2, told);
    }
    run(dir.path(), &[]).failed(3, &["directory"]);
}

#[test]
fn a_run_that_gives_nothing_is_told_with_its_seed_and_the_others_count() {
    let (dir, _) = scene();
    let file = dir.path().join("dead.toml");
    let dead = "set = { \"path.B.forward.loss_percent\" = 100, \"path.A.forward.loss_percent\" = 100, \"duration_s\" = 100 }";
    let lossy = "set = { \"path.B.forward.loss_percent\" = 5 }";
    fs::write(&file, TINY.replace(lossy, dead)).unwrap();
    let out = dir.path().join("report");
    let ended = run(
        &file,
        &["--json", "--seed", "4", "--out", out.to_str().unwrap()],
    );
    ended.failed(1, &["6 of 12 runs", "case lossy, variant auto, seed 4"]);
    assert!(
        ended.last()["hint"]
            .as_str()
            .unwrap()
            .contains("--seed 4 --runs 1"),
        "{ended:#?}"
    );
    let lines = ended.lines();
    let failures: Vec<&Value> = lines
        .iter()
        .filter(|line| line["type"] == "failure")
        .collect();
    let seeds: Vec<u64> = failures
        .iter()
        .map(|line| line["seed"].as_u64().unwrap())
        .collect();
    assert_eq!(seeds, [4, 5, 6, 4, 5, 6]);
    let mut runs = lines.iter().filter(|line| line["type"] == "run");
    assert!(runs.any(|run| run["case"] == "clean" && run["metrics"]["goodput_mbps"]["n"] == 3));
    assert!(files(&out)["report.html"].contains("6 runs gave nothing"));
}

#[test]
fn it_can_be_stopped() {
    let (dir, _) = scene();
    let file = dir.path().join("long.toml");
    fs::write(&file, TINY.replace("duration_s = 1", "duration_s = 100000")).unwrap();
    let words = ["sim", "run", file.to_str().unwrap(), "--json"];
    let running = Mpfec::start(words);
    running.wait_for("progress", |line| line["type"] == "progress");
    running.signal(Signal::SIGINT);
    running
        .end(Duration::from_secs(3))
        .failed(130, &["interrupted"]);
}

const TINY: &str = r#"
name = "tiny"
paper = "FMTCP Fig. 8"
summary = "two paths for a second"
duration_s = 1
application = { kind = "bulk" }

[[path]]
name = "A"
both = { rate_mbps = 10, delay_ms = 5 }

[[path]]
name = "B"
both = { rate_mbps = 10, delay_ms = 10 }

[[variant]]
profile = "auto"

[[variant]]
profile = "mptcp"

[[case]]
name = "clean"
x = 0

[[case]]
name = "lossy"
x = 5
set = { "path.B.forward.loss_percent" = 5 }

[[chart]]
title = "Goodput"
metric = "goodput_mbps"

[[claim]]
text = "both lose to the loss"
check = { bound = "goodput_mbps", of = "mptcp", at_least = 0.1 }

[[claim]]
text = "MPTCP carries a gigabit"
check = { bound = "goodput_mbps", of = "mptcp", at_least = 1000 }
"#;
