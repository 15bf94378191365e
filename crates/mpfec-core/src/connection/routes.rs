//! The routes on which the handshake is tried: each datagram leaves on all of them.

use std::collections::BTreeSet;

use crate::address::{FourTuple, SocketId, Transmit};
use crate::id::Side;

/// Ways to the peer during the handshake, and the datagram that is leaving on them.
#[derive(Debug)]
pub(crate) struct Routes {
    routes: Vec<Route>,
    datagram: Vec<u8>,
    /// Index of the route that it leaves on next.
    next: usize,
}

/// One way to the peer.
#[derive(Debug)]
struct Route {
    tuple: FourTuple,
    /// Routes of one group are alternatives for one path.
    group: usize,
    received: u64,
    sent: u64,
    /// Whether this host may send there without limit.
    validated: bool,
    /// Whether an authentic packet of the peer's came from there.
    answered: bool,
}

impl Routes {
    /// Routes and their groups; `validated` says whether they may be sent on without limit.
    pub(crate) fn new(routes: &[(FourTuple, usize)], validated: bool) -> Self {
        let routes = routes.iter().take(MAX_ROUTES);
        Self {
            routes: routes
                .map(|&(tuple, group)| Route {
                    tuple,
                    group,
                    received: 0,
                    sent: 0,
                    validated,
                    answered: false,
                })
                .collect(),
            datagram: Vec::new(),
            next: 0,
        }
    }

    /// Bytes arrived, before anything about them is known.
    pub(crate) fn on_datagram(&mut self, tuple: &FourTuple, size: usize) {
        if let Some(route) = self.find_mut(tuple) {
            route.received += size as u64;
        }
    }

    /// An authentic packet of the handshake arrived. Only who saw our Initial can have
    /// Handshake keys, which validates the address that the handshake began with (RFC 9000
    /// §8.1); others may be copies that somebody sent on from elsewhere. Returns whether the
    /// route is new.
    pub(crate) fn on_packet(
        &mut self,
        tuple: &FourTuple,
        size: usize,
        has_handshake_keys: bool,
        side: Side,
    ) -> bool {
        let known = self
            .routes
            .iter_mut()
            .enumerate()
            .find(|(_, route)| route.tuple.is_same_route(tuple));
        if let Some((index, route)) = known {
            route.tuple.local_ip = route.tuple.local_ip.or(tuple.local_ip);
            route.validated |= has_handshake_keys && index == 0;
            route.answered = true;
            return false;
        }
        let is_taken = side == Side::Server && self.routes.len() < MAX_ROUTES;
        if is_taken {
            self.routes.push(Route {
                tuple: *tuple,
                group: 0,
                received: size as u64,
                sent: 0,
                validated: false,
                answered: true,
            });
        }
        is_taken
    }

    /// All of them.
    pub(crate) fn tuples(&self) -> Vec<FourTuple> {
        self.routes.iter().map(|route| route.tuple).collect()
    }

    /// Routes for paths beside the first: for each group that `first` is not in its members,
    /// those that have answered first.
    pub(crate) fn besides(&self, first: &FourTuple) -> Vec<Vec<FourTuple>> {
        let taken = self.find(first).map(|route| route.group);
        let groups: BTreeSet<usize> = self
            .routes
            .iter()
            .map(|route| route.group)
            .filter(|group| Some(*group) != taken)
            .collect();
        let of_group = |group, answered| {
            self.routes
                .iter()
                .filter(move |route| route.group == group && route.answered == answered)
        };
        groups
            .into_iter()
            .map(|group| {
                of_group(group, true)
                    .chain(of_group(group, false))
                    .map(|route| route.tuple)
                    .collect()
            })
            .collect()
    }

    /// Whether the handshake proved that the peer receives at this address.
    pub(crate) fn has_validated(&self, tuple: &FourTuple) -> bool {
        self.find(tuple).is_some_and(|route| route.validated)
    }

    /// Whether the peer has answered on this route.
    pub(crate) fn has_answered(&self, tuple: &FourTuple) -> bool {
        self.find(tuple).is_some_and(|route| route.answered)
    }

    /// Whether any begins at this socket.
    pub(crate) fn have_socket(&self, socket: SocketId) -> bool {
        self.routes.iter().any(|route| route.tuple.socket == socket)
    }

    /// The socket is gone, and its routes with it.
    pub(crate) fn forget_socket(&mut self, socket: SocketId) {
        self.routes.retain(|route| route.tuple.socket != socket);
        self.next = self.next.min(self.routes.len());
    }

    /// Whether any route would take a full datagram: otherwise what is built is lost.
    pub(crate) fn may_send(&self) -> bool {
        self.routes
            .iter()
            .any(|route| route.takes(super::handshake::DATAGRAM_SIZE))
    }

    /// Where the next datagram is to be written; to be called when the one before has left.
    pub(crate) fn datagram(&mut self) -> &mut Vec<u8> {
        &mut self.datagram
    }

    /// Drops the datagram that is leaving.
    pub(crate) fn discard(&mut self) {
        self.datagram.clear();
        self.next = 0;
    }

    /// The datagram, on the next route that takes it.
    pub(crate) fn poll_transmit(&mut self, buf: &mut Vec<u8>) -> Option<Transmit> {
        let size = self.datagram.len();
        while let Some(route) = self.routes.get_mut(self.next).filter(|_| size > 0) {
            self.next += 1;
            if !route.takes(size) {
                continue;
            }
            route.sent += size as u64;
            buf.extend_from_slice(&self.datagram);
            return Some(Transmit {
                tuple: route.tuple,
                ecn: None,
                size,
                segment_size: None,
            });
        }
        self.discard();
        None
    }

    fn find(&self, tuple: &FourTuple) -> Option<&Route> {
        self.routes
            .iter()
            .find(|route| route.tuple.is_same_route(tuple))
    }

    fn find_mut(&mut self, tuple: &FourTuple) -> Option<&mut Route> {
        self.routes
            .iter_mut()
            .find(|route| route.tuple.is_same_route(tuple))
    }
}

impl Route {
    /// Whether so many bytes may leave: to an address that is not validated, at most three
    /// times what came from there (RFC 9000 §8.1).
    fn takes(&self, size: usize) -> bool {
        self.validated || self.sent + size as u64 <= 3 * self.received
    }
}

/// Routes on which a handshake is tried at most.
const MAX_ROUTES: usize = 16;
