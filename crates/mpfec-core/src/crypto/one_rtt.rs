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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::crypto::pair::connected;

    const PTO: Duration = Duration::from_millis(100);

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn epoch() -> Instant {
        Instant::now()
    }

    /// A packet with an eight-byte connection ID and a four-byte number.
    fn sealed(keys: &mut OneRttKeys, path: u32, number: u64, payload: &[u8]) -> Vec<u8> {
        let mut buf = vec![0xee; 5];
        let marks = Marks {
            start: 5,
            packet_number_at: 14,
            payload_at: 18,
            is_long: false,
        };
        buf.push(0x43);
        buf.extend_from_slice(&[7; 8]);
        buf.extend_from_slice(&u32::try_from(number).expect("small numbers").to_be_bytes());
        buf.extend_from_slice(payload);
        keys.seal_packet(path, number, &marks, &mut buf)
            .expect("far from the limit");
        buf.split_off(5)
    }

    fn open(
        keys: &mut OneRttKeys,
        now: Instant,
        path: u32,
        packet: &[u8],
    ) -> Result<Vec<u8>, OpenError> {
        let mut packet = packet.to_vec();
        let opened = keys.open_packet(now, path, &mut packet, 9, None, PTO)?;
        assert!(opened.reserved_ok);
        Ok(packet[opened.payload].to_vec())
    }

    /// One packet each way arrives and is acknowledged.
    fn confirm(one: &mut OneRttKeys, other: &mut OneRttKeys, now: Instant, number: u64) {
        let packet = sealed(one, 0, number, b"ping");
        open(other, now, 0, &packet).expect("authentic");
        let packet = sealed(other, 0, number, b"pong");
        open(one, now, 0, &packet).expect("authentic");
        one.on_acked(0, number);
        other.on_acked(0, number);
    }

    #[test]
    fn packets_of_every_path_open_on_that_path_only() {
        let (mut client, mut server) = connected();
        let now = epoch();
        for path in [0, 1, 7, u32::MAX] {
            let packet = sealed(&mut client, path, 3, b"hello");
            assert_eq!(open(&mut server, now, path, &packet), Ok(b"hello".to_vec()));
            let elsewhere = open(&mut server, now, path ^ 1, &packet);
            assert_eq!(elsewhere, Err(OpenError::Authentication));
        }
    }

    #[test]
    fn a_change_of_any_byte_is_noticed() {
        let (mut client, mut server) = connected();
        let packet = sealed(&mut client, 1, 3, b"a payload of some length");
        for at in 0..packet.len() {
            let mut packet = packet.clone();
            packet[at] ^= 0x01;
            let opened = open(&mut server, epoch(), 1, &packet);
            assert_eq!(opened, Err(OpenError::Authentication), "byte {at}");
        }
        assert_eq!(server.rejected, packet.len() as u64);
    }

    #[test]
    fn our_own_packets_reflected_do_not_open() {
        let (mut client, _) = connected();
        let packet = sealed(&mut client, 0, 3, b"hello");
        assert_eq!(
            open(&mut client, epoch(), 0, &packet),
            Err(OpenError::Authentication)
        );
    }

    #[test]
    fn both_sides_follow_a_key_update_and_late_packets_still_open() {
        let (mut client, mut server) = connected();
        let now = epoch();
        confirm(&mut client, &mut server, now, 0);
        let late = sealed(&mut client, 0, 1, b"late");
        let late_on_two = sealed(&mut client, 2, 1, b"late on path 2");

        assert!(client.initiate_update());
        let first = sealed(&mut client, 0, 2, b"new");
        assert_eq!(open(&mut server, now, 0, &first), Ok(b"new".to_vec()));
        assert!(server.key_phase());
        assert_eq!(open(&mut server, now, 0, &late), Ok(b"late".to_vec()));
        assert_eq!(
            open(&mut server, now, 2, &late_on_two),
            Ok(b"late on path 2".to_vec())
        );

        let answer = sealed(&mut server, 0, 1, b"answer");
        assert_eq!(open(&mut client, now, 0, &answer), Ok(b"answer".to_vec()));
        assert_eq!(client.next_timeout(), Some(now + 3 * PTO));
    }

    #[test]
    fn packets_of_the_phase_before_open_for_three_probe_timeouts() {
        let (mut client, mut server) = connected();
        let now = epoch();
        confirm(&mut client, &mut server, now, 0);
        let late = sealed(&mut client, 0, 1, b"late");
        assert!(client.initiate_update());
        let first = sealed(&mut client, 0, 2, b"new");
        open(&mut server, now, 0, &first).expect("authentic");

        server.on_timeout(now + 3 * PTO - Duration::from_millis(1));
        assert_eq!(open(&mut server, now, 0, &late), Ok(b"late".to_vec()));
        server.on_timeout(now + 3 * PTO);
        assert_eq!(
            open(&mut server, now, 0, &late),
            Err(OpenError::Authentication)
        );
        assert_eq!(server.next_timeout(), None);
    }

    #[test]
    fn updates_that_both_sides_start_at_once_are_one_update() {
        let (mut client, mut server) = connected();
        let now = epoch();
        confirm(&mut client, &mut server, now, 0);
        assert!(client.initiate_update());
        assert!(server.initiate_update());

        confirm(&mut client, &mut server, now, 1);

        assert!(client.key_phase() && server.key_phase());
    }

    #[test]
    fn a_hundred_updates_in_a_row_from_either_side() {
        let (mut client, mut server) = connected();
        let mut now = epoch();
        confirm(&mut client, &mut server, now, 0);
        for number in 1..=100 {
            now += 3 * PTO;
            client.on_timeout(now);
            server.on_timeout(now);
            let updates = if number % 3 == 0 {
                &mut server
            } else {
                &mut client
            };
            assert!(updates.initiate_update(), "update {number}");
            if number % 3 == 0 {
                confirm(&mut server, &mut client, now, number);
            } else {
                confirm(&mut client, &mut server, now, number);
            }
            assert_eq!(client.key_phase(), number % 2 == 1);
            assert_eq!(server.key_phase(), number % 2 == 1);
        }
    }

    #[test]
    fn an_update_waits_for_an_acknowledgement_in_the_phase_and_for_late_packets() {
        let (mut client, mut server) = connected();
        let now = epoch();
        assert!(!client.initiate_update());
        sealed(&mut client, 3, 10, b"");
        client.on_acked(0, 11);
        assert!(
            !client.initiate_update(),
            "an acknowledgement on a path that nothing was sent on"
        );
        confirm(&mut client, &mut server, now, 11);
        assert!(client.initiate_update());
        client.on_acked(0, 11);
        assert!(
            !client.initiate_update(),
            "an acknowledgement of the phase before"
        );
        confirm(&mut client, &mut server, now, 12);
        assert!(!client.initiate_update(), "late packets may still come");
        client.on_timeout(now + 3 * PTO);
        assert!(client.initiate_update());
    }

    #[test]
    fn a_peer_that_updates_twice_without_an_answer_is_an_error() {
        let (mut client, mut server) = connected();
        let now = epoch();
        confirm(&mut client, &mut server, now, 0);
        client.roll();
        let first = sealed(&mut client, 0, 1, b"first");
        open(&mut server, now, 0, &first).expect("authentic");
        client.roll();
        let second = sealed(&mut client, 0, 2, b"second");

        let opened = open(&mut server, now, 0, &second);

        let Err(OpenError::Limit(error)) = opened else {
            panic!("opened: {opened:?}")
        };
        assert_eq!(error.code, TransportError::KEY_UPDATE_ERROR);
    }

    #[test]
    fn a_key_is_replaced_before_it_is_used_up() {
        let (mut client, mut server) = connected();
        client.limits = Limits {
            confidentiality: 20,
            update: 10,
            ..client.limits
        };
        let now = epoch();
        confirm(&mut client, &mut server, now, 0);
        for number in 1..=10 {
            let packet = sealed(&mut client, 0, number, b"data");
            open(&mut server, now, 0, &packet).expect("authentic");
        }
        assert!(client.key_phase() && server.key_phase());
    }

    #[test]
    fn a_key_that_cannot_be_replaced_is_not_overused() {
        let (mut client, _) = connected();
        client.limits = Limits {
            confidentiality: 20,
            update: 10,
            ..client.limits
        };
        for number in 0..20 {
            sealed(&mut client, 0, number, b"data");
        }
        let mut buf = vec![0x43; 40];
        let marks = Marks {
            start: 0,
            packet_number_at: 9,
            payload_at: 13,
            is_long: false,
        };
        let error = client
            .seal_packet(0, 20, &marks, &mut buf)
            .expect_err("the limit is reached");
        assert_eq!(error.code, TransportError::AEAD_LIMIT_REACHED);
        assert_eq!(buf, [0x43; 40]);
    }

    #[test]
    fn the_connection_ends_when_too_many_packets_were_forged() {
        let (_, mut server) = connected();
        server.limits.integrity = 5;
        let mut results = (0..5).map(|_| open(&mut server, epoch(), 0, &[0x40; 60]));
        assert!(
            results
                .by_ref()
                .take(4)
                .all(|result| result == Err(OpenError::Authentication))
        );
        let Some(Err(OpenError::Limit(error))) = results.next() else {
            panic!("still open")
        };
        assert_eq!(error.code, TransportError::AEAD_LIMIT_REACHED);
    }

    #[test]
    fn a_crowd_of_paths_takes_no_more_room() {
        let (mut client, mut server) = connected();
        for path in 0..1000 {
            let packet = sealed(&mut client, path, 0, b"hello");
            open(&mut server, epoch(), path, &packet).expect("authentic");
        }
        assert_eq!(client.paths.len(), MAX_PATHS);
        assert_eq!(server.paths.len(), MAX_PATHS);
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        /// The client sends on a path.
        Send { path: u32 },
        /// One of the packets under way arrives, however late; the server answers, and the
        /// answer arrives.
        Deliver { which: usize },
        /// One of the packets under way is lost.
        Lose { which: usize },
        /// Either end wants new keys.
        Update { server: bool },
        /// Time passes.
        Wait { ms: u64 },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..3_u32).prop_map(|path| Step::Send { path }),
            4 => any::<usize>().prop_map(|which| Step::Deliver { which }),
            1 => any::<usize>().prop_map(|which| Step::Lose { which }),
            1 => any::<bool>().prop_map(|server| Step::Update { server }),
            1 => (0..400_u64).prop_map(|ms| Step::Wait { ms }),
        ]
    }

    struct Sent {
        path: u32,
        number: u64,
        packet: Vec<u8>,
        at: Instant,
    }

    proptest! {
        /// Whatever is lost, late or overtaken while both ends update their keys: each packet
        /// that arrives within three probe timeouts opens, as what was sealed, and neither
        /// end ever has a reason to close.
        #[test]
        fn key_updates_cost_no_packet_that_is_on_time(steps in proptest::collection::vec(step(), 1..200)) {
            let (mut client, mut server) = connected();
            let mut now = epoch();
            let mut under_way: Vec<Sent> = Vec::new();
            for (number, step) in (0..).zip(steps) {
                client.on_timeout(now);
                server.on_timeout(now);
                match step {
                    Step::Send { path } => {
                        let packet = sealed(&mut client, path, number, &number.to_be_bytes());
                        under_way.push(Sent { path, number, packet, at: now });
                    }
                    Step::Deliver { which } if !under_way.is_empty() => {
                        let Sent { path, number, packet, at } = under_way.remove(which % under_way.len());
                        let opened = open(&mut server, now, path, &packet);
                        if opened == Err(OpenError::Authentication) {
                            prop_assert!(now - at >= 3 * PTO, "a packet on time was dropped");
                            continue;
                        }
                        prop_assert_eq!(opened, Ok(number.to_be_bytes().to_vec()));
                        let answer = sealed(&mut server, path, number, b"answer");
                        prop_assert_eq!(open(&mut client, now, path, &answer), Ok(b"answer".to_vec()));
                        client.on_acked(path, number);
                        server.on_acked(path, number);
                    }
                    Step::Lose { which } if !under_way.is_empty() => {
                        under_way.remove(which % under_way.len());
                    }
                    Step::Update { server: true } => {
                        server.initiate_update();
                    }
                    Step::Update { server: false } => {
                        client.initiate_update();
                    }
                    Step::Wait { ms } => now += Duration::from_millis(ms),
                    Step::Deliver { .. } | Step::Lose { .. } => {}
                }
            }
        }
    }
}
