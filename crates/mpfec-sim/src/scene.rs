//! A client and a server with paths between them, described in a few lines.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mpfec_core::{
    ClientConfig, ClientTls, Fingerprint, Profile, ResetKey, Secret, ServerConfig, ServerTls,
    TransportConfig,
};

use crate::{Change, Direction, Network, Node, PathSetup, Peer, Rng, Setup, Simulation};

/// What a [`Simulation`] starts with.
#[derive(Debug, Clone)]
pub struct Scene {
    pub(crate) setup: Setup,
    pub(crate) seed: u64,
    client: TransportConfig,
    server: TransportConfig,
    client_secret: Option<Secret>,
    server_secret: Option<Secret>,
    fingerprint: Option<Fingerprint>,
    retry_above: Option<usize>,
    max_connections: Option<usize>,
}

/// An empty [`Scene`].
#[must_use]
pub fn scene() -> Scene {
    let setup = Setup {
        name: "scene".to_owned(),
        summary: String::new(),
        paths: Vec::new(),
        changes: Vec::new(),
    };
    Scene {
        setup,
        seed: 1,
        client: TransportConfig::default(),
        server: TransportConfig::default(),
        client_secret: None,
        server_secret: None,
        fingerprint: None,
        retry_above: None,
        max_connections: None,
    }
}

impl Scene {
    /// Adds a path of the same rate in both directions, with a queue of one
    /// bandwidth-delay product.
    #[must_use]
    pub fn path(mut self, name: &str, rate_bps: u64, rtt: Duration) -> Self {
        self.setup
            .paths
            .push(PathSetup::symmetric(name, rate_bps, rtt, 0.0));
        self
    }

    /// The paths of `setup`, and its changes, in place of those added before.
    #[must_use]
    pub fn setup(mut self, setup: Setup) -> Self {
        self.setup = setup;
        self
    }

    /// Changes every path from the start on, for example to lose packets.
    #[must_use]
    pub fn with(mut self, direction: Direction, change: Change) -> Self {
        for path in 0..self.setup.paths.len() {
            self.change(path, direction, change);
        }
        self
    }

    /// Changes one path from the start on.
    ///
    /// # Panics
    /// If no path has that name.
    #[must_use]
    pub fn with_on(mut self, path: &str, direction: Direction, change: Change) -> Self {
        let index = self.setup.path(path).expect("a path of the scene");
        self.change(index, direction, change);
        self
    }

    /// Everything random repeats from this number; 1 if not given.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Codec, scheduler and congestion controller of both ends.
    #[must_use]
    pub fn profile(self, profile: Profile) -> Self {
        self.both(|config| config.profile = profile)
    }

    /// Changes the settings of both ends.
    #[must_use]
    pub fn both(self, change: impl Fn(&mut TransportConfig)) -> Self {
        self.client(&change).server(change)
    }

    /// Changes the settings of the client.
    #[must_use]
    pub fn client(mut self, change: impl FnOnce(&mut TransportConfig)) -> Self {
        change(&mut self.client);
        self
    }

    /// Changes the settings of the server.
    #[must_use]
    pub fn server(mut self, change: impl FnOnce(&mut TransportConfig)) -> Self {
        change(&mut self.server);
        self
    }

    /// What the server asks for, and what the client has.
    #[must_use]
    pub fn secrets(mut self, server: Secret, client: Option<Secret>) -> Self {
        self.server_secret = Some(server);
        self.client_secret = client;
        self
    }

    /// Has the client expect another server than the one that is there.
    #[must_use]
    pub fn expecting(mut self, fingerprint: Fingerprint) -> Self {
        self.fingerprint = Some(fingerprint);
        self
    }

    /// Handshakes under way above which clients must prove their address.
    #[must_use]
    pub fn retry_above(mut self, handshakes: usize) -> Self {
        self.retry_above = Some(handshakes);
        self
    }

    /// Connections that the server takes.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = Some(connections);
        self
    }

    /// Builds it all and has the client start to connect.
    ///
    /// # Panics
    /// If the scene has no path, or paths that are not [valid](Setup::check).
    #[must_use]
    pub fn start(self) -> Simulation {
        let mut network = Network::new(self.seed);
        let client = network.add_host("client", self.client_node(network.now()));
        let server = network.add_host("server", self.server_node(network.now(), Vec::new(), 0));
        let ends = network.join(&self.setup, client, server);
        network.host_mut(server).add_socket(ends[0].server);
        for end in &ends {
            network.host_mut(client).add_socket(end.client);
        }
        Simulation::new(network, client, server, ends, self)
    }

    /// Builds it all and goes on until the handshake is complete at both ends.
    ///
    /// # Panics
    /// If that takes more than a minute.
    #[must_use]
    pub fn connect(self) -> Simulation {
        let mut simulation = self.start();
        let connected = simulation.run_until(Duration::from_secs(60), |simulation| {
            simulation.client().connected_at().is_some()
                && simulation.server().connected_at().is_some()
        });
        assert!(connected.is_some(), "not connected within a minute");
        simulation
    }

    fn change(&mut self, path: usize, direction: Direction, change: Change) {
        let path = &mut self.setup.paths[path];
        if direction != Direction::Backward {
            change.apply_to(&mut path.forward);
        }
        if direction != Direction::Forward {
            change.apply_to(&mut path.backward);
        }
    }

    fn tls(&self) -> ServerTls {
        ServerTls::self_signed(&mut mpfec_core::Rng::seeded(self.seed))
    }

    /// The `life`th server, from 0: what it forgets between two lives is random anew, but its
    /// certificate and the key of its resets are kept.
    pub(crate) fn server_node(
        &self,
        now: Instant,
        sockets: Vec<SocketAddr>,
        life: u64,
    ) -> Node<Peer> {
        let reset_key = ResetKey::generate(&mut mpfec_core::Rng::seeded(self.seed));
        let mut config = ServerConfig::new(self.tls())
            .with_transport(self.server.clone())
            .with_reset_key(reset_key);
        config.secret.clone_from(&self.server_secret);
        config.retry_above = self.retry_above.unwrap_or(config.retry_above);
        config.max_connections = self.max_connections.unwrap_or(config.max_connections);
        Node::new(
            now,
            sockets,
            Some(config),
            Rng::named(self.seed, &format!("server {life}")).next_u64(),
            Peer::default(),
        )
    }

    fn client_node(&self, now: Instant) -> Node<Peer> {
        let seed = Rng::named(self.seed, "client").next_u64();
        Node::new(now, Vec::new(), None, seed, Peer::default())
    }

    pub(crate) fn client_config(&self) -> ClientConfig {
        let fingerprint = self.fingerprint.unwrap_or_else(|| self.tls().fingerprint());
        let mut config =
            ClientConfig::new(ClientTls::pinned(fingerprint)).with_transport(self.client.clone());
        config.secret.clone_from(&self.client_secret);
        config
    }
}
