//! Paths over interfaces that come and go.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Driver;
use crate::address::{FourTuple, SocketId};
use crate::connection::{Connection, PathChange, PathEvent};
use crate::endpoint::ConnectionHandle;
use crate::net::clock;
use crate::net::connection::PathError;
use crate::net::interface::Interface;
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

    /// Opens a path from `local` to the nearest of the peer's addresses that answers, if the
    /// connection follows interfaces and has none from there.
    pub(super) fn open_path(&mut self, handle: ConnectionHandle, local: &LocalAddress) {
        let Some(entry) = self.connections.get(&handle) else {
            return;
        };
        let Some(remotes) = entry.follow.clone() else {
            return;
        };
        let used = tuples(&entry.shared.lock().connection);
        let is_from_there = |tuple: &FourTuple| self.sockets.local(tuple.socket) == Some(local);
        if used.iter().any(is_from_there) {
            return;
        }
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
            entry.retries.later(now, local.clone(), RETRY_SOON);
        }
        self.mark(handle);
    }

    pub(super) fn on_interface(&mut self, change: &InterfaceChange) {
        match change {
            InterfaceChange::Vanished(interface) => {
                self.drop_sockets(interface, false);
                self.forget_retries(interface);
            }
            InterfaceChange::Appeared(interface) => self.interface_came(interface),
            InterfaceChange::Changed { before, after } => {
                if before.addresses != after.addresses {
                    self.drop_sockets(after, true);
                    self.interface_came(after);
                } else {
                    // With its gateway may have come the way to the peer.
                    for handle in self.forget_retries(after) {
                        self.open_path(handle, &local_address(after));
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
        let handles: Vec<ConnectionHandle> = self.connections.keys().copied().collect();
        for handle in handles {
            self.open_path(handle, &local_address(interface));
        }
    }

    /// What was tried over the interface as it was says nothing any more. Returns the
    /// connections that were to try again.
    fn forget_retries(&mut self, interface: &Interface) -> Vec<ConnectionHandle> {
        let local = local_address(interface);
        self.connections
            .iter_mut()
            .filter_map(|(handle, entry)| entry.retries.forget(&local).then_some(*handle))
            .collect()
    }

    /// A socket failed and was dropped. If its interface or address is soon there again, the
    /// watch may never see that it was not: so whoever used it looks.
    pub(super) fn socket_failed(&mut self, socket: SocketId) {
        // What an application opened from an address of its choice is its own to open again.
        let local = self.sockets.made_for(socket);
        let local = local.filter(|local| matches!(local, LocalAddress::Interface(_)));
        let now = clock::now();
        for entry in self.connections.values_mut() {
            let used = tuples(&entry.shared.lock().connection);
            if let Some(local) = &local
                && entry.follow.is_some()
                && used.iter().any(|tuple| tuple.socket == socket)
            {
                entry.retries.later(now, local.clone(), RETRY_SOON);
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
        if event.change == PathChange::Up {
            entry.retries.on_answer(&local);
        } else if event.reason == PathReason::NeverAnswered
            && entry.follow.is_some()
            && matches!(local, LocalAddress::Interface(_))
        {
            let now = clock::now();
            entry.retries.later(now, local, RETRY_UNANSWERED);
        }
    }
}

fn local_address(interface: &Interface) -> LocalAddress {
    LocalAddress::Interface(interface.name.clone())
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
