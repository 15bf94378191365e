//! Clients that ask for connections: how many may wait until the application takes them.

use super::Driver;
use crate::config::ServerConfig;
use crate::endpoint::ConnectionHandle;
use crate::net::connection::Guard;
use crate::net::shared::lock;

/// What clients meet.
#[derive(Debug)]
pub(super) enum Door {
    /// They are taken under these conditions.
    Open(ServerConfig),
    /// They are told to go, until the application has taken some of those who wait.
    Full(ServerConfig),
    /// They are told to go.
    Shut,
    /// There is none: a client's endpoint does not answer.
    None,
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
        if matches!(self.door, Door::Shut | Door::None) {
            return;
        }
        let is_full = lock(&self.shared.incoming).len() >= MAX_WAITING;
        self.door = match (std::mem::replace(&mut self.door, Door::None), is_full) {
            (Door::Open(config), true) => {
                tracing::warn!("{MAX_WAITING} connections wait to be accepted; refusing more");
                self.endpoint
                    .set_server_config(Some(refusing(config.clone())));
                Door::Full(config)
            }
            (Door::Full(config), false) => {
                self.endpoint.set_server_config(Some(config.clone()));
                Door::Open(config)
            }
            (door, _) => door,
        };
    }

    /// Takes nobody from now on.
    pub(super) fn shut_door(&mut self) {
        self.door = match std::mem::replace(&mut self.door, Door::None) {
            Door::Open(config) | Door::Full(config) => {
                self.endpoint.set_server_config(Some(refusing(config)));
                Door::Shut
            }
            door => door,
        };
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

/// Answers every client that there is no room.
fn refusing(config: ServerConfig) -> ServerConfig {
    ServerConfig {
        max_connections: 0,
        ..config
    }
}

/// Connections that the application has not taken yet.
pub(super) const MAX_WAITING: usize = 1024;
