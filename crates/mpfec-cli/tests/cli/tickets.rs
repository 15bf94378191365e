//! Tickets that do not open the door.

use std::ffi::OsStr;
use std::fs;
use std::time::Duration;

use mpfec_core::{Fingerprint, Secret, Ticket};

use crate::support::{LONG, Mpfec, Receiver, now, send, within};

/// Sends something with a ticket; the receiver must not care.
fn attempt(ticket: &Ticket) -> crate::support::Ended {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x"), "content").unwrap();
    send(ticket, &[dir.path().join("x").as_os_str()]).end(LONG)
}

fn variant(
    ticket: &Ticket,
    fingerprint: Fingerprint,
    secret: Secret,
    expires: Option<u64>,
) -> Ticket {
    Ticket::new(
        ticket.addresses().iter().copied(),
        fingerprint,
        secret,
        expires,
    )
    .unwrap()
}

#[test]
fn a_ticket_with_another_secret_or_another_certificate_is_refused() {
    let receiver = Receiver::start(&[]);
    let ticket = &receiver.ticket;
    let guessed = variant(
        ticket,
        ticket.fingerprint(),
        Secret::from_bytes([7; 16]),
        None,
    );
    attempt(&guessed).failed(6, &["ticket"]);
    let other = Receiver::start(&[]);
    let mixed = variant(ticket, other.ticket.fingerprint(), ticket.secret(), None);
    attempt(&mixed).failed(6, &["ticket"]);
    // After all that the right one still works, and nothing else was stored.
    attempt(ticket).done();
    receiver.process.end(LONG).done();
    assert_eq!(fs::read_dir(receiver.dir.path()).unwrap().count(), 1);
}

#[test]
fn text_that_is_no_ticket_is_refused_without_asking_the_network() {
    for text in ["mpfec1:", "mpfec1:abcdefgh", "mpfec9:abc"] {
        let ended = Mpfec::start(["send", "--json", text, "/dev/null"]).end(LONG);
        ended.failed(6, &["ticket"]);
    }
}

#[test]
fn an_expired_ticket_is_refused_by_both_ends() {
    let receiver = Receiver::start(&["--expires", "1s"]);
    let ticket = &receiver.ticket;
    assert!(ticket.expires().is_some());
    let began = now();
    assert!(within(LONG, || began.elapsed() > Duration::from_millis(2100)));
    attempt(ticket).failed(6, &["expired"]);
    // A sender that does not look at the clock, or whose clock is wrong.
    let timeless = variant(ticket, ticket.fingerprint(), ticket.secret(), None);
    attempt(&timeless).failed(6, &["expired"]);
    assert_eq!(fs::read_dir(receiver.dir.path()).unwrap().count(), 0);
}

#[test]
fn a_ticket_file_does_in_place_of_the_ticket() {
    let receiver = Receiver::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let (ticket, source) = (dir.path().join("ticket"), dir.path().join("x"));
    fs::write(&ticket, receiver.ticket.to_string()).unwrap();
    fs::write(&source, "content").unwrap();
    let words = ["send", "--json", "--ticket-file"].map(OsStr::new);
    let sender = Mpfec::start(
        words
            .into_iter()
            .chain([ticket.as_os_str(), source.as_os_str()]),
    );
    sender.end(LONG).done();
    receiver.process.end(LONG).done();
    assert_eq!(fs::read(receiver.dir.path().join("x")).unwrap(), b"content");
}
