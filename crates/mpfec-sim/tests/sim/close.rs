//! How connections end.

use std::time::Duration;

use bytes::Bytes;
use mpfec_core::{CloseReason, ConnectionStats};
use mpfec_sim::{Change, Direction, Packet, Scene, Simulation, scene};

use crate::{kib, mbit, ms, secs};

fn two_paths() -> Scene {
    scene()
        .path("near", mbit(20), ms(50))
        .path("far", mbit(10), ms(80))
}

fn close(net: &mut Simulation, code: u64, reason: &str) {
    let now = net.now();
    net.with_client(|_, connection| connection.close(now, code, reason));
}

fn closed_by_peer(code: u64, reason: &str) -> CloseReason {
    CloseReason::ApplicationClosed {
        code,
        reason: reason.to_owned(),
    }
}

#[test]
fn the_peer_learns_code_and_reason_in_half_a_round_trip() {
    let mut net = two_paths().connect();
    net.run_for(secs(1));
    close(&mut net, 42, "enough");
    assert_eq!(net.client_closed(), Some(&CloseReason::LocallyClosed(42)));
    let took = net.run_until(secs(1), |net| net.server_closed().is_some());
    assert!(took.is_some_and(|took| took <= ms(26)), "{took:?}");
    assert_eq!(net.server_closed(), Some(&closed_by_peer(42, "enough")));
    // Nothing is kept once late packets can no longer arrive.
    net.run_for(secs(1));
    let hosts = [net.client_host(), net.server_host()];
    assert_eq!(
        hosts.map(|host| net.view().host(host).connections()),
        [0, 0]
    );
}

#[test]
fn a_close_gets_through_heavy_loss_while_the_peer_has_something_to_say() {
    for seed in 1..=100 {
        let mut net = two_paths()
            .with(Direction::Both, Change::Loss(0.5))
            .seed(seed)
            .connect();
        net.send_back(1 << 30);
        net.run_for(secs(1));
        close(&mut net, 1, "");
        let took = net.run_until(secs(2), |net| net.server_closed().is_some());
        assert!(took.is_some(), "seed {seed}: not told within 2 s");
    }
}

#[test]
fn a_close_gets_through_loss_while_the_peer_has_nothing_to_say() {
    for seed in 1..=100 {
        let mut net = scene()
            .path("only", mbit(20), ms(50))
            .with(Direction::Forward, Change::Loss(0.1))
            .seed(seed)
            .connect();
        net.run_for(secs(1));
        close(&mut net, 1, "");
        let took = net.run_until(secs(2), |net| net.server_closed().is_some());
        assert!(took.is_some(), "seed {seed}: not told within 2 s");
    }
}

/// On both paths, and again for what still arrives there.
#[test]
fn closing_packets_are_counted_as_all_others() {
    let mut net = two_paths().start();
    net.network().record(usize::MAX);
    net.run_for(ms(500));
    net.send_back(1 << 30);
    net.run_for(secs(1));
    let stats = |net: &Simulation| net.client_connection().expect("not yet forgotten").stats();
    let before = stats(&net);
    close(&mut net, 1, "");
    // Everything has arrived by then, and the client has not yet forgotten the connection.
    net.run_for(ms(120));
    let after = stats(&net);

    let clients = ["near", "far"].map(|path| net.ends(path).client);
    let seen = net.view().recorded().iter();
    let of_client: usize = seen
        .filter(|packet| clients.contains(&packet.from))
        .map(|packet| packet.payload.len())
        .sum();
    assert_eq!(after.sent_bytes, of_client as u64);

    let on_paths = |stats: &ConnectionStats| {
        let paths = stats.paths.iter();
        paths.fold((0, 0), |(packets, bytes), path| {
            (packets + path.sent_packets, bytes + path.sent_bytes)
        })
    };
    let (packets, bytes) = on_paths(&after);
    let (packets_before, bytes_before) = on_paths(&before);
    assert_eq!(after.sent_bytes - before.sent_bytes, bytes - bytes_before);
    assert!(
        packets - packets_before > 4,
        "{packets_before} to {packets}"
    );
}

/// On a busy machine whoever moves datagrams may get no time for longer than it takes to
/// forget a connection. The peer would then hear of a reset instead.
#[test]
fn the_peer_learns_why_even_if_nothing_could_be_sent_for_long() {
    let mut net = two_paths().connect();
    net.run_for(secs(1));
    let now = net.now();
    net.with_client(|_, connection| {
        connection.close(now, 7, "enough");
        connection.handle_timeout(now + secs(10));
        assert!(!connection.is_drained(), "nobody was told");
    });
    net.run_until(secs(1), |net| net.server_closed().is_some());
    assert_eq!(net.server_closed(), Some(&closed_by_peer(7, "enough")));
    net.run_for(secs(11));
    assert_eq!(net.view().host(net.client_host()).connections(), 0);
}

/// The server's handshake is complete, but no packet of the client's has opened a path yet.
#[test]
fn a_server_that_closes_at_once_is_heard() {
    let mut net = two_paths().start();
    net.run_until(secs(1), |net| {
        net.server_connection()
            .is_some_and(|connection| !connection.is_handshaking())
    });
    let now = net.now();
    net.with_server(|_, connection| {
        assert!(connection.stats().paths.is_empty());
        connection.close(now, 7, "enough");
    });
    net.run_until(secs(1), |net| net.client_closed().is_some());
    assert_eq!(net.client_closed(), Some(&closed_by_peer(7, "enough")));
}

#[test]
fn a_close_during_the_handshake_ends_both_ends() {
    for after in [10, 30, 45, 60, 76, 90] {
        let mut net = two_paths().start();
        net.run_for(ms(after));
        close(&mut net, 9, "changed my mind");
        net.run_for(secs(1));
        assert_eq!(net.client_closed(), Some(&CloseReason::LocallyClosed(9)));
        assert_eq!(
            net.view().host(net.server_host()).connections(),
            0,
            "after {after} ms"
        );
    }
}

#[test]
fn silence_ends_a_connection_after_the_idle_timeout() {
    let mut net = two_paths()
        .client(|config| config.idle_timeout = secs(3))
        .connect();
    net.run_for(ms(2900));
    assert!(net.client_closed().is_none() && net.server_closed().is_none());
    net.run_for(ms(400));
    assert_eq!(net.client_closed(), Some(&CloseReason::TimedOut));
    assert_eq!(net.server_closed(), Some(&CloseReason::TimedOut));
}

#[test]
fn keep_alive_keeps_an_idle_connection_open() {
    let mut net = two_paths()
        .both(|config| config.idle_timeout = secs(3))
        .client(|config| config.keep_alive = secs(1))
        .connect();
    net.run_for(secs(60));
    assert!(net.client_closed().is_none() && net.server_closed().is_none());
    net.send(kib(10));
    net.deliver(secs(1));
}

#[test]
fn a_peer_that_vanishes_is_noticed_within_the_idle_timeout() {
    let mut net = two_paths()
        .both(|config| config.idle_timeout = secs(5))
        .connect();
    net.send(1 << 40);
    net.run_for(secs(1));
    for path in ["near", "far"] {
        net.cut_at(Duration::ZERO, path);
    }
    let took = net.run_until(secs(10), |net| {
        net.client_closed().is_some() && net.server_closed().is_some()
    });
    assert!(took.is_some_and(|took| took <= ms(5300)), "{took:?}");
    assert_eq!(net.client_closed(), Some(&CloseReason::TimedOut));
}

#[test]
fn a_server_that_was_restarted_says_so() {
    let mut net = two_paths().connect();
    net.send(1 << 40);
    net.run_for(secs(1));
    net.restart_server();
    let took = net.run_until(secs(1), |net| net.client_closed().is_some());
    assert!(took.is_some_and(|took| took <= ms(100)), "{took:?}");
    assert_eq!(net.client_closed(), Some(&CloseReason::Reset));
    // And it takes the next connection.
    net.connect_again();
    net.run_for(secs(1));
    assert_eq!(net.view().host(net.server_host()).connections(), 1);
}

#[test]
fn a_reset_with_another_token_changes_nothing() {
    let mut net = two_paths().connect();
    net.send(kib(500));
    for size in [21, 43, 60, 1200] {
        let mut payload = vec![0x5a; size];
        payload[0] = 0x41;
        let ends = net.ends("near");
        net.network().inject(Packet {
            from: ends.server,
            to: ends.client,
            ecn: 0,
            payload: payload.into(),
        });
        net.run_for(ms(20));
    }
    net.deliver(secs(2));
    assert!(net.client_closed().is_none());
}

#[test]
fn a_server_of_another_version_is_told_from_one_that_does_not_answer() {
    let mut net = two_paths().start();
    let ends = net.ends("near");
    net.network().record(1);
    net.run_until(ms(30), |net| !net.view().recorded().is_empty());
    let initial = net.view().recorded()[0].payload.clone();
    // Version 0, the connection IDs the other way round, and a version of the far future.
    let (dcid, rest) = connection_id(&initial[5..]);
    let (scid, _) = connection_id(rest);
    let mut answer = vec![0xc0, 0, 0, 0, 0, scid.len() as u8];
    answer.extend_from_slice(scid);
    answer.push(dcid.len() as u8);
    answer.extend_from_slice(dcid);
    answer.extend_from_slice(&0x6d70_6699_u32.to_be_bytes());
    net.network().inject(Packet {
        from: ends.server,
        to: ends.client,
        ecn: 0,
        payload: answer.into(),
    });
    let offered = vec![0x6d70_6699];
    assert_eq!(
        net.client_closed(),
        Some(&CloseReason::VersionMismatch { offered })
    );
}

#[test]
fn a_client_of_another_version_is_told_what_the_server_speaks() {
    let mut net = two_paths().connect();
    net.run_for(secs(1));
    let ends = net.ends("near");
    let mut question = vec![0; 1200];
    question[..11].copy_from_slice(&[0xc0, 0x6d, 0x70, 0x66, 0x99, 2, 0xaa, 0xbb, 2, 0xcc, 0xdd]);
    let question = Bytes::from(question);
    let answer = [
        0x80, 0, 0, 0, 0, 2, 0xcc, 0xdd, 2, 0xaa, 0xbb, 0x6d, 0x70, 0x66, 0x01,
    ];
    for (payload, is_answered) in [(question.clone(), true), (question.slice(..1199), false)] {
        net.network().record(10);
        net.network().inject(Packet {
            from: ends.client,
            to: ends.server,
            ecn: 0,
            payload,
        });
        net.run_for(ms(30));
        let got = net.view().recorded().iter().any(|packet| {
            packet.to == ends.client
                && packet.payload[0] & 0x80 != 0
                && packet.payload[1..] == answer[1..]
        });
        assert_eq!(got, is_answered);
        net.network().record(0);
    }
}

/// A connection ID with its length in front of it, and what follows.
fn connection_id(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes[1..].split_at(usize::from(bytes[0]))
}

#[test]
fn what_is_sent_just_before_the_idle_timeout_still_gets_its_answer() {
    let mut net = scene()
        .path("far", mbit(10), ms(400))
        .both(|config| config.idle_timeout = secs(8))
        .connect();
    net.send(1000);
    net.run_for(secs(2));
    let (idle, _) = net
        .client_connection()
        .and_then(|connection| connection.next_timer())
        .expect("the idle timer runs");
    net.run_for(idle - net.now() - ms(50));
    net.send(1000);
    net.deliver(secs(2));
    assert_eq!(net.client_closed(), None);
}
