//! The task that moves datagrams between sockets and state machines.

mod follow;
mod incoming;
mod retry;
#[cfg(test)]
mod tests;
mod unused;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::Sleep;

pub(super) use self::follow::PathWish;
use self::incoming::Door;
use self::retry::Retries;
use super::clock;
use super::connection::{ConnectingError, Guard};
use super::places::{Place, Places};
use super::recv_buffers::RecvBuffers;
use super::route::Route;
use super::shared::{ConnectionShared, EndpointShared, Stage, lock};
use super::socket::UdpSocket;
use super::sockets::{Sockets, Trouble};
use super::watch::InterfaceChange;
use crate::address::{Datagram, SocketId};
use crate::config::{ClientConfig, ServerConfig};
use crate::connection::{Connection, EndpointEvent, Event};
use crate::endpoint::{ConnectionHandle, Endpoint, Routed};
use crate::rng::Rng;

/// What handles ask of the driver.
#[derive(Debug)]
pub(super) enum Command {
    Connect {
        config: Box<ClientConfig>,
        routes: Vec<Route>,
        follow: Places,
        reply: oneshot::Sender<Result<Guard, ConnectingError>>,
    },
    OpenPath {
        connection: ConnectionHandle,
        wish: PathWish,
    },
    Interface(InterfaceChange),
    RefuseNew,
    Close {
        code: u64,
        reason: String,
    },
}

/// Sockets, connections and timers of one endpoint.
#[derive(Debug)]
pub(super) struct Driver {
    shared: Arc<EndpointShared>,
    endpoint: Endpoint,
    door: Door,
    sockets: Sockets,
    connections: BTreeMap<ConnectionHandle, Entry>,
    timers: BTreeSet<(Instant, ConnectionHandle)>,
    /// Connections that may have something to send or to tell.
    dirty: VecDeque<ConnectionHandle>,
    recv: RecvBuffers,
    received: Vec<(SocketId, Datagram)>,
    send: Vec<u8>,
    sleep: Pin<Box<Sleep>>,
    /// What `sleep` is set to.
    armed: Option<Instant>,
}

#[derive(Debug)]
struct Entry {
    shared: Arc<ConnectionShared>,
    timer: Option<Instant>,
    dirty: bool,
    /// The paths that a client is to have.
    follow: Option<Places>,
    /// Paths to be tried again, and when.
    retries: Retries,
    /// Paths that the application asked for and that cannot be opened yet.
    wished: Vec<PathWish>,
}

impl Driver {
    pub(super) fn new(
        config: Option<ServerConfig>,
        sockets: Vec<UdpSocket>,
        shared: Arc<EndpointShared>,
    ) -> Self {
        let sockets = Sockets::new(sockets, Arc::clone(&shared));
        Self {
            shared,
            door: config.as_ref().map_or(Door::None, |_| Door::Open),
            endpoint: Endpoint::new(clock::now(), config, Rng::system()),
            sockets,
            connections: BTreeMap::new(),
            timers: BTreeSet::new(),
            dirty: VecDeque::new(),
            recv: RecvBuffers::new(),
            received: Vec::new(),
            send: Vec::new(),
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            armed: None,
        }
    }

    fn take_commands(&mut self) -> bool {
        let commands = std::mem::take(&mut *lock(&self.shared.commands));
        let any = !commands.is_empty();
        for command in commands {
            self.on_command(command);
        }
        let changed = std::mem::take(&mut *lock(&self.shared.changed));
        for connection in &changed {
            connection.on_dequeued();
            self.mark(connection.handle);
        }
        any || !changed.is_empty()
    }

    fn on_command(&mut self, command: Command) {
        match command {
            Command::Connect {
                config,
                routes,
                follow,
                reply,
            } => {
                // Nobody waits for the answer any more: then nothing is started.
                if !reply.is_closed() && self.shared.stage() < Stage::Closed {
                    let _ = reply.send(self.connect(&config, &routes, follow));
                }
            }
            Command::OpenPath { connection, wish } => self.open_wished(connection, wish),
            Command::Interface(change) => self.on_interface(&change),
            Command::RefuseNew => self.shut_door(),
            Command::Close { code, reason } => {
                self.close_door();
                for entry in self.connections.values() {
                    entry.shared.close(code, &reason);
                }
                self.forget_waiting();
            }
        }
    }

    fn connect(
        &mut self,
        config: &ClientConfig,
        routes: &[Route],
        follow: Places,
    ) -> Result<Guard, ConnectingError> {
        let mut tuples = Vec::new();
        let mut failed = None;
        for route in routes {
            match self.sockets.tuple(&route.local, route.remote) {
                Ok(tuple) => tuples.push((tuple, route.group)),
                Err(error) => {
                    failed.get_or_insert((route, error));
                }
            }
        }
        if let Some((route, error)) = failed.filter(|_| tuples.is_empty()) {
            return Err(ConnectingError::NoSocket {
                local: route.local.clone(),
                remote: route.remote,
                cause: error.to_string(),
            });
        }
        let is_tried = |place: &&Place| {
            let mut tuples = tuples.iter();
            tuples.any(|(tuple, _)| self.is_from(place, tuple))
        };
        let listed = follow.listed().iter();
        let missing: Vec<Place> = listed.filter(|place| !is_tried(place)).cloned().collect();
        let now = clock::now();
        let (handle, connection) = self.endpoint.connect(now, config, tuples)?;
        let guard = self.add(handle, connection, Some(follow));
        self.try_later(now, handle, missing);
        Ok(guard)
    }

    /// Takes on a connection, which lives until its guard is dropped and its peer knows.
    fn add(
        &mut self,
        handle: ConnectionHandle,
        connection: Connection,
        follow: Option<Places>,
    ) -> Guard {
        let shared = Arc::new(ConnectionShared::new(
            handle,
            connection,
            Arc::clone(&self.shared),
        ));
        let entry = Entry {
            shared: Arc::clone(&shared),
            timer: None,
            dirty: false,
            follow,
            retries: Retries::default(),
            wished: Vec::new(),
        };
        self.connections.insert(handle, entry);
        lock(&self.shared.connections).insert(handle, Arc::clone(&shared));
        self.mark(handle);
        Guard(shared)
    }

    fn mark(&mut self, handle: ConnectionHandle) {
        if let Some(entry) = self.connections.get_mut(&handle)
            && !std::mem::replace(&mut entry.dirty, true)
        {
            self.dirty.push_back(handle);
        }
    }

    fn socket_gone(&mut self, socket: SocketId) {
        let handles: Vec<ConnectionHandle> = self.connections.keys().copied().collect();
        for handle in handles {
            if let Some(entry) = self.connections.get(&handle) {
                entry
                    .shared
                    .lock()
                    .connection
                    .socket_gone(clock::now(), socket);
            }
            self.mark(handle);
        }
    }

    /// A transmission did not leave: tells `owner`, or everybody if it is not known whose it was.
    fn on_trouble(&mut self, trouble: &Trouble, owner: Option<&ConnectionShared>) {
        match (trouble, owner) {
            (Trouble::Gone(socket), _) => self.socket_failed(*socket),
            (Trouble::TooBig { tuple, size }, Some(owner)) => {
                let mut state = owner.lock();
                state
                    .connection
                    .datagram_too_big(clock::now(), tuple, *size);
            }
            (Trouble::TooBig { tuple, size }, None) => {
                for entry in self.connections.values() {
                    let mut state = entry.shared.lock();
                    state
                        .connection
                        .datagram_too_big(clock::now(), tuple, *size);
                }
            }
        }
    }

    /// Takes what has arrived; a bounded share of it.
    fn receive(&mut self, cx: &mut Context<'_>) -> bool {
        self.adjust_door();
        let mut received = std::mem::take(&mut self.received);
        let gone = self.sockets.poll_recv(cx, &mut self.recv, &mut received);
        let any = !received.is_empty() || !gone.is_empty();
        let now = clock::now();
        for (_, datagram) in received.drain(..) {
            self.send.clear();
            match self.endpoint.handle_datagram(now, datagram, &mut self.send) {
                Routed::Connection(handle, datagram) => self.deliver(now, handle, datagram),
                Routed::New(handle, connection, datagram) => {
                    let guard = self.add(handle, *connection, None);
                    self.let_wait(guard);
                    self.deliver(now, handle, datagram);
                }
                Routed::Response(transmit) => {
                    if let Some(Trouble::Gone(gone)) = self.sockets.send(&transmit, &self.send) {
                        self.socket_failed(gone);
                    }
                }
                Routed::Ignored => {}
            }
        }
        self.received = received;
        for socket in gone {
            self.socket_failed(socket);
        }
        any
    }

    fn deliver(&mut self, now: Instant, handle: ConnectionHandle, datagram: Datagram) {
        if let Some(entry) = self.connections.get(&handle) {
            entry
                .shared
                .lock()
                .connection
                .handle_datagram(now, datagram);
            self.mark(handle);
        }
    }

    fn fire_timers(&mut self) -> bool {
        let now = clock::now();
        let mut any = false;
        while let Some((at, handle)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, handle));
            any = true;
            let Some(entry) = self.connections.get_mut(&handle) else {
                continue;
            };
            entry.timer = None;
            entry.shared.lock().connection.handle_timeout(now);
            for place in entry.retries.take_due(now) {
                self.open_path(handle, &place);
            }
            self.mark(handle);
        }
        self.close_unused(now);
        any
    }

    /// Lets the connections that may have something to say say it, a bounded share each.
    fn serve(&mut self) -> bool {
        let mut any = false;
        for _ in 0..self.dirty.len() {
            let Some(handle) = self.dirty.pop_front() else {
                break;
            };
            let Some(entry) = self.connections.get_mut(&handle) else {
                continue;
            };
            entry.dirty = false;
            any = true;
            let shared = Arc::clone(&entry.shared);
            if self.transmit(&shared) {
                self.mark(handle);
            }
            self.hand_over(handle, &shared);
        }
        any
    }

    /// Sends a few batches. Returns whether there may be more.
    fn transmit(&mut self, shared: &ConnectionShared) -> bool {
        for _ in 0..BATCHES {
            self.send.clear();
            let transmit =
                shared
                    .lock()
                    .connection
                    .poll_transmit(clock::now(), MAX_SEGMENTS, &mut self.send);
            let Some(transmit) = transmit else {
                return false;
            };
            if let Some(trouble) = self.sockets.send(&transmit, &self.send) {
                self.on_trouble(&trouble, Some(shared));
            }
        }
        true
    }

    /// Passes on what happened, and notes when the connection wants to be called again.
    fn hand_over(&mut self, handle: ConnectionHandle, shared: &ConnectionShared) {
        self.try_wished(handle);
        let mut state = shared.lock();
        while let Some(event) = state.connection.poll_event() {
            if let Event::Path(event) = &event {
                self.sockets.look_later(clock::now());
                self.on_path_event(handle, event);
            }
            shared.on_event(&mut state, event);
        }
        let mut drained = false;
        while let Some(event) = state.connection.poll_endpoint_event() {
            drained |= event == EndpointEvent::Drained;
            self.sockets.look_later(clock::now());
            self.endpoint.handle_event(handle, &event);
        }
        let timer = state.connection.poll_timeout();
        drop(state);
        let Some(entry) = self.connections.get_mut(&handle) else {
            return;
        };
        let timer = timer.into_iter().chain(entry.retries.next()).min();
        if entry.timer != timer || drained {
            if let Some(old) = entry.timer.take() {
                self.timers.remove(&(old, handle));
            }
            if let Some(at) = timer.filter(|_| !drained) {
                self.timers.insert((at, handle));
                entry.timer = Some(at);
            }
        }
        if drained {
            self.connections.remove(&handle);
            self.forget_drained(handle);
            lock(&self.shared.connections).remove(&handle);
            self.shared.idle_changed.notify_waiters();
        }
    }

    fn arm(&mut self, cx: &mut Context<'_>) -> bool {
        let timer = self.timers.first().map(|(at, _)| *at);
        let Some(at) = timer.into_iter().chain(self.sockets.next_look()).min() else {
            return false;
        };
        if self.armed != Some(at) {
            self.armed = Some(at);
            self.sleep.as_mut().reset(at.into());
        }
        self.sleep.as_mut().poll(cx).is_ready()
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let driver = self.get_mut();
        driver.shared.driver.register(cx.waker());
        let is_orphaned = driver.shared.stage() >= Stage::Orphaned;
        if is_orphaned {
            driver.close_door();
            driver.forget_waiting();
        }
        for _ in 0..ROUNDS {
            let mut progress = driver.take_commands();
            progress |= driver.receive(cx);
            progress |= driver.fire_timers();
            progress |= driver.serve();
            for trouble in driver.sockets.poll_pending(cx) {
                driver.on_trouble(&trouble, None);
                progress = true;
            }
            if !progress {
                if is_orphaned && driver.connections.is_empty() {
                    return Poll::Ready(());
                }
                if driver.arm(cx) {
                    driver.armed = None;
                    continue;
                }
                return Poll::Pending;
            }
        }
        // Others have a right to the thread, too.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Driver {
    /// Also when the runtime goes away, or after a panic: nobody shall wait for ever.
    fn drop(&mut self) {
        self.shared.on_driver_gone();
    }
}

/// The address to bind to for a route.
pub(super) fn bind_address(ip: Option<IpAddr>, remote: SocketAddr) -> SocketAddr {
    let any = if remote.is_ipv4() {
        IpAddr::from([0; 4])
    } else {
        IpAddr::from([0; 16])
    };
    SocketAddr::new(ip.unwrap_or(any), 0)
}

/// Batches of a connection before another has its turn.
const BATCHES: usize = 4;
/// Datagrams in a batch: 64 KiB, which is what the kernel takes at once.
const MAX_SEGMENTS: usize = 44;
/// Rounds before the task lets others run.
const ROUNDS: usize = 32;
