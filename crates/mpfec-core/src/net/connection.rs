//! A connection as the application sees it.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, oneshot};

use super::clock;
use super::driver::{Command, PathWish};
use super::endpoint::{Endpoint, Started};
use super::path_events::PathEvents;
use super::route::{LocalAddress, Route};
use super::shared::{ConnectionShared, ConnectionState, index, lock};
use super::sockets::LocalSocket;
use super::stream::{RecvStream, SendStream};
use crate::address::SocketId;
use crate::connection::{
    ClosePathError, CloseReason, ConnectionStats, DatagramOptions, DatagramRedundancy,
    OpenPathError, PathStats, SendDatagramError,
};
use crate::endpoint::ConnectError;
use crate::id::{Dir, StreamId};

/// A connection that is being made. Await it to get the connection; drop it to give up.
///
/// A client gets it as soon as it can send, half a round trip before the server can have checked
/// its secret. With a wrong one whatever waits for the connection fails instead, and says so:
/// [`CloseReason::is_authentication`]. [`Connection::handshake_confirmed`] waits for no more than
/// that.
#[derive(Debug)]
#[must_use = "a connection is only made while somebody waits for it"]
pub struct Connecting {
    future: Handshake,
    tried: Vec<Route>,
}

/// The wait for the end of the handshake.
struct Handshake(Pin<Box<dyn Future<Output = Result<Connection, ConnectingError>> + Send>>);

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handshake")
    }
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectingError {
    /// It could not be started.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// There was a route, but the system gave no socket for it, nor for any other.
    #[error("nothing can be sent from {local} to {remote}: {cause}")]
    NoSocket {
        /// Where the first route starts.
        local: LocalAddress,
        /// Where it ends.
        remote: SocketAddr,
        /// What the system says.
        cause: String,
    },
    /// The handshake took too long: most likely nobody answered where it was tried.
    #[error("no answer in time on any route: tried {}", listed(tried))]
    TimedOut {
        /// From where to where.
        tried: Vec<(LocalAddress, SocketAddr)>,
    },
    /// It ended before the handshake was complete.
    #[error(transparent)]
    Closed(#[from] CloseReason),
    /// The endpoint was closed, or its runtime is gone.
    #[error("the endpoint is closed")]
    EndpointClosed,
}

/// Why a path was not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing can be sent from there to there: there is no such address or interface here, one
    /// is IPv4 and the other IPv6, or the system has no socket left.
    #[error("nothing can be sent from {local} to {remote}: {cause}")]
    NoSocket {
        /// Where the path was to start.
        local: LocalAddress,
        /// Where it was to end.
        remote: SocketAddr,
        /// What the system says.
        cause: String,
    },
    /// The connection cannot have it.
    #[error(transparent)]
    Refused(OpenPathError),
    /// The connection is over.
    #[error(transparent)]
    ConnectionLost(CloseReason),
}

impl Connecting {
    pub(super) fn new(endpoint: Endpoint, started: Started, tried: Vec<Route>) -> Self {
        let routes = pairs(&tried);
        let future = async move {
            // Without it the wish for a connection might come to nothing.
            let _endpoint = endpoint;
            let guard = started
                .await
                .map_err(|_| ConnectingError::EndpointClosed)??;
            handshake(guard).await.map_err(|error| match error {
                ConnectingError::Closed(CloseReason::TimedOut) => {
                    ConnectingError::TimedOut { tried: routes }
                }
                error => error,
            })
        };
        Self {
            future: Handshake(Box::pin(future)),
            tried,
        }
    }

    pub(super) fn ready(guard: Guard) -> Self {
        Self {
            future: Handshake(Box::pin(handshake(guard))),
            tried: Vec::new(),
        }
    }

    /// Where the handshake is tried, from where to where: for a message when nothing answers.
    #[must_use]
    pub fn routes(&self) -> Vec<(LocalAddress, SocketAddr)> {
        pairs(&self.tried)
    }
}

fn pairs(routes: &[Route]) -> Vec<(LocalAddress, SocketAddr)> {
    let pair = |route: &Route| (route.local.clone(), route.remote);
    routes.iter().map(pair).collect()
}

fn listed(tried: &[(LocalAddress, SocketAddr)]) -> String {
    let route = |(local, remote): &(LocalAddress, SocketAddr)| format!("{local} -> {remote}");
    tried.iter().map(route).collect::<Vec<_>>().join(", ")
}

/// Waits until streams can be used. Given up, the connection is closed.
async fn handshake(guard: Guard) -> Result<Connection, ConnectingError> {
    let connection = Connection {
        guard: Arc::new(guard),
    };
    let shared = &connection.guard.0;
    wait(&shared.notify.connected, || {
        let state = shared.lock();
        match &state.closed {
            Some(reason) => Some(Err(reason.clone())),
            None => state.connected.then_some(Ok(())),
        }
    })
    .await?;
    Ok(connection)
}

impl Future for Connecting {
    type Output = Result<Connection, ConnectingError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.future.0.as_mut().poll(cx)
    }
}

/// One end of a connection; clones are handles of the same one. When the last handle and
/// the last stream are gone, the connection is closed with code 0.
#[derive(Debug, Clone)]
pub struct Connection {
    guard: Arc<Guard>,
}

/// Closes the connection when nobody can use it any more. There is one from the moment on at
/// which the connection is started, whether or not anybody has heard of it yet.
#[derive(Debug)]
pub(super) struct Guard(pub(super) Arc<ConnectionShared>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.close(0, "");
    }
}

impl Connection {
    /// Waits until the other end has confirmed the handshake. A client learns a round trip after
    /// it could send, at the earliest, whether the server accepts its secret; whoever sends at once
    /// need not wait for this.
    ///
    /// # Errors
    /// Why the connection was closed before:
    /// [`is_authentication`](CloseReason::is_authentication) if the secret is wrong.
    pub async fn handshake_confirmed(&self) -> Result<(), CloseReason> {
        self.wait_for(&self.guard.0.notify.connected, |state| {
            state.confirmed.then_some(())
        })
        .await
    }

    /// Opens a bidirectional stream; waits while as many are open as the peer allows.
    ///
    /// # Errors
    /// Why the connection is closed.
    pub async fn open_bi(&self) -> Result<(SendStream, RecvStream), CloseReason> {
        let id = self.open(Dir::Bi).await?;
        Ok((self.send_stream(id), self.recv_stream(id)))
    }

    /// Opens a stream that only this end writes.
    ///
    /// # Errors
    /// Why the connection is closed.
    pub async fn open_uni(&self) -> Result<SendStream, CloseReason> {
        let id = self.open(Dir::Uni).await?;
        Ok(self.send_stream(id))
    }

    /// Waits for the next bidirectional stream of the peer's: it is seen when something was
    /// written to it, or it was finished.
    ///
    /// # Errors
    /// Why the connection is closed.
    pub async fn accept_bi(&self) -> Result<(SendStream, RecvStream), CloseReason> {
        let id = self.accept(Dir::Bi).await?;
        Ok((self.send_stream(id), self.recv_stream(id)))
    }

    /// Waits for the next stream that only the peer writes.
    ///
    /// # Errors
    /// Why the connection is closed.
    pub async fn accept_uni(&self) -> Result<RecvStream, CloseReason> {
        let id = self.accept(Dir::Uni).await?;
        Ok(self.recv_stream(id))
    }

    /// Sends an unreliable message once; waits while the buffer is full.
    ///
    /// # Errors
    /// If the message is too large, or the connection is closed:
    /// [`close_reason`](Self::close_reason) tells why.
    pub async fn send_datagram(&self, data: Bytes) -> Result<(), SendDatagramError> {
        self.send_datagram_with(data, &DatagramOptions::default())
            .await
    }

    /// Sends an unreliable message that should be with the peer within `deadline`; waits while
    /// the buffer is full. See
    /// [`Connection::send_datagram_by`](crate::Connection::send_datagram_by).
    ///
    /// # Errors
    /// If the message is too large, or the connection is closed:
    /// [`close_reason`](Self::close_reason) tells why.
    pub async fn send_datagram_by(
        &self,
        data: Bytes,
        deadline: Duration,
    ) -> Result<(), SendDatagramError> {
        let options = DatagramOptions {
            deadline: Some(deadline),
            redundancy: DatagramRedundancy::InTime,
        };
        self.send_datagram_with(data, &options).await
    }

    /// Sends an unreliable message as `options` say; waits while the buffer is full, which the
    /// deadline does not count.
    ///
    /// # Errors
    /// If the message is too large, or the connection is closed:
    /// [`close_reason`](Self::close_reason) tells why.
    pub async fn send_datagram_with(
        &self,
        data: Bytes,
        options: &DatagramOptions,
    ) -> Result<(), SendDatagramError> {
        let shared = &self.guard.0;
        let result = wait(&shared.notify.datagram_room, || {
            let mut state = shared.lock();
            if state.closed.is_some() {
                return Some(Err(SendDatagramError::Closed));
            }
            let now = clock::now();
            let sent = state
                .connection
                .send_datagram_with(now, data.clone(), options);
            match sent {
                Err(SendDatagramError::Blocked) => None,
                result => Some(result),
            }
        })
        .await;
        shared.wake_driver();
        result
    }

    /// Waits for the next unreliable message.
    ///
    /// # Errors
    /// Why the connection is closed.
    pub async fn read_datagram(&self) -> Result<Bytes, CloseReason> {
        self.wait_for(&self.guard.0.notify.datagram, |state| {
            state.connection.recv_datagram()
        })
        .await
    }

    /// The largest message that fits into a packet now; `None` if the peer takes none.
    #[must_use]
    pub fn max_datagram_size(&self) -> Option<usize> {
        self.guard.0.lock().connection.max_datagram_size()
    }

    /// A number that no other connection of the same endpoint ever has.
    #[must_use]
    pub fn stable_id(&self) -> u64 {
        self.guard.0.handle.0
    }

    /// The paths as they are now.
    #[must_use]
    pub fn paths(&self) -> Vec<PathStats> {
        self.stats().paths
    }

    /// What the socket of a path is, or was lately: `PathStats` and `PathEvent` name it by its
    /// number.
    #[must_use]
    pub fn local_socket(&self, socket: SocketId) -> Option<LocalSocket> {
        lock(&self.guard.0.endpoint.sockets).get(&socket).cloned()
    }

    /// Opens a path from `local` to `remote` and returns its number; the path event `Up` tells
    /// when its address has answered. If it never does, or the path is closed before, `Down` is
    /// the first event and the last. Only the client opens paths.
    ///
    /// # Errors
    /// If there is no such way, or the connection cannot have one more path. While the peer
    /// has only to allow it, this waits.
    pub async fn open_path(
        &self,
        local: LocalAddress,
        remote: SocketAddr,
    ) -> Result<u32, PathError> {
        let shared = &self.guard.0;
        let (reply, opened) = oneshot::channel();
        shared.endpoint.command(Command::OpenPath {
            connection: shared.handle,
            wish: PathWish {
                local,
                remote,
                reply,
            },
        });
        match opened.await {
            Ok(result) => result,
            Err(_) => Err(PathError::ConnectionLost(self.closed().await)),
        }
    }

    /// Closes a path for good. Closing one that is not open does nothing.
    ///
    /// # Errors
    /// If there is no other: [`close`](Self::close) ends the connection.
    pub fn close_path(&self, path: u32) -> Result<(), ClosePathError> {
        let closed = self
            .guard
            .0
            .lock()
            .connection
            .close_path(clock::now(), path);
        self.guard.0.wake_driver();
        closed
    }

    /// Uses a path only when no other carries data, or again as any other.
    pub fn set_backup(&self, path: u32, backup: bool) {
        self.guard.0.lock().connection.set_backup(path, backup);
        self.guard.0.wake_driver();
    }

    /// Tells the peer what its data on a path would take of a relay's link: see
    /// [`Connection::set_path_share`](crate::Connection::set_path_share).
    pub fn set_path_share(&self, path: u32, rho: f64) -> bool {
        let is_announced = self.guard.0.lock().connection.set_path_share(path, rho);
        self.guard.0.wake_driver();
        is_announced
    }

    /// What happens to the paths: those events since the connection began are kept, up to
    /// 256, until they are taken.
    #[must_use]
    pub fn path_events(&self) -> PathEvents {
        PathEvents::new(Arc::clone(&self.guard.0))
    }

    /// Counters since the connection began.
    #[must_use]
    pub fn stats(&self) -> ConnectionStats {
        self.guard.0.lock().connection.stats()
    }

    /// What the peer has of a stream so far: see
    /// [`Connection::acknowledged_bytes`](crate::Connection::acknowledged_bytes).
    #[must_use]
    pub fn acknowledged_bytes(&self, stream: StreamId) -> Option<u64> {
        let state = self.guard.0.lock();
        state.connection.acknowledged_bytes(stream)
    }

    /// Uses new keys from now on.
    pub fn update_keys(&self) {
        self.guard.0.lock().connection.update_keys();
    }

    /// Closes the connection at once; what is not delivered is lost. Wait for
    /// `Endpoint::wait_idle` before the process ends, so that the peer hears of it.
    ///
    /// `code` is at most 2^62 - 1; the peer sees that instead of a larger one. Of `reason` it sees
    /// 256 characters, or fewer where the packet has no room for so many.
    pub fn close(&self, code: u64, reason: &str) {
        self.guard.0.close(code, reason);
    }

    /// Waits until the connection is closed, and tells why.
    pub async fn closed(&self) -> CloseReason {
        let shared = &self.guard.0;
        wait(&shared.notify.closed, || shared.lock().closed.clone()).await
    }

    /// Why the connection is closed, if it is.
    #[must_use]
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.guard.0.lock().closed.clone()
    }

    async fn open(&self, dir: Dir) -> Result<StreamId, CloseReason> {
        let id = self
            .wait_for(&self.guard.0.notify.available[index(dir)], |state| {
                if state.closed.is_some() {
                    return None;
                }
                let id = state.connection.open_stream(dir);
                if id.is_none() {
                    // The peer is to hear that one more is wanted.
                    self.guard.0.wake_driver();
                }
                id
            })
            .await?;
        Ok(id)
    }

    async fn accept(&self, dir: Dir) -> Result<StreamId, CloseReason> {
        let id = self
            .wait_for(&self.guard.0.notify.opened[index(dir)], |state| {
                let id = state.connection.accept_stream(dir)?;
                // From now on what happens to it is noted.
                state.stream(id);
                Some(id)
            })
            .await?;
        // The peer may open another one.
        self.guard.0.wake_driver();
        Ok(id)
    }

    async fn wait_for<T>(
        &self,
        notify: &Notify,
        ready: impl FnMut(&mut ConnectionState) -> Option<T>,
    ) -> Result<T, CloseReason> {
        wait_for(&self.guard.0, notify, ready).await
    }

    fn send_stream(&self, id: StreamId) -> SendStream {
        SendStream::new(Arc::clone(&self.guard), id)
    }

    fn recv_stream(&self, id: StreamId) -> RecvStream {
        RecvStream::new(Arc::clone(&self.guard), id)
    }
}

/// Waits until `ready` gives something, or the connection is closed.
pub(super) async fn wait_for<T>(
    shared: &ConnectionShared,
    notify: &Notify,
    mut ready: impl FnMut(&mut ConnectionState) -> Option<T>,
) -> Result<T, CloseReason> {
    wait(notify, || {
        let mut state = shared.lock();
        match ready(&mut state) {
            Some(value) => Some(Ok(value)),
            None => state.closed.clone().map(Err),
        }
    })
    .await
}

/// Asks again after each notification; none between asking and waiting is missed.
pub(super) async fn wait<T>(notify: &Notify, mut ready: impl FnMut() -> Option<T>) -> T {
    loop {
        let notified = notify.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        if let Some(value) = ready() {
            return value;
        }
        notified.await;
    }
}
