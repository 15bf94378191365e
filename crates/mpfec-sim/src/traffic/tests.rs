use std::net::SocketAddr;
use std::time::Duration;

use super::*;
use crate::{HostId, LinkConfig, LinkId, Network, QueueLimit};

mod closed_forms;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// What the tests plug into a network: no host is under test but the flows.
type Peer = Node<Sink>;

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
        self.add_tcp(TcpConfig {
            law: aimd.into(),
            pattern: full_packets(),
            rate: None,
            bytes,
        });
    }

    fn add_tcp(&mut self, config: TcpConfig) {
        self.add(|from, to, start| Peer::Tcp(Tcp::new(from, to, config, start, 9)));
    }

    fn add_sack_tcp(&mut self, config: TcpConfig) {
        self.add(|from, to, start| Peer::SackTcp(SackTcp::new(from, to, config, start, 9)));
    }

    fn add_source(&mut self, config: SourceConfig) {
        self.add(|from, to, start| Peer::Source(Source::new(from, to, config, start, 9)));
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

    fn flow(&self, index: usize) -> &Tcp {
        let Peer::Tcp(flow) = self.network.host(self.senders[index]) else {
            unreachable!("a flow")
        };
        flow
    }
}

/// From the start on, packets of 1500 bytes.
fn full_packets() -> Pattern {
    Pattern {
        start: Duration::ZERO,
        stop: None,
        sizes: PacketSizes::fixed(1500),
        overhead: 28,
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
    let done = net.flow(0).finished_at().expect("done") - start;
    assert!((secs(4)..=secs(6)).contains(&done), "{done:?}");
    assert!((5_000_000..5_001_472).contains(&net.received()[0]));
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
    assert!(net.flow(0).timeouts() >= 2);
}

#[test]
fn a_slow_start_that_overruns_a_short_queue_costs_no_more_than_seconds() {
    let mut net =
        Dumbbell::new(LinkConfig::new(10_000_000, ms(20)).with_queue(QueueLimit::Packets(8)));
    net.add_flow(Aimd::NEW_RENO, None);
    net.network.run_for(secs(3));
    let flow = net.flow(0);
    assert!(flow.sent_again() >= 3, "{}", flow.sent_again());
    let rate = net.rates(secs(30))[0];
    // Half a window is 20 of 41 packets: 3/4 of the rate and more.
    assert!((7.4..9.8).contains(&rate), "{rate}");
    assert!(net.flow(0).timeouts() <= 4, "{}", net.flow(0).timeouts());
}

#[test]
fn what_arrives_is_what_was_sent_whatever_is_lost_or_comes_late() {
    let lossy = LinkConfig {
        jitter: ms(30),
        jitter_reorders: true,
        ..LinkConfig::new(10_000_000, ms(10)).with_loss(0.1)
    };
    let mut net = Dumbbell::new(lossy);
    net.add_flow(Aimd::NEW_RENO, Some(1_472_000));
    net.network.run_for(secs(600));
    assert!(net.flow(0).finished_at().is_some());
    assert_eq!(net.received(), [1_472_000]);
}

#[test]
fn an_application_with_little_to_say_gets_its_rate_and_leaves_the_rest() {
    let mut net = Dumbbell::new(bottleneck());
    net.add_tcp(TcpConfig {
        law: Aimd::NEW_RENO.into(),
        pattern: full_packets(),
        rate: Some(2_000_000),
        bytes: None,
    });
    net.network.run_for(secs(5));
    let rate = net.rates(secs(60))[0];
    assert!(
        (rate / (2.0 * 1472.0 / 1500.0) - 1.0).abs() < 0.01,
        "{rate}"
    );
    // A window that is not used does not grow.
    assert!(net.flow(0).window() < 40.0, "{}", net.flow(0).window());
}

#[test]
fn a_gentler_flow_gets_the_same_share_if_its_factors_say_so() {
    // UC Eq. 7.2: increase = 3 (1 - decrease) / (1 + decrease).
    let decrease = 0.625;
    let increase = 3.0 * (1.0 - decrease) / (1.0 + decrease);
    let mut net = Dumbbell::new(bottleneck());
    net.add_flow(Aimd::NEW_RENO, None);
    net.add_flow(Aimd { increase, decrease }, None);
    net.network.run_for(secs(20));
    let rates = net.rates(secs(300));
    assert!((0.5..2.0).contains(&(rates[0] / rates[1])), "{rates:?}");
}

#[test]
fn flows_keep_to_their_times_and_sizes() {
    let pattern = Pattern {
        start: secs(2),
        stop: Some(secs(4)),
        sizes: PacketSizes::mixed(vec![(100, 1.0), (1500, 1.0)]).expect("weights"),
        overhead: 28,
    };
    let mut net = Dumbbell::new(LinkConfig::new(100_000_000, ms(1)));
    net.add_source(SourceConfig {
        rate: 8_000_000,
        times: None,
        pattern: pattern.clone(),
    });
    net.add_tcp(TcpConfig {
        law: Aimd::NEW_RENO.into(),
        pattern,
        rate: Some(16_000_000),
        bytes: None,
    });
    assert_eq!(net.rates(secs(2)), [0.0, 0.0]);
    let rates = net.rates(secs(2));
    // 772 of 800 bytes are payload, on average.
    assert!((rates[0] - 7.7).abs() < 0.2, "{rates:?}");
    assert!((rates[1] - 15.4).abs() < 0.4, "{rates:?}");
    net.network.run_for(ms(100));
    assert_eq!(net.rates(secs(2)), [0.0, 0.0]);
}

#[test]
fn a_flow_that_ends_with_more_to_send_than_it_could_is_quiet() {
    let pattern = Pattern {
        stop: Some(secs(10)),
        ..full_packets()
    };
    type Add = fn(&mut Dumbbell, TcpConfig);
    let flows: [(Add, WindowLaw); 2] = [
        (Dumbbell::add_tcp, Aimd::NEW_RENO.into()),
        (Dumbbell::add_sack_tcp, WindowLaw::Cubic),
    ];
    for (add, law) in flows {
        for rate in [Some(20_000_000), None] {
            let mut net = Dumbbell::new(bottleneck());
            let config = TcpConfig {
                law,
                pattern: pattern.clone(),
                rate,
                bytes: None,
            };
            add(&mut net, config);
            assert!(net.rates(secs(10))[0] > 8.0);
            net.network.run_for(ms(100));
            assert_eq!(net.rates(secs(5)), [0.0], "{law:?}, {rate:?}");
        }
    }
}

#[test]
fn a_source_has_its_rate_on_average() {
    let config = |times| SourceConfig {
        rate: 4_000_000,
        times,
        pattern: full_packets(),
    };
    let times = |spread| Times {
        on: ms(500),
        on_spread: spread,
        off: ms(500),
        off_spread: spread,
    };
    let on_average = 2.0 * 1472.0 / 1500.0;
    for (spread, slack) in [
        (Spread::Constant, 0.01),
        (Spread::Exponential, 0.25),
        (Spread::Pareto { shape: 1.9 }, 0.3),
    ] {
        let mut net = Dumbbell::new(LinkConfig::new(100_000_000, ms(1)));
        net.add_source(config(Some(times(spread))));
        let rate = net.rates(secs(400))[0];
        assert!(
            (rate / on_average - 1.0).abs() < slack,
            "{spread:?}: {rate}"
        );
    }
    let mut net = Dumbbell::new(LinkConfig::new(100_000_000, ms(1)));
    net.add_source(config(None));
    let rate = net.rates(secs(100))[0];
    assert!((rate / on_average - 2.0).abs() < 0.02, "{rate}");
}

#[test]
fn a_flow_takes_what_a_source_leaves() {
    let mut net = Dumbbell::new(bottleneck());
    net.add_flow(Aimd::NEW_RENO, None);
    net.add_source(SourceConfig {
        rate: 5_000_000,
        times: None,
        pattern: full_packets(),
    });
    net.network.run_for(secs(10));
    let rates = net.rates(secs(60));
    assert!(
        (3.6..=4.95).contains(&rates[0]) && rates[1] > 4.6,
        "{rates:?}"
    );
}

#[test]
fn subjects_and_traffic_live_in_one_network() {
    let mut network: Network<Node<Sink>> = Network::new(1);
    let (from, to) = (Dumbbell::address(0), Dumbbell::sink_address());
    let sink = network.add_host("sink", Node::Subject(Sink::new()));
    let config = TcpConfig {
        law: Aimd::NEW_RENO.into(),
        pattern: full_packets(),
        rate: None,
        bytes: Some(147_200),
    };
    let flow = Tcp::new(from, to, config, network.now(), 1);
    let flow = network.add_host("flow", Node::Tcp(flow));
    network.add_address(sink, to);
    network.add_address(flow, from);
    let link = network.add_link("link", LinkConfig::new(1_000_000, ms(10)));
    network.add_route(from, to, &[link]);
    network.add_route(to, from, &[]);
    network.run_for(secs(5));
    assert_eq!(
        network.host(sink).subject().map(Sink::received),
        Some(147_200)
    );
}
