//! What people see on a terminal, which script(1) plays.

use std::fs;
use std::process::Command;
use std::time::Duration;

use mpfec_core::Ticket;

use crate::support::{Ended, LONG, Mpfec, left_out, send, within};

/// Runs `mpfec` on a terminal of 60 columns; `None` without script(1).
fn play(variables: &str, words: &str) -> Option<Mpfec> {
    let mut command = Command::new("script");
    let program = env!("CARGO_BIN_EXE_mpfec");
    let line = format!("stty cols 60 rows 20; {variables} '{program}' {words}");
    command
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm");
    let exists = Command::new("script").arg("--version").output().is_ok();
    if !exists {
        left_out("there is no script(1) to play a terminal");
        return None;
    }
    Some(Mpfec::run(command))
}

/// Runs a small demo to its end.
fn demo(variables: &str, flags: &str) -> Option<Ended> {
    let demo = play(variables, &format!("demo --size 1MiB {flags}"))?;
    Some(demo.end(Duration::from_secs(60)))
}

#[test]
fn what_verbose_tells_has_colours_on_a_terminal_only() {
    let words = ["perf", "local", "--links", "none", "--bytes", "1k"];
    let piped = Mpfec::start(words.iter().chain(&["-vv"])).end(LONG);
    assert!(piped.err.contains("DEBUG"), "{piped:#?}");
    assert!(!piped.err.contains('\u{1b}'), "{piped:#?}");
    let line = format!("{} -vv", words.join(" "));
    for (variables, is_coloured) in [("", true), ("NO_COLOR=1", false)] {
        let Some(played) = play(variables, &line) else {
            return;
        };
        let told = played.end(LONG).out;
        assert!(told.contains("DEBUG"), "{told}");
        assert_eq!(told.contains("\u{1b}[34mDEBUG"), is_coloured, "{told}");
    }
}

#[test]
fn the_receiver_asks_and_takes_no_for_an_answer() {
    for (answer, code, files) in [("n\n", 9, 0), ("\n", 0, 1)] {
        let dir = tempfile::tempdir().unwrap();
        let (ticket, inbox, source) = (
            dir.path().join("ticket"),
            dir.path().join("in"),
            dir.path().join("x"),
        );
        fs::create_dir(&inbox).unwrap();
        fs::write(&source, "content").unwrap();
        let words = format!(
            "recv --once --listen 127.0.0.1:0 --ticket-file '{}' --dir '{}'",
            ticket.display(),
            inbox.display()
        );
        let Some(mut receiver) = play("", &words) else {
            return;
        };
        assert!(within(LONG, || ticket.exists()), "no ticket");
        let ticket: Ticket = fs::read_to_string(&ticket).unwrap().trim().parse().unwrap();
        let sender = send(&ticket, &[source.as_os_str()]);
        receiver.wait_for_text("receive x, 7 B, from 127.0.0.1? [Y/n]");
        receiver.feed(answer.as_bytes(), false);
        let (sent, received) = (sender.end(LONG), receiver.end(LONG));
        assert_eq!(
            (sent.code, received.code),
            (Some(code), Some(code)),
            "{sent:#?}\n{received:#?}"
        );
        assert_eq!(fs::read_dir(&inbox).unwrap().count(), files);
        if code == 9 {
            sent.failed(9, &["the receiver refused"]);
            assert!(
                received.out.contains("you refused the transfer"),
                "{received:#?}"
            );
        }
    }
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
