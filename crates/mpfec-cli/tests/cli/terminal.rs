//! What people see on a terminal, which script(1) plays.

use std::process::Command;
use std::time::Duration;

use crate::support::{Ended, Mpfec, left_out};

/// Runs a small demo on a terminal of 60 columns; `None` without script(1).
fn demo(variables: &str, flags: &str) -> Option<Ended> {
    let mut command = Command::new("script");
    let program = env!("CARGO_BIN_EXE_mpfec");
    let line = format!("stty cols 60 rows 20; {variables} '{program}' demo --size 1MiB {flags}");
    command
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm");
    let exists = Command::new("script").arg("--version").output().is_ok();
    if !exists {
        left_out("there is no script(1) to play a terminal");
        return None;
    }
    Some(Mpfec::run(command).end(Duration::from_secs(60)))
}

#[test]
fn each_path_has_a_bar_while_it_runs() {
    let Some(ended) = demo("NO_COLOR=1", "") else {
        return;
    };
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    for name in ["demo", "wifi", "lte"] {
        assert!(
            ended.out.contains(&format!("{name} \u{2501}")),
            "{name}: {ended:#?}"
        );
    }
    assert!(
        !ended.out.contains("\u{1b}[32m"),
        "colours in spite of NO_COLOR: {ended:#?}"
    );
    let last: Vec<&str> = ended.out.lines().rev().take(2).collect();
    assert!(
        last[0].starts_with("done: 1.0 MiB") && last[0].ends_with("verified"),
        "{ended:#?}"
    );
    assert!(last[1].contains("x the best single link"), "{ended:#?}");
}

#[test]
fn quiet_leaves_the_result_only() {
    let Some(ended) = demo("", "--quiet") else {
        return;
    };
    assert_eq!(
        (ended.code, ended.out.lines().count()),
        (Some(0), 2),
        "{ended:#?}"
    );
}
