//! Keys of short-header packets on all paths, and their updates (RFC 9001 §6).
//!
//! One key serves every path: the path's number is in the nonce, the key phase belongs to
//! the connection, and limits count packets over all paths
//! (draft-ietf-quic-multipath, "Packet Protection").

use std::fmt;
use std::mem;
use std::time::{Duration, Instant};

use rustls::quic::{self, HeaderProtectionKey, PacketKey, PacketKeySet, Secrets};
use smallvec::SmallVec;

use super::protection::{self, KEY_PHASE, OpenError, Opened, Unmasked};
use crate::error::TransportError;
use crate::wire::header::Marks;

/// Keys of short-header packets, both directions, of the current key phase and its
/// neighbours.
pub(crate) struct OneRttKeys {
    local_header: Box<dyn HeaderProtectionKey>,
    remote_header: Box<dyn HeaderProtectionKey>,
    local: Box<dyn PacketKey>,
    remote: Box<dyn PacketKey>,
    /// Made ahead, so that the first packet of a phase takes no longer (RFC 9001 §6.3).
    next: PacketKeySet,
    secrets: Secrets,
    key_phase: bool,
    previous: Option<Previous>,
    stage: Stage,
    /// Key updates so far.
    updates: u64,
    paths: SmallVec<[PathPhase; 4]>,
    /// Packets sealed in this phase.
    sealed: u64,
    /// Packets that were not authentic, in all phases.
    rejected: u64,
    limits: Limits,
}

/// How far the peer has come in the current phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It has acknowledged nothing. If it did so in the packet opened last, it would forget
    /// the phase before by `settles`; in the first phase there is none.
    Unconfirmed { settles: Option<Instant> },
    /// It has acknowledged a packet, and may still take another phase for the one before.
    Settling { until: Instant },
    /// It is ready for another phase.
    Settled,
}

/// What opens late packets of the phase before.
struct Previous {
    remote: Box<dyn PacketKey>,
    /// Set once the peer has used the current phase.
    until: Option<Instant>,
}

/// Where the current phase begins on a path.
#[derive(Debug, Clone, Copy)]
struct PathPhase {
    path: u32,
    first_sealed: Option<u64>,
    first_opened: Option<u64>,
}

/// How much the keys may be used (RFC 9001 §6.6).
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Packets sealed with one key at most.
    confidentiality: u64,
    /// Packets sealed with one key after which another one is tried for.
    update: u64,
    /// Packets that were not authentic, at most.
    integrity: u64,
}

impl Limits {
    fn of(key: &dyn PacketKey) -> Self {
        let confidentiality = key.confidentiality_limit();
        // The other half is for the time that the peer takes to follow.
        Self {
            confidentiality,
            update: confidentiality / 2,
            integrity: key.integrity_limit(),
        }
    }
}

impl OneRttKeys {
    /// The keys of the first phase, and what the others come from.
    pub(super) fn new(keys: quic::Keys, mut secrets: Secrets) -> Self {
        let limits = Limits::of(&*keys.local.packet);
        let next = secrets.next_packet_keys();
        Self {
            local_header: keys.local.header,
            remote_header: keys.remote.header,
            local: keys.local.packet,
            remote: keys.remote.packet,
            next,
            secrets,
            key_phase: false,
            previous: None,
            stage: Stage::Unconfirmed { settles: None },
            updates: 0,
            paths: SmallVec::new(),
            sealed: 0,
            rejected: 0,
            limits,
        }
    }

    /// The phase that the next packet is sealed in.
    pub(crate) fn key_phase(&self) -> bool {
        self.key_phase
    }

    /// Seals the packet of the header that `marks` describes, up to the end of `buf`; it
    /// grows by the tag, and to the shortest length that can be protected. The key phase in
    /// its header is set here. Starts a key update in time.
    ///
    /// # Errors
    /// If the key was used as often as it may and the peer did not follow to another one:
    /// nothing more can be sent (RFC 9001 §6.6).
    pub(crate) fn seal_packet(
        &mut self,
        path: u32,
        packet_number: u64,
        marks: &Marks,
        buf: &mut Vec<u8>,
    ) -> Result<(), TransportError> {
        if self.sealed >= self.limits.confidentiality {
            return Err(TransportError::aead_limit(
                "the peer did not follow a key update",
            ));
        }
        if matches!(self.stage, Stage::Unconfirmed { .. }) {
            let phase = self.on_path(path);
            phase.first_sealed.get_or_insert(packet_number);
        }
        let first = &mut buf[marks.start];
        *first = if self.key_phase {
            *first | KEY_PHASE
        } else {
            *first & !KEY_PHASE
        };
        protection::seal(
            &*self.local_header,
            &*self.local,
            path,
            packet_number,
            marks,
            buf,
        );
        self.sealed += 1;
        if self.sealed >= self.limits.update {
            self.initiate_update();
        }
        Ok(())
    }

    /// Opens one whole packet of a path in place. `largest` is the largest number opened so
    /// far on the path, `pto` the longest probe timeout of all paths. If this fails, the
    /// bytes are spoilt.
    pub(crate) fn open_packet(
        &mut self,
        now: Instant,
        path: u32,
        packet: &mut [u8],
        packet_number_at: usize,
        largest: Option<u64>,
        pto: Duration,
    ) -> Result<Opened, OpenError> {
        let unmasked = protection::unmask(&*self.remote_header, packet, packet_number_at, largest)?;
        let phase = self.phase_of(path, &unmasked);
        let key = match (phase, &self.previous) {
            (Phase::Current, _) => &self.remote,
            (Phase::Previous, Some(previous)) => &previous.remote,
            (Phase::Previous, None) | (Phase::Next, _) => &self.next.remote,
        };
        let Ok(opened) = protection::open(&**key, path, &unmasked, packet) else {
            return Err(self.reject());
        };
        match phase {
            Phase::Previous => return Ok(opened),
            Phase::Current => {}
            Phase::Next if self.sealed == 0 => {
                // RFC 9001 §6.2: it cannot know that we are in this phase yet.
                return Err(OpenError::Limit(TransportError::key_update(
                    "two key updates at once",
                )));
            }
            Phase::Next => self.roll(),
        }
        if let Some(previous) = &mut self.previous {
            previous.until.get_or_insert(now + 3 * pto);
        }
        if let Stage::Unconfirmed { settles } = &mut self.stage
            && self.updates > 0
        {
            *settles = Some(now + 3 * pto);
        }
        let begins = &mut self.on_path(path).first_opened;
        *begins = Some(begins.map_or(opened.packet_number, |first| {
            first.min(opened.packet_number)
        }));
        Ok(opened)
    }

    /// Packet `packet_number` of a path was acknowledged, in the packet that was opened last.
    pub(crate) fn on_acked(&mut self, path: u32, packet_number: u64) {
        let Stage::Unconfirmed { settles } = self.stage else {
            return;
        };
        let first = self.paths.iter().find(|phase| phase.path == path);
        let first = first.and_then(|phase| phase.first_sealed);
        if first.is_some_and(|first| packet_number >= first) {
            self.stage = settles.map_or(Stage::Settled, |until| Stage::Settling { until });
        }
    }

    /// Seals what follows with new keys, and returns true; unless the peer has not
    /// acknowledged a packet of the current phase, which in the first phase also means that
    /// the handshake is not confirmed, or either end may still keep keys of the phase before
    /// (RFC 9001 §6.1, §6.5).
    pub(crate) fn initiate_update(&mut self) -> bool {
        let may = self.stage == Stage::Settled && self.previous.is_none();
        if may {
            self.roll();
        }
        may
    }

    /// When [`on_timeout`](Self::on_timeout) has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let settled = match self.stage {
            Stage::Settling { until } => Some(until),
            _ => None,
        };
        let forgotten = self.previous.as_ref().and_then(|previous| previous.until);
        settled.into_iter().chain(forgotten).min()
    }

    /// Forgets the keys of the phase before, three probe timeouts after the peer left it,
    /// and lets another phase begin three probe timeouts after it acknowledged this one.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        if matches!(self.stage, Stage::Settling { until } if until <= now) {
            self.stage = Stage::Settled;
        }
        if matches!(&self.previous, Some(previous) if previous.until.is_some_and(|until| until <= now))
        {
            self.previous = None;
        }
    }

    /// Which phase a packet must be of: a packet that is not of the current one is late, or
    /// the first of the next (RFC 9001 §6.3). On each path, later phases have higher packet
    /// numbers.
    fn phase_of(&self, path: u32, unmasked: &Unmasked) -> Phase {
        if unmasked.key_phase() == self.key_phase {
            return Phase::Current;
        }
        let first = self.paths.iter().find(|phase| phase.path == path);
        let first = first.and_then(|phase| phase.first_opened);
        let is_later = first.is_some_and(|first| unmasked.packet_number > first);
        if self.previous.is_some() && !is_later {
            Phase::Previous
        } else {
            Phase::Next
        }
    }

    fn reject(&mut self) -> OpenError {
        self.rejected += 1;
        if self.rejected < self.limits.integrity {
            return OpenError::Authentication;
        }
        OpenError::Limit(TransportError::aead_limit(
            "too many packets were not authentic",
        ))
    }

    fn roll(&mut self) {
        let after = self.secrets.next_packet_keys();
        let next = mem::replace(&mut self.next, after);
        self.local = next.local;
        let remote = mem::replace(&mut self.remote, next.remote);
        self.previous = Some(Previous {
            remote,
            until: None,
        });
        self.key_phase = !self.key_phase;
        self.stage = Stage::Unconfirmed { settles: None };
        self.updates += 1;
        self.paths.clear();
        self.sealed = 0;
    }

    fn on_path(&mut self, path: u32) -> &mut PathPhase {
        let index = self.paths.iter().position(|phase| phase.path == path);
        let index = index.unwrap_or_else(|| {
            if self.paths.len() == MAX_PATHS {
                self.paths.remove(0);
            }
            self.paths.push(PathPhase {
                path,
                first_sealed: None,
                first_opened: None,
            });
            self.paths.len() - 1
        });
        &mut self.paths[index]
    }
}

impl fmt::Debug for OneRttKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneRttKeys")
            .field("key_phase", &self.key_phase)
            .field("updates", &self.updates)
            .field("stage", &self.stage)
            .field("sealed", &self.sealed)
            .field("rejected", &self.rejected)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Previous,
    Current,
    Next,
}

/// Paths remembered within a phase. To forget one of many that came and went costs a late
/// packet or a late update at most.
const MAX_PATHS: usize = 32;

#[cfg(test)]
mod tests;
