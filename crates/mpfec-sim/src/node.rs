//! An mpfec endpoint with its connections as a host of a simulated network: the very state
//! machine that ships, driven by virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use mpfec_core::{
    ClientConfig, ConnectError, Connection, ConnectionHandle, Datagram, Ecn, Endpoint,
    EndpointEvent, Event, FourTuple, Routed, ServerConfig, SocketId, Transmit,
};

use crate::{Host, Packet};

/// What a node does with its connections.
pub trait Application {
    /// Something happened on a connection.
    fn on_event(&mut self, now: Instant, connection: &mut Connection, event: Event);

    /// Called after each batch of inputs and events: the chance to read and write.
    fn poll(&mut self, now: Instant, connection: &mut Connection);

    /// When the application wants to be polled although nothing happens.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

/// An endpoint, its connections and an application.
#[derive(Debug)]
pub struct Node<A> {
    endpoint: Endpoint,
    connections: BTreeMap<ConnectionHandle, Connection>,
    /// Position is the socket's number.
    sockets: Vec<SocketAddr>,
    outgoing: VecDeque<Packet>,
    buffer: Vec<u8>,
    application: A,
}

impl<A: Application> Node<A> {
    /// A node that sends from `sockets`, and takes connections if `server` is given.
    /// Everything random in it repeats from `seed`.
    pub fn new(
        now: Instant,
        sockets: Vec<SocketAddr>,
        server: Option<ServerConfig>,
        seed: u64,
        application: A,
    ) -> Self {
        Self {
            endpoint: Endpoint::new(now, server, mpfec_core::Rng::seeded(seed)),
            connections: BTreeMap::new(),
            sockets,
            outgoing: VecDeque::new(),
            buffer: Vec::new(),
            application,
        }
    }

    /// Adds a socket, for example of an interface that appears later.
    pub fn add_socket(&mut self, address: SocketAddr) {
        self.sockets.push(address);
    }

    /// Starts a connection from every socket to `remote`.
    ///
    /// # Errors
    /// As [`Endpoint::connect`].
    pub fn connect(
        &mut self,
        now: Instant,
        config: &ClientConfig,
        remote: SocketAddr,
    ) -> Result<ConnectionHandle, ConnectError> {
        let tuple = |socket| FourTuple {
            socket: SocketId(socket),
            local_ip: None,
            remote,
        };
        let routes = (0..self.sockets.len())
            .map(|index| (tuple(index as u32), index))
            .collect();
        let (handle, connection) = self.endpoint.connect(now, config, routes)?;
        self.connections.insert(handle, connection);
        self.settle(now);
        Ok(handle)
    }

    /// The application.
    pub fn application(&self) -> &A {
        &self.application
    }

    /// The application; [`with`](Self::with) also reaches its connections.
    pub fn application_mut(&mut self) -> &mut A {
        &mut self.application
    }

    /// The only connection, or the oldest one.
    pub fn connection(&self) -> Option<&Connection> {
        self.connections.values().next()
    }

    /// Connections that are not forgotten yet.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Does something with the oldest connection and the application, and lets both react.
    pub fn with<T>(
        &mut self,
        now: Instant,
        act: impl FnOnce(&mut A, &mut Connection) -> T,
    ) -> Option<T> {
        let connection = self.connections.values_mut().next()?;
        let result = act(&mut self.application, connection);
        self.settle(now);
        Some(result)
    }

    /// Drains events and applications until both have nothing more to say.
    fn settle(&mut self, now: Instant) {
        let mut gone = Vec::new();
        for (handle, connection) in &mut self.connections {
            loop {
                let mut quiet = true;
                while let Some(event) = connection.poll_event() {
                    quiet = false;
                    self.application.on_event(now, connection, event);
                }
                self.application.poll(now, connection);
                if quiet {
                    break;
                }
            }
            while let Some(event) = connection.poll_endpoint_event() {
                if event == EndpointEvent::Drained {
                    gone.push(*handle);
                }
                self.endpoint.handle_event(*handle, &event);
            }
        }
        for handle in gone {
            self.connections.remove(&handle);
        }
    }

    /// Splits a batch into the datagrams that a link carries one by one.
    fn queue(&mut self, transmit: &Transmit) {
        let Some(from) = self.sockets.get(transmit.tuple.socket.0 as usize).copied() else {
            return;
        };
        let ecn = match transmit.ecn {
            None => 0,
            Some(Ecn::Ect1) => 1,
            Some(Ecn::Ect0) => 2,
            Some(Ecn::Ce) => 3,
        };
        let size = transmit.segment_size.unwrap_or(transmit.size).max(1);
        for datagram in self.buffer.chunks(size) {
            let payload = Bytes::copy_from_slice(datagram);
            self.outgoing.push_back(Packet {
                from,
                to: transmit.tuple.remote,
                ecn,
                payload,
            });
        }
    }
}

impl<A: Application> Host for Node<A> {
    fn handle_datagram(&mut self, now: Instant, packet: Packet) {
        let Some(socket) = self
            .sockets
            .iter()
            .position(|address| *address == packet.to)
        else {
            return;
        };
        let tuple = FourTuple {
            socket: SocketId(socket as u32),
            local_ip: Some(packet.to.ip()),
            remote: packet.from,
        };
        let ecn = match packet.ecn {
            1 => Some(Ecn::Ect1),
            2 => Some(Ecn::Ect0),
            3 => Some(Ecn::Ce),
            _ => None,
        };
        let datagram = Datagram {
            tuple,
            ecn,
            // Nobody else has it, unless the network keeps a copy.
            data: packet
                .payload
                .try_into_mut()
                .unwrap_or_else(|shared| BytesMut::from(&shared[..])),
        };
        self.buffer.clear();
        match self
            .endpoint
            .handle_datagram(now, datagram, &mut self.buffer)
        {
            Routed::Connection(handle, datagram) => {
                if let Some(connection) = self.connections.get_mut(&handle) {
                    connection.handle_datagram(now, datagram);
                }
            }
            Routed::New(handle, mut connection, datagram) => {
                connection.handle_datagram(now, datagram);
                self.connections.insert(handle, *connection);
            }
            Routed::Response(transmit) => self.queue(&transmit),
            Routed::Ignored => {}
        }
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        for connection in self.connections.values_mut() {
            // Where nothing is due, nothing happens.
            connection.handle_timeout(now);
        }
        self.settle(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if self.outgoing.is_empty() {
            self.buffer.clear();
            let buffer = &mut self.buffer;
            let transmit = self
                .connections
                .values_mut()
                .find_map(|connection| connection.poll_transmit(now, MAX_SEGMENTS, buffer));
            if let Some(transmit) = transmit {
                self.queue(&transmit);
            }
            self.settle(now);
        }
        self.outgoing.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timers = self
            .connections
            .values()
            .filter_map(Connection::poll_timeout);
        timers.chain(self.application.poll_timeout()).min()
    }

    fn next_timer(&self) -> String {
        let next = self
            .connections
            .values()
            .filter_map(Connection::next_timer)
            .min_by_key(|(at, _)| *at);
        next.map_or_else(
            || "the application".to_owned(),
            |(_, timer)| format!("{timer:?}"),
        )
    }
}

const MAX_SEGMENTS: usize = 16;
