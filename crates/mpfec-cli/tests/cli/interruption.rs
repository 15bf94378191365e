//! Ctrl-C at either end.

use std::ffi::OsStr;
use std::fs;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::support::{LONG, Mpfec, Receiver, send, serve};

/// A transfer of standard input that waits for more.
fn under_way() -> (Receiver, Mpfec) {
    let receiver = Receiver::start(&[]);
    let mut sender = send(&receiver.ticket, &[OsStr::new("-")]);
    sender.feed(b"beginning", false);
    receiver.process.wait_for("progress", |line| {
        line["type"] == "progress" && line["bytes"] == 9
    });
    (receiver, sender)
}

#[test]
fn a_sender_that_is_stopped_tells_the_receiver_which_cleans_up() {
    let (receiver, sender) = under_way();
    sender.signal(Signal::SIGINT);
    sender
        .end(Duration::from_secs(5))
        .failed(130, &["interrupted"]);
    receiver
        .process
        .end(Duration::from_secs(5))
        .failed(5, &["stopped"]);
    assert_eq!(fs::read_dir(receiver.dir.path()).unwrap().count(), 0);
}

#[test]
fn a_receiver_that_is_stopped_cleans_up_and_tells_the_sender() {
    let mut signals = vec![Signal::SIGINT, Signal::SIGTERM];
    if !ignores_hangups() {
        signals.push(Signal::SIGHUP);
    }
    for signal in signals {
        let (receiver, sender) = under_way();
        receiver.process.signal(signal);
        receiver
            .process
            .end(Duration::from_secs(5))
            .failed(130, &["interrupted"]);
        sender.end(Duration::from_secs(5)).failed(5, &["stopped"]);
        assert_eq!(fs::read_dir(receiver.dir.path()).unwrap().count(), 0);
    }
}

/// What `nohup` starts is to outlive its terminal; these tests may have been started so.
fn ignores_hangups() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.is_none_or(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 != 0)
}

#[test]
fn a_receiver_that_waits_can_be_stopped() {
    let receiver = Receiver::start(&[]);
    receiver.process.signal(Signal::SIGINT);
    receiver
        .process
        .end(Duration::from_secs(5))
        .failed(130, &["interrupted"]);
}

#[test]
fn a_receiver_for_several_transfers_says_no_more_when_it_is_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let words = ["recv", "--json", "--listen", "127.0.0.1:0", "--dir"];
    let words = [words.as_slice(), &[dir.path().to_str().unwrap()]].concat();
    let (receiver, ticket) = serve(&words);
    let mut sender = send(&ticket, &[OsStr::new("-")]);
    sender.feed(b"beginning", false);
    receiver.wait_for("progress", |line| {
        line["type"] == "progress" && line["bytes"] == 9
    });
    receiver.signal(Signal::SIGINT);
    let ended = receiver.end(Duration::from_secs(5));
    ended.failed(130, &["interrupted"]);
    assert!(ended.err.contains("prints a new"), "{ended:#?}");
    let errors = ended
        .lines()
        .into_iter()
        .filter(|line| line["type"] == "error");
    assert_eq!(errors.count(), 1, "{ended:#?}");
}

#[test]
fn a_demo_that_is_stopped_leaves_nothing_in_the_temporary_directory() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mpfec"));
    command
        .args(["demo", "--size", "8MiB", "--json"])
        .env("TMPDIR", dir.path());
    let demo = Mpfec::run(command);
    demo.wait_for("progress", |line| line["bytes"].as_u64() > Some(0));
    demo.signal(Signal::SIGINT);
    demo.end(LONG).failed(130, &["interrupted"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
