//! Sockets that no connection uses any more.

use std::time::Instant;

use super::Driver;
use crate::address::SocketId;

impl Driver {
    /// Closes a socket that was to be used and is not, unless somebody else does.
    pub(super) fn release(&mut self, socket: SocketId) {
        if !self.is_used(socket) {
            self.sockets.close(socket);
        }
    }

    /// Closes what nobody has used for a while, if it is time to look.
    pub(super) fn close_unused(&mut self, now: Instant) {
        if self.sockets.next_look().is_none_or(|at| at > now) {
            return;
        }
        let used = self.sockets.made().filter(|id| self.is_used(*id)).collect();
        self.sockets.close_unused(now, &used);
    }

    fn is_used(&self, socket: SocketId) -> bool {
        self.connections
            .values()
            .any(|entry| entry.shared.lock().connection.uses_socket(socket))
    }
}
