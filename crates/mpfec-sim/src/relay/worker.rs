//! The relay's loop: commands, datagrams, changes and deliveries, each when it is due.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::sync::mpsc;
use tokio::time::Sleep;

use super::RelayStats;
use crate::{Change, Direction, TimedChange, clock};

/// What the owner of a relay wants.
#[derive(Debug)]
pub(super) enum Command {
    Apply {
        path: usize,
        direction: Direction,
        change: Change,
    },
    Rebind {
        path: usize,
    },
}

/// A path with its two links, between whatever datagrams come from and go to.
pub(super) trait Carrier: Send + 'static {
    /// Takes up to a batch from each end into the links.
    fn receive(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Received;

    /// Sends on what has crossed a link by `now`.
    fn deliver(&mut self, now: Instant);

    fn apply(&mut self, at: Instant, direction: Direction, change: Change);

    /// Gives each client another address towards the server, where clients have one.
    fn rebind(&mut self) {}

    /// When to call [`deliver`](Self::deliver) next.
    fn poll_timeout(&self) -> Option<Instant>;

    fn stats(&self) -> RelayStats;
}

/// What a turn of receiving came to.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// An end was left before it was empty.
    pub(super) has_more: bool,
    pub(super) is_from_client: bool,
}

/// Owns the sockets and the links; nothing else touches them.
pub(super) struct Worker<C> {
    paths: Vec<C>,
    /// Sorted by time.
    changes: VecDeque<TimedChange>,
    /// When the first datagram of a client arrived.
    started: Option<Instant>,
    inbox: mpsc::UnboundedReceiver<Command>,
    stats: Arc<Mutex<Vec<RelayStats>>>,
    timer: Pin<Box<Sleep>>,
    buffer: Box<[u8]>,
}

impl<C: Carrier> Worker<C> {
    /// Must be called inside the runtime that will run it.
    pub(super) fn new(
        paths: Vec<C>,
        changes: &[TimedChange],
        inbox: mpsc::UnboundedReceiver<Command>,
        stats: Arc<Mutex<Vec<RelayStats>>>,
    ) -> Self {
        let mut changes = changes.to_vec();
        changes.sort_by_key(|timed| timed.at);
        Self {
            paths,
            changes: changes.into(),
            started: None,
            inbox,
            stats,
            timer: Box::pin(tokio::time::sleep_until(clock::now().into())),
            buffer: vec![0; LARGEST_DATAGRAM].into_boxed_slice(),
        }
    }

    /// Does what is due and arranges to be woken for the rest. Ready once its owner is gone.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.obey(cx).is_ready() {
                return Poll::Ready(());
            }
            let has_more = self.receive(cx);
            let now = clock::now();
            self.change(now);
            for path in &mut self.paths {
                path.deliver(now);
            }
            self.publish();
            if has_more {
                // Others may be due in between; the timer is not needed to come back.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let Some(next) = self.poll_timeout() else {
                return Poll::Pending;
            };
            self.timer.as_mut().reset(next.into());
            if self.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    fn obey(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Poll::Ready(command) = self.inbox.poll_recv(cx) {
            match command {
                None => return Poll::Ready(()),
                Some(Command::Apply {
                    path,
                    direction,
                    change,
                }) => {
                    if let Some(path) = self.paths.get_mut(path) {
                        path.apply(clock::now(), direction, change);
                    }
                }
                Some(Command::Rebind { path }) => {
                    if let Some(path) = self.paths.get_mut(path) {
                        path.rebind();
                    }
                }
            }
        }
        Poll::Pending
    }

    /// Takes what has arrived; true if there may be more.
    fn receive(&mut self, cx: &mut Context<'_>) -> bool {
        let mut has_more = false;
        for path in &mut self.paths {
            let received = path.receive(cx, &mut self.buffer);
            has_more |= received.has_more;
            if received.is_from_client && self.started.is_none() {
                self.started = Some(clock::now());
            }
        }
        has_more
    }

    fn change(&mut self, now: Instant) {
        let Some(started) = self.started else { return };
        while let Some(timed) = self
            .changes
            .front()
            .filter(|timed| started + timed.at <= now)
        {
            if let Some(path) = self.paths.get_mut(timed.path) {
                path.apply(started + timed.at, timed.direction, timed.change);
            }
            self.changes.pop_front();
        }
    }

    fn publish(&self) {
        let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        for (stats, path) in stats.iter_mut().zip(&self.paths) {
            *stats = path.stats();
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let change = self
            .started
            .zip(self.changes.front())
            .map(|(started, timed)| started + timed.at);
        self.paths
            .iter()
            .filter_map(C::poll_timeout)
            .chain(change)
            .min()
    }
}

/// No UDP payload is larger.
const LARGEST_DATAGRAM: usize = 65_535;
