//! Ctrl-C at either end.

use std::ffi::OsStr;
use std::fs;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::support::{LONG, Mpfec, Receiver, send, serve, within};

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
fn a_receiver_of_many_small_files_that_is_stopped_leaves_no_part_of_one() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("many");
    fs::create_dir(&root).unwrap();
    for number in 0..20_000 {
        fs::write(root.join(number.to_string()), [7; 200]).unwrap();
    }
    let receiver = Receiver::start(&[]);
    let sender = send(&receiver.ticket, &[root.as_os_str()]);
    let found = receiver.path("many");
    let has_begun = || fs::read_dir(&found).is_ok_and(|found| found.count() > 1000);
    assert!(within(LONG, has_begun), "nothing arrives");
    receiver.process.signal(Signal::SIGINT);
    receiver
        .process
        .end(Duration::from_secs(5))
        .failed(130, &["interrupted"]);
    sender.end(Duration::from_secs(5)).failed(5, &["stopped"]);
    let parts = fs::read_dir(&found).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().ends_with(".part")
    });
    assert_eq!(parts.count(), 0);
}

#[test]
fn a_receiver_of_one_transfer_ends_no_other_that_is_under_way() {
    let dir = tempfile::tempdir().unwrap();
    let small = dir.path().join("small");
    fs::write(&small, "all of it").unwrap();
    let (receiver, mut slow) = under_way();
    send(&receiver.ticket, &[small.as_os_str()])
        .end(LONG)
        .done();
    // Longer than a receiver that has ended waits for its peer.
    within(Duration::from_secs(3), || false);
    slow.feed(b" and end", true);
    slow.end(LONG).done();
    receiver.process.end(LONG).done();
    assert_eq!(
        fs::read(receiver.dir.path().join("small")).unwrap(),
        b"all of it"
    );
    assert_eq!(
        fs::read(receiver.dir.path().join("stdin")).unwrap(),
        b"beginning and end"
    );
}

#[test]
fn a_receiver_of_one_transfer_goes_on_with_the_second_attempt_when_the_first_is_stopped() {
    let (receiver, first) = under_way();
    let mut words = vec![OsStr::new("--name"), OsStr::new("again")];
    words.push(OsStr::new("-"));
    let ticket = receiver.ticket.to_string();
    let start = ["send", "--json", &ticket].map(OsStr::new);
    let mut second = Mpfec::start(start.iter().chain(&words));
    second.feed(b"anew", false);
    receiver.process.wait_for("the second one", |line| {
        line["type"] == "progress" && line["bytes"] == 4
    });
    first.signal(Signal::SIGINT);
    first.end(LONG).failed(130, &["interrupted"]);
    receiver
        .process
        .wait_for("an error", |line| line["type"] == "error");
    second.feed(b"", true);
    second.end(LONG).done();
    assert_eq!(receiver.process.end(LONG).code, Some(0));
    assert_eq!(
        fs::read(receiver.dir.path().join("again")).unwrap(),
        b"anew"
    );
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
