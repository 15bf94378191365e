//! Paths over interfaces that come and go.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Driver;
use crate::address::{FourTuple, SocketId};
use crate::connection::Connection;
use crate::endpoint::ConnectionHandle;
use crate::net::clock;
use crate::net::connection::PathError;
use crate::net::interface::Interface;
use crate::net::route::{LocalAddress, Paths, plan};
use crate::net::watch::InterfaceChange;

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
        let Some(tuple) = self.sockets.tuple(&wish.local, wish.remote) else {
            let _ = wish.reply.send(Err(PathError::NoSocket {
                local: wish.local,
                remote: wish.remote,
            }));
            return;
        };
        let opened = entry
            .shared
            .lock()
            .connection
            .open_path(clock::now(), tuple);
        match opened {
            Err(error) if error.is_temporary() => entry.wished.push(wish),
            result => {
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
            .filter_map(|route| self.sockets.tuple(local, route.remote))
            .collect()
    }

    /// Opens a path from `local` to the nearest of `remotes` that answers.
    pub(super) fn open_path(
        &mut self,
        handle: ConnectionHandle,
        local: &LocalAddress,
        remotes: &[SocketAddr],
    ) {
        let tuples = self.tuples(local, remotes);
        let Some(entry) = self.connections.get_mut(&handle) else {
            return;
        };
        let result = match tuples.split_first() {
            Some((first, others)) => {
                entry
                    .shared
                    .lock()
                    .connection
                    .open_path_among(clock::now(), *first, others)
            }
            None => return,
        };
        if let Err(error) = result {
            tracing::debug!(%local, %error, "no path opened");
            if entry.follow.is_some() && error.is_temporary() {
                entry
                    .retry
                    .push((clock::now() + RETRY_AFTER, local.clone()));
            }
        }
        self.mark(handle);
    }

    pub(super) fn on_interface(&mut self, change: &InterfaceChange) {
        match change {
            InterfaceChange::Vanished(interface) => self.drop_sockets(interface, false),
            InterfaceChange::Appeared(interface) => self.interface_came(interface),
            InterfaceChange::Changed { before, after } => {
                if before.addresses != after.addresses {
                    self.drop_sockets(after, true);
                    self.interface_came(after);
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
        let local = LocalAddress::Interface(interface.name.clone());
        let sockets = &self.sockets;
        let following: Vec<(ConnectionHandle, Vec<SocketAddr>)> = self
            .connections
            .iter()
            .filter_map(|(handle, entry)| Some((*handle, entry, entry.follow.clone()?)))
            .filter(|(_, entry, _)| {
                let state = entry.shared.lock();
                let mut tuples = tuples(&state.connection).into_iter();
                !tuples.any(|tuple| sockets.local(tuple.socket) == Some(&local))
            })
            .map(|(handle, _, remotes)| (handle, remotes))
            .collect();
        for (handle, remotes) in following {
            self.open_path(handle, &local, &remotes);
        }
    }

    /// An interface may have been up before there was a way to the peer.
    pub(super) fn retry_later(&mut self, handle: ConnectionHandle, socket: SocketId) {
        let local = self.sockets.local(socket).cloned();
        if let (Some(entry), Some(local)) = (self.connections.get_mut(&handle), local)
            && entry.follow.is_some()
        {
            entry.retry.push((clock::now() + RETRY_AFTER, local));
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

/// How long after a path could not be opened that is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(5);
