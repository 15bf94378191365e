//! Paths over interfaces that come and go.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::{Driver, Entry};
use crate::address::{FourTuple, SocketId};
use crate::connection::{Connection, PathChange, PathEvent};
use crate::endpoint::ConnectionHandle;
use crate::net::clock;
use crate::net::connection::PathError;
use crate::net::interface::Interface;
use crate::net::places::{Place, Places};
use crate::net::route::{LocalAddress, Paths, plan};
use crate::net::watch::InterfaceChange;
use crate::path::PathReason;

/// A path that the application asks for.
#[derive(Debug)]
pub(in crate::net) struct PathWish {
    pub(in crate::net) local: LocalAddress,
    pub(in crate::net) remote: SocketAddr,
    pub(in crate::net) reply: oneshot::Sender<Result<u32, PathError>>,
}

impl Driver {
    /// Opens a path that the application asks for, or keeps the wish until the peer lets it
    /// open one more.
    pub(super) fn open_wished(&mut self, handle: ConnectionHandle, wish: PathWish) {
        let Some(entry) = self.connections.get_mut(&handle) else {
            return;
        };
        if wish.reply.is_closed() {
            return;
        }
        let tuple = match self.sockets.tuple(&wish.local, wish.remote) {
            Ok(tuple) => tuple,
            Err(error) => {
                let _ = wish.reply.send(Err(PathError::NoSocket {
                    local: wish.local,
                    remote: wish.remote,
                    cause: error.to_string(),
                }));
                return;
            }
        };
        let opened = entry
            .shared
            .lock()
            .connection
            .open_path(clock::now(), tuple);
        match opened {
            Err(error) if error.is_temporary() => entry.wished.push(wish),
            result => {
                if result.is_err() {
                    self.release(tuple.socket);
                }
                let _ = wish.reply.send(result.map_err(PathError::Refused));
            }
        }
        self.mark(handle);
    }

    /// The peer may have allowed further paths meanwhile.
    pub(super) fn try_wished(&mut self, handle: ConnectionHandle) {
        let Some(entry) = self.connections.get_mut(&handle) else {
            return;
        };
        if entry.wished.is_empty() || !entry.shared.lock().connection.may_open_path() {
            return;
        }
        for wish in std::mem::take(&mut entry.wished) {
            self.open_wished(handle, wish);
        }
    }

    /// The four-tuples from `local` to `remotes`, the nearest first.
    pub(super) fn tuples(
        &mut self,
        local: &LocalAddress,
        remotes: &[SocketAddr],
    ) -> Vec<FourTuple> {
        plan(&Paths::Over(vec![local.clone()]), remotes)
            .iter()
            .filter_map(|route| self.sockets.tuple(local, route.remote).ok())
            .collect()
    }

    /// Whether a path of this four-tuple is one from `place`.
    pub(super) fn is_from(&self, place: &Place, tuple: &FourTuple) -> bool {
        let local = self.sockets.local(tuple.socket);
        local.is_some_and(|local| place.is_of(local, tuple.remote))
    }

    /// Tries soon to open paths that the connection is to have and has not.
    pub(super) fn try_later(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        missing: Vec<Place>,
    ) {
        if let Some(entry) = self.connections.get_mut(&handle) {
            for place in missing {
                entry.retries.later(now, place, RETRY_SOON);
            }
        }
    }

    /// Opens a path from `place` to the nearest of the peer's addresses that answers, if the
    /// connection has none from there.
    pub(super) fn open_path(&mut self, handle: ConnectionHandle, place: &Place) {
        let Some(entry) = self.connections.get(&handle) else {
            return;
        };
        let Some(follow) = &entry.follow else {
            return;
        };
        let remotes = follow.remotes(place).to_vec();
        let used = tuples(&entry.shared.lock().connection);
        if used.iter().any(|tuple| self.is_from(place, tuple)) {
            return;
        }
        let local = &place.local;
        let tuples = self.tuples(local, &remotes);
        let Some(entry) = self.connections.get_mut(&handle) else {
            return;
        };
        let now = clock::now();
        let is_to_come = match tuples.split_first() {
            // Its address may be missing for a moment.
            None => true,
            Some((first, others)) => {
                let mut state = entry.shared.lock();
                let opened = state.connection.open_path_among(now, *first, others);
                opened.is_err_and(|error| {
                    tracing::debug!(%local, %error, "no path opened");
                    error.is_temporary()
                })
            }
        };
        if is_to_come {
            entry.retries.later(now, place.clone(), RETRY_SOON);
        }
        self.mark(handle);
    }

    pub(super) fn on_interface(&mut self, change: &InterfaceChange) {
        match change {
            InterfaceChange::Vanished(interface) => {
                self.drop_sockets(interface, false);
                self.interface_went(interface);
            }
            InterfaceChange::Appeared(interface) => self.interface_came(interface),
            InterfaceChange::Changed { before, after } => {
                if before.addresses != after.addresses {
                    self.drop_sockets(after, true);
                    self.interface_came(after);
                } else {
                    // With its gateway may have come the way to the peer.
                    for (handle, place) in self.forget_retries(after) {
                        self.open_path(handle, &place);
                    }
                }
            }
        }
    }

    /// Drops the sockets of an interface that has gone, or those of addresses that it no longer
    /// has: what works goes on.
    fn drop_sockets(&mut self, interface: &Interface, is_there: bool) {
        let addresses = is_there.then_some(interface.addresses.as_slice());
        for socket in self.sockets.remove_interface(&interface.name, addresses) {
            self.socket_gone(socket);
        }
    }

    /// Opens a path over the interface for those connections that have none.
    fn interface_came(&mut self, interface: &Interface) {
        self.forget_retries(interface);
        for (handle, place) in self.places_over(interface) {
            self.open_path(handle, &place);
        }
    }

    /// Nothing is tried over an interface that has gone until it comes again. But one that an
    /// application named may go on carrying packets though nobody would choose it, and then the
    /// watch does not see it come.
    fn interface_went(&mut self, interface: &Interface) {
        self.forget_retries(interface);
        let now = clock::now();
        for (handle, place) in self.places_over(interface) {
            if let Some(entry) = self.connections.get_mut(&handle)
                && entry.follow.as_ref().is_some_and(Places::are_listed)
            {
                entry.retries.later(now, place, RETRY_UNANSWERED);
                self.mark(handle);
            }
        }
    }

    /// What was tried over the interface as it was says nothing any more. Returns where
    /// connections were to try again.
    fn forget_retries(&mut self, interface: &Interface) -> Vec<(ConnectionHandle, Place)> {
        let mut places = self.places_over(interface);
        places.retain(|(handle, place)| {
            let entry = self.connections.get_mut(handle);
            entry.is_some_and(|entry| entry.retries.forget(place))
        });
        places
    }

    /// Where connections are to have paths from that the interface may lead to.
    fn places_over(&self, interface: &Interface) -> Vec<(ConnectionHandle, Place)> {
        let of_entry = |(handle, entry): (&ConnectionHandle, &Entry)| {
            let places = entry.follow.as_ref().map(|follow| follow.over(interface));
            let handle = *handle;
            let places = places.unwrap_or_default().into_iter();
            places.map(move |place| (handle, place))
        };
        self.connections.iter().flat_map(of_entry).collect()
    }

    /// A socket failed and was dropped. If its interface or address is soon there again, the
    /// watch may never see that it was not: so whoever used it looks.
    pub(super) fn socket_failed(&mut self, socket: SocketId) {
        if let Some(local) = self.sockets.made_for(socket) {
            let now = clock::now();
            for entry in self.connections.values_mut() {
                let Some(follow) = &entry.follow else {
                    continue;
                };
                let used = tuples(&entry.shared.lock().connection);
                for tuple in used.iter().filter(|tuple| tuple.socket == socket) {
                    if let Some(place) = follow.of(&local, tuple.remote) {
                        entry.retries.later(now, place, RETRY_SOON);
                    }
                }
            }
        }
        self.socket_gone(socket);
    }

    /// An interface may have been up before there was a way to the peer: it is tried again
    /// until somebody answers there.
    pub(super) fn on_path_event(&mut self, handle: ConnectionHandle, event: &PathEvent) {
        let local = self.sockets.made_for(event.tuple.socket);
        let (Some(entry), Some(local)) = (self.connections.get_mut(&handle), local) else {
            return;
        };
        let Some(follow) = &mut entry.follow else {
            return;
        };
        // What an application opened beside them is its own to open again.
        let Some(place) = follow.of(&local, event.tuple.remote) else {
            return;
        };
        if event.change == PathChange::Up {
            entry.retries.on_answer(&place);
        } else if event.reason == PathReason::NeverAnswered {
            let now = clock::now();
            entry.retries.later(now, place, RETRY_UNANSWERED);
        } else if event.reason == PathReason::ClosedHere {
            follow.forget(&place);
        }
    }
}

/// Where the connection is tried, or its open paths.
fn tuples(connection: &Connection) -> Vec<FourTuple> {
    if connection.is_handshaking() {
        connection.tuples()
    } else {
        let paths = connection.stats().paths;
        paths.into_iter().map(|path| path.tuple).collect()
    }
}

/// How soon a path that lost its socket, or could not be opened, is tried again at first: more
/// than once within the second in which paths are to be back.
const RETRY_SOON: Duration = Duration::from_millis(200);
/// The same for a path that nobody answered on.
const RETRY_UNANSWERED: Duration = Duration::from_secs(5);
