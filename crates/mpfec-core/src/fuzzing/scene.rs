//! A client and a server with everything that is on its way between them. Time, and what
//! becomes of each datagram, are decided from outside.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use bytes::BytesMut;

use crate::address::{Datagram, Ecn, FourTuple, SocketId, Transmit};
use crate::config::{ClientConfig, ServerConfig, TransportConfig};
use crate::connection::{Connection, EndpointEvent, Event};
use crate::crypto::{ClientTls, ServerTls};
use crate::endpoint::{ConnectionHandle, Endpoint, Routed, Secret};
use crate::id::{Dir, StreamId};
use crate::rng::Rng;
use crate::stream::StreamEvent;

/// Position of the client in [`Scene::ends`].
pub(super) const CLIENT: usize = 0;
/// Position of the server.
pub(super) const SERVER: usize = 1;

/// Both ends, and the wire.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) now: Instant,
    pub(super) ends: [End; 2],
    pub(super) wire: VecDeque<InFlight>,
    /// Whether everything authentic so far came from ends that keep the rules: then no byte may
    /// be wrong, and nothing may be left undelivered.
    pub(super) honest: bool,
    /// Steps since time last passed.
    turns: u32,
}

/// A datagram on its way.
#[derive(Debug, Clone)]
pub(super) struct InFlight {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) ecn: Option<Ecn>,
    pub(super) data: Vec<u8>,
}

/// One endpoint with its connections.
#[derive(Debug)]
pub(super) struct End {
    endpoint: Endpoint,
    pub(super) parties: BTreeMap<ConnectionHandle, Party>,
    /// Position is the socket's number; as the other end sees them.
    pub(super) sockets: [SocketAddr; 2],
    /// Whether its application reads what is there.
    pub(super) reads: bool,
}

/// A connection and its application.
#[derive(Debug)]
pub(super) struct Party {
    pub(super) connection: Connection,
    pub(super) connected: bool,
    pub(super) closed: bool,
    pub(super) streams: BTreeMap<StreamId, Progress>,
}

/// How far an application is with a stream.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) written: u64,
    pub(super) read: u64,
    pub(super) finished: bool,
    /// The peer has read it all, or nobody wants it any more.
    pub(super) settled: bool,
}

impl Scene {
    /// A client that has just started to connect, over one route or two.
    pub(super) fn new(
        transport: TransportConfig,
        secret: bool,
        retry: bool,
        routes: usize,
    ) -> Self {
        let now = epoch();
        let (server_tls, client_tls) = tls();
        let mut server = ServerConfig::new(server_tls).with_transport(transport.clone());
        let mut client = ClientConfig::new(client_tls).with_transport(transport);
        if secret {
            server = server.with_secret(Secret::from_bytes([7; 16]));
            client = client.with_secret(Secret::from_bytes([7; 16]));
        }
        if retry {
            server.retry_above = 0;
        }
        server.max_connections = MAX_CONNECTIONS;
        let ends = [
            End::new(now, None, 1, ["10.0.0.1:1000", "10.0.1.1:1000"]),
            End::new(now, Some(server), 2, ["10.9.0.1:47800", "10.9.1.1:47800"]),
        ];
        let mut scene = Self {
            now,
            ends,
            wire: VecDeque::new(),
            honest: true,
            turns: 0,
        };
        let routes = (0..routes)
            .map(|index| (scene.tuple(index, index), index))
            .collect();
        let (handle, connection) = scene.ends[CLIENT]
            .endpoint
            .connect(now, &client, routes)
            .expect("there is a route");
        scene.ends[CLIENT]
            .parties
            .insert(handle, Party::new(connection));
        scene.flush();
        scene
    }

    /// An end forgets all of its connections, as if it had started again with the same keys.
    #[cfg(test)]
    pub(super) fn restart(&mut self, end: usize) {
        let End {
            endpoint, parties, ..
        } = &mut self.ends[end];
        for handle in std::mem::take(parties).into_keys() {
            endpoint.handle_event(handle, &EndpointEvent::Drained);
        }
    }

    /// From a socket of the client's to one of the server's.
    pub(super) fn tuple(&self, from: usize, to: usize) -> FourTuple {
        FourTuple {
            socket: SocketId(from as u32),
            local_ip: None,
            remote: self.ends[SERVER].sockets[to],
        }
    }

    /// Hands over a datagram to whoever has its address, and lets that end react.
    pub(super) fn deliver(&mut self, datagram: InFlight) {
        let receiver = self.ends.iter().enumerate().find_map(|(end, host)| {
            let socket = host.sockets.iter().position(|at| *at == datagram.to)?;
            Some((end, socket))
        });
        if let Some((end, socket)) = receiver {
            let tuple = FourTuple {
                socket: SocketId(socket as u32),
                local_ip: Some(datagram.to.ip()),
                remote: datagram.from,
            };
            let mut response = Vec::new();
            let datagram = Datagram {
                tuple,
                ecn: datagram.ecn,
                data: BytesMut::from(&datagram.data[..]),
            };
            if let Some(transmit) = self.ends[end].receive(self.now, datagram, &mut response) {
                self.put(end, &transmit, &response);
            }
        }
        self.flush();
    }

    /// Lets time pass, firing timers as they come due; what is on the wire stays there.
    pub(super) fn wait_until(&mut self, until: Instant) {
        while let Some(next) = self.next_timer().filter(|at| *at <= until) {
            self.pass(next);
            for party in self
                .ends
                .iter_mut()
                .flat_map(|end| end.parties.values_mut())
            {
                if party.connection.poll_timeout().is_some_and(|at| at <= next) {
                    party.connection.handle_timeout(self.now);
                }
            }
            self.flush();
        }
        self.pass(until);
        self.flush();
    }

    /// Lets time pass on a network that loses nothing, until `done` or for as long as given.
    pub(super) fn run(&mut self, time: Duration, done: impl Fn(&Self) -> bool) {
        let end = self.now + time;
        while self.now < end && !done(self) {
            for _ in 0..self.wire.len() {
                let Some(datagram) = self.wire.pop_front() else {
                    break;
                };
                self.deliver(datagram);
            }
            let step = if self.wire.is_empty() {
                self.next_timer().unwrap_or(end)
            } else {
                self.now + ONE_WAY
            };
            self.wait_until(step.clamp(self.now, end));
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        let parties = self.ends.iter().flat_map(|end| end.parties.values());
        parties
            .filter_map(|party| party.connection.poll_timeout())
            .min()
    }

    fn pass(&mut self, until: Instant) {
        if until > self.now {
            self.now = until;
            self.turns = 0;
        } else {
            self.turn();
        }
    }

    /// Counts a step at the same instant.
    fn turn(&mut self) {
        self.turns += 1;
        if self.turns > MAX_TURNS {
            let parties = self.ends.iter().flat_map(|end| end.parties.values());
            let timers: Vec<_> = parties
                .map(|party| {
                    let timer = party.connection.next_timer();
                    timer.map(|(at, name)| (at.saturating_duration_since(self.now), name))
                })
                .collect();
            panic!("no end of steps at one instant; timers: {timers:?}");
        }
    }

    /// Puts on the wire what both ends have to send, once their applications have reacted.
    pub(super) fn flush(&mut self) {
        let mut buffer = Vec::new();
        for end in [CLIENT, SERVER] {
            self.ends[end].settle(self.honest);
            let handles: Vec<ConnectionHandle> = self.ends[end].parties.keys().copied().collect();
            for handle in handles {
                while let Some(party) = self.ends[end].parties.get_mut(&handle) {
                    buffer.clear();
                    let now = self.now;
                    let transmit = party.connection.poll_transmit(now, SEGMENTS, &mut buffer);
                    let Some(transmit) = transmit else { break };
                    assert_eq!(
                        transmit.size,
                        buffer.len(),
                        "a transmission of another size"
                    );
                    self.put(end, &transmit, &buffer);
                    self.turn();
                }
            }
            self.ends[end].settle(self.honest);
        }
    }

    fn put(&mut self, end: usize, transmit: &Transmit, bytes: &[u8]) {
        let socket = transmit.tuple.socket.0 as usize;
        let size = transmit.segment_size.unwrap_or(transmit.size).max(1);
        for data in bytes.chunks(size) {
            if self.wire.len() >= MAX_IN_FLIGHT {
                self.wire.pop_front();
            }
            self.wire.push_back(InFlight {
                from: self.ends[end].sockets[socket],
                to: transmit.tuple.remote,
                ecn: transmit.ecn,
                data: data.to_vec(),
            });
        }
    }
}

impl End {
    fn new(now: Instant, server: Option<ServerConfig>, seed: u64, sockets: [&str; 2]) -> Self {
        Self {
            endpoint: Endpoint::new(now, server, Rng::seeded(seed)),
            parties: BTreeMap::new(),
            sockets: sockets.map(|address| address.parse().expect("an address")),
            reads: true,
        }
    }

    fn receive(
        &mut self,
        now: Instant,
        datagram: Datagram,
        response: &mut Vec<u8>,
    ) -> Option<Transmit> {
        match self.endpoint.handle_datagram(now, datagram, response) {
            Routed::Connection(handle, datagram) => {
                if let Some(party) = self.parties.get_mut(&handle) {
                    party.connection.handle_datagram(now, datagram);
                }
            }
            Routed::New(handle, mut connection, datagram) => {
                connection.handle_datagram(now, datagram);
                self.parties.insert(handle, Party::new(*connection));
            }
            Routed::Response(transmit) => return Some(transmit),
            Routed::Ignored => {}
        }
        None
    }

    /// Lets applications react until they have nothing more to do.
    fn settle(&mut self, honest: bool) {
        for (handle, party) in &mut self.parties {
            party.settle(self.reads, honest);
            while let Some(event) = party.connection.poll_endpoint_event() {
                self.endpoint.handle_event(*handle, &event);
                party.closed |= event == EndpointEvent::Drained;
            }
        }
        self.parties
            .retain(|_, party| !party.connection.is_drained());
    }
}

impl Party {
    fn new(connection: Connection) -> Self {
        Self {
            connection,
            connected: false,
            closed: false,
            streams: BTreeMap::new(),
        }
    }

    fn settle(&mut self, reads: bool, honest: bool) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected => self.connected = true,
                Event::Closed(_) => self.closed = true,
                Event::Stream(
                    StreamEvent::Delivered { stream } | StreamEvent::Stopped { stream, .. },
                ) => {
                    if let Some(progress) = self.streams.get_mut(&stream) {
                        progress.settled = true;
                    }
                }
                _ => {}
            }
        }
        for dir in [Dir::Bi, Dir::Uni] {
            while let Some(stream) = self.connection.accept_stream(dir) {
                self.streams.entry(stream).or_default();
            }
        }
        if !reads {
            return;
        }
        for (stream, progress) in &mut self.streams {
            while let Ok(Some(bytes)) = self.connection.read(*stream, usize::MAX) {
                let right = (progress.read..)
                    .zip(&bytes)
                    .all(|(at, byte)| *byte == byte_at(*stream, at));
                assert!(right || !honest, "wrong bytes on {stream:?}");
                progress.read += bytes.len() as u64;
            }
        }
        while self.connection.recv_datagram().is_some() {}
    }

    /// Writes up to `bytes` to a stream; opens it first if it is not there.
    pub(super) fn write(&mut self, stream: StreamId, bytes: usize) {
        let progress = self.streams.entry(stream).or_default();
        let data: Vec<u8> = (progress.written..)
            .take(bytes)
            .map(|at| byte_at(stream, at))
            .collect();
        if let Ok(written) = self.connection.write(stream, &data) {
            assert!(written <= bytes, "more written than given");
            progress.written += written as u64;
        }
    }

    /// Ends what is written to a stream.
    pub(super) fn finish(&mut self, stream: StreamId) {
        if self.connection.finish(stream).is_ok() {
            self.streams.entry(stream).or_default().finished = true;
        }
    }

    /// Nothing more is to become of what was written to a stream.
    pub(super) fn settle_stream(&mut self, stream: StreamId) {
        self.streams.entry(stream).or_default().settled = true;
    }

    /// The stream at `index` of those that the application knows, which begin again behind the
    /// last one.
    pub(super) fn stream(&self, index: usize) -> Option<StreamId> {
        let index = index.checked_rem(self.streams.len())?;
        self.streams.keys().nth(index).copied()
    }

    /// Whether this end owes its application nothing any more.
    pub(super) fn is_at_rest(&self) -> bool {
        self.closed
            || self.connected
                && self
                    .streams
                    .values()
                    .all(|progress| progress.settled || !progress.finished)
    }
}

/// What an honest end writes there.
fn byte_at(stream: StreamId, offset: u64) -> u8 {
    (offset ^ (offset >> 8)).wrapping_mul(31) as u8 ^ stream.value().wrapping_mul(101) as u8
}

/// Made once: making a certificate costs more than a handshake.
fn tls() -> (ServerTls, ClientTls) {
    static TLS: OnceLock<ServerTls> = OnceLock::new();
    let server = TLS.get_or_init(|| ServerTls::self_signed(&mut Rng::seeded(3)));
    (server.clone(), ClientTls::pinned(server.fingerprint()))
}

#[expect(clippy::disallowed_methods, reason = "virtual time needs an epoch")]
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

/// Connections that the server takes.
const MAX_CONNECTIONS: usize = 8;
/// Datagrams on the wire; further ones push out the oldest.
const MAX_IN_FLIGHT: usize = 2048;
/// Datagrams in a batch.
const SEGMENTS: usize = 8;
/// Steps at one instant above which something goes round in circles.
const MAX_TURNS: u32 = 50_000;
/// How long datagrams take where nothing happens to them.
const ONE_WAY: Duration = Duration::from_millis(5);
