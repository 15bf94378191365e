//! One path of the relay: its sockets, its clients and its two links.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use socket2::SockRef;
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

use super::worker::{Carrier, Received};
use super::{BATCH, RelayStats};
use crate::{Change, Direction, Link, LinkConfig, PathSetup, clock};

/// Which client a datagram is from or for. Never used twice.
type ClientId = u64;

#[derive(Debug)]
pub(super) struct RelayPath {
    downstream: UdpSocket,
    server: SocketAddr,
    clients: BTreeMap<ClientId, Client>,
    by_address: BTreeMap<SocketAddr, ClientId>,
    next_client: ClientId,
    forward: Link<ClientId>,
    backward: Link<ClientId>,
    refused: u64,
    unsent: u64,
}

#[derive(Debug)]
struct Client {
    address: SocketAddr,
    /// Connected to the server.
    upstream: UdpSocket,
    last_heard: Instant,
}

impl RelayPath {
    /// Must be called inside the runtime that will use it.
    pub(super) fn open(setup: &PathSetup, server: SocketAddr, seed: u64) -> io::Result<Self> {
        let link = |config: &LinkConfig, way| {
            Link::named(config.clone(), seed, &format!("{} {way}", setup.name))
        };
        Ok(Self {
            downstream: bind(Ipv4Addr::LOCALHOST.into())?,
            server,
            clients: BTreeMap::new(),
            by_address: BTreeMap::new(),
            next_client: 0,
            forward: link(&setup.forward, "forward"),
            backward: link(&setup.backward, "backward"),
            refused: 0,
            unsent: 0,
        })
    }

    pub(super) fn client_address(&self) -> io::Result<SocketAddr> {
        self.downstream.local_addr()
    }

    fn on_client_datagram(&mut self, now: Instant, from: SocketAddr, payload: &[u8]) {
        let client = match self.by_address.get(&from) {
            Some(&id) => Ok(id),
            None => self.admit(now, from),
        };
        let Ok(id) = client else {
            self.refused += 1;
            return;
        };
        if let Some(client) = self.clients.get_mut(&id) {
            client.last_heard = now;
        }
        // What the link drops, it counts.
        let _ = self
            .forward
            .submit(now, Bytes::copy_from_slice(payload), id);
    }

    /// Gives a new client a socket, in place of the one longest silent if there are too many.
    fn admit(&mut self, now: Instant, address: SocketAddr) -> io::Result<ClientId> {
        let upstream = connect(self.server)?;
        if self.clients.len() >= MOST_CLIENTS {
            let silent = self
                .clients
                .iter()
                .min_by_key(|(_, client)| client.last_heard)
                .map(|(&id, _)| id);
            if let Some(client) = silent.and_then(|id| self.clients.remove(&id)) {
                self.by_address.remove(&client.address);
            }
        }
        let id = self.next_client;
        self.next_client += 1;
        self.clients.insert(
            id,
            Client {
                address,
                upstream,
                last_heard: now,
            },
        );
        self.by_address.insert(address, id);
        Ok(id)
    }
}

impl Carrier for RelayPath {
    fn stats(&self) -> RelayStats {
        RelayStats {
            forward: self.forward.counters(),
            backward: self.backward.counters(),
            clients: self.clients.len(),
            refused: self.refused,
            unsent: self.unsent,
        }
    }

    fn apply(&mut self, at: Instant, direction: Direction, change: Change) {
        if direction != Direction::Backward {
            self.forward.apply(at, change);
        }
        if direction != Direction::Forward {
            self.backward.apply(at, change);
        }
    }

    /// Gives each client another socket towards the server, where one can be had.
    fn rebind(&mut self) {
        for client in self.clients.values_mut() {
            if let Ok(upstream) = connect(self.server) {
                client.upstream = upstream;
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.forward
            .poll_timeout()
            .into_iter()
            .chain(self.backward.poll_timeout())
            .min()
    }

    /// Takes up to a batch from each socket into the links.
    fn receive(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Received {
        let mut received = Received {
            has_more: true,
            is_from_client: false,
        };
        let mut buffer = ReadBuf::new(buffer);
        for _ in 0..BATCH {
            buffer.clear();
            match self.downstream.poll_recv_from(cx, &mut buffer) {
                Poll::Ready(Ok(from)) => {
                    received.is_from_client = true;
                    self.on_client_datagram(clock::now(), from, buffer.filled());
                }
                // An error of an earlier send to a client that is gone; none lasts.
                Poll::Ready(Err(_)) => {}
                Poll::Pending => {
                    received.has_more = false;
                    break;
                }
            }
        }
        for (&id, client) in &self.clients {
            let mut has_more = true;
            for _ in 0..BATCH {
                buffer.clear();
                match client.upstream.poll_recv(cx, &mut buffer) {
                    Poll::Ready(Ok(())) => {
                        let payload = Bytes::copy_from_slice(buffer.filled());
                        let _ = self.backward.submit(clock::now(), payload, id);
                    }
                    // The server is not there (yet): connection refused.
                    Poll::Ready(Err(_)) => {}
                    Poll::Pending => {
                        has_more = false;
                        break;
                    }
                }
            }
            received.has_more |= has_more;
        }
        received
    }

    /// Sends on what has crossed a link by `now`.
    fn deliver(&mut self, now: Instant) {
        // Straight to the system: tokio does not know yet that a new socket is writable, and
        // what loopback cannot take at once is lost as on any other link.
        let downstream = SockRef::from(&self.downstream);
        while let Some(delivered) = self.forward.poll_delivery(now) {
            // A client that made room for another has no socket any more.
            let Some(client) = self.clients.get(&delivered.tag) else {
                continue;
            };
            if SockRef::from(&client.upstream)
                .send(&delivered.payload)
                .is_err()
            {
                self.unsent += 1;
            }
        }
        while let Some(delivered) = self.backward.poll_delivery(now) {
            let Some(client) = self.clients.get(&delivered.tag) else {
                continue;
            };
            if downstream
                .send_to(&delivered.payload, &client.address.into())
                .is_err()
            {
                self.unsent += 1;
            }
        }
    }
}

fn connect(server: SocketAddr) -> io::Result<UdpSocket> {
    let local = match (server.ip(), server.ip().is_loopback()) {
        (IpAddr::V4(_), true) => Ipv4Addr::LOCALHOST.into(),
        (IpAddr::V4(_), false) => Ipv4Addr::UNSPECIFIED.into(),
        (IpAddr::V6(_), true) => Ipv6Addr::LOCALHOST.into(),
        (IpAddr::V6(_), false) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = bind(local)?;
    // An unfinished connect is not a thing for UDP: it only sets the peer.
    SockRef::from(&socket).connect(&server.into())?;
    Ok(socket)
}

fn bind(local: IpAddr) -> io::Result<UdpSocket> {
    let socket = std::net::UdpSocket::bind((local, 0))?;
    socket.set_nonblocking(true)?;
    let options = SockRef::from(&socket);
    // Bursts of a batching sender must not be lost here; the system may grant less.
    let _ = options.set_recv_buffer_size(SOCKET_BUFFER);
    let _ = options.set_send_buffer_size(SOCKET_BUFFER);
    UdpSocket::from_std(socket)
}

/// Clients of one path at the same time.
const MOST_CLIENTS: usize = 64;

const SOCKET_BUFFER: usize = 4 << 20;
