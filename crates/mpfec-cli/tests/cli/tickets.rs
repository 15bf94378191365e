//! Tickets that do not open the door.

use std::ffi::OsStr;
use std::fs;
use std::time::Duration;

use mpfec_core::{Fingerprint, Secret, Ticket};
use mpfec_sim::{Change, Direction, PathSetup, Setup, TimedChange, UdpRelay};

use crate::support::{LONG, Mpfec, Receiver, now, send, serve, within};

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
    attempt(&guessed).failed(6, &["the ticket's secret"]);
    let other = Receiver::start(&[]);
    let mixed = variant(ticket, other.ticket.fingerprint(), ticket.secret(), None);
    let told = attempt(&mixed);
    told.failed(6, &["ticket", "certificate"]);
    assert!(!told.err.contains("code 0x"), "{told:#?}");
    assert!(told.err.contains("a new ticket"), "{told:#?}");
    // After all that the right one still works, and nothing else was stored.
    attempt(ticket).done();
    receiver.process.end(LONG).done();
    assert_eq!(fs::read_dir(receiver.dir.path()).unwrap().count(), 1);
}

/// What the receiver says of the secret is lost, and all that is left of it then is that it does
/// not know the connection.
#[test]
fn a_secret_that_is_refused_unheard_is_one_of_the_reasons_that_are_told() {
    let receiver = Receiver::start(&[]);
    let ticket = &receiver.ticket;
    let secret = Secret::from_bytes([7; 16]);
    let guessed = variant(ticket, ticket.fingerprint(), secret, None);
    let rtt = Duration::from_millis(200);
    let change = |at, change| TimedChange {
        at: Duration::from_millis(at),
        path: 0,
        direction: Direction::Backward,
        change,
    };
    let setup = Setup {
        name: "test".to_owned(),
        summary: String::new(),
        paths: vec![PathSetup::symmetric("one", 10_000_000, rtt, 0.0)],
        // From the first datagram on: what answers it has left by then, and no answer to the next.
        changes: vec![change(250, Change::Cut), change(4000, Change::Restore)],
    };
    let relay = UdpRelay::start(&setup, guessed.addresses()[0], 1).unwrap();
    let address = relay.paths()[0].1;
    let over = Ticket::new([address], guessed.fingerprint(), secret, None).unwrap();
    let told = attempt(&over);
    told.failed(5, &["the ticket's secret", "restarted"]);
    assert!(told.err.contains("a new ticket"), "{told:#?}");
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
    let receiver = Receiver::start(&["--expires", "2s"]);
    let ticket = &receiver.ticket;
    assert!(ticket.expires().is_some());
    // As long as a transfer is under way the receiver stays.
    let mut first = send(ticket, &[OsStr::new("-")]);
    first.feed(b"beginning", false);
    receiver.process.wait_for("progress", |line| {
        line["type"] == "progress" && line["bytes"] == 9
    });
    let began = now();
    assert!(within(LONG, || began.elapsed() > Duration::from_millis(3100)));
    attempt(ticket).failed(6, &["expired"]);
    // A sender that does not look at the clock, or whose clock is wrong.
    let timeless = variant(ticket, ticket.fingerprint(), ticket.secret(), None);
    attempt(&timeless).failed(6, &["expired"]);
    first.feed(b" and end", true);
    first.end(LONG).done();
    receiver.process.end(LONG).done();
    assert_eq!(fs::read_dir(receiver.dir.path()).unwrap().count(), 1);
}

#[test]
fn a_receiver_ends_when_its_ticket_expires() {
    let nobody = Receiver::start(&["--expires", "1s"]);
    nobody.process.end(LONG).failed(6, &["expired"]);

    let (inbox, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let words = [
        "recv",
        "--json",
        "--listen",
        "127.0.0.1:0",
        "--expires",
        "3s",
        "--dir",
    ];
    let dir = inbox.path().to_str().unwrap();
    let (somebody, ticket) = serve(&[words.as_slice(), &[dir]].concat());
    fs::write(source.path().join("x"), "content").unwrap();
    send(&ticket, &[source.path().join("x").as_os_str()])
        .end(LONG)
        .done();
    let ended = somebody.end(LONG);
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (Some(0), ""),
        "{ended:#?}"
    );
    assert_eq!(ended.last()["type"], "done", "{ended:#?}");

    let (server, _) = serve(&[
        "perf",
        "server",
        "--json",
        "--listen",
        "127.0.0.1:0",
        "--expires",
        "1",
    ]);
    server.end(LONG).failed(6, &["expired"]);
}

#[test]
fn a_ticket_replaces_a_ticket_but_no_other_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("F");
    let words = [
        "recv",
        "--json",
        "--once",
        "--listen",
        "127.0.0.1:0",
        "--dir",
    ]
    .map(OsStr::new);
    let start = || {
        let rest = [
            dir.path().as_os_str(),
            OsStr::new("--ticket-file"),
            file.as_os_str(),
        ];
        Mpfec::start(words.into_iter().chain(rest))
    };
    fs::write(&file, "the only copy of a thesis").unwrap();
    start()
        .end(LONG)
        .failed(4, &["holds no ticket", file.to_str().unwrap()]);
    assert_eq!(fs::read(&file).unwrap(), b"the only copy of a thesis");
    for before in ["", "mpfec1:an-old-one\n"] {
        fs::write(&file, before).unwrap();
        let receiver = start();
        let is_new = || {
            fs::read_to_string(&file)
                .unwrap()
                .trim()
                .parse::<Ticket>()
                .is_ok()
        };
        assert!(within(LONG, is_new), "{:#?}", receiver.end(Duration::ZERO));
    }
}

#[test]
fn words_without_a_ticket_among_them_are_a_wrong_command_line() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, "not a ticket").unwrap();
    let path = file.path().to_str().unwrap();
    let cases: [(&[&str], &str); 5] = [
        (
            &["send", "film.mkv", "clip.mkv"],
            "\"film.mkv\" is no ticket",
        ),
        (
            &["perf", "client", "host:47800"],
            "\"host:47800\" is no ticket",
        ),
        (&["send", "--ticket-file", path, path], "is no ticket"),
        (&["send", "--ticket-file", path], "nothing to send"),
        (&["send"], "no ticket and nothing to send"),
    ];
    for (words, fact) in cases {
        Mpfec::start(words).end(LONG).failed(2, &[fact]);
    }
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
