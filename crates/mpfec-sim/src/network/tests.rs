use std::collections::VecDeque;

use bytes::Bytes;

use super::*;
use crate::{PathSetup, QueueLimit, Setup};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Sends a numbered datagram every `gap`, and echoes what it gets if it has no gap.
#[derive(Debug, Default)]
struct Dummy {
    gap: Option<Duration>,
    due: Option<Instant>,
    sent: u64,
    routes: Vec<(SocketAddr, SocketAddr)>,
    outbox: VecDeque<Packet>,
    arrived: Vec<(Instant, Packet)>,
}

impl Dummy {
    fn source(gap: Duration, from: Instant) -> Self {
        Self {
            gap: Some(gap),
            due: Some(from),
            ..Self::default()
        }
    }
}

impl Host for Dummy {
    fn handle_datagram(&mut self, now: Instant, packet: Packet) {
        if self.gap.is_none() {
            self.outbox.push_back(Packet {
                from: packet.to,
                to: packet.from,
                ..packet.clone()
            });
        }
        self.arrived.push((now, packet));
    }

    fn handle_timeout(&mut self, now: Instant) {
        let (from, to) = self.routes[self.sent as usize % self.routes.len()];
        let mut payload = self.sent.to_be_bytes().to_vec();
        payload.resize(1000, 0);
        self.outbox.push_back(Packet {
            from,
            to,
            ecn: 2,
            payload: payload.into(),
        });
        self.sent += 1;
        self.due = self.gap.map(|gap| now + gap);
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Packet> {
        self.outbox.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    fn next_timer(&self) -> String {
        "to send".to_owned()
    }
}

fn two_paths() -> Setup {
    let path = |name, loss| PathSetup::symmetric(name, 10_000_000, ms(100), loss);
    Setup {
        name: "two".into(),
        summary: String::new(),
        paths: vec![path("a", 0.1), path("b", 0.0)],
        changes: Vec::new(),
    }
}

fn joined(
    setup: &Setup,
    seed: u64,
    gap: Duration,
) -> (Network<Dummy>, HostId, HostId, Vec<PathEnds>) {
    let mut network = Network::new(seed);
    let client = network.add_host("client", Dummy::source(gap, network.now()));
    let server = network.add_host("server", Dummy::default());
    let ends = network.join(setup, client, server);
    network.host_mut(client).routes = ends.iter().map(|end| (end.client, end.server)).collect();
    (network, client, server, ends)
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let digest = |seed| {
        let (mut network, ..) = joined(&two_paths(), seed, ms(1));
        network.run_for(Duration::from_secs(20));
        (network.digest(), network.counters())
    };
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

#[test]
fn letting_time_pass_in_pieces_makes_no_difference() {
    let (mut whole, ..) = joined(&two_paths(), 3, ms(1));
    whole.run_for(ms(5_000));
    let (mut pieces, ..) = joined(&two_paths(), 3, ms(1));
    (0..500).for_each(|_| pieces.run_for(ms(10)));
    assert_eq!(
        (whole.digest(), whole.elapsed()),
        (pieces.digest(), pieces.elapsed())
    );
}

#[test]
fn a_host_that_stands_still_gets_afterwards_all_that_came_and_its_timers_are_late() {
    let (mut network, client, server, _) = joined(&two_paths(), 1, ms(10));
    network.schedule(ms(500), Action::Pause(server, ms(80)));
    // The longer one counts.
    network.schedule(ms(510), Action::Pause(server, ms(20)));
    network.schedule(ms(700), Action::Pause(client, ms(55)));
    network.run_for(ms(1_000));
    let epoch = network.epoch;
    let arrivals = |host| {
        let arrived = &network.host(host).arrived;
        arrived.iter().map(move |(at, _)| *at - epoch)
    };
    let is_within = |at: &Duration, from: u64, to: u64| ms(from) < *at && *at < ms(to);
    assert_eq!(
        arrivals(server)
            .filter(|at| is_within(at, 500, 580))
            .count(),
        0
    );
    // 100 packets a second, some of which get lost.
    assert!(arrivals(server).filter(|at| *at == ms(580)).count() >= 6);
    assert_eq!(
        arrivals(client)
            .filter(|at| is_within(at, 700, 755))
            .count(),
        0
    );
    assert!(arrivals(client).filter(|at| *at == ms(755)).count() >= 4);
    // Every 10 ms until 690 ms, and from 755 ms on.
    assert_eq!(network.host(client).sent, 70 + 25);
}

#[test]
fn packets_take_the_time_of_their_path_and_keep_their_marks() {
    let (mut network, client, server, ends) = joined(&two_paths(), 1, ms(1_000));
    network.run_for(ms(1_500));
    // The second goes over b: 1028 bytes at 10 Mbit/s, and 50 ms.
    let (at, packet) = network.host(server).arrived.last().expect("arrived");
    assert_eq!(
        *at - network.epoch,
        ms(1_050) + Duration::from_nanos(822_400)
    );
    assert_eq!(
        (packet.from, packet.to, packet.ecn),
        (ends[1].client, ends[1].server, 2)
    );
    let (at, _) = network.host(client).arrived.last().expect("echoed");
    assert_eq!(
        *at - network.epoch,
        ms(1_100) + Duration::from_nanos(1_644_800)
    );
    assert_eq!(network.elapsed(), ms(1_500));
}

#[test]
fn every_packet_is_delivered_dropped_with_a_reason_or_on_its_way() {
    let (mut network, client, server, ends) = joined(&two_paths(), 5, Duration::from_micros(300));
    network.run_for(ms(7_777));
    let sent = network.host(client).sent;
    let total = |get: fn(&Network<Dummy>, LinkId) -> u64| {
        ends.iter()
            .map(|end| get(&network, end.forward))
            .sum::<u64>()
    };
    assert_eq!(
        sent,
        total(|network, link| network.link(link).counters().submitted)
    );
    let dropped = total(|network, link| network.link(link).counters().dropped());
    let held = total(|network, link| network.link(link).held());
    assert!(dropped > 0 && held > 0);
    assert_eq!(
        sent,
        network.host(server).arrived.len() as u64 + dropped + held
    );
}

#[test]
fn scheduled_changes_happen_when_they_should() {
    let setup = Setup::named("path-death").expect("built in");
    let (mut network, _, server, ends) = joined(&setup, 1, ms(1));
    network.run_for(Duration::from_secs(15));
    let times = |path: usize| {
        let client = ends[path].client;
        let arrived = network
            .host(server)
            .arrived
            .iter()
            .filter(|(_, packet)| packet.from == client);
        arrived
            .map(|(at, _)| *at - network.epoch)
            .collect::<Vec<_>>()
    };
    let gap = |times: Vec<Duration>| {
        times
            .windows(2)
            .map(|pair| (pair[1] - pair[0], pair[0]))
            .max()
    };
    let (longest, since) = gap(times(0)).expect("many");
    assert!((ms(4_998)..=ms(5_004)).contains(&longest), "{longest:?}");
    assert!((ms(5_005)..=ms(5_011)).contains(&since), "{since:?}");
    assert!(gap(times(1)).expect("many").0 <= ms(3));
}

#[test]
fn flows_share_a_link_they_both_cross() {
    let mut network = Network::new(1);
    let bottleneck = network.add_link(
        "bottleneck",
        LinkConfig::new(8_224_000, ms(5)).with_queue(QueueLimit::Packets(20)),
    );
    let server = network.add_host(
        "server",
        Dummy {
            gap: Some(ms(1)),
            ..Dummy::default()
        },
    );
    let to: SocketAddr = "10.0.0.9:1".parse().expect("an address");
    network.add_address(server, to);
    for number in 0..2 {
        // 1000 packets/s each where 1000 of both fit; not in step.
        let start = network.now() + Duration::from_micros(number * 370);
        let host = network.add_host(
            "client",
            Dummy::source(Duration::from_micros(1_000 + number), start),
        );
        let access = network.add_link(
            &format!("access {number}"),
            LinkConfig::new(100_000_000, ms(1)),
        );
        let from = SocketAddr::from(([10, 0, 0, number as u8], 1));
        network.add_address(host, from);
        network.add_route(from, to, &[access, bottleneck]);
        network.host_mut(host).routes = vec![(from, to)];
    }
    network.run_for(Duration::from_secs(10));
    let arrived = network.host(server).arrived.len();
    assert!((9_980..=10_000).contains(&arrived), "{arrived}");
    assert!(network.link(bottleneck).counters().dropped_queue > 9_900);
}

#[test]
fn a_rebound_address_is_seen_from_then_on_and_the_old_one_leads_nowhere() {
    let mut setup = two_paths();
    setup.paths.remove(0);
    let (mut network, client, server, ends) = joined(&setup, 1, ms(100));
    let outside: SocketAddr = "192.0.2.1:7".parse().expect("an address");
    network.schedule(
        ms(1_060),
        Action::Rebind {
            inside: ends[0].client,
            outside,
        },
    );
    network.run_for(ms(3_000));
    let server = network.host(server);
    let seen: Vec<_> = server
        .arrived
        .iter()
        .map(|(_, packet)| packet.from)
        .collect();
    assert_eq!(
        seen.iter().filter(|&&from| from == ends[0].client).count(),
        11
    );
    assert!(seen[11..].iter().all(|&from| from == outside));
    // The echo of the one sent at 1 s, which came back at about 1.1 s.
    assert_eq!(network.counters().unroutable, 1);
    assert!(
        network
            .host(client)
            .arrived
            .iter()
            .all(|(_, packet)| packet.to == ends[0].client)
    );
    assert_eq!(network.host(client).arrived.len(), 28);
}

#[test]
fn an_unknown_address_is_counted_and_harmless() {
    let (mut network, client, ..) = joined(&two_paths(), 1, ms(100));
    let nowhere: SocketAddr = "203.0.113.1:1".parse().expect("an address");
    network.host_mut(client).routes[0].1 = nowhere;
    network.run_for(ms(1_000));
    assert_eq!(network.counters().unroutable, 6);
}

#[test]
fn a_run_ends_early_when_told() {
    let (mut network, _, server, _) = joined(&two_paths(), 1, ms(10));
    assert!(network.run_while(
        Duration::from_secs(9),
        |network| network.host(server).arrived.len() < 10
    ));
    assert_eq!(network.host(server).arrived.len(), 10);
    assert!(network.elapsed() < ms(200));
    assert!(!network.run_while(ms(10), |_| true));
}

#[test]
#[should_panic(expected = "livelock: client at 0ns (seed 77) wants to send again and again")]
fn a_timer_that_never_moves_is_a_livelock() {
    /// Says that it is due and does nothing about it.
    struct Stuck(Instant);
    impl Host for Stuck {
        fn handle_datagram(&mut self, _: Instant, _: Packet) {}
        fn handle_timeout(&mut self, _: Instant) {}
        fn poll_transmit(&mut self, _: Instant) -> Option<Packet> {
            None
        }
        fn poll_timeout(&self) -> Option<Instant> {
            Some(self.0)
        }
        fn next_timer(&self) -> String {
            "to send".to_owned()
        }
    }
    let mut network = Network::new(77);
    network.add_host("client", Stuck(network.now()));
    network.run_for(ms(1));
}

#[test]
#[should_panic(expected = "does not stop sending")]
fn a_host_that_never_stops_sending_is_a_livelock() {
    /// Always has one more.
    struct Endless;
    impl Host for Endless {
        fn handle_datagram(&mut self, _: Instant, _: Packet) {}
        fn handle_timeout(&mut self, _: Instant) {}
        fn poll_transmit(&mut self, _: Instant) -> Option<Packet> {
            let address = "10.0.0.1:1".parse().expect("an address");
            Some(Packet {
                from: address,
                to: address,
                ecn: 0,
                payload: Bytes::new(),
            })
        }
        fn poll_timeout(&self) -> Option<Instant> {
            None
        }
    }
    let mut network = Network::new(1);
    network.add_host("client", Endless);
    network.run_for(ms(1));
}
