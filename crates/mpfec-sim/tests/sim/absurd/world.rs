//! A client and a server with clocks of their own, and what came of a transfer between them.

use std::time::{Duration, Instant};

use mpfec_core::{ClientConfig, ClientTls, CloseReason, Dir, ServerConfig, ServerTls};
use mpfec_sim::{HostId, Network, Node, Peer, Rng};

use super::bound::Bound;
use super::clock::{Clocked, Counts};
use super::links::Case;
use crate::secs;

/// What came of a transfer.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) took: Duration,
    pub(super) delivered: bool,
    /// How each end's connection ended, if it did: client and server.
    pub(super) ends: [Option<CloseReason>; 2],
    /// Connections that are left at each end.
    pub(super) left: [usize; 2],
    pub(super) counts: [Counts; 2],
    /// Bytes that a writer was ahead of its peer's receipts at the most.
    pub(super) most_ahead: u64,
    /// What each end did in the minute after everything was delivered.
    pub(super) quiet: Option<[Counts; 2]>,
}

/// Runs a transfer until it is over in one way or the other, or can no longer be.
pub(super) fn run(case: &Case) -> Outcome {
    let mut world = World::new(case);
    let start = world.network.now();
    let patience = Bound::of(case).longest();
    world.run_until(start + patience);
    for host in world.hosts() {
        assert_eq!(world.peer(host).wrong(), 0, "wrong bytes");
    }
    let mut outcome = Outcome {
        took: world.network.now() - start,
        delivered: world.is_delivered(),
        ends: world.hosts().map(|host| world.reason(host)),
        left: world
            .hosts()
            .map(|host| world.network.host(host).host().connections()),
        counts: world.counts(),
        most_ahead: world.most_ahead,
        quiet: None,
    };
    let is_open = outcome.ends.iter().all(Option::is_none);
    if outcome.delivered && is_open {
        // What is still on its way after the last byte has its time first.
        world.network.run_for(secs(300));
        let before = world.counts();
        world.network.run_for(secs(60));
        let after = world.counts();
        outcome.quiet = Some([0, 1].map(|end: usize| after[end].since(&before[end])));
    }
    outcome
}

struct World {
    network: Network<Clocked<Node<Peer>>>,
    client: HostId,
    server: HostId,
    /// Bytes to the server and to the client.
    bytes: [u64; 2],
    most_ahead: u64,
}

impl World {
    fn new(case: &Case) -> Self {
        let mut network = Network::new(case.seed);
        let now = network.now();
        let tls = ServerTls::self_signed(&mut mpfec_core::Rng::seeded(case.seed));
        let trust = ClientTls::pinned(tls.fingerprint());
        let server = ServerConfig::new(tls).with_transport(case.config.clone());
        let mut seeds = Rng::named(case.seed, "hosts");
        let mut host = |server, bytes: u64, clock| {
            let mut peer = Peer::default();
            if bytes > 0 {
                peer.send(Dir::Uni, bytes);
            }
            let node = Node::new(now, Vec::new(), server, seeds.next_u64(), peer);
            Clocked::new(now, node, clock, seeds.next_u64())
        };
        let client = host(None, case.up, case.client_clock.clone());
        let server = host(Some(server), case.down, case.server_clock.clone());
        let client = network.add_host("client", client);
        let server = network.add_host("server", server);
        let ends = network.join(&case.setup, client, server);
        let (_, node) = network.host_mut(server).at(now);
        node.add_socket(ends[0].server);
        let config = ClientConfig::new(trust).with_transport(case.config.clone());
        let (now, node) = network.host_mut(client).at(now);
        for end in &ends {
            node.add_socket(end.client);
        }
        node.connect(now, &config, ends[0].server)
            .expect("a client with routes");
        Self {
            network,
            client,
            server,
            bytes: [case.up, case.down],
            most_ahead: 0,
        }
    }

    fn hosts(&self) -> [HostId; 2] {
        [self.client, self.server]
    }

    fn peer(&self, host: HostId) -> &Peer {
        self.network.host(host).host().application()
    }

    fn counts(&self) -> [Counts; 2] {
        self.hosts().map(|host| self.network.host(host).counts)
    }

    fn reason(&self, host: HostId) -> Option<CloseReason> {
        self.peer(host).closed().map(|(_, reason)| reason.clone())
    }

    /// Whether both ends have read all there is, and both know that of the other one.
    fn is_delivered(&self) -> bool {
        let read = |host, bytes| self.peer(host).read() >= bytes;
        read(self.server, self.bytes[0])
            && read(self.client, self.bytes[1])
            && self
                .hosts()
                .iter()
                .all(|host| self.peer(*host).is_delivered())
    }

    fn is_over(&self) -> bool {
        let is_gone = |host: &HostId| {
            self.reason(*host).is_some() || self.network.host(*host).host().connections() == 0
        };
        self.is_delivered() || self.hosts().iter().all(is_gone)
    }

    fn run_until(&mut self, end: Instant) {
        while !self.is_over() {
            let ahead = self.hosts().map(|host| self.ahead(host));
            self.most_ahead = self.most_ahead.max(ahead[0]).max(ahead[1]);
            let left = end.saturating_duration_since(self.network.now());
            let mut asked = 0;
            let went_on = self.network.run_while(left, |_| {
                asked += 1;
                asked <= 1
            });
            if !went_on {
                return;
            }
        }
    }

    /// Bytes that an application has handed over and its peer has not read.
    fn ahead(&self, host: HostId) -> u64 {
        let other = if host == self.client {
            self.server
        } else {
            self.client
        };
        let written = self
            .peer(host)
            .outgoing()
            .values()
            .map(|stream| stream.written);
        written.sum::<u64>().saturating_sub(self.peer(other).read())
    }
}
