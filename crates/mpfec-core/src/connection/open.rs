//! Opening, closing and changing paths.

use std::time::{Duration, Instant};

use super::Connection;
use super::event::{EndpointEvent, Event, PathChange, PathEvent};
use crate::address::{FourTuple, SocketId};
use crate::id::Side;
use crate::path::{
    ClosedIds, INITIAL_RTT, LocalCid, PacketPair, Path, PathReason, PathStart, Validation,
};
use crate::wire::{ConnectionId, IssuedId, ResetToken};

/// Why no path was opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenPathError {
    /// The handshake is not complete, or the connection is over.
    #[error("the connection is not established")]
    NotEstablished,
    /// Only the end that started the connection opens paths.
    #[error("only the client opens paths")]
    NotClient,
    /// As many paths as a connection can have are open.
    #[error("{0} paths are open, which is the most a connection can have")]
    TooManyPaths(usize),
    /// There is a path between these addresses already.
    #[error("path {0} uses these addresses already")]
    Duplicate(u32),
    /// The peer has not handed out a connection ID for a further path yet.
    #[error("the peer has given no connection ID for a further path yet")]
    NoConnectionId,
}

/// Why a path stays open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClosePathError {
    /// There is no other whose address has answered, to say it on or to go on with: open another path
    /// before, or close the connection.
    #[error("path {0} is the only one that is open")]
    LastPath(u32),
}

impl OpenPathError {
    /// Whether it may well work later.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::NotEstablished | Self::NoConnectionId)
    }
}

impl Connection {
    /// Opens a path; `Up` follows when its address has answered, or `Down` without it when it
    /// never does or the path is closed before. Returns its number: that of a path that was lost,
    /// where no path works and the peer can give no connection ID for a further one.
    ///
    /// # Errors
    /// See [`OpenPathError`].
    pub fn open_path(&mut self, now: Instant, tuple: FourTuple) -> Result<u32, OpenPathError> {
        self.open_path_among(now, tuple, &[])
    }

    /// Whether [`open_path`](Self::open_path) would not have to wait for the peer.
    #[must_use]
    pub fn may_open_path(&self) -> bool {
        let is_supplied = self.paths.next_id().is_some() || self.may_go_on();
        self.state.is_open() && self.keys.is_some() && is_supplied
    }

    /// Opens a path to whichever of several addresses answers; `tuple` is tried first.
    ///
    /// # Errors
    /// See [`OpenPathError`].
    pub fn open_path_among(
        &mut self,
        now: Instant,
        tuple: FourTuple,
        alternatives: &[FourTuple],
    ) -> Result<u32, OpenPathError> {
        let now = self.monotonic(now);
        if self.side == Side::Server {
            return Err(OpenPathError::NotClient);
        }
        if !self.state.is_open() || self.keys.is_none() {
            return Err(OpenPathError::NotEstablished);
        }
        if let Some(path) = self
            .paths
            .iter()
            .find(|path| path.tuple.is_same_route(&tuple))
        {
            return Err(OpenPathError::Duplicate(path.id));
        }
        let slot = self
            .paths
            .free_slot()
            .ok_or(OpenPathError::TooManyPaths(self.paths.len()))?;
        let id = match self.paths.next_id() {
            Some(id) => {
                self.challenge_path(now, id, slot, tuple);
                id
            }
            None => self
                .go_on_from(now, slot, tuple)
                .ok_or(OpenPathError::NoConnectionId)?,
        };
        self.set_alternatives(id, alternatives);
        Ok(id)
    }

    /// Other addresses to try while the path's own has not answered.
    pub(super) fn set_alternatives(&mut self, id: u32, alternatives: &[FourTuple]) {
        if let Some(path) = self
            .paths
            .get_mut(id)
            .filter(|path| !path.validation.is_validated())
        {
            path.alternatives = alternatives
                .iter()
                .take(MAX_ALTERNATIVES)
                .copied()
                .collect();
        }
    }

    /// Closes a path for good and tells the peer. What was in flight on it is replaced on
    /// the others. Closing a path that is not open does nothing.
    ///
    /// # Errors
    /// If there is no other whose address has answered.
    pub fn close_path(&mut self, now: Instant, id: u32) -> Result<(), ClosePathError> {
        let now = self.monotonic(now);
        let is_validated = |path: &Path| path.validation.is_validated();
        let carries = self.paths.get(id).map(is_validated);
        let replaces =
            |path: &Path| path.id != id && (is_validated(path) || carries == Some(false));
        if carries.is_some() && !self.paths.iter().any(replaces) {
            return Err(ClosePathError::LastPath(id));
        }
        self.drop_path(now, id, PathReason::ClosedHere);
        Ok(())
    }

    /// The peer closes a path. If it was the last one, a client may open another: for as long as
    /// the address of that may take to answer, the connection waits.
    pub(super) fn on_abandoned(&mut self, now: Instant, id: u32, code: u64) {
        let is_last = self.paths.len() == 1 && self.paths.get(id).is_some();
        self.close_unopened(id);
        if self.paths.last_resort() == Some(id) {
            self.close_last_resort();
        }
        self.drop_path(now, id, PathReason::ClosedByPeer(code));
        if is_last {
            self.deserted_until = Some(now + self.patience());
        }
    }

    /// Closes the paths of a socket that is gone, for example with its interface.
    pub fn socket_gone(&mut self, now: Instant, socket: SocketId) {
        let now = self.monotonic(now);
        self.handshake.routes.forget_socket(socket);
        let gone: Vec<u32> = self
            .paths
            .iter()
            .filter(|path| path.tuple.socket == socket)
            .map(|path| path.id)
            .collect();
        for id in gone {
            self.drop_path(now, id, PathReason::InterfaceGone);
        }
    }

    /// Whether anything may leave from a socket, or is waited for there.
    #[must_use]
    pub fn uses_socket(&self, socket: SocketId) -> bool {
        let of_path = |path: &Path| {
            let others = path.previous_tuple.iter().chain(&path.alternatives);
            let mut all = std::iter::once(&path.tuple).chain(others);
            all.any(|tuple| tuple.socket == socket)
        };
        let is_tried = self.state.is_handshaking() || self.paths.len() == 0;
        self.paths.iter().any(of_path) || (is_tried && self.handshake.routes.have_socket(socket))
    }

    /// Uses a path only when no other carries data, or again as any other.
    pub fn set_backup(&mut self, id: u32, backup: bool) {
        if let Some(path) = self.paths.get_mut(id) {
            path.backup = backup;
            self.control.set_status(id, backup);
        }
    }

    /// Tells the peer how much more its data on a path would take of a relay's link under
    /// standard control than the relay's own flows leave unused (`rho_r`, UC Eq. 7.3; see
    /// [`relay_share`](crate::relay_share)). Above 1, congestion control that spares these
    /// flows holds back. From 2^-16 to 65 535, with steps of 2^-16; infinity is the largest.
    /// False if there is no such path, or `rho` is not a positive number.
    pub fn set_path_share(&mut self, id: u32, rho: f64) -> bool {
        let is_announced = rho > 0.0 && self.paths.get(id).is_some();
        if is_announced {
            self.control.shares.announce(id, rho);
        }
        is_announced
    }

    /// Tells the peer where else this end can be reached. False beyond 16 addresses.
    pub fn advertise_address(&mut self, address: std::net::SocketAddr) -> bool {
        self.addresses.advertise(address)
    }

    /// Tells the peer that an advertised address no longer reaches this end.
    pub fn withdraw_address(&mut self, address: std::net::SocketAddr) {
        self.addresses.withdraw(address);
    }

    /// Where the peer says that it can be reached as well.
    #[must_use]
    pub fn peer_addresses(&self) -> Vec<std::net::SocketAddr> {
        self.addresses.remote().collect()
    }

    /// A path whose address must answer.
    pub(super) fn challenge_path(&mut self, now: Instant, id: u32, slot: usize, tuple: FourTuple) {
        let validation = Validation::challenge(self.rng.bytes(), now, self.patience());
        self.insert_path(now, id, slot, tuple, validation);
    }

    pub(super) fn insert_path(
        &mut self,
        now: Instant,
        id: u32,
        slot: usize,
        tuple: FourTuple,
        validation: Validation,
    ) {
        let max_mtu =
            largest_payload(&tuple, self.config.max_mtu).min(self.handshake.peer_max_payload());
        let mut path = Path::new(
            id,
            slot,
            tuple,
            validation,
            &PathStart {
                now,
                congestion: self.config.profile.congestion,
                max_mtu,
                peer_ack_delay: self.handshake.peer_max_ack_delay(),
                rtt: self.first_rtt(),
            },
            super::parity::sender(self.config.profile.redundancy),
        );
        path.estimates = self.groups.map(|groups| Box::new(groups.estimates()));
        if path.controller.wants_coding_feedback() {
            self.streams.keep_undecoded();
        }
        if self.paths.len() > 0 && path.controller.begin_packet_pair() {
            path.pair = Some(PacketPair::new(self.rng.bytes()));
        }
        if let Some(redundancy) = self.config.profile.fixed_redundancy() {
            path.controller.set_redundancy(redundancy);
        }
        self.paths.insert(path);
        self.deserted_until = None;
        self.issue_connection_ids();
    }

    /// The peer used a path that we did not know: a client's packet on a fresh path ID.
    /// Returns whether the path is open now.
    pub(super) fn accept_path(&mut self, now: Instant, id: u32, tuple: FourTuple) -> bool {
        if self.side == Side::Client || self.paths.remote(id).is_none() {
            return false;
        }
        if self.paths.free_slot().is_none() {
            // One that is challenged although it is late makes room.
            let is_late = |path: &Path| path.validation.is_late().then_some(path.id);
            let late = self.paths.iter().find_map(is_late);
            if let Some(late) = late {
                self.drop_path(now, late, PathReason::NeverAnswered);
            }
        }
        let Some(slot) = self.paths.free_slot() else {
            return false;
        };
        if self.handshake.routes.has_validated(&tuple) {
            self.insert_path(now, id, slot, tuple, Validation::validated());
            self.on_path_validated(id);
        } else {
            self.challenge_path(now, id, slot, tuple);
        }
        true
    }

    /// The RTT to assume on a new path. Only if it had one route alone, that of the handshake is
    /// the first path's.
    fn first_rtt(&self) -> Duration {
        let of_handshake = self.handshake.rtt().unwrap_or(INITIAL_RTT);
        if self.paths.len() == 0 && self.handshake.routes.tuples().len() == 1 {
            of_handshake
        } else {
            of_handshake.min(INITIAL_RTT)
        }
    }

    /// How long an address may take to answer: three PTOs of the handshake's round trip, if that
    /// is known to be a long one (RFC 9000 §8.2.4).
    pub(super) fn patience(&self) -> Duration {
        let rtt = self.handshake.rtt().unwrap_or_default();
        VALIDATION_PATIENCE.max(9 * rtt)
    }

    /// Takes a path out, moves what it carried to the others, and tells everybody.
    pub(super) fn drop_path(&mut self, now: Instant, id: u32, reason: PathReason) {
        let Some(index) = self.paths.position(id) else {
            return;
        };
        self.give_up_in_flight(now, index);
        // What an application asked for has an end that it hears of.
        let is_awaited = self.side == Side::Client || reason == PathReason::NeverAnswered;
        if is_awaited || self.paths.get(id).is_some_and(|path| path.announced) {
            self.announce(id, PathChange::Down, reason);
        }
        if self.is_last_resort(id, reason) {
            self.set_aside(id);
        } else {
            self.close_for_good(id);
        }
        self.issue_connection_ids();
        self.update_symbol_size();
    }

    /// Forgets a path, and tells the peer.
    pub(super) fn close_for_good(&mut self, id: u32) {
        if let Some(ids) = self.paths.remove(id) {
            self.forget_ids(id, ids);
            self.control.abandon(id);
        }
    }

    /// The peer gives up a path of which nothing arrived here: its ID and connection IDs are
    /// used up all the same, and others take their place.
    pub(super) fn close_unopened(&mut self, id: u32) {
        if let Some(ids) = self.paths.close_unopened(id) {
            self.forget_ids(id, ids);
            self.issue_connection_ids();
        }
    }

    /// What names a path that is closed now is of no use any more.
    fn forget_ids(&mut self, id: u32, ids: ClosedIds) {
        self.control.forget(id);
        let retired = ids.local.map(EndpointEvent::Retired);
        let forgotten = ids.reset_token.map(EndpointEvent::ExpectsNoMore);
        self.endpoint_events
            .extend(retired.into_iter().chain(forgotten));
    }

    /// Keeps the peer supplied with connection IDs for paths that may be opened.
    pub(super) fn issue_connection_ids(&mut self) {
        if self.keys.is_none() {
            return;
        }
        loop {
            let spare = self
                .paths
                .locals()
                .iter()
                .filter(|cid| !self.paths.was_opened(cid.path))
                .count();
            let path = self.paths.next_local_id();
            if spare >= SPARE_CIDS || path > self.handshake.max_path_id() {
                return;
            }
            let cid = ConnectionId::from(self.rng.bytes::<8>());
            let reset_token = ResetToken(self.handshake.reset_token(&cid));
            self.paths.add_local(LocalCid { path, cid });
            self.control.issue(path, IssuedId { cid, reset_token });
            self.endpoint_events.push_back(EndpointEvent::Issued(cid));
        }
    }

    /// Everything in flight on the path at `index` counts as lost.
    pub(super) fn give_up_in_flight(&mut self, now: Instant, index: usize) {
        self.give_up_sent_by(now, index, now);
    }

    /// What left on the path at `index` by `sent_by` and is in flight counts as lost.
    pub(super) fn give_up_sent_by(&mut self, now: Instant, index: usize, sent_by: Instant) {
        let Some(path) = self.paths.at_mut(index) else {
            return;
        };
        let mut lost = std::mem::take(&mut self.scratch.lost);
        path.space.declare_silent(now, sent_by, &mut lost);
        let slot = path.slot;
        path.on_given_up(now, lost.len() as u64);
        let is_large = |lost: &&super::LostPacket| path.mtu.is_large(lost.packet.size);
        let large = lost.iter().filter(is_large).count();
        path.mtu.on_silence(large as u32);
        for packet in &lost {
            self.tokens_lost(now, index, &packet.packet.tokens, slot);
        }
        lost.clear();
        self.scratch.lost = lost;
    }

    pub(super) fn announce(&mut self, id: u32, change: PathChange, reason: PathReason) {
        let Some(tuple) = self.paths.get(id).map(|path| path.tuple) else {
            return;
        };
        self.events.push_back(Event::Path(PathEvent {
            path: id,
            tuple,
            change,
            reason,
        }));
    }
}

/// What fits behind IP and UDP headers: an IPv6 header is 20 bytes longer.
fn largest_payload(tuple: &FourTuple, max_mtu: u16) -> u16 {
    if tuple.remote.is_ipv6() {
        max_mtu.saturating_sub(20)
    } else {
        max_mtu
    }
}

/// Addresses that are tried for one path.
const MAX_ALTERNATIVES: usize = 15;
/// How long an address may take to answer at least.
const VALIDATION_PATIENCE: Duration = Duration::from_secs(10);
/// Connection IDs that the peer holds for paths that are not open yet.
pub(super) const SPARE_CIDS: usize = 4;
