//! Clients whose address changes while they do nothing but receive.

use std::net::SocketAddr;
use std::time::Duration;

use mpfec_core::{Dir, PathStatus};
use mpfec_sim::{Action, Change, Direction, PathSetup, Scene, Simulation, scene};

use crate::{mbit, ms, secs};

fn one_path() -> Scene {
    scene().path("wifi", mbit(20), ms(50))
}

fn two_paths() -> Scene {
    one_path().path("lte", mbit(10), ms(60))
}

/// A NAT in front of a path gives the client another address; what is on its way is lost.
fn rebind(net: &mut Simulation, path: &str, port: u16) -> SocketAddr {
    let inside = net.ends(path).client;
    let outside = SocketAddr::new(inside.ip(), port);
    net.network().act(Action::Rebind { inside, outside });
    outside
}

/// Has the server write to its stream, which stays open.
fn write(net: &mut Simulation, bytes: u64) {
    net.with_server(|peer, connection| {
        let first = peer.outgoing().keys().next().copied();
        let stream = first.or_else(|| connection.open_stream(Dir::Uni));
        peer.write(stream.expect("a stream may be opened"), bytes, false);
    });
}

/// How long it takes until the server knows a path's new address.
fn until_followed(net: &mut Simulation, address: SocketAddr) -> Option<Duration> {
    net.run_until(secs(3), |net| {
        let paths = net.server_connection().map(|server| server.stats().paths);
        let mut paths = paths.into_iter().flatten();
        paths.any(|path| path.tuple.remote == address)
    })
}

/// The client's PTO if it knows no more than the handshake's RTT (RFC 9002 §6.2.1), and half a
/// round trip for the packet that then leaves.
fn pto(rtt: Duration) -> Duration {
    rtt * 7 / 2 + ms(30)
}

#[test]
fn a_download_goes_on_after_its_only_client_address_changed() {
    for seed in 1..=10 {
        let mut net = one_path().seed(seed).connect();
        net.send_back(1 << 40);
        net.run_for(secs(1) + ms(7 * seed));
        let now = net.now();
        net.with_client(|peer, _| peer.restart_gap(now));
        let outside = rebind(&mut net, "wifi", 61_000);
        let took = until_followed(&mut net, outside).expect("followed");
        assert!(took <= pto(ms(50)), "seed {seed}: {took:?}");
        net.run_for(secs(2));
        let gap = net.client().longest_gap(net.now());
        assert!(gap <= ms(350), "seed {seed}: {gap:?}");
        net.check_bytes();
    }
}

/// What was under way when the address changed has been acknowledged: the client asks because
/// nothing follows.
#[test]
fn a_paced_download_goes_on_although_nothing_was_left_to_acknowledge() {
    for seed in 1..=10 {
        let mut net = one_path().seed(seed).connect();
        for _ in 0..10 + seed {
            net.run_for(ms(150));
            write(&mut net, 20_000);
            net.run_for(ms(50));
        }
        assert_eq!(net.client().read(), 20_000 * (10 + seed), "seed {seed}");
        let outside = rebind(&mut net, "wifi", 61_000);
        write(&mut net, 20_000);
        let took = until_followed(&mut net, outside).expect("followed");
        assert!(took <= 2 * pto(ms(50)), "seed {seed}: {took:?}");
        net.run_for(secs(1));
        assert_eq!(net.client().read(), 20_000 * (11 + seed), "seed {seed}");
        net.check_bytes();
    }
}

/// A client that has nothing to wait for does not notice; with a keep-alive interval it does.
#[test]
fn an_idle_client_that_keeps_its_connection_alive_is_found_again() {
    let mut net = one_path()
        .client(|config| config.keep_alive = secs(2))
        .connect();
    write(&mut net, 1000);
    net.run_for(secs(10));
    let outside = rebind(&mut net, "wifi", 61_000);
    write(&mut net, 1000);
    let took = until_followed(&mut net, outside).expect("followed");
    assert!(took <= ms(2100), "{took:?}");
    net.run_for(secs(1));
    assert_eq!(net.client().read(), 2000);
}

#[test]
fn a_download_over_two_paths_goes_on_when_either_address_changes() {
    for path in ["wifi", "lte"] {
        for seed in 1..=5 {
            let mut net = two_paths().seed(seed).connect();
            net.send_back(1 << 40);
            net.run_for(secs(1) + ms(7 * seed));
            let now = net.now();
            net.with_client(|peer, _| peer.restart_gap(now));
            let outside = rebind(&mut net, path, 61_000);
            let took = until_followed(&mut net, outside).expect("followed");
            assert!(took <= pto(ms(60)), "{path}, seed {seed}: {took:?}");
            net.run_for(secs(2));
            let gap = net.client().longest_gap(net.now());
            assert!(gap <= ms(300), "{path}, seed {seed}: {gap:?}");
            net.check_bytes();
        }
    }
}

/// Where the client notices that its address is another one, it asks at once from there.
#[test]
fn a_client_that_notices_its_new_address_goes_on_at_once() {
    let mut net = one_path().connect();
    net.send_back(1 << 40);
    net.run_for(secs(1));
    let now = net.now();
    net.with_client(|peer, _| peer.restart_gap(now));
    net.remove_interface("wifi");
    net.add_interface(PathSetup::symmetric("other", mbit(20), ms(50), 0.0));
    net.open_path("other").expect("connection IDs are left");
    net.run_for(secs(2));
    let gap = net.client().longest_gap(net.now());
    assert!(gap <= ms(300), "{gap:?}");
    net.check_bytes();
}

/// Until a path is open to it, a client sends nothing there but challenges and their answers.
#[test]
fn a_path_opens_although_its_address_changes_meanwhile() {
    for lost in 0..=12 {
        let mut net = one_path()
            .client(|config| config.keep_alive = secs(1))
            .connect();
        net.run_for(ms(500));
        net.add_interface(PathSetup::symmetric("lte", mbit(10), ms(60), 0.0));
        net.at(ms(0), "lte", Direction::Backward, Change::Cut);
        net.at(
            ms(50 + 10 * lost),
            "lte",
            Direction::Backward,
            Change::Restore,
        );
        net.open_path("lte").expect("connection IDs are left");
        net.run_for(ms(100 + 10 * lost));
        let outside = rebind(&mut net, "lte", 61_000);
        let took = until_followed(&mut net, outside).expect("followed");
        assert!(took <= ms(1100), "{lost}: {took:?}");
        net.run_for(secs(1));
        assert_eq!(net.path_stats("lte").state, PathStatus::Active, "{lost}");
    }
}

/// A sender that pauses is asked whether it is there, but ever less often.
#[test]
fn a_server_that_writes_now_and_then_is_hardly_asked() {
    let mut net = one_path().connect();
    write(&mut net, 1000);
    net.run_for(secs(1));
    let sent = net.path_stats("wifi").sent_packets;
    net.run_for(secs(20));
    let idle = net.path_stats("wifi").sent_packets - sent;
    assert!(idle <= 2, "{idle} packets while nothing happens");
}
