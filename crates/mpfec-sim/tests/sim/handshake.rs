//! How connections begin, and how they fail to.

use std::time::Duration;

use mpfec_core::{CloseReason, Fingerprint, Secret};
use mpfec_sim::{Change, Direction, QueueLimit, Scene, Simulation, scene};

use crate::{kib, mbit, ms, secs};

/// Time until both ends are connected.
fn connect(scene: Scene, within: Duration) -> Duration {
    let mut net = scene.start();
    until_connected(&mut net, within)
}

fn until_connected(net: &mut Simulation, within: Duration) -> Duration {
    let took = net.run_until(within, |net| {
        net.client().connected_at().is_some() && net.server().connected_at().is_some()
    });
    took.unwrap_or_else(|| {
        panic!(
            "not connected within {within:?}: client {:?}, server {:?}",
            net.client().closed(),
            net.server().closed()
        )
    })
}

/// Two paths of 50 and 80 ms.
fn two_paths() -> Scene {
    scene()
        .path("near", mbit(20), ms(50))
        .path("far", mbit(10), ms(80))
}

/// Runs until both ends have given up or been told, and says why they ended.
fn until_closed(
    net: &mut Simulation,
    within: Duration,
) -> (Option<CloseReason>, Option<CloseReason>) {
    net.run_until(within, |net| {
        net.client_closed().is_some() && net.server_closed().is_some()
    });
    (net.client_closed().cloned(), net.server_closed().cloned())
}

#[test]
fn without_loss_it_takes_one_and_a_half_round_trips() {
    let took = connect(two_paths(), secs(1));
    assert!(took <= ms(50) * 3 / 2 + ms(5), "{took:?}");
}

#[test]
fn it_completes_under_30_percent_loss_both_ways() {
    let lossy = |scene: Scene| scene.with(Direction::Both, Change::Loss(0.3));
    for seed in 1..=100 {
        connect(lossy(two_paths()).seed(seed), ms(2500));
        let alone = scene().path("only", mbit(10), ms(80));
        connect(lossy(alone).seed(seed), secs(10));
    }
}

#[test]
fn it_completes_under_reordering_duplication_and_corruption() {
    for seed in 1..=50 {
        connect(
            two_paths()
                .with(
                    Direction::Both,
                    Change::Reorder {
                        share: 0.4,
                        delay: ms(60),
                    },
                )
                .with(Direction::Both, Change::Duplicate(0.4))
                .with(Direction::Both, Change::Corrupt(0.1))
                .seed(seed),
            secs(1),
        );
    }
}

#[test]
fn a_path_that_is_dead_from_the_start_costs_nothing() {
    for dead in [Direction::Both, Direction::Forward, Direction::Backward] {
        let mut net = two_paths().start();
        net.at(Duration::ZERO, "near", dead, Change::Cut);
        let took = until_connected(&mut net, secs(1));
        assert!(took <= ms(80) * 3 / 2 + ms(5), "{dead:?}: {took:?}");
        net.send(kib(100));
        net.deliver(secs(1));
    }
}

#[test]
fn a_client_that_nobody_answers_is_told_so_in_bounded_time() {
    let mut net = two_paths()
        .both(|config| config.idle_timeout = secs(10))
        .start();
    for path in ["near", "far"] {
        net.cut_at(Duration::ZERO, path);
    }
    net.run_for(secs(11));
    assert_eq!(net.client_closed(), Some(&CloseReason::TimedOut));
    assert_eq!(net.view().host(net.client_host()).connections(), 0);
}

#[test]
fn both_ends_give_up_when_all_paths_die_during_the_handshake() {
    let mut net = two_paths()
        .both(|config| config.idle_timeout = secs(10))
        .start();
    // The first flight has arrived; the answer never does.
    for path in ["near", "far"] {
        net.at(ms(20), path, Direction::Backward, Change::Cut);
        net.cut_at(ms(45), path);
    }
    let closed = until_closed(&mut net, secs(11));
    let timed_out = Some(CloseReason::TimedOut);
    assert_eq!(closed, (timed_out.clone(), timed_out));
}

#[test]
fn a_client_expecting_another_server_sends_it_nothing() {
    let expected = Fingerprint::from_bytes([7; 32]);
    let mut net = two_paths().expecting(expected).start();
    net.send(kib(10));
    let (client, server) = until_closed(&mut net, secs(1));
    assert!(client.is_some_and(|reason| reason.is_authentication()));
    assert!(server.is_some_and(|reason| reason.is_authentication()));
    assert!(net.client().connected_at().is_none() && net.server().read() == 0);
}

#[test]
fn a_client_without_the_right_secret_is_turned_away() {
    let right = Secret::from_bytes([1; 16]);
    for wrong in [None, Some(Secret::from_bytes([2; 16]))] {
        let mut net = two_paths().secrets(right, wrong).start();
        net.send(kib(10));
        let (client, server) = until_closed(&mut net, secs(5));
        assert!(
            client.is_some_and(|reason| reason.is_authentication()),
            "{wrong:?}"
        );
        assert!(
            server.is_some_and(|reason| reason.is_authentication()),
            "{wrong:?}"
        );
        assert!(net.server().connected_at().is_none() && net.server().read() == 0);
    }
    let took = connect(two_paths().secrets(right, Some(right)), secs(1));
    assert!(took <= ms(50) * 3 / 2 + ms(5), "{took:?}");
}

#[test]
fn a_busy_server_asks_for_a_proof_of_address_first() {
    let took = connect(two_paths().retry_above(0), secs(1));
    assert!(
        took >= ms(50) * 5 / 2 && took <= ms(50) * 5 / 2 + ms(5),
        "{took:?}"
    );
    for seed in 1..=30 {
        let lossy = two_paths().with(Direction::Both, Change::Loss(0.2));
        connect(lossy.retry_above(0).seed(seed), secs(5));
    }
}

#[test]
fn a_full_server_refuses_at_once() {
    let mut net = two_paths().max_connections(0).start();
    let took = net.run_until(secs(1), |net| net.client_closed().is_some());
    assert!(took.is_some_and(|took| took <= ms(55)), "{took:?}");
    assert!(net.client_closed().is_some_and(CloseReason::is_refusal));
}

#[test]
fn a_server_sends_an_unproved_address_at_most_three_times_what_came_from_it() {
    let mut net = two_paths().start();
    for path in ["near", "far"] {
        // The client never gets an answer, so that it never proves its address.
        net.at(Duration::ZERO, path, Direction::Backward, Change::Cut);
    }
    net.run_until(secs(70), |net| {
        for path in ["near", "far"] {
            let ends = net.ends(path);
            let received = net.view().link(ends.forward).counters().delivered_bytes;
            let sent = net.view().link(ends.backward).counters().submitted_bytes;
            assert!(sent <= 3 * received, "{sent} bytes for {received}");
        }
        false
    });
    let answered = net
        .view()
        .link(net.ends("near").backward)
        .counters()
        .submitted;
    assert!(answered > 1, "the server did answer");
    assert_eq!(net.server_closed(), Some(&CloseReason::TimedOut));
}

#[test]
fn two_clients_connect_one_after_the_other() {
    let mut net = two_paths().connect();
    net.connect_again();
    net.run_for(secs(1));
    let server = net.view().host(net.server_host());
    assert_eq!(server.connections(), 2);
    assert!(net.client_closed().is_none());
}

#[test]
fn a_server_forgets_a_handshake_that_is_never_completed_however_long_its_patience_with_silence() {
    let mut net = scene()
        .path("wifi", mbit(20), ms(100))
        .both(|config| config.idle_timeout = secs(300))
        .start();
    // The client's first packet arrives, and nothing after it.
    net.cut_at(ms(60), "wifi");
    net.run_for(secs(15));
    assert!(net.server_connection().is_some() && net.server_closed().is_none());
    net.run_for(secs(10));
    assert!(net.server_closed().is_some(), "{:?}", net.elapsed());
}

/// A server challenges its only path for as long as it takes: it has no other on which to say that
/// it has given up.
#[test]
fn an_only_path_may_take_minutes_to_be_validated() {
    for seed in 1..=10 {
        let mut net = scene()
            .path("only", 3_000, ms(500))
            .with(Direction::Backward, Change::Loss(0.5))
            .with(Direction::Forward, Change::Rate(Some(mbit(2))))
            .with(Direction::Both, Change::Queue(QueueLimit::Packets(5)))
            .seed(seed)
            .both(|config| {
                config.handshake_timeout = secs(600);
                config.idle_timeout = secs(600);
            })
            .start();
        net.send(1000);
        net.deliver(secs(400));
    }
}

/// The server has sent three times what it got and must be silent, and the client has nothing left
/// to be acknowledged: it asks all the same (RFC 9002 §6.2.2.1).
#[test]
fn it_goes_on_after_a_server_used_up_what_it_may_send() {
    let mut net = scene().path("only", 200_000, ms(50)).start();
    let links = net.ends("only");
    let arrived = |net: &Simulation, link| net.view().link(link).counters().delivered;
    net.run_until(secs(1), |net| arrived(net, links.forward) == 1)
        .expect("the first packet");
    net.at(ms(0), "only", Direction::Forward, Change::Cut);
    net.run_until(secs(1), |net| arrived(net, links.backward) == 1)
        .expect("the beginning of the answer");
    net.cut_at(ms(0), "only");
    net.restore_at(secs(4), "only");
    net.run_for(secs(4));
    until_connected(&mut net, secs(4));
}

/// Keep-alives that are asked for more often than they are answered would fill a slow link.
#[test]
fn keep_alives_leave_a_slow_link_room_for_data() {
    let mut net = scene()
        .path("only", 1_400, ms(10))
        .with(Direction::Both, Change::Queue(QueueLimit::Bytes(9_000)))
        .both(|config| {
            config.keep_alive = ms(500);
            config.handshake_timeout = secs(600);
            config.idle_timeout = secs(600);
        })
        .start();
    net.send(10_000);
    net.deliver(secs(600));
}
