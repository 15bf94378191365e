//! Hosts, links and routes of a run, built from its plan.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use mpfec_core::{ClientConfig, ClientTls, Profile, ServerConfig, ServerTls, TransportConfig};

use super::{Flow, Host, Pair};
use crate::scenario::run::peer::Peer;
use crate::scenario::traffic::{Route, Traffic, TrafficKind};
use crate::scenario::{Application, Plan};
use crate::traffic::{self, Pattern, SackTcp, Sink, Source, SourceConfig, Tcp, TcpConfig};
use crate::{Action, Change, Direction, LinkConfig, LinkId, Network, Node, Rng};

/// What is built from a plan, and numbers given out on the way.
pub(super) struct Builder<'a> {
    plan: &'a Plan,
    profile: Profile,
    seed: u64,
    pub(super) network: Network<Host>,
    /// Links of each path from client to server.
    pub(super) forward: Vec<Vec<LinkId>>,
    backward: Vec<Vec<LinkId>>,
    shared: Vec<(LinkId, LinkId)>,
    pairs: u8,
    hosts: u16,
}

impl<'a> Builder<'a> {
    pub(super) fn new(plan: &'a Plan, profile: Profile, seed: u64) -> Self {
        let mut network = Network::new(seed);
        let mut both = |name: &str, forward: &LinkConfig, backward: &LinkConfig| {
            (
                network.add_link(&format!("{name} forward"), forward.clone()),
                network.add_link(&format!("{name} backward"), backward.clone()),
            )
        };
        let paths: Vec<_> = plan
            .setup
            .paths
            .iter()
            .map(|path| both(&path.name, &path.forward, &path.backward))
            .collect();
        let shared: Vec<_> = plan
            .links
            .iter()
            .map(|link| {
                both(
                    &format!("link {}", link.name),
                    &link.forward,
                    &link.backward,
                )
            })
            .collect();
        for timed in &plan.setup.changes {
            change(
                &mut network,
                timed.at,
                paths[timed.path],
                timed.direction,
                timed.change,
            );
        }
        for timed in &plan.link_changes {
            change(
                &mut network,
                timed.at,
                shared[timed.link],
                timed.direction,
                timed.change,
            );
        }
        let routes = paths.iter().zip(&plan.via);
        let forward = routes.clone().map(|((own, _), via)| {
            let via = via.iter().map(|&link| shared[link].0);
            std::iter::once(*own).chain(via).collect()
        });
        let backward = routes.map(|((_, own), via)| {
            let via = via.iter().rev().map(|&link| shared[link].1);
            via.chain(std::iter::once(*own)).collect()
        });
        Self {
            plan,
            profile,
            seed,
            forward: forward.collect(),
            backward: backward.collect(),
            network,
            shared,
            pairs: 0,
            hosts: 0,
        }
    }

    /// A client and a server, joined by these paths.
    pub(super) fn pair(
        &mut self,
        application: Application,
        profile: Profile,
        paths: Vec<usize>,
    ) -> Pair {
        let number = self.pairs;
        self.pairs += 1;
        let transport = self.transport(profile);
        let tls = ServerTls::self_signed(&mut mpfec_core::Rng::seeded(self.seed));
        let pinned = ClientTls::pinned(tls.fingerprint());
        let config = ClientConfig::new(pinned).with_transport(transport.clone());
        let remote = SocketAddr::from((Ipv4Addr::new(10, number, 255, 1), PORT));
        let locals: Vec<SocketAddr> = paths
            .iter()
            .map(|&path| SocketAddr::from((Ipv4Addr::new(10, number, path as u8, 1), PORT)))
            .collect();
        let now = self.network.now();
        let seed = |side: &str| Rng::named(self.seed, &format!("{side} {number}")).next_u64();
        let (client_seed, server_seed) = (seed("client"), seed("server"));
        let client = Peer::client(application);
        let client = Node::new(now, locals.clone(), None, client_seed, client);
        let server = Peer::server(application);
        let server_config = ServerConfig::new(tls).with_transport(transport);
        let server = Node::new(now, vec![remote], Some(server_config), server_seed, server);
        let network = &mut self.network;
        let client = network.add_host(&format!("client {number}"), traffic::Node::Subject(client));
        let server = network.add_host(&format!("server {number}"), traffic::Node::Subject(server));
        network.add_address(server, remote);
        for (&path, &local) in paths.iter().zip(&locals) {
            network.add_address(client, local);
            network.add_route(local, remote, &self.forward[path]);
            network.add_route(remote, local, &self.backward[path]);
        }
        Pair {
            client,
            server,
            paths,
            config,
            remote,
        }
    }

    fn transport(&self, profile: Profile) -> TransportConfig {
        let mut config = TransportConfig {
            profile,
            // A path that is dead for a while is the point of some scenarios.
            idle_timeout: Duration::ZERO,
            ..TransportConfig::default()
        };
        if let Some(bytes) = self.plan.recv_buffer {
            config.stream_window = bytes;
            config.connection_window = bytes;
        }
        config.send_buffer = self.plan.send_buffer.unwrap_or(config.send_buffer);
        config.max_block_symbols = self.plan.block_symbols.unwrap_or(config.max_block_symbols);
        config.max_mtu = self.plan.max_mtu.unwrap_or(config.max_mtu);
        config
    }

    pub(super) fn flow(&mut self, traffic: &Traffic) -> Flow {
        if let TrafficKind::Connection { profile } = traffic.kind {
            return self.connections(traffic, profile.unwrap_or(self.profile));
        }
        let (there, back) = self.route(&traffic.route);
        let (there, back) = if traffic.is_backward {
            (back, there)
        } else {
            (there, back)
        };
        let pattern = Pattern {
            start: traffic.start,
            stop: traffic.stop,
            sizes: traffic.sizes.clone(),
            overhead: self.network.link(there[0]).config().overhead,
        };
        let sink_address = self.address();
        let sink = traffic::Node::Sink(Sink::new());
        let sink = self
            .network
            .add_host(&format!("{} sink", traffic.name), sink);
        self.network.add_address(sink, sink_address);
        let mut senders = Vec::new();
        for number in 0..traffic.flows {
            let name = format!("{} {number}", traffic.name);
            let from = self.address();
            let seed = Rng::named(self.seed, &format!("traffic {name}")).next_u64();
            let host = sender(
                traffic.kind,
                from,
                sink_address,
                &pattern,
                self.network.now(),
                seed,
            );
            let host = self.network.add_host(&name, host);
            self.network.add_address(host, from);
            let (mut there, mut back) = (there.clone(), back.clone());
            if !traffic.delay.is_zero() {
                let access = LinkConfig {
                    delay: traffic.delay,
                    mtu: u32::from(u16::MAX),
                    ..LinkConfig::default()
                };
                there.insert(
                    0,
                    self.network
                        .add_link(&format!("{name} out"), access.clone()),
                );
                back.push(self.network.add_link(&format!("{name} in"), access));
            }
            self.network.add_route(from, sink_address, &there);
            self.network.add_route(sink_address, from, &back);
            senders.push(host);
        }
        Flow {
            senders,
            sink: Some(sink),
            pairs: Vec::new(),
        }
    }

    /// Connections of this transport as traffic: over one path each.
    fn connections(&mut self, traffic: &Traffic, profile: Profile) -> Flow {
        let Route::Path(path) = traffic.route else {
            unreachable!("a connection's route is a path: `TrafficTable::read`")
        };
        let application = Application::Bulk { bytes: None };
        let pairs = (0..traffic.flows)
            .map(|_| self.pair(application, profile, vec![path]))
            .collect();
        Flow {
            senders: Vec::new(),
            sink: None,
            pairs,
        }
    }

    fn route(&self, route: &Route) -> (Vec<LinkId>, Vec<LinkId>) {
        match route {
            Route::Path(path) => (self.forward[*path].clone(), self.backward[*path].clone()),
            Route::Links(links) => (
                links.iter().map(|&link| self.shared[link].0).collect(),
                links
                    .iter()
                    .rev()
                    .map(|&link| self.shared[link].1)
                    .collect(),
            ),
        }
    }

    /// An address that nobody has yet.
    fn address(&mut self) -> SocketAddr {
        let [high, low] = self.hosts.to_be_bytes();
        self.hosts += 1;
        SocketAddr::from((Ipv4Addr::new(172, 16, high, low), PORT))
    }
}

fn sender(
    kind: TrafficKind,
    from: SocketAddr,
    to: SocketAddr,
    pattern: &Pattern,
    epoch: Instant,
    seed: u64,
) -> Host {
    let pattern = pattern.clone();
    match kind {
        TrafficKind::Tcp {
            law,
            sack,
            rate,
            bytes,
        } => {
            let config = TcpConfig {
                law,
                pattern,
                rate,
                bytes,
            };
            if sack {
                traffic::Node::SackTcp(SackTcp::new(from, to, config, epoch, seed))
            } else {
                traffic::Node::Tcp(Tcp::new(from, to, config, epoch, seed))
            }
        }
        TrafficKind::Udp { rate, times } => {
            let config = SourceConfig {
                rate,
                times,
                pattern,
            };
            traffic::Node::Source(Source::new(from, to, config, epoch, seed))
        }
        TrafficKind::Connection { .. } => unreachable!("connections are hosts of their own"),
    }
}

fn change(
    network: &mut Network<Host>,
    at: Duration,
    (forward, backward): (LinkId, LinkId),
    direction: Direction,
    change: Change,
) {
    if direction != Direction::Backward {
        network.schedule(at, Action::Link(forward, change));
    }
    if direction != Direction::Forward {
        network.schedule(at, Action::Link(backward, change));
    }
}

const PORT: u16 = 47_800;
