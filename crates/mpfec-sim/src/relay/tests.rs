use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use super::*;
use crate::{LinkConfig, PathSetup, QueueLimit, TimedChange};

/// Nothing on loopback takes this long: a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket
}

fn setup(paths: Vec<PathSetup>) -> Setup {
    Setup {
        name: "test".into(),
        summary: String::new(),
        paths,
        changes: Vec::new(),
    }
}

fn path(name: &str, forward: LinkConfig, backward: LinkConfig) -> PathSetup {
    PathSetup {
        name: name.into(),
        forward,
        backward,
    }
}

fn ideal(name: &str) -> PathSetup {
    path(name, LinkConfig::default(), LinkConfig::default())
}

fn start(setup: &Setup) -> (UdpRelay, UdpSocket) {
    let server = socket();
    let relay =
        UdpRelay::start(setup, server.local_addr().expect("bound"), 1).expect("loopback sockets");
    (relay, server)
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = [0; 2048];
    let (length, from) = socket.recv_from(&mut buffer).expect("a datagram");
    (buffer[..length].to_vec(), from)
}

/// Waits until the counters are as they should be.
fn wait_until(relay: &UdpRelay, mut holds: impl FnMut(&[RelayStats]) -> bool) {
    let begin = clock();
    while !holds(&relay.stats()) {
        assert!(clock() - begin < PATIENCE, "{:?}", relay.stats());
        std::thread::yield_now();
    }
}

/// Sends `data` over the first path, one datagram at a time, until the counters are as they should be.
fn send_until(
    relay: &UdpRelay,
    client: &UdpSocket,
    data: &[u8],
    mut holds: impl FnMut(&RelayStats) -> bool,
) {
    while !holds(&relay.stats()[0]) {
        let submitted = relay.stats()[0].forward.submitted;
        client.send_to(data, relay.paths()[0].1).expect("sent");
        wait_until(relay, |stats| stats[0].forward.submitted > submitted);
    }
}

#[expect(clippy::disallowed_methods, reason = "these tests run in real time")]
fn clock() -> Instant {
    Instant::now()
}

#[test]
fn datagrams_go_both_ways_over_each_path() {
    let (relay, server) = start(&setup(vec![ideal("wifi"), ideal("lte")]));
    for (name, address) in relay.paths() {
        let client = socket();
        client.send_to(name.as_bytes(), address).expect("sent");
        let (data, from) = receive(&server);
        assert_eq!(data, name.as_bytes());
        server.send_to(b"answer", from).expect("sent");
        assert_eq!(receive(&client), (b"answer".to_vec(), *address));
    }
    assert_eq!(relay.path("lte"), Some(1));
    wait_until(&relay, |stats| {
        stats
            .iter()
            .all(|path| (path.forward.delivered, path.backward.delivered) == (1, 1))
    });
}

#[test]
fn several_clients_on_one_path_get_their_own_answers() {
    let (relay, server) = start(&setup(vec![ideal("only")]));
    let clients: Vec<_> = (0..10).map(|_| socket()).collect();
    for (index, client) in clients.iter().enumerate() {
        client
            .send_to(&[index as u8], relay.paths()[0].1)
            .expect("sent");
    }
    let mut addresses = Vec::new();
    for _ in &clients {
        let (data, from) = receive(&server);
        server.send_to(&data, from).expect("sent");
        addresses.push(from);
    }
    for (index, client) in clients.iter().enumerate() {
        assert_eq!(receive(client).0, [index as u8]);
    }
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 10);
    assert_eq!(relay.stats()[0].clients, 10);
}

#[test]
fn more_clients_than_allowed_push_out_the_longest_silent() {
    let (relay, server) = start(&setup(vec![ideal("only")]));
    for index in 0..200u8 {
        socket()
            .send_to(&[index], relay.paths()[0].1)
            .expect("sent");
        assert_eq!(receive(&server).0, [index]);
    }
    assert_eq!(relay.stats()[0].clients, 64);
}

#[test]
fn a_burst_leaves_at_the_rate_of_the_link() {
    // 100 full packets of 1.2 ms each at 10 Mbit/s: the last arrives 120 ms later or after
    // that, never before, and nothing is lost on the way.
    let forward = LinkConfig::new(10_000_000, ms(5));
    let (relay, server) = start(&setup(vec![path("only", forward, LinkConfig::default())]));
    let client = socket();
    let begin = clock();
    for index in 0..100u8 {
        client
            .send_to(&[index; 1472], relay.paths()[0].1)
            .expect("sent");
    }
    for index in 0..100u8 {
        assert_eq!(receive(&server).0[0], index);
        let least = Duration::from_micros(1_200) * (u32::from(index) + 1) + ms(5);
        assert!(clock() - begin >= least, "packet {index} is early");
    }
    assert_eq!(relay.stats()[0].forward.dropped(), 0);
}

#[test]
fn a_full_queue_drops_and_counts() {
    // 1 kbit/s: the first packet leaves after 8 s.
    let forward = LinkConfig::new(1_000, ms(0)).with_queue(QueueLimit::Packets(3));
    let (relay, _server) = start(&setup(vec![path("only", forward, LinkConfig::default())]));
    let client = socket();
    for _ in 0..50 {
        client
            .send_to(&[0; 1000], relay.paths()[0].1)
            .expect("sent");
    }
    wait_until(&relay, |stats| stats[0].forward.submitted == 50);
    assert_eq!(relay.stats()[0].forward.dropped_queue, 46);
}

#[test]
fn loss_takes_its_share_in_its_direction_only() {
    let forward = LinkConfig::default().with_loss(0.25);
    let (relay, server) = start(&setup(vec![path("only", forward, LinkConfig::default())]));
    let client = socket();
    let mut arrived = 0;
    for index in 1..=2_000 {
        client.send_to(b"ping", relay.paths()[0].1).expect("sent");
        // One at a time: no socket buffer overflows.
        wait_until(&relay, |stats| stats[0].forward.submitted == index);
        if relay.stats()[0].forward.delivered > arrived {
            let (data, from) = receive(&server);
            arrived += 1;
            server.send_to(&data, from).expect("sent");
            receive(&client);
        }
    }
    let stats = relay.stats()[0];
    assert_eq!(
        (arrived, stats.backward.dropped()),
        (stats.forward.delivered, 0)
    );
    assert!((1_400..=1_600).contains(&arrived), "{arrived}");
}

#[test]
fn a_cut_path_is_silent_until_restored() {
    let (relay, server) = start(&setup(vec![ideal("only")]));
    let client = socket();
    relay.cut(0);
    // The cut comes soon, not at once; then nothing passes.
    send_until(&relay, &client, b"lost", |stats| {
        stats.forward.dropped_cut > 0
    });
    let delivered = relay.stats()[0].forward.delivered;
    let dropped = relay.stats()[0].forward.dropped_cut;
    send_until(&relay, &client, b"lost", |stats| {
        stats.forward.dropped_cut > dropped + 20
    });
    assert_eq!(relay.stats()[0].forward.delivered, delivered);
    relay.restore(0);
    send_until(&relay, &client, b"back", |stats| {
        stats.forward.delivered > delivered
    });
    let last = std::iter::from_fn(|| Some(receive(&server).0)).find(|data| data != b"lost");
    assert_eq!(last, Some(b"back".to_vec()));
}

#[test]
fn changes_happen_at_their_time_after_the_first_datagram() {
    let mut setup = setup(vec![ideal("only")]);
    setup.changes = vec![TimedChange {
        at: ms(50),
        path: 0,
        direction: Direction::Forward,
        change: Change::Cut,
    }];
    let (relay, server) = start(&setup);
    let client = socket();
    let begin = clock();
    client.send_to(b"first", relay.paths()[0].1).expect("sent");
    assert_eq!(receive(&server).0, b"first");
    send_until(&relay, &client, b"more", |stats| {
        stats.forward.dropped_cut > 0
    });
    assert!(clock() - begin >= ms(50));
}

#[test]
fn a_rebound_client_comes_from_another_address_and_still_gets_answers() {
    let (relay, server) = start(&setup(vec![ideal("only")]));
    let client = socket();
    client.send_to(b"one", relay.paths()[0].1).expect("sent");
    let (_, before) = receive(&server);
    relay.rebind(0);
    // Soon, not at once.
    let after = std::iter::from_fn(|| {
        client.send_to(b"two", relay.paths()[0].1).expect("sent");
        Some(receive(&server).1)
    });
    let after = after
        .take(100_000)
        .find(|&from| from != before)
        .expect("another address");
    server.send_to(b"answer", after).expect("sent");
    assert_eq!(receive(&client).0, b"answer");
}

#[test]
fn a_setup_without_paths_is_refused() {
    let server = socket().local_addr().expect("bound");
    let error = UdpRelay::start(&setup(Vec::new()), server, 1).expect_err("no paths");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn dropping_the_relay_frees_its_sockets() {
    let (relay, _server) = start(&setup(vec![ideal("only")]));
    let address = relay.paths()[0].1;
    drop(relay);
    assert!(UdpSocket::bind(address).is_ok());
}
