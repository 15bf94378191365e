//! An endpoint as the application sees it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::connection::{Connecting, ConnectingError, Guard, wait};
use super::driver::{Command, Driver};
use super::places::Places;
use super::route::{self, Paths};
use super::shared::{EndpointShared, Stage, lock};
use super::socket::UdpSocket;
use super::watch::InterfaceWatch;
use crate::config::{ClientConfig, ServerConfig};

/// Makes connections, and takes them if it is a server. Everything runs in one task of the
/// tokio runtime it was made in, which must have I/O and time enabled; if that runtime goes
/// away, everything that waits for the endpoint or its connections ends with an error.
///
/// Clones are handles of the same endpoint. When the last one is gone, it takes no more
/// connections; those that exist go on, and use interfaces that appear later as before.
#[derive(Debug, Clone)]
pub struct Endpoint {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<EndpointShared>,
    local: Vec<SocketAddr>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.advance(Stage::Orphaned);
    }
}

impl Endpoint {
    /// Takes connections on each of `addresses`; port 0 lets the system choose.
    ///
    /// # Errors
    /// If there is no address or one cannot be bound, the profile is impossible
    /// ([`Profile::check`](crate::Profile::check)), or it is not called within a tokio runtime.
    ///
    /// # Panics
    /// If I/O or time is not enabled in the runtime: tokio does not let one ask.
    pub fn server(config: ServerConfig, addresses: &[SocketAddr]) -> io::Result<Self> {
        let runtime = runtime()?;
        if addresses.is_empty() {
            let error = "a server needs an address to listen on";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        config
            .transport
            .profile
            .check()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let sockets = addresses
            .iter()
            .map(|address| UdpSocket::bind(*address, None))
            .collect::<io::Result<Vec<_>>>()?;
        Ok(Self::start(&runtime, Some(config), sockets))
    }

    /// Makes connections only. Its sockets are bound when they are needed, and closed within two
    /// seconds once no path uses them.
    ///
    /// # Errors
    /// If it is not called within a tokio runtime.
    ///
    /// # Panics
    /// If time is not enabled in the runtime. If I/O is not, the endpoint's task panics when it
    /// needs a socket, and connections end with an error.
    pub fn client() -> io::Result<Self> {
        Ok(Self::start(&runtime()?, None, Vec::new()))
    }

    fn start(runtime: &Handle, config: Option<ServerConfig>, sockets: Vec<UdpSocket>) -> Self {
        let local = sockets.iter().map(UdpSocket::local_addr).collect();
        let is_client = config.is_none();
        let shared = Arc::new(EndpointShared::default());
        let driver = Driver::new(config, sockets, Arc::clone(&shared));
        // Connections outlive the handles of their endpoint, and follow interfaces all the same.
        let mut beside = JoinSet::new();
        if is_client {
            beside.spawn_on(watch(Arc::clone(&shared)), runtime);
        }
        runtime.spawn(async move {
            driver.await;
            drop(beside);
        });
        Self {
            inner: Arc::new(Inner { shared, local }),
        }
    }

    /// The addresses a server listens on.
    #[must_use]
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.inner.local
    }

    /// Starts a connection to a peer that is reached at `remotes`, over every usable
    /// interface; those that appear later are used as well. The handshake is tried on all
    /// of them at once, for at most
    /// [`handshake_timeout`](crate::TransportConfig::handshake_timeout). A peer on this host
    /// gets one path. Until the [`Connecting`] is resolved or dropped it counts as a handle of
    /// the endpoint.
    ///
    /// It is resolved as soon as data can be sent, which is before the server has seen whether the
    /// client holds its secret: see [`Connecting`].
    pub fn connect(&self, config: ClientConfig, remotes: &[SocketAddr]) -> Connecting {
        self.connect_over(config, Paths::EveryInterface, remotes)
    }

    /// Starts a connection with other paths than over every interface. Those that cannot be
    /// opened, that nobody answers on, or whose interface or address goes, are tried again.
    pub fn connect_over(
        &self,
        config: ClientConfig,
        paths: Paths,
        remotes: &[SocketAddr],
    ) -> Connecting {
        let routes = route::plan(&paths, remotes);
        let follow = Places::new(&paths, remotes);
        let tried = routes.clone();
        let (reply, started) = oneshot::channel();
        self.inner.shared.command(Command::Connect {
            config: Box::new(config),
            routes,
            follow,
            reply,
        });
        Connecting::new(self.clone(), started, tried)
    }

    /// Waits for the next connection of a client's; `None` when the endpoint is closed. Those
    /// that are not taken wait, up to 1024; further clients are refused.
    pub async fn accept(&self) -> Option<Connecting> {
        let shared = &self.inner.shared;
        let incoming = wait(&shared.incoming_changed, || {
            if shared.stage() >= Stage::Closed {
                return Some(None);
            }
            lock(&shared.incoming).pop_front().map(Some)
        })
        .await?;
        Some(Connecting::ready(incoming))
    }

    /// Takes no more connections: clients are told so, in other words than those whom a server
    /// refuses that is full or closed. Those that exist go on.
    pub fn refuse_new(&self) {
        self.inner.shared.command(Command::RefuseNew);
    }

    /// Closes all connections; no more are made or taken. Use [`wait_idle`](Self::wait_idle)
    /// to let the peers hear of it. [`Connection::close`](super::Connection::close) tells the
    /// range of `code` and `reason`.
    pub fn close(&self, code: u64, reason: &str) {
        self.inner.shared.close(code, reason);
    }

    /// Waits until all connections are closed and their last packets have left: three PTOs
    /// after a connection was closed, for packets that are still under way. What a server
    /// listens on stays bound until the last handle is dropped.
    pub async fn wait_idle(&self) {
        let shared = &self.inner.shared;
        wait(&shared.idle_changed, || {
            lock(&shared.connections).is_empty().then_some(())
        })
        .await;
    }
}

/// The driver's answer to the wish for a connection.
pub(super) type Started = oneshot::Receiver<Result<Guard, ConnectingError>>;

/// The runtime that everything is to run in.
fn runtime() -> io::Result<Handle> {
    Handle::try_current().map_err(io::Error::other)
}

/// Tells the driver of interfaces that come and go.
async fn watch(shared: Arc<EndpointShared>) {
    let mut watch = InterfaceWatch::new();
    loop {
        let change = watch.next().await;
        shared.command(Command::Interface(change));
    }
}

#[cfg(all(test, target_os = "linux"))]
#[path = "endpoint_tests.rs"]
mod tests;
