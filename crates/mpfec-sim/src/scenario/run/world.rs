//! The network of a run, and when what begins.

mod build;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mpfec_core::{ClientConfig, MeasuredShare, PathStats};

use self::build::Builder;
use super::peer::Peer;
use crate::scenario::{Lent, Plan, Traffic, Variant};
use crate::traffic::{self, Sink};
use crate::{HostId, LinkId, Network, Node};

/// What is simulated.
pub(super) struct World {
    pub(super) network: Network<Host>,
    /// The connections under test.
    pub(super) pairs: Vec<Pair>,
    /// What competes with them, in the order of the plan.
    pub(super) flows: Vec<Flow>,
    /// Links of each path from client to server.
    pub(super) forward: Vec<Vec<LinkId>>,
    /// Of connections that compete, in the order of time.
    timeline: VecDeque<(Instant, Step)>,
    connected_at: Option<Instant>,
    began: Instant,
    lent: Vec<Lent>,
    /// What each of them has announced, and payload bytes that had come over its path.
    announced: Vec<(MeasuredShare, u64)>,
    traffic: Vec<Traffic>,
}

pub(super) type Host = traffic::Node<Node<Peer>>;

/// Both ends of a connection.
pub(super) struct Pair {
    pub(super) client: HostId,
    pub(super) server: HostId,
    /// Positions in the set-up, in the order of the client's sockets.
    pub(super) paths: Vec<usize>,
    config: ClientConfig,
    remote: SocketAddr,
}

/// Traffic that competes.
pub(super) struct Flow {
    pub(super) senders: Vec<HostId>,
    /// One for all senders, or none for connections.
    sink: Option<HostId>,
    pairs: Vec<Pair>,
}

enum Step {
    Connect {
        flow: usize,
    },
    Halt {
        flow: usize,
    },
    /// What the relay of a path needs itself, by position in [`Plan::lent`].
    Announce {
        lent: usize,
    },
}

impl World {
    pub(super) fn new(plan: &Plan, variant: &Variant, seed: u64) -> Self {
        let mut builder = Builder::new(plan, variant.profile, seed);
        let paths = variant.paths.of(plan);
        let pairs = if variant.connection_per_path {
            let each = paths.iter();
            each.map(|path| builder.pair(plan.application, variant.profile, vec![*path]))
                .collect()
        } else {
            vec![builder.pair(plan.application, variant.profile, paths)]
        };
        let flows: Vec<Flow> = plan
            .traffic
            .iter()
            .map(|traffic| builder.flow(traffic))
            .collect();
        if let Some(pauses) = plan.pauses {
            let hosts = pairs.iter().flat_map(|pair| [pair.client, pair.server]);
            pauses.schedule(&mut builder.network, hosts, plan.time(), seed);
        }
        let epoch = builder.network.now();
        let mut timeline = Vec::new();
        for (flow, traffic) in plan.traffic.iter().enumerate() {
            if !flows[flow].pairs.is_empty() {
                timeline.push((epoch + traffic.start, Step::Connect { flow }));
                timeline.extend(traffic.stop.map(|stop| (epoch + stop, Step::Halt { flow })));
            }
        }
        timeline.sort_by_key(|(at, _)| *at);
        Self {
            network: builder.network,
            pairs,
            flows,
            forward: builder.forward,
            timeline: timeline.into(),
            connected_at: None,
            began: epoch,
            lent: plan.lent.clone(),
            announced: vec![Default::default(); plan.lent.len()],
            traffic: plan.traffic.clone(),
        }
    }

    /// Has the clients under test start to connect.
    pub(super) fn connect(&mut self) {
        self.connected_at = Some(self.network.now());
        for pair in &self.pairs {
            pair.connect(&mut self.network);
        }
        for lent in 0..self.lent.len() {
            self.schedule(self.network.now(), Step::Announce { lent });
        }
    }

    fn schedule(&mut self, at: Instant, step: Step) {
        let next = self.timeline.partition_point(|(other, _)| *other <= at);
        self.timeline.insert(next, (at, step));
    }

    /// When the clients under test started to connect.
    pub(super) fn connected_at(&self) -> Instant {
        self.connected_at.unwrap_or_else(|| self.network.now())
    }

    pub(super) fn run_for(&mut self, time: Duration) {
        let end = self.network.now() + time;
        loop {
            while self.is_due() {
                if let Some((_, step)) = self.timeline.pop_front() {
                    self.take(&step);
                }
            }
            let next = self.timeline.front().map_or(end, |(at, _)| end.min(*at));
            let left = next - self.network.now();
            if left.is_zero() {
                return;
            }
            self.network.run_for(left);
        }
    }

    /// Whether the applications under test have nothing more to do.
    pub(super) fn is_done(&self) -> bool {
        self.pairs
            .iter()
            .all(|pair| pair.server(&self.network).application().done_at().is_some())
    }

    /// Why a connection under test is over before its time.
    pub(super) fn failure(&self) -> Option<String> {
        self.pairs.iter().find_map(|pair| {
            let client = pair.client(&self.network).application();
            let server = pair.server(&self.network).application();
            let reason = client.closed().or(server.closed())?;
            Some(format!("the connection was closed: {reason}"))
        })
    }

    fn is_due(&self) -> bool {
        let now = self.network.now();
        self.timeline.front().is_some_and(|(at, _)| *at <= now)
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Connect { flow } => {
                for pair in &self.flows[flow].pairs {
                    pair.connect(&mut self.network);
                }
            }
            Step::Halt { flow } => {
                let now = self.network.now();
                for pair in &self.flows[flow].pairs {
                    let client = self.network.host_mut(pair.client).subject_mut();
                    client.and_then(|client| {
                        client.with(now, |peer, connection| peer.halt(connection))
                    });
                }
            }
            Step::Announce { lent } => self.announce(lent),
        }
    }

    /// Has the servers say what a relay needs itself, now and again after the interval.
    fn announce(&mut self, index: usize) {
        let now = self.network.now();
        let lent = &self.lent[index];
        let rates = lent.rates_at(now - self.began, &self.traffic);
        let link = lent.rate as f64;
        let came = self.received_on(lent.path);
        let (measured, before) = &mut self.announced[index];
        let bits = 8.0 * (came - std::mem::replace(before, came).min(came)) as f64;
        let share = if lent.measured {
            measured.update(link, &rates, bits / lent.interval.as_secs_f64())
        } else {
            mpfec_core::relay_share(link, &rates)
        };
        for pair in &self.pairs {
            let server = self.network.host_mut(pair.server).subject_mut();
            server.and_then(|server| {
                server.with(now, |_, connection| {
                    let paths = connection.stats().paths;
                    let through = |path: &PathStats| path_of(path.tuple.remote) == Some(lent.path);
                    for path in paths.iter().filter(|path| through(path)) {
                        connection.set_path_share(path.id, share);
                    }
                })
            });
        }
        let next = now + lent.interval;
        self.schedule(next, Step::Announce { lent: index });
    }

    /// Bytes that have come over a path, headers included.
    fn received_on(&self, path: usize) -> u64 {
        let servers = self.pairs.iter().map(|pair| pair.server(&self.network));
        let stats = servers.filter_map(|server| Some(server.connection()?.stats()));
        let paths = stats.flat_map(|stats| stats.paths);
        paths
            .filter(|known| path_of(known.tuple.remote) == Some(path))
            .map(|path| path.received_bytes + IP_AND_UDP * path.received_packets)
            .sum()
    }
}

/// The position of the path that a client's address belongs to ([`Builder::pair`] says so).
pub(super) fn path_of(client: SocketAddr) -> Option<usize> {
    match client {
        SocketAddr::V4(address) => Some(usize::from(address.ip().octets()[2])),
        SocketAddr::V6(_) => None,
    }
}

impl Pair {
    pub(super) fn client<'a>(&self, network: &'a Network<Host>) -> &'a Node<Peer> {
        network
            .host(self.client)
            .subject()
            .expect("a client is a subject")
    }

    pub(super) fn server<'a>(&self, network: &'a Network<Host>) -> &'a Node<Peer> {
        network
            .host(self.server)
            .subject()
            .expect("a server is a subject")
    }

    fn connect(&self, network: &mut Network<Host>) {
        let now = network.now();
        let client = network.host_mut(self.client).subject_mut();
        let client = client.expect("a client is a subject");
        client
            .connect(now, &self.config, self.remote)
            .expect("a client has routes");
    }
}

impl Flow {
    /// Bytes that have arrived where they should.
    pub(super) fn received(&self, network: &Network<Host>) -> u64 {
        let pairs = self.pairs.iter();
        let connections: u64 = pairs
            .map(|pair| pair.server(network).application().read())
            .sum();
        connections + self.sink(network).map_or(0, Sink::received)
    }

    /// Packets sent, and those of them that have arrived; of a connection, none.
    pub(super) fn packets(&self, network: &Network<Host>) -> (u64, u64) {
        let senders = self.senders.iter();
        let sent = senders
            .map(|sender| match network.host(*sender) {
                traffic::Node::Tcp(tcp) => tcp.sent(),
                traffic::Node::SackTcp(tcp) => tcp.sent(),
                traffic::Node::Source(source) => source.sent(),
                traffic::Node::Subject(_) | traffic::Node::Sink(_) => 0,
            })
            .sum();
        (sent, self.sink(network).map_or(0, Sink::packets))
    }

    fn sink<'a>(&self, network: &'a Network<Host>) -> Option<&'a Sink> {
        match network.host(self.sink?) {
            traffic::Node::Sink(sink) => Some(sink),
            _ => None,
        }
    }
}

/// Bytes of headers of each packet besides its payload.
pub(super) const IP_AND_UDP: u64 = 28;
