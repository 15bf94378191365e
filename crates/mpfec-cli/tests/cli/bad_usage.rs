//! Command lines that make no sense, and those that only ask.

use std::time::Duration;

use crate::support::{LONG, Mpfec};

#[test]
fn wrong_words_are_explained_in_two_lines() {
    let cases: [&[&str]; 15] = [
        &["--frobnicate"],
        &[],
        &["send"],
        &["recv", "--listen", "nonsense"],
        &["demo", "--size", "-1"],
        &["perf"],
        &["perf", "local", "--links", "no-such-set-up"],
        &["perf", "local", "--time", "1", "--bytes", "5"],
        &["demo", "--size", "0"],
        &["send", "--profile", "nonsense", "x", "y"],
        &["recv", "--recv-buffer", "10"],
        &["demo", "--codec", "uncoded", "--redundancy", "fixed"],
        &["sim"],
        &["sim", "run"],
        &["sim", "run", "all", "--runs", "0"],
    ];
    for words in cases {
        Mpfec::start(words).end(LONG).failed(2, &[]);
        let with_json = words.iter().chain(&["--json"]);
        let ended = Mpfec::start(with_json).end(LONG);
        ended.failed(2, &[]);
        assert_eq!(ended.last()["kind"], "usage", "{words:?}");
    }
}

#[test]
fn what_a_flag_takes_is_told_where_it_gets_something_else() {
    let cases: [(&[&str], &str); 4] = [
        (&["recv", "--listen", "localhost:0"], "192.0.2.7:47800"),
        (&["recv", "--listen", "127.0.0.1"], "IP:PORT"),
        (&["demo", "--seed", "abc"], "a whole number"),
        (&["demo", "--seed=-1"], "a whole number"),
    ];
    for (words, fact) in cases {
        Mpfec::start(words).end(LONG).failed(2, &[fact]);
    }
}

#[test]
fn an_unknown_part_is_told_the_nearest_names_and_the_list() {
    let cases: [(&str, &str, &[&str]); 5] = [
        (
            "--profile",
            "mptpc",
            &["perhaps mptcp;", "fmtcp", "uncoded"],
        ),
        ("--codec", "raptor", &["raptorq", "linear"]),
        (
            "--scheduler",
            "lowestrtt",
            &["perhaps lowest-rtt;", "fmtcp"],
        ),
        ("--congestion", "newrenno", &["perhaps newreno;", "delay"]),
        (
            "--redundancy",
            "fixd:percent=3",
            &["perhaps fixed;", "on-loss"],
        ),
    ];
    for (flag, value, told) in cases {
        Mpfec::start(["demo", flag, value])
            .end(LONG)
            .failed(2, told);
    }
}

/// Nobody reads them to their end: there is none.
#[test]
fn devices_without_an_end_are_no_links_scenarios_or_tickets() {
    let cases: [&[&str]; 4] = [
        &["perf", "local", "--links", "/dev/zero"],
        &["lab", "--links", "/dev/zero", "--", "true"],
        &["sim", "run", "/dev/zero"],
        &["perf", "client", "--ticket-file", "/dev/zero"],
    ];
    for words in cases {
        let ended = Mpfec::start(words).end(LONG);
        ended.failed(2, &["/dev/zero"]);
        assert!(ended.err.len() < 1000, "{words:?}: {}", ended.err.len());
    }
}

#[test]
fn parts_that_do_not_work_together_are_refused_with_the_reason() {
    for command in ["demo", "recv"] {
        let words = [
            command,
            "--profile",
            "mptcp",
            "--redundancy",
            "fixed:percent=10",
        ];
        let told = ["uncoded", "fixed:percent=10"];
        Mpfec::start(words).end(LONG).failed(2, &told);
        let words = [command, "--codec", "raptorq", "--redundancy", "none"];
        Mpfec::start(words)
            .end(LONG)
            .failed(2, &["raptorq", "none"]);
    }
}

#[test]
fn every_command_explains_itself() {
    let commands: [&[&str]; 13] = [
        &[],
        &["demo"],
        &["send"],
        &["recv"],
        &["perf"],
        &["perf", "server"],
        &["perf", "client"],
        &["perf", "local"],
        &["sim"],
        &["sim", "list"],
        &["sim", "run"],
        &["paths"],
        &["man"],
    ];
    for command in commands {
        let ended = Mpfec::start(command.iter().chain(&["--help"])).end(LONG);
        assert_eq!(
            (ended.code, ended.err.as_str()),
            (Some(0), ""),
            "{command:?}"
        );
        assert!(ended.out.contains("Usage: mpfec"), "{ended:#?}");
    }
}

#[test]
fn completions_and_the_manual_page_go_to_standard_output() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = Mpfec::start(["completions", shell]).end(LONG);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        assert!(ended.out.contains("ticket-file"), "{shell}");
    }
    let page = Mpfec::start(["man"]).end(LONG);
    assert_eq!((page.code, page.err.as_str()), (Some(0), ""));
    assert!(page.out.contains(".TH mpfec 1"), "{}", page.out);
    for word in ["recv", "perf", "Exit codes"] {
        assert!(page.out.contains(word), "{word}");
    }
    let page = Mpfec::start(["man", "perf", "client"]).end(LONG);
    assert_eq!((page.code, page.err.as_str()), (Some(0), ""));
    assert!(page.out.contains(".TH mpfec-perf-client 1"), "{}", page.out);
    assert!(page.out.contains("reverse"), "{}", page.out);
    let unknown = Mpfec::start(["man", "frobnicate"]).end(LONG);
    unknown.failed(2, &["mpfec frobnicate"]);
}

#[test]
fn interfaces_are_listed_with_the_reason_why_they_are_not_used() {
    let ended = Mpfec::start(["paths", "--json"]).end(Duration::from_secs(10));
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let mut lines = ended.lines();
    assert_eq!(lines.pop().unwrap()["type"], "done");
    for line in &lines {
        assert_eq!(line["type"], "interface");
        assert_eq!(
            line["used"].as_bool(),
            Some(line["reason"].is_null()),
            "{line:#}"
        );
        if line["kind"] == "loopback" {
            assert_ne!(line["addresses"], serde_json::json!([]), "{line:#}");
        }
        for field in ["name", "kind", "addresses", "mtu"] {
            assert!(!line[field].is_null(), "{line:#}");
        }
    }
    let table = Mpfec::start(["paths"]).end(LONG);
    assert_eq!(table.out.lines().count(), lines.len());
}
