//! A client and a server in virtual time: what tests and benchmarks run, and look at.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mpfec_core::{
    CloseReason, Connection, Dir, FourTuple, OpenPathError, PathChange, PathStats, SocketId,
};

use crate::{
    Action, Change, Direction, HostId, Link, Network, Node, PathEnds, PathSetup, Peer, Scene,
};

/// A client, a server, and the network between them, in virtual time.
///
/// If a test fails, what is needed to see it again is printed: seed, time and paths.
#[derive(Debug)]
pub struct Simulation {
    network: Network<Node<Peer>>,
    client: HostId,
    server: HostId,
    ends: Vec<PathEnds>,
    scene: Scene,
    server_addresses: Vec<SocketAddr>,
    /// How often the server was restarted.
    restarts: u64,
}

impl Simulation {
    /// Has the client start to connect; `ends` are those of the paths of `scene`.
    pub(crate) fn new(
        network: Network<Node<Peer>>,
        client: HostId,
        server: HostId,
        ends: Vec<PathEnds>,
        scene: Scene,
    ) -> Self {
        let mut simulation = Self {
            network,
            client,
            server,
            server_addresses: vec![ends[0].server],
            ends,
            scene,
            restarts: 0,
        };
        simulation.connect_again();
        simulation
    }

    /// Lets `change` happen to a path so long after now.
    ///
    /// # Panics
    /// If no path has that name.
    pub fn at(&mut self, after: Duration, path: &str, direction: Direction, change: Change) {
        let ends = self.ends(path);
        if direction != Direction::Backward {
            let action = Action::Link(ends.forward, change);
            self.network.schedule(after, action);
        }
        if direction != Direction::Forward {
            let action = Action::Link(ends.backward, change);
            self.network.schedule(after, action);
        }
    }

    /// Cuts a path in both directions so long after now.
    pub fn cut_at(&mut self, after: Duration, path: &str) {
        self.at(after, path, Direction::Both, Change::Cut);
    }

    /// Ends a cut so long after now.
    pub fn restore_at(&mut self, after: Duration, path: &str) {
        self.at(after, path, Direction::Both, Change::Restore);
    }

    /// Lets time pass.
    pub fn run_for(&mut self, time: Duration) {
        self.network.run_for(time);
    }

    /// Lets time pass until `done`, which is asked after every event, and at most for
    /// `within`. Returns how long it took.
    pub fn run_until(
        &mut self,
        within: Duration,
        mut done: impl FnMut(&Self) -> bool,
    ) -> Option<Duration> {
        let start = self.network.now();
        let deadline = start + within;
        while !done(self) {
            let left = deadline.saturating_duration_since(self.network.now());
            // One event at a time: the first question of each call is about what is.
            let mut asked = 0;
            let went_on = self.network.run_while(left, |_| {
                asked += 1;
                asked <= 1
            });
            if !went_on {
                return done(self).then_some(within);
            }
        }
        Some(self.network.now() - start)
    }

    /// Has the client send so many bytes on a stream of its own.
    pub fn send(&mut self, bytes: u64) {
        self.with_client(|peer, _| peer.send(Dir::Uni, bytes));
    }

    /// Has the server send so many bytes on a stream of its own.
    pub fn send_back(&mut self, bytes: u64) {
        self.with_server(|peer, _| peer.send(Dir::Uni, bytes));
    }

    /// Goes on until all that either end was told to send has been read by the other one.
    /// Returns how long it took.
    ///
    /// # Panics
    /// If that takes longer than `within`, or anything arrives that was not sent.
    pub fn deliver(&mut self, within: Duration) -> Duration {
        let took = self.run_until(within, |simulation| {
            simulation.client().is_delivered() && simulation.server().is_delivered()
        });
        self.check_bytes();
        let Some(took) = took else {
            panic!(
                "not delivered within {within:?}: {} bytes read by the server, {} by the client",
                self.server().read(),
                self.client().read()
            );
        };
        took
    }

    /// Has the client send so many bytes and goes on until the server has read them.
    /// Returns the longest time in which it had nothing to read.
    ///
    /// # Panics
    /// As [`deliver`](Self::deliver), after a minute.
    pub fn longest_gap(&mut self, bytes: u64) -> Duration {
        let now = self.now();
        self.with_server(|peer, _| peer.restart_gap(now));
        let before = self.server().read();
        self.send(bytes);
        let read = self.run_until(Duration::from_secs(60), |simulation| {
            simulation.server().read() >= before + bytes
        });
        self.check_bytes();
        assert!(read.is_some(), "{bytes} bytes not read within a minute");
        self.server().longest_gap(self.now())
    }

    /// Bytes that the server reads in the next `time`.
    pub fn bytes_read_in(&mut self, time: Duration) -> u64 {
        let before = self.server().read();
        self.run_for(time);
        self.server().read() - before
    }

    /// Panics if anything arrived that was not sent.
    ///
    /// # Panics
    /// If anything did.
    pub fn check_bytes(&self) {
        let wrong = (self.client().wrong(), self.server().wrong());
        assert_eq!(wrong, (0, 0), "wrong bytes at client and server");
    }

    /// The client's application.
    #[must_use]
    pub fn client(&self) -> &Peer {
        self.network.host(self.client).application()
    }

    /// The server's application.
    #[must_use]
    pub fn server(&self) -> &Peer {
        self.network.host(self.server).application()
    }

    /// The client's connection, unless it is over and forgotten.
    #[must_use]
    pub fn client_connection(&self) -> Option<&Connection> {
        self.network.host(self.client).connection()
    }

    /// The server's connection, unless it is over and forgotten.
    #[must_use]
    pub fn server_connection(&self) -> Option<&Connection> {
        self.network.host(self.server).connection()
    }

    /// Has the client do something with its connection.
    ///
    /// # Panics
    /// If it has none any more.
    pub fn with_client<T>(&mut self, act: impl FnOnce(&mut Peer, &mut Connection) -> T) -> T {
        let now = self.network.now();
        let node = self.network.host_mut(self.client);
        node.with(now, act).expect("the client has a connection")
    }

    /// Has the server do something with its connection.
    ///
    /// # Panics
    /// If it has none (any more).
    pub fn with_server<T>(&mut self, act: impl FnOnce(&mut Peer, &mut Connection) -> T) -> T {
        let now = self.network.now();
        let node = self.network.host_mut(self.server);
        node.with(now, act).expect("the server has a connection")
    }

    /// Why the client's connection ended, if it did.
    #[must_use]
    pub fn client_closed(&self) -> Option<&CloseReason> {
        self.client().closed().map(|(_, reason)| reason)
    }

    /// Why the server's connection ended, if it did.
    #[must_use]
    pub fn server_closed(&self) -> Option<&CloseReason> {
        self.server().closed().map(|(_, reason)| reason)
    }

    /// What the client has measured on a path.
    ///
    /// # Panics
    /// If no path has that name, or it is not open.
    #[must_use]
    pub fn path_stats(&self, path: &str) -> PathStats {
        let socket = self.socket(path);
        let connection = self.client_connection().expect("the client is connected");
        let mut latest_first = connection.stats().paths.into_iter().rev();
        latest_first
            .find(|stats| stats.tuple.socket == socket)
            .expect("the path is open")
    }

    /// Payload bytes that a path has delivered to the server.
    #[must_use]
    pub fn carried(&self, path: &str) -> u64 {
        let link: &Link<_> = self.network.link(self.ends(path).forward);
        link.counters().delivered_bytes
    }

    /// Addresses and links of a path.
    ///
    /// # Panics
    /// If no path has that name.
    #[must_use]
    pub fn ends(&self, path: &str) -> PathEnds {
        self.ends[self.scene.setup.path(path).expect("a path of the scene")]
    }

    /// The virtual time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.network.now()
    }

    /// The virtual time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.network.elapsed()
    }

    /// The network, for whatever else happens to it.
    pub fn network(&mut self) -> &mut Network<Node<Peer>> {
        &mut self.network
    }

    /// The network, to be looked at.
    #[must_use]
    pub fn view(&self) -> &Network<Node<Peer>> {
        &self.network
    }

    /// The client's host.
    #[must_use]
    pub fn client_host(&self) -> HostId {
        self.client
    }

    /// The server's host.
    #[must_use]
    pub fn server_host(&self) -> HostId {
        self.server
    }

    /// The server starts anew: it has forgotten every connection, but has the same
    /// certificate and key for resets.
    pub fn restart_server(&mut self) {
        self.restarts += 1;
        let addresses = self.server_addresses.clone();
        let now = self.network.now();
        let node = self.scene.server_node(now, addresses, self.restarts);
        *self.network.host_mut(self.server) = node;
    }

    /// Gives the client a further interface, from which nothing is sent until
    /// [`open_path`](Self::open_path).
    ///
    /// # Panics
    /// If there is a path of that name.
    pub fn add_interface(&mut self, path: PathSetup) {
        let index = self.ends.len() as u8;
        assert!(
            self.scene.setup.path(&path.name).is_none(),
            "names are unique"
        );
        let name = &path.name;
        let network = &mut self.network;
        let ends = PathEnds {
            client: SocketAddr::from(([10, 0, index, 1], CLIENT_PORT)),
            server: self.server_addresses[0],
            forward: network.add_link(&format!("{name} forward"), path.forward.clone()),
            backward: network.add_link(&format!("{name} backward"), path.backward.clone()),
        };
        network.add_address(self.client, ends.client);
        network.host_mut(self.client).add_socket(ends.client);
        self.ends.push(ends);
        self.scene.setup.paths.push(path);
        for address in self.server_addresses.clone() {
            self.lead(ends, address);
        }
    }

    /// Gives the server a further address, to be reached over the links of the path `over`
    /// only, and returns it. The client learns of it only if told.
    ///
    /// # Panics
    /// If no path has that name.
    pub fn add_server_address(&mut self, over: &str) -> SocketAddr {
        let index = self.server_addresses.len() as u8;
        let address = SocketAddr::from(([10, 0, 255, 1 + index], self.server_addresses[0].port()));
        self.network.add_address(self.server, address);
        self.network.host_mut(self.server).add_socket(address);
        self.server_addresses.push(address);
        self.lead(self.ends(over), address);
        address
    }

    /// Has the client open a path from one of its interfaces to the server.
    ///
    /// # Errors
    /// As [`Connection::open_path`].
    ///
    /// # Panics
    /// If no path has that name, or the client is not connected.
    pub fn open_path(&mut self, name: &str) -> Result<u32, OpenPathError> {
        self.open_path_to(name, self.server_addresses[0])
    }

    /// The same to any address of the server.
    ///
    /// # Errors
    /// As [`Connection::open_path`].
    ///
    /// # Panics
    /// If no path has that name, or the client is not connected.
    pub fn open_path_to(&mut self, name: &str, remote: SocketAddr) -> Result<u32, OpenPathError> {
        let tuple = FourTuple {
            socket: self.socket(name),
            local_ip: None,
            remote,
        };
        let now = self.now();
        self.with_client(|_, connection| connection.open_path(now, tuple))
    }

    /// Takes an interface from the client, which notices at once.
    ///
    /// # Panics
    /// If no path has that name, or the client is not connected.
    pub fn remove_interface(&mut self, name: &str) {
        self.cut_at(Duration::ZERO, name);
        let (socket, now) = (self.socket(name), self.now());
        self.with_client(|_, connection| connection.socket_gone(now, socket));
    }

    /// What became of a path, as the client's application was told: when, since the start,
    /// and what.
    ///
    /// # Panics
    /// If no path has that name.
    #[must_use]
    pub fn path_changes(&self, name: &str) -> Vec<(Duration, PathChange)> {
        let socket = self.socket(name);
        let started = self.now() - self.elapsed();
        let events = self.client().path_events().iter();
        events
            .filter(|(_, event)| event.tuple.socket == socket)
            .map(|(at, event)| (*at - started, event.change))
            .collect()
    }

    /// How often the client suspected a path.
    ///
    /// # Panics
    /// If no path has that name.
    #[must_use]
    pub fn times_suspected(&self, name: &str) -> usize {
        let changes = self.path_changes(name).into_iter();
        changes
            .filter(|(_, change)| *change == PathChange::Suspected)
            .count()
    }

    /// Has the client start one more connection, from all its addresses.
    ///
    /// # Panics
    /// If it cannot even be started.
    pub fn connect_again(&mut self) {
        let config = self.scene.client_config();
        let now = self.network.now();
        self.network
            .host_mut(self.client)
            .connect(now, &config, self.server_addresses[0])
            .expect("a client has routes");
    }

    /// The client's sockets are numbered as the paths are.
    fn socket(&self, path: &str) -> SocketId {
        let index = self.scene.setup.path(path).expect("a path of the scene");
        SocketId(index as u32)
    }

    /// Lets the links of a path lead to and from an address of the server.
    fn lead(&mut self, ends: PathEnds, server: SocketAddr) {
        self.network.add_route(ends.client, server, &[ends.forward]);
        self.network
            .add_route(server, ends.client, &[ends.backward]);
    }
}

impl Drop for Simulation {
    #[expect(clippy::print_stderr, reason = "what replays a test that failed")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "simulation: setup {}, seed {}, stopped at {:?}",
                self.scene.setup.name,
                self.scene.seed,
                self.network.elapsed()
            );
            for (name, peer, connection) in [
                ("client", self.client(), self.client_connection()),
                ("server", self.server(), self.server_connection()),
            ] {
                if let Some((_, reason)) = peer.closed() {
                    eprintln!("{name}: {reason}");
                }
                for path in connection.iter().flat_map(|c| c.stats().paths) {
                    eprintln!("{name}: {path:?}");
                }
            }
        }
    }
}

const CLIENT_PORT: u16 = 50_000;
