//! One end dies in the middle of a transfer.

use std::fs;
use std::time::Duration;

use mpfec_sim::{PathSetup, UdpRelay};
use nix::sys::signal::Signal;

use crate::support::{Mpfec, Receiver, links, noise, now, send, serve};

/// A transfer that takes half a minute and is under way.
fn under_way() -> (Receiver, Mpfec, UdpRelay, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("film");
    fs::write(&source, noise(1, 8 << 20)).unwrap();
    let receiver = Receiver::start(&[]);
    let path = |name| PathSetup::symmetric(name, 1_000_000, Duration::from_millis(20), 0.0);
    let (relay, ticket) = links(&receiver.ticket, &[path("one"), path("two")]);
    let sender = send(&ticket, &[source.as_os_str()]);
    receiver.process.wait_for("progress", |line| {
        line["type"] == "progress" && line["bytes"].as_u64() > Some(100_000)
    });
    (receiver, sender, relay, dir)
}

#[test]
fn the_receiver_notices_a_sender_that_is_killed_and_cleans_up() {
    let (receiver, sender, _relay, _dir) = under_way();
    assert_eq!(
        fs::read_dir(receiver.dir.path()).unwrap().count(),
        1,
        "a temporary file"
    );
    let began = now();
    sender.signal(Signal::SIGKILL);
    let ended = receiver.process.end(Duration::from_secs(12));
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    ended.failed(5, &["peer"]);
    assert_eq!(fs::read_dir(receiver.dir.path()).unwrap().count(), 0);
}

#[test]
fn the_sender_notices_a_receiver_that_is_killed() {
    let (receiver, sender, _relay, _dir) = under_way();
    let began = now();
    receiver.process.signal(Signal::SIGKILL);
    let ended = sender.end(Duration::from_secs(12));
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    ended.failed(5, &["peer"]);
    let silent = ended
        .lines()
        .into_iter()
        .find(|line| !line["silent_seconds"].is_null());
    let silent = silent.unwrap_or_else(|| panic!("the silence is not told: {ended:#?}"));
    let seconds = |field: &str| silent[field].as_u64().unwrap();
    let (so_far, left) = (seconds("silent_seconds"), seconds("gives_up_in_seconds"));
    assert!(so_far >= 3 && so_far + left <= 10, "{silent:#}");
    assert!(!receiver.path("film").exists());

    let left = Receiver::start_in(receiver.dir, &[]);
    left.process.wait_for("what was left over", |line| {
        let path = line["path"].as_str().unwrap_or_default();
        line["type"] == "left_over" && path.ends_with(".part") && line["bytes"].as_u64() > Some(0)
    });
}

#[test]
fn a_server_of_measurements_whose_client_is_killed_has_not_succeeded() {
    let words = [
        "perf",
        "server",
        "--json",
        "--once",
        "--listen",
        "127.0.0.1:0",
    ];
    let (server, ticket) = serve(&words);
    let ticket = ticket.to_string();
    let words = ["perf", "client", "--json", "--time", "2", "--warmup", "0"];
    let client = Mpfec::start([&words[..], &["--rate", "3", &ticket]].concat());
    client.wait_for("progress", |line| {
        line["type"] == "progress" && line["bytes"].as_u64() > Some(0)
    });
    client.signal(Signal::SIGKILL);
    server
        .end(Duration::from_secs(20))
        .failed(5, &["nothing arrived"]);
}

/// The figures are the client's own, but a server that is gone is not what was to be measured.
#[test]
fn a_measurement_whose_writer_is_killed_has_not_succeeded() {
    let words = ["perf", "server", "--json", "--listen", "127.0.0.1:0"];
    let (server, ticket) = serve(&words);
    let ticket = ticket.to_string();
    let words = ["perf", "client", "--json", "--time", "4", "--warmup", "0"];
    let rest = ["--rate", "3", "--reverse", &ticket];
    let client = Mpfec::start(words.iter().chain(&rest));
    client.wait_for("progress", |line| {
        line["type"] == "progress" && line["bytes"].as_u64() > Some(0)
    });
    server.signal(Signal::SIGKILL);
    client
        .end(Duration::from_secs(20))
        .failed(5, &["nothing arrived"]);
}
