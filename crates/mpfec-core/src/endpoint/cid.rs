//! From connection IDs and stateless reset tokens to connections.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::wire::{ConnectionId, ResetToken};

/// Names a connection of an endpoint; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionHandle(pub u64);

/// Everything by which datagrams are matched to connections. Peers choose some of the
/// keys, so the maps use a keyed hash.
#[derive(Debug, Default)]
pub(super) struct Routes {
    by_cid: HashMap<ConnectionId, ConnectionHandle>,
    by_reset_token: HashMap<ResetToken, ConnectionHandle>,
    entries: BTreeMap<ConnectionHandle, Entry>,
    next: u64,
    handshaking: usize,
}

#[derive(Debug, Default)]
struct Entry {
    cids: Vec<ConnectionId>,
    /// The last ones that the connection has no use for any more. Packets that were under way
    /// still go to it: to answer them with a stateless reset would end a live connection.
    retired: VecDeque<ConnectionId>,
    /// Those of the peer's connection IDs that the connection holds.
    reset_tokens: Vec<ResetToken>,
    /// A client's handshake is still under way.
    handshaking: bool,
}

impl Routes {
    /// A new connection that is known under `cids` for now.
    pub(super) fn add(&mut self, cids: &[ConnectionId], handshaking: bool) -> ConnectionHandle {
        let handle = ConnectionHandle(self.next);
        self.next += 1;
        self.handshaking += usize::from(handshaking);
        self.entries.insert(
            handle,
            Entry {
                handshaking,
                ..Entry::default()
            },
        );
        for cid in cids {
            self.issue(handle, *cid);
        }
        handle
    }

    pub(super) fn find(&self, cid: &ConnectionId) -> Option<ConnectionHandle> {
        self.by_cid.get(cid).copied()
    }

    pub(super) fn find_reset(&self, token: &ResetToken) -> Option<ConnectionHandle> {
        self.by_reset_token.get(token).copied()
    }

    pub(super) fn issue(&mut self, handle: ConnectionHandle, cid: ConnectionId) {
        if let Some(entry) = self.entries.get_mut(&handle) {
            entry.cids.push(cid);
            self.by_cid.insert(cid, handle);
        }
    }

    pub(super) fn retire(&mut self, cid: &ConnectionId) {
        let Some(handle) = self.by_cid.get(cid) else {
            return;
        };
        let Some(entry) = self.entries.get_mut(handle) else {
            return;
        };
        entry.cids.retain(|known| known != cid);
        entry.retired.push_back(*cid);
        if entry.retired.len() > MAX_RETIRED
            && let Some(oldest) = entry.retired.pop_front()
        {
            self.by_cid.remove(&oldest);
        }
    }

    pub(super) fn expect_reset(&mut self, handle: ConnectionHandle, token: ResetToken) {
        if let Some(entry) = self.entries.get_mut(&handle) {
            entry.reset_tokens.push(token);
            self.by_reset_token.insert(token, handle);
        }
    }

    pub(super) fn forget_reset(&mut self, handle: ConnectionHandle, token: &ResetToken) {
        if let Some(entry) = self.entries.get_mut(&handle) {
            entry.reset_tokens.retain(|known| known != token);
            self.by_reset_token.remove(token);
        }
    }

    pub(super) fn establish(&mut self, handle: ConnectionHandle) {
        if let Some(entry) = self.entries.get_mut(&handle) {
            self.handshaking -= usize::from(std::mem::take(&mut entry.handshaking));
        }
    }

    pub(super) fn forget(&mut self, handle: ConnectionHandle) {
        self.establish(handle);
        let Some(entry) = self.entries.remove(&handle) else {
            return;
        };
        for cid in entry.cids.iter().chain(&entry.retired) {
            self.by_cid.remove(cid);
        }
        for token in &entry.reset_tokens {
            self.by_reset_token.remove(token);
        }
    }

    pub(super) fn connections(&self) -> usize {
        self.entries.len()
    }

    /// Clients whose handshake is not complete.
    pub(super) fn handshaking(&self) -> usize {
        self.handshaking
    }
}

/// Connection IDs of closed paths that packets under way may still have.
const MAX_RETIRED: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgotten_connection_leaves_nothing_behind() {
        let mut routes = Routes::default();
        let cid = ConnectionId::from([1; 8]);
        let handle = routes.add(&[cid], true);
        routes.issue(handle, ConnectionId::from([2; 8]));
        for token in 0..40 {
            routes.expect_reset(handle, ResetToken([token; 16]));
        }
        assert_eq!(routes.find(&cid), Some(handle));
        assert_eq!(routes.handshaking(), 1);
        routes.forget(handle);
        assert_eq!(routes.find(&cid), None);
        assert_eq!((routes.connections(), routes.handshaking()), (0, 0));
        assert!(routes.by_cid.is_empty() && routes.by_reset_token.is_empty());
    }

    #[test]
    fn an_event_of_a_forgotten_connection_changes_nothing() {
        let mut routes = Routes::default();
        let handle = routes.add(&[], false);
        routes.forget(handle);
        routes.issue(handle, ConnectionId::from([3; 8]));
        routes.expect_reset(handle, ResetToken([0; 16]));
        assert!(routes.by_cid.is_empty() && routes.by_reset_token.is_empty());
    }
}
