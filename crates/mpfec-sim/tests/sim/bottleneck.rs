//! A client and a server whose paths share links with TCP flows.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use mpfec_core::{
    ClientConfig, ClientTls, Connection, Dir, PathStats, Profile, Rng, ServerConfig, ServerTls,
    TransportConfig,
};
use mpfec_sim::traffic::{Aimd, Node as Anyone, PacketSizes, Pattern, Sink, Tcp, TcpConfig};
use mpfec_sim::{HostId, LinkConfig, LinkId, Network, Node, Peer, QueueLimit};

/// One connection and the flows beside it.
pub(crate) struct Bottleneck {
    pub(crate) network: Network<Anyone<Node<Peer>>>,
    client_config: ClientConfig,
    client: HostId,
    server: HostId,
    sink: HostId,
    routes: u8,
    paths: Vec<SocketAddr>,
    flows: Vec<SocketAddr>,
}

/// What moved in a time, in Mbit/s of payload.
#[derive(Debug, Clone)]
pub(crate) struct Rates {
    /// What the server's application read.
    pub(crate) goodput: f64,
    /// What arrived on each path, in the order in which they were added.
    pub(crate) paths: Vec<f64>,
    /// What each TCP flow delivered in order.
    pub(crate) flows: Vec<f64>,
}

/// A link of so many kbit/s, with room for so many packets.
pub(crate) fn link(kbit: u64, delay: Duration, queue_packets: u64) -> LinkConfig {
    LinkConfig {
        rate: Some(kbit * 1000),
        delay,
        queue: QueueLimit::Packets(queue_packets),
        ..LinkConfig::default()
    }
}

impl Bottleneck {
    /// Ends that no path joins yet. `configure` changes the settings of both.
    pub(crate) fn new(
        profile: Profile,
        seed: u64,
        configure: impl FnOnce(&mut TransportConfig),
    ) -> Self {
        let mut config = TransportConfig {
            profile,
            ..TransportConfig::default()
        };
        configure(&mut config);
        let mut network = Network::new(seed);
        let tls = ServerTls::self_signed(&mut Rng::seeded(seed));
        let tls_client = ClientTls::pinned(tls.fingerprint());
        let server = ServerConfig::new(tls).with_transport(config.clone());
        let now = network.now();
        let node = |sockets, server, seed| {
            Anyone::Subject(Node::new(now, sockets, server, seed, Peer::default()))
        };
        let client = network.add_host("client", node(Vec::new(), None, seed + 1));
        let server = network.add_host("server", node(vec![SERVER], Some(server), seed));
        let sink = network.add_host("sink", Anyone::Sink(Sink::new()));
        network.add_address(server, SERVER);
        network.add_address(sink, SINK);
        Self {
            network,
            client_config: ClientConfig::new(tls_client).with_transport(config),
            client,
            server,
            sink,
            routes: 0,
            paths: Vec::new(),
            flows: Vec::new(),
        }
    }

    /// A link under a name of its own.
    pub(crate) fn link(&mut self, config: LinkConfig) -> LinkId {
        self.routes += 1;
        let name = format!("link {}", self.routes);
        self.network.add_link(&name, config)
    }

    /// A path through links and back.
    pub(crate) fn path(&mut self, forth: &[LinkId], back: &[LinkId]) {
        self.routes += 1;
        let address = SocketAddr::from(([10, 0, self.routes, 1], 50_000));
        self.network.add_address(self.client, address);
        self.network.add_route(address, SERVER, forth);
        self.network.add_route(SERVER, address, back);
        if let Some(node) = self.network.host_mut(self.client).subject_mut() {
            node.add_socket(address);
        }
        self.paths.push(address);
    }

    /// A TCP flow through links and back that sends all it can, or so many kbit/s.
    pub(crate) fn tcp(&mut self, forth: &[LinkId], back: &[LinkId], aimd: Aimd, kbit: Option<u64>) {
        self.routes += 1;
        let address = SocketAddr::from(([10, 1, self.routes, 1], 80));
        let config = TcpConfig {
            law: aimd.into(),
            pattern: Pattern {
                start: Duration::ZERO,
                stop: None,
                sizes: PacketSizes::fixed(1500),
                overhead: 28,
            },
            rate: kbit.map(|kbit| kbit * 1000),
            bytes: None,
        };
        let flow = Tcp::new(address, SINK, config, self.network.now(), 1);
        let host = self.network.add_host("flow", Anyone::Tcp(flow));
        self.network.add_address(host, address);
        self.network.add_route(address, SINK, forth);
        self.network.add_route(SINK, address, back);
        self.flows.push(address);
    }

    /// Connects, and has the client send without end.
    pub(crate) fn start(&mut self) {
        let now = self.network.now();
        let config = self.client_config.clone();
        let node = self.network.host_mut(self.client).subject_mut();
        let node = node.expect("the client is no flow");
        node.connect(now, &config, SERVER).expect("it has routes");
        node.with(now, |peer, _| peer.send(Dir::Uni, 1 << 40));
    }

    /// Has the server announce what a path takes of a relay's link.
    pub(crate) fn announce(&mut self, path: usize, rho: f64) {
        let remote = self.paths[path];
        let now = self.network.now();
        let node = self.network.host_mut(self.server).subject_mut();
        let node = node.expect("the server is no flow");
        node.with(now, |_, connection| {
            let paths = connection.stats().paths;
            let path = paths.iter().find(|stats| stats.tuple.remote == remote);
            let is_open = path.is_some_and(|path| connection.set_path_share(path.id, rho));
            assert!(is_open, "the path is open");
        });
    }

    /// What moves in `time`.
    pub(crate) fn rates(&mut self, time: Duration) -> Rates {
        let before = self.counts();
        self.network.run_for(time);
        let after = self.counts();
        let rate = |before: u64, after: u64| (after - before) as f64 * 8e-6 / time.as_secs_f64();
        let rates = |before: &[u64], after: &[u64]| {
            let both = before.iter().zip(after);
            both.map(|(before, after)| rate(*before, *after)).collect()
        };
        Rates {
            goodput: rate(before.0, after.0),
            paths: rates(&before.1, &after.1),
            flows: rates(&before.2, &after.2),
        }
    }

    fn counts(&self) -> (u64, Vec<u64>, Vec<u64>) {
        let server = self.network.host(self.server).subject();
        let read = server.map_or(0, |node| node.application().read());
        let stats = self.client_connection().stats().paths;
        let delivered = (0..self.paths.len()).map(|path| {
            let stats = stats.iter().find(|stats| is_from(stats, path));
            stats.map_or(0, |stats| stats.delivered_bytes)
        });
        let Anyone::Sink(sink) = self.network.host(self.sink) else {
            return (read, delivered.collect(), Vec::new());
        };
        let flows = self.flows.iter().map(|flow| sink.received_from(*flow));
        (read, delivered.collect(), flows.collect())
    }

    /// The client's end.
    pub(crate) fn client_connection(&self) -> &Connection {
        let client = self.network.host(self.client).subject();
        client
            .and_then(Node::connection)
            .expect("the client is connected")
    }
}

/// Whether a path of the client starts at its socket of that number: each has one of its own.
fn is_from(stats: &PathStats, socket: usize) -> bool {
    stats.tuple.socket.0 as usize == socket
}

const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 255, 1)), 47_800);
const SINK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 1, 255, 1)), 80);
