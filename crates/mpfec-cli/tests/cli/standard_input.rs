//! `mpfec send TICKET -`

use std::ffi::OsStr;

use crate::support::{LONG, Mpfec, Receiver, noise, send};

#[test]
fn standard_input_arrives_under_the_name_that_was_chosen() {
    let receiver = Receiver::start(&[]);
    let ticket = receiver.ticket.to_string();
    let mut sender = Mpfec::start(["send", "--json", &ticket, "-", "--name", "log.txt"]);
    let content = noise(3, 500_000);
    sender.feed(&content, true);
    let sent = sender.end(LONG).done();
    let received = receiver.process.end(LONG).done();
    assert!(std::fs::read(receiver.dir.path().join("log.txt")).unwrap() == content);
    let hash = blake3::hash(&content).to_hex().to_string();
    assert_eq!(
        (&sent["blake3"], &received["blake3"]),
        (&hash.as_str().into(), &hash.as_str().into())
    );
}

#[test]
fn what_was_piped_so_far_arrives_while_the_pipe_is_still_open() {
    let receiver = Receiver::start(&[]);
    let mut sender = send(&receiver.ticket, &[OsStr::new("-")]);
    sender.feed(b"first", false);
    receiver.process.wait_for("progress", |line| {
        line["type"] == "progress" && line["bytes"] == 5
    });
    assert!(
        !receiver.path("stdin").exists(),
        "it has its name before it is complete"
    );
    sender.feed(b", second", true);
    sender.end(LONG).done();
    receiver.process.end(LONG).done();
    assert_eq!(
        std::fs::read(receiver.dir.path().join("stdin")).unwrap(),
        b"first, second"
    );
}

#[test]
fn nothing_at_all_makes_an_empty_file() {
    let receiver = Receiver::start(&[]);
    let mut sender = send(&receiver.ticket, &[OsStr::new("-")]);
    sender.feed(b"", true);
    assert_eq!(sender.end(LONG).done()["bytes"], 0);
    receiver.process.end(LONG).done();
    assert_eq!(
        std::fs::read(receiver.dir.path().join("stdin")).unwrap(),
        b""
    );
}
