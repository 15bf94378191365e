//! Single files, and several at once.

use nix::sys::signal::Signal;

use crate::support::{LONG, Receiver, noise, send, serve};

#[test]
fn a_file_arrives_as_it_was_and_both_ends_know_its_hash() {
    let dir = tempfile::tempdir().unwrap();
    let (source, content) = (dir.path().join("a film.bin"), noise(1, 3_000_001));
    std::fs::write(&source, &content).unwrap();
    let receiver = Receiver::start(&[]);
    let sent = send(&receiver.ticket, &[source.as_os_str()])
        .end(LONG)
        .done();
    let target = receiver.path("a film.bin");
    let received = receiver.process.end(LONG).done();
    assert!(
        std::fs::read(target).unwrap() == content,
        "the content differs"
    );
    let hash = blake3::hash(&content).to_hex().to_string();
    for done in [&sent, &received] {
        assert_eq!(done["blake3"], hash.as_str());
        assert_eq!(done["bytes"], content.len());
        assert_eq!(done["files"], 1);
    }
    assert!(sent["repair_ratio"].is_number());
    let path = &sent["paths"][0];
    for field in [
        "id",
        "local",
        "remote",
        "interface",
        "srtt_ms",
        "min_rtt_ms",
        "sent_packets",
        "lost_packets",
        "delivered_bytes",
        "sent_bytes",
        "cwnd_bytes",
        "state",
    ] {
        assert!(!path[field].is_null(), "{field}: {path:#}");
    }
    assert!(
        path["delivered_bytes"].as_u64().unwrap() >= content.len() as u64,
        "{path:#}"
    );
}

#[test]
fn several_files_arrive_with_their_names() {
    let dir = tempfile::tempdir().unwrap();
    let contents = [
        ("one", noise(1, 70_000)),
        ("-rf", noise(2, 10)),
        ("empty", Vec::new()),
    ];
    let mut sources = Vec::new();
    for (name, content) in &contents {
        std::fs::write(dir.path().join(name), content).unwrap();
        sources.push(dir.path().join(name).into_os_string());
    }
    let receiver = Receiver::start(&[]);
    let sources: Vec<_> = sources.iter().map(|source| source.as_os_str()).collect();
    let sent = send(&receiver.ticket, &sources).end(LONG).done();
    let received = receiver.process.end(LONG).done();
    assert_eq!(sent["files"], 3);
    assert_eq!(sent["blake3"], received["blake3"]);
    for (name, content) in &contents {
        assert!(
            std::fs::read(receiver.dir.path().join(name)).unwrap() == *content,
            "{name}"
        );
    }
}

#[test]
fn a_receiver_takes_one_transfer_after_another_and_goes_on_after_a_failure() {
    let inbox = tempfile::tempdir().unwrap();
    let dir = inbox.path().to_str().unwrap();
    let words = ["recv", "--json", "--listen", "127.0.0.1:0", "--dir", dir];
    let (receiver, ticket) = serve(&words);
    let outbox = tempfile::tempdir().unwrap();
    for (name, code) in [("one", 0), ("one", 4), ("two", 0)] {
        let source = outbox.path().join(name);
        std::fs::write(&source, name).unwrap();
        let sent = send(&ticket, &[source.as_os_str()]).end(LONG);
        assert_eq!(sent.code, Some(code), "{sent:#?}");
    }
    receiver.signal(Signal::SIGINT);
    let ended = receiver.end(LONG);
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    let lines = ended.lines();
    let ends = lines.iter().map(|line| line["type"].as_str().unwrap());
    let ends: Vec<&str> = ends
        .filter(|kind| ["done", "error"].contains(kind))
        .collect();
    assert_eq!(ends, ["done", "error", "done", "error"], "{ended:#?}");
}

#[test]
fn progress_is_told_at_most_ten_times_a_second() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("x");
    std::fs::write(&source, noise(1, 1 << 20)).unwrap();
    let receiver = Receiver::start(&[]);
    let ended = send(&receiver.ticket, &[source.as_os_str()]).end(LONG);
    let seconds = ended.done()["seconds"].as_f64().unwrap();
    let lines = ended.lines();
    let progress: Vec<_> = lines
        .iter()
        .filter(|line| line["type"] == "progress")
        .collect();
    assert!(
        progress.len() as f64 <= 10.0 * seconds + 2.0,
        "{} in {seconds} s",
        progress.len()
    );
    for line in progress {
        assert!(
            line["bytes"].is_u64() && line["rate_mbps"].is_number(),
            "{line:#}"
        );
        assert_eq!(line["total"], 1 << 20, "{line:#}");
        assert!(line["paths"].is_array(), "{line:#}");
    }
    let up = lines.iter().find(|line| line["type"] == "path_up");
    assert!(up.is_some_and(|up| up["reason"].is_string()), "{lines:#?}");
}
