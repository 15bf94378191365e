//! The sockets of an endpoint: numbered, made when a route needs them, dropped when they
//! are gone.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::driver::bind_address;
use super::interface::interfaces;
use super::recv_buffers::RecvBuffers;
use super::route::LocalAddress;
use super::shared::{EndpointShared, lock};
use super::socket::{Sent, UdpSocket};
use crate::address::{Datagram, FourTuple, SocketId, Transmit};

/// Sockets in the order they were made; numbers are never used again.
#[derive(Debug)]
pub(super) struct Sockets {
    bound: Vec<Bound>,
    next_id: u32,
    /// Where handles look up what a socket is.
    shared: Arc<EndpointShared>,
}

/// What a socket of an endpoint is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalSocket {
    /// What it is bound to; the address may be unspecified.
    pub address: SocketAddr,
    /// What it was made for; `None` for those that a server listens on.
    pub made_for: Option<LocalAddress>,
}

#[derive(Debug)]
struct Bound {
    id: SocketId,
    socket: UdpSocket,
    /// What it was made for; `None` for those that a server listens on.
    local: Option<LocalAddress>,
    is_ipv4: bool,
    /// What the system would not take yet.
    waiting: VecDeque<(Transmit, Vec<u8>)>,
}

impl Sockets {
    pub(super) fn new(sockets: Vec<UdpSocket>, shared: Arc<EndpointShared>) -> Self {
        let mut all = Self {
            bound: Vec::new(),
            next_id: 0,
            shared,
        };
        for socket in sockets {
            all.add(socket, None);
        }
        all
    }

    fn add(&mut self, socket: UdpSocket, local: Option<LocalAddress>) -> SocketId {
        let id = SocketId(self.next_id);
        self.next_id += 1;
        let is_ipv4 = socket.local_addr().is_ipv4();
        let known = LocalSocket {
            address: socket.local_addr(),
            made_for: local.clone(),
        };
        lock(&self.shared.sockets).insert(id, known);
        self.bound.push(Bound {
            id,
            socket,
            local,
            is_ipv4,
            waiting: VecDeque::new(),
        });
        id
    }

    /// The four-tuple of a route, from a socket that exists or is made now. `None`, with a
    /// line in the log, if it cannot be made.
    pub(super) fn tuple(&mut self, local: &LocalAddress, remote: SocketAddr) -> Option<FourTuple> {
        let known = self
            .bound
            .iter()
            .find(|bound| bound.local.as_ref() == Some(local) && bound.is_ipv4 == remote.is_ipv4());
        let socket = match known {
            Some(bound) => bound.id,
            None => {
                let socket = bind(local, remote)?;
                self.add(socket, Some(local.clone()))
            }
        };
        Some(FourTuple {
            socket,
            local_ip: None,
            remote,
        })
    }

    /// What a socket was made for.
    pub(super) fn local(&self, id: SocketId) -> Option<&LocalAddress> {
        self.bound
            .iter()
            .find(|bound| bound.id == id)?
            .local
            .as_ref()
    }

    /// Drops the sockets of an interface, and tells which they were.
    pub(super) fn remove_interface(&mut self, name: &str) -> Vec<SocketId> {
        let of_interface = |bound: &Bound| matches!(&bound.local, Some(LocalAddress::Interface(local)) if local == name);
        let gone = self
            .bound
            .iter()
            .filter(|bound| of_interface(bound))
            .map(|bound| bound.id)
            .collect();
        self.bound.retain(|bound| !of_interface(bound));
        gone
    }

    /// Receives a batch from each socket. Returns those that are of no more use.
    pub(super) fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut RecvBuffers,
        received: &mut Vec<(SocketId, Datagram)>,
    ) -> Vec<SocketId> {
        let mut gone = Vec::new();
        for bound in &mut self.bound {
            let id = bound.id;
            let result = bound.socket.poll_recv(cx, buffers, |datagram| {
                let tuple = FourTuple {
                    socket: id,
                    local_ip: datagram.local_ip,
                    remote: datagram.remote,
                };
                received.push((
                    id,
                    Datagram {
                        tuple,
                        ecn: datagram.ecn,
                        data: datagram.data,
                    },
                ));
            });
            if let Poll::Ready(Err(error)) = result {
                tracing::debug!(%error, "socket failed");
                gone.push(id);
            }
        }
        if !gone.is_empty() {
            self.bound
                .retain(|bound| !gone.contains(&bound.id) || bound.local.is_none());
        }
        gone
    }

    /// Sends, or keeps what the system does not take yet, up to a bound. Returns the socket
    /// if it turns out to be gone.
    pub(super) fn send(&mut self, transmit: &Transmit, contents: &[u8]) -> Option<SocketId> {
        let index = self
            .bound
            .iter()
            .position(|bound| bound.id == transmit.tuple.socket)?;
        let bound = self.bound.get_mut(index)?;
        if !bound.waiting.is_empty() {
            bound.wait(transmit, contents);
            return None;
        }
        match bound.socket.try_send(transmit, contents) {
            Sent::All | Sent::Lost => None,
            Sent::Blocked(sent) => {
                bound.wait(transmit, contents.get(sent..).unwrap_or_default());
                None
            }
            Sent::Gone if bound.local.is_none() => None,
            Sent::Gone => Some(self.bound.remove(index).id),
        }
    }

    /// Sends what had to wait, as far as the system takes it now.
    pub(super) fn poll_pending(&mut self, cx: &mut Context<'_>) {
        for bound in &mut self.bound {
            while let Some((transmit, contents)) = bound.waiting.pop_front() {
                if !matches!(bound.socket.poll_writable(cx), Poll::Ready(Ok(()))) {
                    bound.waiting.push_front((transmit, contents));
                    break;
                }
                if let Sent::Blocked(sent) = bound.socket.try_send(&transmit, &contents) {
                    let rest = contents.get(sent..).unwrap_or_default().to_vec();
                    bound.waiting.push_front((transmit, rest));
                }
            }
        }
    }
}

impl Bound {
    /// Keeps a batch for later; beyond the bound it is lost, as in any full queue.
    fn wait(&mut self, transmit: &Transmit, contents: &[u8]) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back((*transmit, contents.to_vec()));
        }
    }
}

fn bind(local: &LocalAddress, remote: SocketAddr) -> Option<UdpSocket> {
    let result = match local {
        LocalAddress::Any => UdpSocket::bind(bind_address(None, remote), None),
        LocalAddress::Ip(ip) if ip.is_ipv4() != remote.is_ipv4() => return None,
        LocalAddress::Ip(ip) => UdpSocket::bind(bind_address(Some(*ip), remote), None),
        LocalAddress::Interface(name) => {
            let interface = interfaces()
                .into_iter()
                .find(|interface| interface.name == *name);
            let ip = interface.and_then(|interface| interface.address_towards(remote.ip()));
            UdpSocket::bind(bind_address(ip, remote), Some(name))
        }
    };
    match result {
        Ok(socket) => Some(socket),
        Err(error) => {
            tracing::warn!(%local, %remote, %error, "cannot use this path");
            None
        }
    }
}

/// Batches that wait for one socket.
const MAX_WAITING: usize = 16;
