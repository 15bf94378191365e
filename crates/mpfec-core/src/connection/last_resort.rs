//! What a client without a path that works does when it has no connection ID for another one.
//!
//! Each path that it opens in vain uses up one of the few IDs that it holds. It can neither get
//! further ones nor say that paths are closed, for both take a path that works. So it goes on with
//! the last one that did from other addresses, where the server follows it as it would behind a
//! NAT. Who sees both addresses can tell then that they are those of one client (RFC 9000 §9.5):
//! as long as there are IDs that nobody has seen, those are used.

use std::time::Instant;

use super::Connection;
use crate::address::FourTuple;
use crate::id::Side;
use crate::path::{Path, PathReason};

impl Connection {
    /// Whether a path that was lost may go on from other addresses.
    pub(super) fn may_go_on(&self) -> bool {
        let is_stranded = self.side == Side::Client && !self.paths.iter().any(is_validated);
        is_stranded && (self.paths.last_resort().is_some() || self.paths.iter().any(is_late))
    }

    /// Goes on from another address with the path that was set aside, or else with one that is
    /// challenged although it is late. Returns its number.
    pub(super) fn go_on_from(
        &mut self,
        now: Instant,
        slot: usize,
        tuple: FourTuple,
    ) -> Option<u32> {
        if !self.may_go_on() {
            return None;
        }
        if self.paths.last_resort().is_none() {
            let late = self.paths.iter().find(|path| is_late(path))?.id;
            self.drop_path(now, late, PathReason::NeverAnswered);
        }
        let before = self.paths.take_last_resort()?;
        let id = before.id;
        tracing::debug!(path = id, remote = %tuple.remote, "goes on from another address");
        if before.backup {
            self.control.set_status(id, false);
        }
        self.challenge_path(now, id, slot, tuple);
        if let Some(path) = self.paths.get_mut(id) {
            path.go_on_from(now, *before);
        }
        Some(id)
    }

    /// Whether a path that is dropped is the one to go on with. One that worked is: the server
    /// has it, and keeps it as long as it hears nothing else.
    pub(super) fn is_last_resort(&self, id: u32, reason: PathReason) -> bool {
        let has_worked = self.paths.get(id).is_some_and(is_validated);
        let is_last = !self
            .paths
            .iter()
            .any(|path| path.id != id && is_validated(path));
        self.side == Side::Client
            && !matches!(reason, PathReason::ClosedByPeer(_))
            && is_last
            && (has_worked || self.paths.last_resort().is_none())
    }

    /// Takes a path out that may have to go on. There is one such path at most.
    pub(super) fn set_aside(&mut self, id: u32) {
        self.close_last_resort();
        self.paths.set_aside(id);
    }

    /// The path that was set aside is no longer needed.
    pub(super) fn close_last_resort(&mut self) {
        if let Some(id) = self.paths.last_resort() {
            self.close_for_good(id);
            self.issue_connection_ids();
        }
    }
}

fn is_validated(path: &Path) -> bool {
    path.validation.is_validated()
}

fn is_late(path: &Path) -> bool {
    path.validation.is_late()
}
