//! Paths come and go, move, differ in size, and are kept for later.

use std::net::SocketAddr;

use mpfec_core::{Dir, OpenPathError, PathChange, PathStatus};
use mpfec_sim::{Action, Change, Direction, PathSetup, Scene, Simulation, scene};

use crate::{kib, mbit, mib, ms, secs};

fn one_path() -> Scene {
    scene().path("wifi", mbit(20), ms(20))
}

fn two_paths() -> Scene {
    one_path().path("lte", mbit(10), ms(60))
}

fn lte() -> PathSetup {
    PathSetup::symmetric("lte", mbit(10), ms(60), 0.0)
}

#[test]
fn a_path_that_is_added_carries_data_within_a_few_round_trips() {
    let mut net = one_path().connect();
    net.send(1 << 40);
    net.run_for(secs(2));
    net.add_interface(lte());
    assert_eq!(net.open_path("lte"), Ok(1));
    net.run_for(ms(500));
    assert_eq!(net.path_stats("lte").state, PathStatus::Active);
    let before = net.carried("lte");
    let bytes = net.bytes_read_in(secs(5)) as f64;
    assert!(
        net.carried("lte") - before > mib(4),
        "{}",
        net.carried("lte") - before
    );
    assert!(bytes * 8e-6 / 5.0 >= 0.9 * 30.0 * 0.957, "{bytes}");
    net.check_bytes();
}

#[test]
fn a_path_whose_interface_goes_costs_nothing_but_its_rate() {
    for path in ["wifi", "lte"] {
        let mut net = two_paths().connect();
        net.send(mib(6));
        net.run_for(secs(1));
        let now = net.now();
        net.with_server(|peer, _| peer.restart_gap(now));
        net.remove_interface(path);
        net.deliver(secs(10));
        let changes = net.path_changes(path);
        assert_eq!(
            changes.last().map(|(_, change)| *change),
            Some(PathChange::Down)
        );
    }
}

#[test]
fn the_last_path_can_be_replaced_by_another() {
    let mut net = one_path().connect();
    net.send(mib(6));
    net.run_for(secs(1));
    net.remove_interface("wifi");
    net.run_for(secs(3));
    assert!(net.client_closed().is_none() && net.server_closed().is_none());
    net.add_interface(lte());
    net.open_path("lte").expect("a path may be opened");
    net.deliver(secs(10));
}

#[test]
fn the_last_path_can_be_replaced_by_one_that_answers_late() {
    let mut net = one_path().connect();
    net.send(mib(2));
    net.send_back(mib(2));
    net.run_for(ms(300));
    net.remove_interface("wifi");
    net.add_interface(lte());
    net.at(ms(0), "lte", Direction::Backward, Change::Cut);
    net.open_path("lte").expect("a path may be opened");
    net.run_for(secs(15));
    net.restore_at(ms(0), "lte");
    let took = net.deliver(secs(20));
    assert!(took <= secs(8), "{took:?}");
}

/// More often than the client has connection IDs, of which it can get no others meanwhile.
#[test]
fn interfaces_may_come_and_go_any_number_of_times_before_a_path_answers() {
    for direction in [Direction::Backward, Direction::Both] {
        let mut net = one_path().connect();
        net.send(mib(2));
        net.send_back(mib(2));
        net.run_for(ms(300));
        net.remove_interface("wifi");
        net.add_interface(lte());
        for attempt in 0..20 {
            net.restore_at(ms(0), "lte");
            net.at(ms(0), "lte", direction, Change::Cut);
            net.run_for(ms(100));
            let opened = net.open_path("lte");
            assert!(opened.is_ok(), "{direction:?}, {attempt}: {opened:?}");
            net.run_for(ms(400));
            net.remove_interface("lte");
        }
        net.restore_at(ms(100), "lte");
        net.run_for(ms(200));
        net.open_path("lte").expect("a path may be opened");
        let took = net.deliver(secs(20));
        assert!(took <= secs(8), "{direction:?}: {took:?}");
        // All is as if nothing had happened.
        net.restore_at(ms(0), "wifi");
        net.run_for(secs(1));
        let opened = net.open_path("wifi").expect("connection IDs are supplied");
        net.run_for(secs(1));
        assert!(opened > 4, "{direction:?}: {opened}");
        assert_eq!(net.path_stats("wifi").state, PathStatus::Active);
        for connection in [net.client_connection(), net.server_connection()] {
            let paths = connection.expect("open").stats().paths;
            assert_eq!(paths.len(), 2, "{direction:?}");
        }
    }
}

#[test]
fn a_path_that_opens_in_vain_makes_room_for_one_elsewhere() {
    let mut net = one_path().connect();
    net.send(mib(2));
    net.send_back(mib(2));
    net.run_for(ms(300));
    net.remove_interface("wifi");
    for attempt in 0..5 {
        let name = format!("dead{attempt}");
        net.add_interface(PathSetup::symmetric(&name, mbit(10), ms(60), 0.0));
        net.at(ms(0), &name, Direction::Backward, Change::Cut);
        net.run_for(ms(10));
        net.open_path(&name).expect("a path may be opened");
    }
    net.add_interface(lte());
    let opened = net.open_path("lte");
    assert_eq!(opened, Err(OpenPathError::NoConnectionId));
    net.run_for(secs(11));
    net.open_path("lte").expect("another may be given up");
    let took = net.deliver(secs(20));
    assert!(took <= secs(8), "{took:?}");
    let left = net.path_changes("dead0");
    let left = left.into_iter().map(|(_, change)| change);
    assert_eq!(left.collect::<Vec<_>>(), [PathChange::Down]);
}

#[test]
fn interfaces_may_come_and_go_a_hundred_times() {
    let mut net = two_paths().connect();
    net.send(mib(30));
    for _ in 0..100 {
        net.remove_interface("lte");
        net.run_for(ms(50));
        net.restore_at(ms(0), "lte");
        net.run_for(ms(1));
        net.open_path("lte")
            .expect("connection IDs are supplied again");
        net.run_for(ms(150));
    }
    net.deliver(secs(30));
    assert_eq!(net.path_stats("lte").state, PathStatus::Active);
}

#[test]
fn a_connection_has_at_most_eight_paths() {
    let mut net = (0..8)
        .fold(scene(), |scene, index| {
            scene.path(&format!("p{index}"), mbit(5), ms(30))
        })
        .connect();
    net.run_for(secs(1));
    let open = |net: &mut mpfec_sim::Simulation, index: usize| {
        let name = format!("p{index}");
        match net.open_path(&name) {
            Ok(_) => Ok(()),
            // The handshake opened it.
            Err(OpenPathError::Duplicate(_)) => Ok(()),
            Err(error) => Err(error),
        }
    };
    for index in 0..8 {
        assert_eq!(open(&mut net, index), Ok(()), "path {index}");
        net.run_for(ms(200));
    }
    net.add_interface(PathSetup::symmetric("p8", mbit(5), ms(30), 0.0));
    assert_eq!(open(&mut net, 8), Err(OpenPathError::TooManyPaths(8)));
    net.send(mib(8));
    let took = net.deliver(secs(10));
    assert!(took <= secs(4), "eight paths of 5 Mbit/s: {took:?}");
    for index in 0..8 {
        assert!(net.carried(&format!("p{index}")) > kib(500), "path {index}");
    }
}

#[test]
fn a_nat_that_forgets_its_mapping_interrupts_for_a_few_round_trips() {
    let mut net = one_path().connect();
    net.send(1 << 40);
    net.run_for(secs(1));
    for rebinding in 1..=5 {
        let inside = net.ends("wifi").client;
        let outside = SocketAddr::new(inside.ip(), 60_000 + rebinding);
        net.network().act(Action::Rebind { inside, outside });
        let now = net.now();
        net.with_server(|peer, _| peer.restart_gap(now));
        let bytes = net.bytes_read_in(secs(2));
        let gap = net.server().longest_gap(net.now());
        assert!(gap <= ms(300), "rebinding {rebinding}: {gap:?}");
        assert!(
            bytes as f64 * 8e-6 / 2.0 >= 0.7 * 20.0 * 0.957,
            "rebinding {rebinding}: {bytes}"
        );
        let server = net.server_connection().expect("open").stats();
        assert_eq!(server.paths[0].tuple.remote, outside);
    }
    net.check_bytes();
}

#[test]
fn a_server_that_sends_follows_its_client_to_a_new_address() {
    let mut net = two_paths().connect();
    net.send_back(mib(8));
    net.run_for(secs(1));
    for path in ["wifi", "lte"] {
        let inside = net.ends(path).client;
        let outside = SocketAddr::new(inside.ip(), 61_000);
        net.network().act(Action::Rebind { inside, outside });
    }
    let took = net.deliver(secs(20));
    assert!(took <= secs(5), "{took:?}");
}

#[test]
fn a_backup_path_carries_data_only_while_no_other_works() {
    let mut net = two_paths().connect();
    net.run_for(ms(500));
    let lte = net.path_stats("lte").id;
    net.with_client(|_, connection| connection.set_backup(lte, true));
    net.run_for(ms(500));
    assert_eq!(net.path_stats("lte").state, PathStatus::Backup);
    let server = net.server_connection().expect("open").stats();
    assert_eq!(
        server.paths[1].state,
        PathStatus::Backup,
        "the server was told"
    );

    let before = net.carried("lte");
    net.send(1 << 40);
    net.run_for(secs(3));
    let idle = net.carried("lte") - before;
    assert!(idle < kib(64), "{idle} bytes on a backup path");

    net.cut_at(ms(0), "wifi");
    let now = net.now();
    net.with_server(|peer, _| peer.restart_gap(now));
    let bytes = net.bytes_read_in(secs(4));
    assert!(bytes > mib(3), "{bytes}");
    assert!(net.server().longest_gap(net.now()) <= secs(1));

    net.restore_at(ms(0), "wifi");
    net.run_for(secs(2));
    let before = net.carried("lte");
    net.run_for(secs(2));
    let idle = net.carried("lte") - before;
    assert!(
        idle < kib(64),
        "{idle} bytes on a backup path after the return"
    );
}

#[test]
fn an_address_that_the_server_advertises_can_be_used() {
    let mut net = one_path().connect();
    net.add_interface(lte());
    let other = net.add_server_address("lte");
    net.with_server(|_, connection| assert!(connection.advertise_address(other)));
    net.run_for(ms(100));
    let known = net.client_connection().expect("open").peer_addresses();
    assert_eq!(known, [other]);
    net.open_path_to("lte", other)
        .expect("a path may be opened");
    net.send(mib(4));
    net.deliver(secs(10));
    assert!(net.carried("lte") > mib(1));
    net.with_server(|_, connection| connection.withdraw_address(other));
    net.run_for(ms(100));
    assert!(
        net.client_connection()
            .expect("open")
            .peer_addresses()
            .is_empty()
    );
}

#[test]
fn a_path_of_small_packets_works_beside_one_of_large_ones() {
    for mtu in [1228, 1300, 1400] {
        let mut net = two_paths()
            .with_on("lte", Direction::Both, Change::Mtu(mtu))
            .connect();
        net.send(1 << 40);
        net.run_for(secs(3));
        let bytes = net.bytes_read_in(secs(4));
        assert!(
            bytes as f64 * 8e-6 / 4.0 >= 0.8 * 30.0 * 0.957,
            "mtu {mtu}: {bytes}"
        );
        assert!(u32::from(net.path_stats("lte").mtu) + 28 <= mtu);
        net.check_bytes();
    }
}

#[test]
fn an_interface_that_takes_less_than_before_is_believed_at_once() {
    let mut net = two_paths().connect();
    net.send(mib(10));
    net.run_for(secs(1));
    net.at(ms(0), "lte", Direction::Both, Change::Mtu(1300));
    net.run_for(ms(1));
    let (now, before) = (net.now(), net.path_stats("lte"));
    assert!(before.mtu > 1400);
    net.with_client(|_, connection| {
        connection.datagram_too_big(now, &before.tuple, before.mtu.into());
    });
    assert_eq!(net.path_stats("lte").mtu, 1200);
    assert_eq!(net.path_stats("wifi").mtu, before.mtu);
    net.deliver(secs(10));
    let after = net.path_stats("lte").mtu;
    assert!((1230..=1272).contains(&after), "{after}");
    net.check_bytes();
}

#[test]
fn a_path_whose_packets_must_become_smaller_goes_on() {
    for path in ["wifi", "lte"] {
        let mut net = two_paths().connect();
        net.send(mib(10));
        net.at(secs(1), path, Direction::Both, Change::Mtu(1280));
        let took = net.deliver(secs(20));
        assert!(took <= secs(8), "{path}: {took:?}");
    }
    let mut alone = one_path().connect();
    alone.send(mib(6));
    alone.at(secs(1), "wifi", Direction::Both, Change::Mtu(1280));
    let took = alone.deliver(secs(30));
    assert!(took <= secs(10), "{took:?}");
}

#[test]
fn a_download_over_an_only_path_survives_a_new_address_at_any_rate() {
    for (rate, rtt) in [(1, 40), (2, 20), (20, 10)] {
        let mut net = scene().path("only", mbit(rate), ms(rtt)).connect();
        net.send_back(1 << 40);
        net.run_for(secs(2));
        let inside = net.ends("only").client;
        let outside = SocketAddr::new(inside.ip(), 61_000);
        net.network().act(Action::Rebind { inside, outside });
        net.run_for(secs(4));
        let before = net.client().read();
        net.run_for(secs(4));
        let read = net.client().read() - before;
        assert!(
            read as f64 * 8e-6 / 4.0 >= 0.8 * rate as f64,
            "{rate} Mbit/s, {rtt} ms: {read}"
        );
    }
}

#[test]
fn a_path_that_the_server_closes_takes_nothing_with_it() {
    for id in 0..2 {
        let mut net = two_paths().connect();
        net.send(mib(4));
        net.run_for(ms(500));
        let now = net.now();
        net.with_server(|_, connection| connection.close_path(now, id))
            .expect("there is another");
        net.deliver(secs(8));
        assert_eq!((net.client_closed(), net.server_closed()), (None, None));
    }
}

#[test]
fn a_path_may_fail_to_open_any_number_of_times() {
    let mut net = one_path()
        .both(|config| config.keep_alive = secs(5))
        .connect();
    net.add_interface(lte());
    net.cut_at(ms(0), "lte");
    for attempt in 0..8 {
        net.run_for(secs(1));
        assert!(net.open_path("lte").is_ok(), "attempt {attempt}");
        net.run_for(secs(12));
    }
    net.restore_at(ms(0), "lte");
    net.run_for(secs(1));
    assert!(net.open_path("lte").is_ok());
    net.run_for(secs(1));
    assert_eq!(net.path_stats("lte").state, PathStatus::Active);
}

/// Its idle slots are no reason to cut anew what is on its way over a path of larger ones.
#[test]
fn a_path_of_smaller_packets_that_opens_costs_no_more_than_smaller_symbols() {
    let mut net = scene()
        .path("wifi", mbit(40), ms(300))
        .with(Direction::Forward, Change::Loss(0.02))
        .connect();
    let mut small = PathSetup::symmetric("lte", mbit(20), ms(20), 0.0);
    (small.forward.mtu, small.backward.mtu) = (1300, 1300);
    net.add_interface(small);
    let write_for = |net: &mut Simulation, blocks: u64| {
        for _ in 0..blocks {
            net.with_client(|peer, _| peer.send(Dir::Uni, 30_000));
            net.run_for(ms(20));
        }
        let connection = net.client_connection().expect("open");
        connection.stats().streams.sent_source_symbols
    };
    let before = write_for(&mut net, 100);
    net.open_path("lte").expect("a path may be opened");
    let sent = write_for(&mut net, 30) - before;
    let of_block = 30_000_u64.div_ceil(1200);
    assert!(sent <= 30 * of_block * 11 / 10, "{sent} source symbols");
    net.run_for(secs(2));
    net.check_bytes();
}
