//! Parity from peers that break the rules: it gives them nothing that their packets would not.

use std::time::Duration;

use super::operations::scene;
use super::scene::{CLIENT, InFlight, SERVER, Scene};
use crate::wire::frame::{Covered, Frame, Frames, Parity, ParityReport};

/// A byte of conditions: both ends send parity.
const PARITY: u8 = 0x12;
/// The same for none.
const NO_PARITY: u8 = 0;

/// Both ends, connected, with nothing on its way.
fn connected(conditions: u8) -> Scene {
    let mut scene = scene(conditions);
    scene.run(Duration::from_millis(500), |_| false);
    assert!(is_open(&scene, CLIENT) && is_open(&scene, SERVER));
    scene
}

fn is_open(scene: &Scene, end: usize) -> bool {
    let mut parties = scene.ends[end].parties.values();
    parties.next().is_some_and(|party| !party.closed)
}

/// A packet of path 0 with any payload. Returns its number and the datagram.
fn forge(scene: &mut Scene, end: usize, payload: &[u8]) -> (u64, InFlight) {
    let now = scene.now;
    let party = scene.ends[end].parties.values_mut().next();
    let connection = &mut party.expect("a connection").connection;
    let number = connection.next_number(0).expect("a path");
    let mut data = Vec::new();
    let tuple = connection.forge(now, 0, payload, &mut data);
    let tuple = tuple.expect("keys");
    let datagram = InFlight {
        from: scene.ends[end].sockets[tuple.socket.0 as usize],
        to: tuple.remote,
        ecn: None,
        data,
    };
    (number, datagram)
}

fn send(scene: &mut Scene, end: usize, payload: &[u8]) {
    let (_, datagram) = forge(scene, end, payload);
    scene.deliver(datagram);
    scene.run(Duration::from_millis(100), |_| false);
}

fn frame(frame: &Frame) -> Vec<u8> {
    let mut out = Vec::new();
    frame.encode(&mut out);
    out
}

fn parity(numbers: &[u64], lengths: usize, data: &[u8]) -> Vec<u8> {
    let mut covered = Covered::default();
    assert!(numbers.iter().all(|number| covered.push(*number)));
    frame(&Frame::Parity(Parity {
        covered,
        lengths: lengths as u16,
        data: data.to_vec().into(),
    }))
}

/// The client sends a packet that gets lost, and a parity over it.
fn rebuild_at_server(conditions: u8, payload: &[u8]) -> Scene {
    let mut scene = connected(conditions);
    let (lost, _) = forge(&mut scene, CLIENT, payload);
    send(&mut scene, CLIENT, &parity(&[lost], payload.len(), payload));
    scene
}

#[test]
fn a_rebuilt_packet_counts_as_one_that_arrived() {
    let scene = rebuild_at_server(PARITY, &[1, 0, 0, 0]);
    let server = scene.ends[SERVER].parties.values().next();
    let stats = server.expect("a connection").connection.stats();
    assert_eq!(stats.paths[0].parity.rebuilt, 1);
    assert_eq!(stats.streams.received_symbols, 0);
}

#[test]
fn parity_of_a_peer_that_announced_none_ends_the_connection() {
    let scene = rebuild_at_server(NO_PARITY, &[1, 0, 0, 0]);
    assert!(!is_open(&scene, SERVER));
}

#[test]
fn what_a_packet_must_not_hold_a_rebuilt_one_must_not_either() {
    // HANDSHAKE_DONE from a client, an ACK without a path, a frame that does not exist, one that
    // is cut off.
    for payload in [&[0x1e, 0, 0, 0][..], &[2, 0, 0, 0, 0], &[0x77], &[0x10]] {
        let scene = rebuild_at_server(PARITY, payload);
        assert!(!is_open(&scene, SERVER), "{payload:x?}");
    }
}

#[test]
fn a_parity_cannot_bring_another_one() {
    let inner = parity(&[1], 4, &[1, 0, 0, 0]);
    let scene = rebuild_at_server(PARITY, &inner);
    assert!(!is_open(&scene, SERVER));
}

#[test]
fn a_parity_over_packets_not_yet_sent_ends_the_connection() {
    for ahead in [0, 1, 1 << 40] {
        let mut scene = connected(PARITY);
        let client = scene.ends[CLIENT].parties.values_mut().next();
        let next = client.expect("a connection").connection.next_number(0);
        let covered = next.expect("a path") + ahead;
        send(&mut scene, CLIENT, &parity(&[covered], 4, &[1, 0, 0, 0]));
        assert!(!is_open(&scene, SERVER), "{ahead}");
    }
}

#[test]
fn a_parity_over_packets_that_arrived_does_nothing() {
    let mut scene = connected(PARITY);
    for payload in [&[0x1e, 0, 0, 0][..], &[0xff; 40]] {
        send(&mut scene, CLIENT, &parity(&[0, 1], payload.len(), payload));
    }
    assert!(is_open(&scene, SERVER));
}

#[test]
fn reports_of_parity_that_was_never_sent_end_the_connection() {
    for (conditions, path, rebuilt, is_honest) in [
        (PARITY, 0, 0, true),
        (PARITY, 0, 1 << 30, false),
        (PARITY, 77, 0, false),
        (NO_PARITY, 0, 0, false),
    ] {
        let mut scene = connected(conditions);
        let report = ParityReport {
            path,
            rebuilt,
            latest: 3,
        };
        send(&mut scene, SERVER, &frame(&Frame::ParityReport(report)));
        assert_eq!(is_open(&scene, CLIENT), is_honest, "path {path}, {rebuilt}");
    }
}

#[test]
fn any_parity_ends_the_connection_at_worst() {
    // Lengths and contents that fit nothing, over packets of which one is missing or several.
    for seed in 0_u8..60 {
        let mut scene = connected(PARITY);
        let mut numbers = Vec::new();
        for index in 0..8 {
            let (number, datagram) = forge(&mut scene, CLIENT, &[1, 0, seed, 0, 0]);
            numbers.push(number);
            if index % 8 != seed % 8 && index % (1 + seed % 5) != 1 {
                scene.deliver(datagram);
            }
        }
        let data: Vec<u8> = (0..seed).map(|at| at.wrapping_mul(seed)).collect();
        let length = usize::from(seed / 2) * usize::from(seed % 3);
        send(&mut scene, CLIENT, &parity(&numbers, length, &data));
        scene.run(Duration::from_secs(5), |_| false);
    }
}

#[test]
fn the_corpus_has_each_frame_about_parity() {
    let corpus = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fuzz/corpus/frame/parity"
    );
    // None outside the repository.
    if let Ok(bytes) = std::fs::read(corpus) {
        let types: Vec<u64> = Frames::new(bytes.into())
            .map_while(Result::ok)
            .map(|frame| frame.ty())
            .collect();
        assert_eq!(types, [0x27, 0x28, 0x27]);
    }
}
