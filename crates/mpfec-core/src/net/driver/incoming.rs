//! Clients that ask for connections: how many may wait until the application takes them.

use super::Driver;
use crate::endpoint::ConnectionHandle;
use crate::net::connection::Guard;
use crate::net::shared::lock;

/// What clients meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    /// They are taken.
    Open,
    /// They are told to go, until the application has taken some of those who wait.
    Full,
    /// They are told to go, because the application takes no more.
    Shut,
    /// They are told to go, because the endpoint is closed.
    Closed,
    /// There is none: a client's endpoint does not answer.
    None,
}

impl Door {
    /// What clients are told who must go.
    fn refusal(self) -> Option<&'static str> {
        match self {
            Self::Open | Self::None => None,
            Self::Full => Some("as many clients as may wait already for the server to take them"),
            Self::Shut => Some("the server takes no new connections"),
            Self::Closed => Some("the server is closed"),
        }
    }
}

impl Driver {
    /// Lets a new connection wait for the application.
    pub(super) fn let_wait(&mut self, guard: Guard) {
        lock(&self.shared.incoming).push_back(guard);
        self.shared.incoming_changed.notify_waiters();
        self.adjust_door();
    }

    /// Refuses clients while as many wait as may.
    pub(super) fn adjust_door(&mut self) {
        let is_full = lock(&self.shared.incoming).len() >= MAX_WAITING;
        match (self.door, is_full) {
            (Door::Open, true) => {
                tracing::warn!("{MAX_WAITING} connections wait to be accepted; refusing more");
                self.set_door(Door::Full);
            }
            (Door::Full, false) => self.set_door(Door::Open),
            _ => {}
        }
    }

    /// Takes nobody from now on, for the application takes no more.
    pub(super) fn shut_door(&mut self) {
        if matches!(self.door, Door::Open | Door::Full) {
            self.set_door(Door::Shut);
        }
    }

    /// Takes nobody from now on, for the endpoint is closed.
    pub(super) fn close_door(&mut self) {
        if self.door != Door::None {
            self.set_door(Door::Closed);
        }
    }

    fn set_door(&mut self, door: Door) {
        self.door = door;
        self.endpoint.set_refusal(door.refusal());
    }

    /// Closes the connections that still wait: nobody is there to take them.
    pub(super) fn forget_waiting(&mut self) {
        let waiting = std::mem::take(&mut *lock(&self.shared.incoming));
        drop(waiting);
    }

    /// Nobody needs to take a connection that is over.
    pub(super) fn forget_drained(&mut self, handle: ConnectionHandle) {
        let mut incoming = lock(&self.shared.incoming);
        let position = incoming.iter().position(|guard| guard.0.handle == handle);
        let guard = position.and_then(|position| incoming.remove(position));
        // Dropping it takes other locks.
        drop(incoming);
        drop(guard);
    }
}

/// Connections that the application has not taken yet.
pub(super) const MAX_WAITING: usize = 1024;
