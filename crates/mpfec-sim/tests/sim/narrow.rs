//! Paths that do not carry datagrams of 1200 bytes, as every path must (RFC 9000 §14).

use mpfec_core::{PathChange, PathStatus};
use mpfec_sim::{Change, Direction, PathSetup, Scene, scene};

use crate::{mbit, mib, ms, secs};

fn two_paths() -> Scene {
    scene()
        .path("wifi", mbit(20), ms(60))
        .path("lte", mbit(10), ms(20))
}

/// An end sends on it what tells whether that has changed, and no more.
#[test]
fn a_path_that_no_longer_carries_what_every_path_must_carries_data_again_when_it_does() {
    for direction in [Direction::Forward, Direction::Both] {
        let mut net = two_paths().connect();
        net.send(1 << 40);
        net.run_for(secs(2));
        net.at(ms(0), "lte", direction, Change::Mtu(1100));
        net.run_for(secs(8));
        assert_eq!(net.path_stats("lte").state, PathStatus::Suspected);
        let before = net.path_stats("lte").sent_packets;
        let bytes = net.bytes_read_in(secs(4)) as f64;
        assert!(bytes * 8e-6 / 4.0 >= 0.9 * 20.0 * 0.957, "{bytes}");
        let sent = net.path_stats("lte").sent_packets - before;
        assert!(sent <= 5 * 4 + 1, "{sent} packets");
        net.at(ms(0), "lte", direction, Change::Mtu(1500));
        net.run_for(secs(1));
        assert_eq!(net.path_stats("lte").state, PathStatus::Active);
        let bytes = net.bytes_read_in(secs(4)) as f64;
        assert!(bytes * 8e-6 / 4.0 >= 0.9 * 30.0 * 0.957, "{bytes}");
        net.check_bytes();
    }
}

/// Small packets of the handshake prove to the server that the client is there, on the route that
/// they come from first, and not what that route carries back.
#[test]
fn a_first_route_that_carries_small_packets_only_costs_little_beyond_its_rate() {
    for mtu in [500, 800, 1100] {
        let mut net = two_paths()
            .with_on("lte", Direction::Backward, Change::Mtu(mtu))
            .connect();
        net.send_back(mib(4));
        let took = net.deliver(secs(10));
        assert!(took <= secs(4), "mtu {mtu}: {took:?}");
        let sent = net
            .server_connection()
            .map_or(0, |connection| connection.stats().sent_bytes);
        assert!(sent <= mib(5), "mtu {mtu}: {sent} bytes for {}", mib(4));
        net.send_back(mib(4));
        net.run_for(secs(12));
        let took = net.deliver(secs(1));
        assert_eq!(took, ms(0), "mtu {mtu}");
    }
}

/// RFC 9000 §8.2.2: an answer is as large as what it answers, or it proves one direction only.
#[test]
fn an_address_is_not_validated_by_an_answer_on_a_link_too_small() {
    let mut net = scene().path("wifi", mbit(20), ms(60)).connect();
    let mut lte = PathSetup::symmetric("lte", mbit(10), ms(20), 0.0);
    lte.backward.mtu = 1100;
    net.add_interface(lte);
    net.open_path("lte").expect("a path may be opened");
    net.send_back(mib(4));
    net.deliver(secs(4));
    net.run_for(secs(12));
    let changes = net.path_changes("lte");
    let changes: Vec<PathChange> = changes.into_iter().map(|(_, change)| change).collect();
    assert_eq!(changes, [PathChange::Down]);
}

/// RFC 9000 §8.2.2, also of an end for which the address has proved itself already.
#[test]
fn challenges_and_their_answers_are_of_full_size_in_both_directions() {
    let mut net = scene().path("wifi", mbit(20), ms(60)).connect();
    net.run_for(secs(1));
    let lte = PathSetup::symmetric("lte", mbit(10), ms(20), 0.0);
    net.add_interface(lte);
    net.network().record(64);
    net.open_path("lte").expect("a path may be opened");
    net.run_for(ms(39));
    let sizes: Vec<usize> = net
        .view()
        .recorded()
        .iter()
        .map(|packet| packet.payload.len())
        .collect();
    // Each end sends two challenges, the server's first with its first answer, and answers the other's.
    let full = sizes.iter().filter(|size| **size == 1200).count();
    assert_eq!(full, 7, "{sizes:?}");
}
