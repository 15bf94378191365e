use std::net::SocketAddr;
use std::time::Duration;

use super::*;
use crate::{HostId, LinkConfig, LinkId, Network, QueueLimit};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// What the tests plug into a network.
#[derive(Debug)]
enum Peer {
    Flow(AimdFlow),
    Source(OnOff),
    Sink(Sink),
}

impl Peer {
    fn host(&mut self) -> &mut dyn Host {
        match self {
            Self::Flow(host) => host,
            Self::Source(host) => host,
            Self::Sink(host) => host,
        }
    }
}

impl Host for Peer {
    fn handle_datagram(&mut self, now: Instant, packet: Packet) {
        self.host().handle_datagram(now, packet);
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.host().handle_timeout(now);
    }
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.host().poll_transmit(now)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Flow(host) => host.poll_timeout(),
            Self::Source(host) => host.poll_timeout(),
            Self::Sink(host) => host.poll_timeout(),
        }
    }
}

/// Senders on the left, one sink on the right, one bottleneck between them.
struct Dumbbell {
    network: Network<Peer>,
    sink: HostId,
    bottleneck: LinkId,
    back: LinkId,
    senders: Vec<HostId>,
}

impl Dumbbell {
    fn new(bottleneck: LinkConfig) -> Self {
        let mut network = Network::new(1);
        let sink = network.add_host("sink", Peer::Sink(Sink::new()));
        network.add_address(sink, Self::sink_address());
        let back = network.add_link(
            "back",
            LinkConfig {
                delay: bottleneck.delay,
                ..LinkConfig::default()
            },
        );
        let bottleneck = network.add_link("bottleneck", bottleneck);
        Self {
            network,
            sink,
            bottleneck,
            back,
            senders: Vec::new(),
        }
    }

    fn sink_address() -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 255], 1))
    }

    fn address(index: usize) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, index as u8], 1))
    }

    fn add(&mut self, make: impl FnOnce(SocketAddr, SocketAddr, Instant) -> Peer) {
        let (from, to) = (Self::address(self.senders.len()), Self::sink_address());
        let host = self
            .network
            .add_host("sender", make(from, to, self.network.now()));
        self.network.add_address(host, from);
        self.network.add_route(from, to, &[self.bottleneck]);
        self.network.add_route(to, from, &[self.back]);
        self.senders.push(host);
    }

    fn add_flow(&mut self, aimd: Aimd, bytes: Option<u64>) {
        self.add(|from, to, start| Peer::Flow(AimdFlow::new(from, to, 1472, aimd, start, bytes)));
    }

    fn add_source(&mut self, config: OnOffConfig) {
        self.add(|from, to, start| Peer::Source(OnOff::new(from, to, config, start, 9)));
    }

    /// Bytes the sink has from each sender.
    fn received(&self) -> Vec<u64> {
        let Peer::Sink(sink) = self.network.host(self.sink) else {
            unreachable!("the sink")
        };
        (0..self.senders.len())
            .map(|index| sink.received_from(Self::address(index)))
            .collect()
    }

    /// Mbit/s of each sender in `time` from now.
    fn rates(&mut self, time: Duration) -> Vec<f64> {
        let before = self.received();
        self.network.run_for(time);
        let gained = self
            .received()
            .into_iter()
            .zip(before)
            .map(|(after, before)| after - before);
        gained
            .map(|bytes| bytes as f64 * 8.0 / 1e6 / time.as_secs_f64())
            .collect()
    }

    fn flow(&self, index: usize) -> &AimdFlow {
        let Peer::Flow(flow) = self.network.host(self.senders[index]) else {
            unreachable!("a flow")
        };
        flow
    }
}

/// 10 Mbit/s, 20 ms one way, a queue of one bandwidth-delay product.
fn bottleneck() -> LinkConfig {
    LinkConfig::new(10_000_000, ms(20)).with_queue(QueueLimit::bandwidth_delay(
        10_000_000,
        ms(40),
        1.0,
    ))
}

#[test]
fn a_lone_flow_fills_its_link() {
    let mut net = Dumbbell::new(bottleneck());
    net.add_flow(Aimd::NEW_RENO, None);
    net.network.run_for(secs(5));
    let rate = net.rates(secs(60))[0];
    // 1472 of 1500 bytes are payload: 9.81 Mbit/s at most.
    assert!((9.3..=9.82).contains(&rate), "{rate}");
}

#[test]
fn equal_flows_share_a_link_about_equally() {
    let mut net = Dumbbell::new(bottleneck());
    (0..3).for_each(|_| net.add_flow(Aimd::NEW_RENO, None));
    net.network.run_for(secs(20));
    let rates = net.rates(secs(200));
    let total: f64 = rates.iter().sum();
    assert!(total > 9.3, "{rates:?}");
    assert!(
        rates
            .iter()
            .all(|rate| (0.5..=1.6).contains(&(rate / total * 3.0))),
        "{rates:?}"
    );
}

#[test]
fn random_loss_holds_a_flow_back_as_the_square_root_law_says() {
    let mut net = Dumbbell::new(
        LinkConfig {
            delay: ms(50),
            ..LinkConfig::default()
        }
        .with_loss(0.01),
    );
    net.add_flow(Aimd::NEW_RENO, None);
    net.network.run_for(secs(20));
    // Mathis et al. 1997: 1472 * 8 / 0.1 s * sqrt(1.5 / 0.01) = 1.44 Mbit/s.
    let rate = net.rates(secs(600))[0];
    assert!((1.1..=1.7).contains(&rate), "{rate}");
}

#[test]
fn a_flow_with_an_end_ends() {
    let mut net = Dumbbell::new(bottleneck());
    net.add_flow(Aimd::NEW_RENO, Some(5_000_000));
    let start = net.network.now();
    net.network.run_for(secs(30));
    let done = net.flow(0).done_at().expect("done") - start;
    assert!((secs(4)..=secs(6)).contains(&done), "{done:?}");
    assert!(net.received()[0] >= 5_000_000);
    assert_eq!(net.rates(secs(10)), [0.0]);
}

#[test]
fn a_flow_survives_a_cut() {
    let mut net = Dumbbell::new(bottleneck());
    net.add_flow(Aimd::NEW_RENO, None);
    let bottleneck = net.bottleneck;
    net.network.run_for(secs(5));
    net.network
        .act(crate::Action::Link(bottleneck, crate::Change::Cut));
    assert!(net.rates(secs(3))[0] < 0.1);
    net.network
        .act(crate::Action::Link(bottleneck, crate::Change::Restore));
    net.network.run_for(secs(10));
    assert!(net.rates(secs(20))[0] > 9.0);
}

#[test]
fn a_source_has_its_rate_on_average() {
    let config = OnOffConfig {
        rate: 4_000_000,
        size: 1000,
        on: ms(500),
        off: ms(500),
        is_random: false,
    };
    for (is_random, slack) in [(false, 0.01), (true, 0.25)] {
        let mut net = Dumbbell::new(LinkConfig::new(100_000_000, ms(1)));
        net.add_source(OnOffConfig {
            is_random,
            ..config
        });
        let rate = net.rates(secs(400))[0];
        assert!((rate / 2.0 - 1.0).abs() < slack, "{rate}");
    }
    let mut net = Dumbbell::new(LinkConfig::new(100_000_000, ms(1)));
    net.add_source(OnOffConfig {
        off: Duration::ZERO,
        ..config
    });
    let rate = net.rates(secs(100))[0];
    assert!((rate / 4.0 - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn a_flow_takes_what_a_source_leaves() {
    let mut net = Dumbbell::new(bottleneck());
    net.add_flow(Aimd::NEW_RENO, None);
    net.add_source(OnOffConfig {
        rate: 5_000_000,
        size: 1472,
        on: secs(1),
        off: Duration::ZERO,
        is_random: false,
    });
    net.network.run_for(secs(10));
    let rates = net.rates(secs(60));
    assert!(
        (3.8..=4.9).contains(&rates[0]) && rates[1] > 4.6,
        "{rates:?}"
    );
}

#[test]
fn subjects_and_traffic_live_in_one_network() {
    let mut network: Network<Node<Sink>> = Network::new(1);
    let (from, to) = (Dumbbell::address(0), Dumbbell::sink_address());
    let sink = network.add_host("sink", Node::Subject(Sink::new()));
    let flow = AimdFlow::new(from, to, 1000, Aimd::NEW_RENO, network.now(), Some(100_000));
    let flow = network.add_host("flow", Node::Traffic(Box::new(flow)));
    network.add_address(sink, to);
    network.add_address(flow, from);
    let link = network.add_link("link", LinkConfig::new(1_000_000, ms(10)));
    network.add_route(from, to, &[link]);
    network.add_route(to, from, &[]);
    network.run_for(secs(5));
    assert_eq!(
        network.host(sink).subject().map(Sink::received),
        Some(100_000)
    );
}
