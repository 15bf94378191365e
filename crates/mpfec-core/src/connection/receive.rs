//! What arrives: packets are told apart, opened, matched to a path and taken apart into
//! frames. Until a packet is authenticated it changes nothing.

use std::time::Instant;

use bytes::{Buf, Bytes, BytesMut};

use super::Connection;
use super::early::Level;
use super::state::CloseReason;
use crate::address::{Datagram, Ecn, FourTuple};
use crate::crypto::{self, OpenError, Opened};
use crate::error::TransportError;
use crate::id::Side;
use crate::path::{Path, PathReason};
use crate::recovery::Eliciting;
use crate::wire::frame::{Frame, Frames};
use crate::wire::header::{self, LongType, Protected};
use crate::wire::{ConnectionId, Space, VERSION};

/// How a datagram arrived.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    now: Instant,
    tuple: FourTuple,
    ecn: Option<Ecn>,
}

/// What a 1-RTT packet held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) eliciting: Eliciting,
    pub(super) has_parity: bool,
    /// Whether it held data of streams.
    has_symbols: bool,
}

/// A packet of before the handshake was complete, to be looked at again.
#[derive(Debug)]
pub(super) struct Early(Arrival, BytesMut);

impl Connection {
    pub(super) fn receive(&mut self, now: Instant, datagram: Datagram) {
        self.totals.received_bytes += datagram.data.len() as u64;
        if self.state.is_draining() {
            return;
        }
        self.handshake
            .routes
            .on_datagram(&datagram.tuple, datagram.data.len());
        let arrival = Arrival {
            now,
            tuple: datagram.tuple,
            ecn: datagram.ecn,
        };
        let mut rest = datagram.data;
        while !rest.is_empty() {
            let Ok(packet) = header::parse(&rest) else {
                return self.drop_packet();
            };
            match packet {
                Protected::Short {
                    dcid,
                    packet_number_at,
                } => {
                    return self.receive_short(arrival, dcid, rest, packet_number_at);
                }
                Protected::Long {
                    kind,
                    dcid: _,
                    scid,
                    packet_number_at,
                    end,
                    ..
                } => {
                    if self.handshake.is_stranger(&scid) {
                        self.drop_packet();
                        rest.advance(end);
                        continue;
                    }
                    // Opened where it is: to split off even what is not authentic may cost
                    // an allocation.
                    let opened = self.open_long(arrival, kind, &mut rest[..end], packet_number_at);
                    if let Some(opened) = opened {
                        self.receive_long(arrival, kind, scid, rest.split_to(end), &opened);
                    } else {
                        rest.advance(end);
                    }
                }
                Protected::Retry { scid, token, .. } => {
                    return self.receive_retry(now, scid, &rest, &rest[token]);
                }
                Protected::VersionNegotiation { versions, .. } => {
                    return self.receive_version_negotiation(&rest[versions]);
                }
                Protected::UnknownVersion { .. } => return self.drop_packet(),
            }
        }
    }

    fn drop_packet(&mut self) {
        self.totals.dropped_packets += 1;
    }

    /// `None` for packets that count for nothing.
    fn open_long(
        &mut self,
        arrival: Arrival,
        kind: LongType,
        packet: &mut [u8],
        packet_number_at: usize,
    ) -> Option<Opened> {
        let space = self.handshake.space_mut(level_of(kind))?;
        let largest = space.received.largest();
        match space.keys.open_packet(packet, packet_number_at, largest) {
            Ok(opened) if space.received.is_known(opened.packet_number) => {
                self.handshake
                    .on_copy(arrival.now, level_of(kind), &arrival.tuple, packet.len());
                None
            }
            Ok(opened) => Some(opened),
            Err(OpenError::Authentication) => {
                self.drop_packet();
                None
            }
            Err(OpenError::Limit(error)) => {
                self.fail(arrival.now, error);
                None
            }
        }
    }

    /// An authentic packet of the handshake, for the first time.
    fn receive_long(
        &mut self,
        arrival: Arrival,
        kind: LongType,
        source: ConnectionId,
        packet: BytesMut,
        opened: &Opened,
    ) {
        if !self.state.is_open() {
            return self.state.on_packet_while_closing();
        }
        let level = level_of(kind);
        let size = packet.len();
        self.idle_since = arrival.now;
        self.is_answered = true;
        let result = payload_of(packet, opened).and_then(|payload| {
            let eliciting = self.handle_early_frames(arrival, kind, source, size, payload)?;
            if let Some(space) = self.handshake.space_mut(level) {
                space.received.on_received(
                    arrival.now,
                    opened.packet_number,
                    eliciting,
                    arrival.ecn,
                );
            }
            self.on_handshake_progress(arrival.now, arrival.tuple)
        });
        if let Err(error) = result {
            self.fail(arrival.now, error);
        }
    }

    /// Returns whether and how soon the packet must be acknowledged.
    fn handle_early_frames(
        &mut self,
        arrival: Arrival,
        kind: LongType,
        source: ConnectionId,
        size: usize,
        payload: Bytes,
    ) -> Result<Eliciting, TransportError> {
        let (level, space) = match kind {
            LongType::Initial => (Level::Initial, Space::Initial),
            LongType::Handshake => (Level::Handshake, Space::Handshake),
        };
        self.handshake
            .on_packet(level, &arrival.tuple, source, size);
        let mut eliciting = Eliciting::No;
        for frame in Frames::new(payload) {
            let frame = frame?;
            if !frame.is_allowed_in(space) {
                return Err(
                    TransportError::protocol_violation("frame not allowed in this packet")
                        .in_frame(frame.ty()),
                );
            }
            eliciting = eliciting.max(Eliciting::of(&frame));
            match frame {
                Frame::ConnectionClose(close) => {
                    self.peer_closed(arrival.now, CloseReason::PeerError(close.error));
                    return Ok(Eliciting::No);
                }
                frame => self.handshake.on_frame(arrival.now, level, frame)?,
            }
        }
        Ok(eliciting)
    }

    fn receive_retry(&mut self, now: Instant, source: ConnectionId, packet: &[u8], token: &[u8]) {
        // With a longer one nothing else would fit into the packets that it must be in.
        let is_acceptable = (1..=MAX_RETRY_TOKEN).contains(&token.len());
        if !self.handshake.accepts_retry() || !is_acceptable {
            return self.drop_packet();
        }
        let Some((body, tag)) = packet.split_last_chunk::<16>() else {
            return self.drop_packet();
        };
        let original = self.handshake.original_dcid();
        if !crypto::verify_retry_tag(original, body, tag) {
            return self.drop_packet();
        }
        let keys = crypto::Keys::initial(source.as_slice(), Side::Client);
        self.handshake
            .on_retry(now, source, Bytes::copy_from_slice(token), keys);
    }

    fn receive_version_negotiation(&mut self, versions: &[u8]) {
        if self.side == Side::Server || !self.handshake.accepts_retry() {
            return self.drop_packet();
        }
        let offered = versions
            .chunks_exact(4)
            .map(|version| u32::from_be_bytes([version[0], version[1], version[2], version[3]]));
        // RFC 9000 §6.2: an offer of the version we speak was not meant for us.
        if offered.clone().any(|version| version == VERSION) {
            return self.drop_packet();
        }
        let offered = offered.take(MAX_OFFERED_VERSIONS).collect();
        self.vanish(CloseReason::VersionMismatch { offered });
    }

    fn receive_short(
        &mut self,
        arrival: Arrival,
        dcid: ConnectionId,
        mut packet: BytesMut,
        packet_number_at: usize,
    ) {
        let Some(id) = self.paths.path_of(&dcid) else {
            if packet
                .last_chunk::<16>()
                .is_some_and(|token| self.paths.is_reset_token(token))
            {
                self.vanish(CloseReason::Reset);
            }
            return self.drop_packet();
        };
        if self.state.is_handshaking() {
            // RFC 9001 §5.7: not before the handshake is complete.
            if self.early.len() < MAX_EARLY {
                // Copied: a small packet must not keep a whole receive buffer alive.
                self.early.push(Early(arrival, BytesMut::from(&packet[..])));
            }
            return;
        }
        let known = self.paths.position(id);
        let path = known.and_then(|index| self.paths.at(index));
        let largest = path.and_then(|path| path.received.largest());
        let pto = self.paths.iter().map(Path::pto_base).max();
        let pto = pto.unwrap_or(DEFAULT_PTO);
        let Some(keys) = &mut self.keys else {
            return self.drop_packet();
        };
        let opened =
            match keys.open_packet(arrival.now, id, &mut packet, packet_number_at, largest, pto) {
                Ok(opened) => opened,
                Err(OpenError::Authentication) => return self.drop_packet(),
                Err(OpenError::Limit(error)) => return self.fail(arrival.now, error),
            };
        let path = known.and_then(|index| self.paths.at(index));
        if path.is_some_and(|path| path.received.is_known(opened.packet_number)) {
            return;
        }
        let size = packet.len();
        if !self.state.is_open() {
            self.accept_path_to_close(arrival, id, size);
            return self.state.on_packet_while_closing();
        }
        let handled = payload_of(packet, &opened).and_then(|payload| {
            self.receive_data(arrival, id, size, opened.packet_number, payload)
        });
        if let Err(error) = handled {
            self.fail(arrival.now, error);
        }
    }

    /// A server's application may close a connection before the client's first packet has
    /// opened a path on which to say so.
    fn accept_path_to_close(&mut self, arrival: Arrival, id: u32, size: usize) {
        if self.paths.len() == 0
            && self.accept_path(arrival.now, id, arrival.tuple)
            && let Some(path) = self.paths.get_mut(id)
        {
            path.validation.on_received(size);
        }
    }

    /// An authentic 1-RTT packet, for the first time.
    fn receive_data(
        &mut self,
        arrival: Arrival,
        id: u32,
        size: usize,
        packet_number: u64,
        payload: Bytes,
    ) -> Result<(), TransportError> {
        let now = arrival.now;
        if !self.handshake.is_authenticated()
            && let Err(error) = self.authenticate(now, &payload)
        {
            // So that there is a path on which to say why it is over.
            self.accept_path(now, id, arrival.tuple);
            return Err(error);
        }
        if self.paths.position(id).is_none() && !self.accept_path(now, id, arrival.tuple) {
            return Ok(());
        }
        let is_client = self.side == Side::Client;
        let Some(path) = self.paths.get_mut(id) else {
            return Ok(());
        };
        path.settle(&arrival.tuple);
        let moved = !path.tuple.is_same_route(&arrival.tuple);
        if moved && is_client {
            // RFC 9000 §9: a server does not move; only clients do.
            return Ok(());
        }
        path.tuple.local_ip = if is_client {
            arrival.tuple.local_ip.or(path.tuple.local_ip)
        } else {
            path.tuple.local_ip.or(arrival.tuple.local_ip)
        };
        path.counters.received_packets += 1;
        path.counters.received_bytes += size as u64;
        let newest = path.on_arrival(now, packet_number);
        if !moved {
            path.validation.on_received(size);
        }
        self.idle_since = now;
        self.is_answered = true;

        let Some(seen) = self.handle_frames(now, id, Some(packet_number), &payload)? else {
            return Ok(());
        };
        if let Some(path) = self.paths.get_mut(id) {
            let eliciting = match seen.eliciting {
                // Bulk is repaired on feedback, so its complete blocks are told of seldom, and
                // those who repair want to be heard.
                Eliciting::Late
                    if self.streams.writer_blocked() || self.streams.window_closed() =>
                {
                    Eliciting::Soon
                }
                eliciting => eliciting,
            };
            path.received
                .on_received(now, packet_number, eliciting, arrival.ecn);
            if is_client && seen.has_symbols {
                path.quiet.on_received(now);
            }
        }
        if seen.eliciting != Eliciting::No && !seen.has_parity {
            self.keep_for_parity(now, id, packet_number, &payload)?;
        }
        if moved && newest {
            self.follow(now, id, arrival.tuple, size);
        }
        Ok(())
    }

    /// Takes a 1-RTT packet of path `id` apart; `number` is that of a packet that really arrived,
    /// `None` for one that parity gave back. Returns what was in it, `None` if the connection is
    /// over.
    pub(super) fn handle_frames(
        &mut self,
        now: Instant,
        id: u32,
        number: Option<u64>,
        payload: &Bytes,
    ) -> Result<Option<Seen>, TransportError> {
        let mut seen = Seen {
            eliciting: Eliciting::No,
            has_parity: false,
            has_symbols: false,
        };
        for frame in Frames::new(payload.clone()) {
            let frame = frame?;
            if !frame.is_allowed_in(Space::Data) {
                return Err(
                    TransportError::protocol_violation("frame not allowed in this packet")
                        .in_frame(frame.ty()),
                );
            }
            seen.eliciting = seen.eliciting.max(Eliciting::of(&frame));
            seen.has_symbols |= matches!(frame, Frame::Symbol(_));
            let ty = frame.ty();
            match frame {
                Frame::Parity(parity) => {
                    seen.has_parity = true;
                    self.on_parity(now, id, number, &parity)
                }
                frame => self.on_frame(now, id, frame),
            }
            .map_err(|error| error.in_frame(ty))?;
            if !self.state.is_open() {
                return Ok(None);
            }
        }
        Ok(Some(seen))
    }

    /// Checks the proof at the start of a packet: a client that holds the secret puts it
    /// into every packet until it knows that it was accepted.
    fn authenticate(&mut self, now: Instant, payload: &Bytes) -> Result<(), TransportError> {
        let Some(Ok(Frame::Authenticate(proof))) = Frames::new(payload.clone()).next() else {
            return Err(TransportError::authentication_failed(
                "the client gives no proof that it holds the secret",
            ));
        };
        self.handshake.on_authenticate(&proof.mac)?;
        self.on_usable(now);
        Ok(())
    }

    /// The client's address changed (RFC 9000 §9.3): data follow once the new one answered. Challenges
    /// move a path as well, unlike in RFC 9000 §9.1: a client that tries another way opens another
    /// path, and one that is still waiting for answers has nothing else to send.
    fn follow(&mut self, now: Instant, id: u32, tuple: FourTuple, size: usize) {
        let data = self.rng.bytes();
        let Some(path) = self.paths.get_mut(id) else {
            return;
        };
        tracing::debug!(path = id, remote = %tuple.remote, "the peer's address changed");
        if path.validation.is_validated() {
            path.previous_tuple = Some(path.tuple);
        }
        path.tuple = tuple;
        let pto = path.pto_base();
        path.validation.challenge_again(data, now, pto);
        path.validation.on_received(size);
    }

    /// Packets that came before their keys could be used.
    pub(super) fn receive_early(&mut self) {
        for Early(arrival, packet) in std::mem::take(&mut self.early) {
            if let Ok(Protected::Short {
                dcid,
                packet_number_at,
            }) = header::parse(&packet)
            {
                self.receive_short(arrival, dcid, packet, packet_number_at);
            }
        }
    }

    /// The peer's answer to our challenge came.
    pub(super) fn on_path_validated(&mut self, id: u32) {
        let Some(path) = self.paths.get_mut(id) else {
            return;
        };
        path.previous_tuple = None;
        if !std::mem::replace(&mut path.announced, true) {
            self.announce(id, super::PathChange::Up, PathReason::Validated);
        }
        self.close_last_resort();
        self.update_symbol_size();
    }
}

fn level_of(kind: LongType) -> Level {
    match kind {
        LongType::Initial => Level::Initial,
        LongType::Handshake => Level::Handshake,
    }
}

/// The frames of an opened packet, as a slice of the datagram.
fn payload_of(packet: BytesMut, opened: &Opened) -> Result<Bytes, TransportError> {
    if !opened.reserved_ok {
        return Err(TransportError::protocol_violation("reserved bits are set"));
    }
    if opened.payload.is_empty() {
        return Err(TransportError::protocol_violation("packet without frames"));
    }
    Ok(packet.freeze().slice(opened.payload.clone()))
}

/// Bytes of a Retry token at most.
const MAX_RETRY_TOKEN: usize = 512;
/// 1-RTT packets kept until the handshake is complete.
const MAX_EARLY: usize = 10;
/// Versions of an offer that are shown to the user.
const MAX_OFFERED_VERSIONS: usize = 8;
/// Before a path has an RTT of its own.
const DEFAULT_PTO: std::time::Duration = std::time::Duration::from_secs(1);
