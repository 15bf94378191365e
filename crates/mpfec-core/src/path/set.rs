//! The paths of a connection, their slots, and the connection IDs that name them.

use std::collections::BTreeSet;

use mpfec_sched::MAX_PATHS;
use smallvec::SmallVec;

use super::Path;
use crate::wire::{ConnectionId, ResetToken};

/// A connection ID that we gave to the peer for one path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalCid {
    pub(crate) path: u32,
    pub(crate) cid: ConnectionId,
}

/// A connection ID that the peer gave to us for one path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RemoteCid {
    pub(crate) path: u32,
    pub(crate) cid: ConnectionId,
    pub(crate) reset_token: ResetToken,
}

/// What became of a connection ID that the peer gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    /// It can be used from now on.
    New,
    /// It was given before, or for a path that is closed.
    Known,
    /// There are more than a connection can use, or it contradicts what the peer gave before.
    Refused,
}

/// What named a path that is closed now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClosedIds {
    /// Our connection ID.
    pub(crate) local: Option<ConnectionId>,
    /// Of the peer's connection ID.
    pub(crate) reset_token: Option<ResetToken>,
}

/// Open paths in their slots, and connection IDs of paths that are or may be opened.
#[derive(Debug, Default)]
pub(crate) struct PathSet {
    paths: SmallVec<[Path; 2]>,
    local: Vec<LocalCid>,
    remote: Vec<RemoteCid>,
    /// IDs of closed paths, which are never used again; as many as there were paths, so
    /// bounded by [`MAX_PATH_ID`].
    closed: BTreeSet<u32>,
    /// The path that a client goes on with where it can open no other: it could not say that it
    /// is closed.
    last_resort: Option<Box<Path>>,
}

impl PathSet {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter()
    }

    /// Where the validated path with the smallest `rank` is, of those that have one; if none has,
    /// the one that was heard of last.
    pub(crate) fn best_validated<R: Ord>(
        &self,
        rank: impl Fn(&Path) -> Option<R>,
    ) -> Option<usize> {
        let validated = || {
            let paths = self.paths.iter().enumerate();
            paths.filter(|(_, path)| path.validation.is_validated())
        };
        let ranked = validated().filter_map(|(index, path)| Some((rank(path)?, index)));
        let best = ranked.min().map(|(_, index)| index);
        let latest = || validated().max_by_key(|(_, path)| path.last_received);
        best.or_else(|| latest().map(|(index, _)| index))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        self.paths.iter_mut()
    }

    /// Open paths; at most `MAX_PATHS`.
    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    /// The path at a position, for loops that borrow the connection in between.
    pub(crate) fn at(&self, index: usize) -> Option<&Path> {
        self.paths.get(index)
    }

    pub(crate) fn at_mut(&mut self, index: usize) -> Option<&mut Path> {
        self.paths.get_mut(index)
    }

    pub(crate) fn position(&self, id: u32) -> Option<usize> {
        self.paths.iter().position(|path| path.id == id)
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Path> {
        self.paths.iter_mut().find(|path| path.id == id)
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Path> {
        self.paths.iter().find(|path| path.id == id)
    }

    /// A slot that no open path has, if there is one.
    pub(crate) fn free_slot(&self) -> Option<usize> {
        (0..MAX_PATHS).find(|slot| self.paths.iter().all(|path| path.slot != *slot))
    }

    /// The lowest path ID that was never opened and has connection IDs on both sides.
    pub(crate) fn next_id(&self) -> Option<u32> {
        self.local
            .iter()
            .map(|cid| cid.path)
            .filter(|id| !self.was_opened(*id) && self.remote(*id).is_some())
            .min()
    }

    /// Whether a path of this ID is or was open.
    pub(crate) fn was_opened(&self, id: u32) -> bool {
        self.get(id).is_some() || self.last_resort() == Some(id) || self.closed.contains(&id)
    }

    pub(crate) fn insert(&mut self, path: Path) {
        self.paths.push(path);
    }

    /// Takes a path out, and its connection IDs. Path IDs that the peer skipped stay usable.
    pub(crate) fn remove(&mut self, id: u32) -> Option<ClosedIds> {
        if self.last_resort() == Some(id) {
            self.last_resort = None;
        } else {
            let index = self.position(id)?;
            self.paths.remove(index);
        }
        Some(self.close(id))
    }

    /// Takes a path out of the open ones, but keeps what it would go on with.
    pub(crate) fn set_aside(&mut self, id: u32) {
        if let Some(index) = self.position(id) {
            self.last_resort = Some(Box::new(self.paths.remove(index)));
        }
    }

    /// The ID of the path that was set aside.
    pub(crate) fn last_resort(&self) -> Option<u32> {
        self.last_resort.as_ref().map(|path| path.id)
    }

    pub(crate) fn take_last_resort(&mut self) -> Option<Box<Path>> {
        self.last_resort.take()
    }

    /// Closes a path that was never opened here, if its ID was handed out: takes out its
    /// connection IDs.
    pub(crate) fn close_unopened(&mut self, id: u32) -> Option<ClosedIds> {
        let is_unopened = !self.was_opened(id) && self.local.iter().any(|cid| cid.path == id);
        is_unopened.then(|| self.close(id))
    }

    fn close(&mut self, id: u32) -> ClosedIds {
        self.closed.insert(id);
        let local = self.local.iter().position(|cid| cid.path == id);
        let remote = self.remote.iter().position(|cid| cid.path == id);
        ClosedIds {
            local: local.map(|at| self.local.remove(at).cid),
            reset_token: remote.map(|at| self.remote.remove(at).reset_token),
        }
    }

    /// The path ID that the next connection ID is for.
    pub(crate) fn next_local_id(&self) -> u32 {
        let known = self
            .local
            .iter()
            .map(|cid| cid.path)
            .chain(self.closed.last().copied());
        known.max().map_or(0, |id| id + 1)
    }

    pub(crate) fn add_local(&mut self, cid: LocalCid) {
        self.local.push(cid);
    }

    pub(crate) fn locals(&self) -> &[LocalCid] {
        &self.local
    }

    /// The path that a packet with this destination connection ID belongs to.
    pub(crate) fn path_of(&self, cid: &ConnectionId) -> Option<u32> {
        self.local
            .iter()
            .find(|local| local.cid == *cid)
            .map(|local| local.path)
    }

    /// Notes what the peer gave.
    pub(crate) fn add_remote(&mut self, cid: RemoteCid) -> Given {
        if let Some(known) = self.remote.iter().find(|known| known.path == cid.path) {
            let is_same = known.cid == cid.cid && known.reset_token == cid.reset_token;
            return if is_same {
                Given::Known
            } else {
                Given::Refused
            };
        }
        if self.was_opened(cid.path) && self.get(cid.path).is_none() {
            return Given::Known;
        }
        if self.remote.len() >= MAX_REMOTE_CIDS || cid.path > MAX_PATH_ID {
            return Given::Refused;
        }
        self.remote.push(cid);
        Given::New
    }

    pub(crate) fn remote(&self, path: u32) -> Option<&RemoteCid> {
        self.remote.iter().find(|cid| cid.path == path)
    }

    /// Whether these bytes end a stateless reset of one of our paths (RFC 9000 §10.3).
    pub(crate) fn is_reset_token(&self, token: &[u8; 16]) -> bool {
        // The comparison of every token takes the same time whatever matches.
        self.remote.iter().fold(false, |found, cid| {
            let differs = cid
                .reset_token
                .0
                .iter()
                .zip(token)
                .fold(0, |acc, (a, b)| acc | (a ^ b));
            found | (differs == 0)
        })
    }
}

/// Twice what can be open: those in use and a full set for what comes next.
const MAX_REMOTE_CIDS: usize = 2 * MAX_PATHS;
/// A connection that has used up so many paths opens no further ones.
pub(crate) const MAX_PATH_ID: u32 = 1 << 16;
