//! What the driver and the handles of an application share: connections behind locks, and
//! ways to wake each other.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use futures_util::task::AtomicWaker;
use tokio::sync::Notify;

use crate::address::SocketId;
use crate::connection::{CloseReason, Connection, Event, PathEvent};
use crate::endpoint::ConnectionHandle;
use crate::id::{Dir, StreamId};
use crate::stream::StreamEvent;

use super::clock;
use super::connection::Guard;
use super::driver::Command;
use super::sockets::LocalSocket;

/// Locks, whatever happened to another thread that held the lock: the state machine is
/// consistent between any two calls.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An endpoint as its handles see it.
#[derive(Debug, Default)]
pub(super) struct EndpointShared {
    pub(super) commands: Mutex<VecDeque<Command>>,
    /// Connections that an application has changed since the driver last looked.
    pub(super) changed: Mutex<Vec<Arc<ConnectionShared>>>,
    pub(super) driver: AtomicWaker,
    /// Connections that clients made and the application has not taken yet.
    pub(super) incoming: Mutex<VecDeque<Guard>>,
    pub(super) incoming_changed: Notify,
    /// Wakes those who wait until no connection is left.
    pub(super) idle_changed: Notify,
    /// Those that are not forgotten yet.
    pub(super) connections: Mutex<BTreeMap<ConnectionHandle, Arc<ConnectionShared>>>,
    stage: Mutex<Stage>,
    /// Every socket, and the last of those that were: paths that are gone had one, too.
    pub(super) sockets: Mutex<BTreeMap<SocketId, LocalSocket>>,
}

/// Where an endpoint is in its life; it never goes back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    #[default]
    Open,
    /// The application closed it: no connection is made or taken any more.
    Closed,
    /// Its last handle is gone: it ends with the last connection.
    Orphaned,
    /// Its driver is gone, for example with the runtime: nothing ever happens again.
    Gone,
}

impl EndpointShared {
    /// Asks something of the driver. If that is gone, nobody ever answers.
    pub(super) fn command(&self, command: Command) {
        let mut commands = lock(&self.commands);
        if self.stage() < Stage::Gone {
            commands.push_back(command);
            drop(commands);
            self.driver.wake();
        }
    }

    pub(super) fn stage(&self) -> Stage {
        *lock(&self.stage)
    }

    /// Goes on to `stage`, unless it is further already, and tells those who wait.
    pub(super) fn advance(&self, stage: Stage) {
        {
            let mut current = lock(&self.stage);
            *current = stage.max(*current);
        }
        self.incoming_changed.notify_waiters();
        self.driver.wake();
    }

    /// Closes all connections and the endpoint. The application may drop what it holds as soon
    /// as it hears of that: the connections must know why before.
    pub(super) fn close(&self, code: u64, reason: &str) {
        let connections: Vec<_> = lock(&self.connections).values().cloned().collect();
        for connection in connections {
            connection.close(code, reason);
        }
        self.advance(Stage::Closed);
        // The driver may have taken on others meanwhile.
        let reason = reason.to_owned();
        self.command(Command::Close { code, reason });
    }

    /// The driver is gone: whoever waits for anything of the endpoint's learns of it.
    pub(super) fn on_driver_gone(&self) {
        self.advance(Stage::Gone);
        // From here on nobody adds to these any more.
        let connections = std::mem::take(&mut *lock(&self.connections));
        for connection in connections.values() {
            connection.on_driver_gone();
        }
        let incoming = std::mem::take(&mut *lock(&self.incoming));
        drop(incoming);
        drop(std::mem::take(&mut *lock(&self.commands)));
        drop(std::mem::take(&mut *lock(&self.changed)));
        self.idle_changed.notify_waiters();
    }
}

/// A connection as its handles and the driver see it.
#[derive(Debug)]
pub(super) struct ConnectionShared {
    pub(super) handle: ConnectionHandle,
    pub(super) state: Mutex<ConnectionState>,
    pub(super) endpoint: Arc<EndpointShared>,
    queued: AtomicBool,
    pub(super) notify: Notifiers,
}

/// The state machine, and who waits for what on its streams.
#[derive(Debug)]
pub(super) struct ConnectionState {
    pub(super) connection: Connection,
    pub(super) connected: bool,
    pub(super) confirmed: bool,
    pub(super) closed: Option<CloseReason>,
    pub(super) streams: HashMap<StreamId, StreamWaiters>,
    pub(super) path_events: VecDeque<PathEvent>,
    /// Path events that nobody took in time.
    pub(super) missed_path_events: u64,
}

/// What is known of one stream, and who waits for more.
#[derive(Debug, Default)]
pub(super) struct StreamWaiters {
    pub(super) reader: Option<Waker>,
    pub(super) writer: Option<Waker>,
    handles: usize,
    /// The peer's application has read everything.
    pub(super) delivered: bool,
    /// The peer reads no more, and says why.
    pub(super) stopped: Option<u64>,
    /// The writer has taken back what it wrote.
    pub(super) is_reset: bool,
}

/// Who waits for something of the connection as a whole.
#[derive(Debug, Default)]
pub(super) struct Notifiers {
    /// The handshake got on: connected, or confirmed.
    pub(super) connected: Notify,
    pub(super) closed: Notify,
    pub(super) opened: [Notify; 2],
    pub(super) available: [Notify; 2],
    pub(super) datagram: Notify,
    pub(super) datagram_room: Notify,
    pub(super) path: Notify,
    /// Streams that were delivered, stopped or reset.
    pub(super) stream_end: Notify,
}

impl ConnectionShared {
    pub(super) fn new(
        handle: ConnectionHandle,
        connection: Connection,
        endpoint: Arc<EndpointShared>,
    ) -> Self {
        Self {
            handle,
            state: Mutex::new(ConnectionState {
                connection,
                connected: false,
                confirmed: false,
                closed: None,
                streams: HashMap::new(),
                path_events: VecDeque::new(),
                missed_path_events: 0,
            }),
            endpoint,
            queued: AtomicBool::new(false),
            notify: Notifiers::default(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        lock(&self.state)
    }

    /// Closes it, unless it is closed.
    pub(super) fn close(self: &Arc<Self>, code: u64, reason: &str) {
        let mut state = self.lock();
        if state.closed.is_none() {
            state.connection.close(clock::now(), code, reason);
            // Whoever asks next is told why, without waiting for the driver.
            while let Some(event) = state.connection.poll_event() {
                self.on_event(&mut state, event);
            }
            drop(state);
            self.wake_driver();
        }
    }

    /// The application changed something: the driver shall look.
    pub(super) fn wake_driver(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            let mut changed = lock(&self.endpoint.changed);
            if self.endpoint.stage() < Stage::Gone {
                changed.push(Arc::clone(self));
                drop(changed);
                self.endpoint.driver.wake();
            }
        }
    }

    /// The driver is about to look.
    pub(super) fn on_dequeued(&self) {
        self.queued.store(false, Ordering::Release);
    }

    /// The driver is gone, and with it all that could still happen here.
    pub(super) fn on_driver_gone(&self) {
        self.on_closed(&mut self.lock(), CloseReason::EndpointGone);
    }

    /// Hands an event of the state machine to whoever waits for it.
    pub(super) fn on_event(&self, state: &mut ConnectionState, event: Event) {
        match event {
            Event::Connected => {
                state.connected = true;
                self.notify.connected.notify_waiters();
            }
            Event::Confirmed => {
                state.confirmed = true;
                self.notify.connected.notify_waiters();
            }
            Event::Closed(reason) => self.on_closed(state, reason),
            Event::Stream(event) => self.on_stream_event(state, event),
            Event::DatagramReceived => self.notify.datagram.notify_waiters(),
            Event::DatagramsUnblocked => self.notify.datagram_room.notify_waiters(),
            Event::Path(event) => {
                if state.path_events.len() >= MAX_PATH_EVENTS {
                    state.path_events.pop_front();
                    state.missed_path_events += 1;
                }
                state.path_events.push_back(event);
                self.notify.path.notify_waiters();
            }
            Event::PeerAddresses => {}
        }
    }

    fn on_stream_event(&self, state: &mut ConnectionState, event: StreamEvent) {
        match event {
            StreamEvent::Opened { dir } => self.notify.opened[index(dir)].notify_waiters(),
            StreamEvent::Available { dir } => self.notify.available[index(dir)].notify_waiters(),
            StreamEvent::Readable { stream } => wake(
                state
                    .streams
                    .get_mut(&stream)
                    .and_then(|stream| stream.reader.take()),
            ),
            StreamEvent::Writable { stream } => wake(
                state
                    .streams
                    .get_mut(&stream)
                    .and_then(|stream| stream.writer.take()),
            ),
            StreamEvent::Finished { .. } => {}
            StreamEvent::Delivered { stream } => {
                if let Some(waiters) = state.streams.get_mut(&stream) {
                    waiters.delivered = true;
                }
                self.notify.stream_end.notify_waiters();
            }
            StreamEvent::Stopped { stream, code } => {
                if !state.connection.is_taken(stream) {
                    // Whoever takes it learns of it then.
                    state.stream(stream);
                }
                if let Some(waiters) = state.streams.get_mut(&stream) {
                    waiters.stopped = Some(code);
                    wake(waiters.writer.take());
                }
                self.notify.stream_end.notify_waiters();
            }
        }
    }

    /// Nothing more will happen: everybody who waits for something must hear of it.
    fn on_closed(&self, state: &mut ConnectionState, reason: CloseReason) {
        state.closed.get_or_insert(reason);
        for waiters in state.streams.values_mut() {
            wake(waiters.reader.take());
            wake(waiters.writer.take());
        }
        let notify = &self.notify;
        for waiting in [
            &notify.connected,
            &notify.closed,
            &notify.datagram,
            &notify.datagram_room,
            &notify.path,
            &notify.stream_end,
        ]
        .into_iter()
        .chain(&notify.opened)
        .chain(&notify.available)
        {
            waiting.notify_waiters();
        }
    }
}

impl ConnectionState {
    pub(super) fn stream(&mut self, id: StreamId) -> &mut StreamWaiters {
        self.streams.entry(id).or_default()
    }

    /// One more handle of a stream.
    pub(super) fn add_handle(&mut self, id: StreamId) {
        self.stream(id).handles += 1;
    }

    /// A handle of a stream is gone; with the last one goes what is known of the stream.
    pub(super) fn drop_handle(&mut self, id: StreamId) {
        let stream = self.stream(id);
        stream.handles = stream.handles.saturating_sub(1);
        if stream.handles == 0 {
            self.streams.remove(&id);
        }
    }
}

/// Position of a direction in [`Notifiers`].
pub(super) fn index(dir: Dir) -> usize {
    match dir {
        Dir::Bi => 0,
        Dir::Uni => 1,
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Path events that wait for the application.
const MAX_PATH_EVENTS: usize = 256;
