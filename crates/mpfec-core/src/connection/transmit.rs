//! What leaves next: the ordered list of everything that has something to say.

use std::time::{Duration, Instant};

use super::Connection;
use super::data::Batch;
use crate::address::Transmit;
use crate::component::FrameWriter;
use crate::id::Side;
use crate::path::{MIN_MTU, PacketPair, Path};
use crate::recovery::{SentPacket, Token};
use crate::wire::TAG_LEN;
use crate::wire::frame::{Authenticate, Frame, PathChallenge, PathResponse};
use crate::wire::header::ShortHeader;

/// What one packet is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Whatever is due; nothing leaves if nothing is.
    Due,
    /// A PTO fired or a suspected path is asked: beyond cwnd, must be acknowledged.
    Probe,
    /// A path that carried nothing for a while is asked for an answer: so that NATs keep its
    /// addresses, and because the choice not to use it rests on what was measured.
    Ask,
    /// Find out whether a datagram of this size passes.
    Mtu(u16),
    /// XOR parity over packets of the path that left before.
    Parity,
}

impl Connection {
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        max_segments: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        if !self.state.is_open() {
            return self.transmit_close(now, buf);
        }
        if !self.handshake.is_confirmed()
            && let Some(transmit) = self.handshake.poll_transmit(now, &mut self.rng, buf)
        {
            self.totals.sent_bytes += transmit.size as u64;
            self.last_sent = now;
            return Some(transmit);
        }
        self.keys.as_ref()?;
        if let Some(transmit) = self.transmit_on_paths(now, max_segments, buf) {
            return Some(transmit);
        }
        // Blocks that wait for more data are closed when nothing else is left to send, so
        // that a small write never waits; now they may need repair.
        if self.handshake.is_usable()
            && self.streams.close_idle_blocks(now, self.block_patience())
            && let Some(transmit) = self.transmit_on_paths(now, max_segments, buf)
        {
            return Some(transmit);
        }
        self.on_nothing_to_send(now);
        None
    }

    /// How long a block may stay open for the peer's next credit: a small part of what a
    /// repair on feedback would take.
    fn block_patience(&self) -> Duration {
        let usable = self.paths.iter().filter(|path| path.is_usable());
        usable.map(Path::srtt).min().unwrap_or_default() / PATIENCE_PART
    }

    fn transmit_on_paths(
        &mut self,
        now: Instant,
        max_segments: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        // Only who has data to send wants to know how the paths are.
        self.path_views.forget();
        self.update_windows(now);
        if self.groups.is_some() {
            self.path_views.refresh(&self.paths, now);
            self.update_groups();
        }
        let count = self.paths.len();
        for step in 0..count {
            let index = (self.next_path + step) % count;
            if let Some(transmit) = self.transmit_on(now, index, max_segments, buf) {
                // The same path goes on until it has nothing more: whole batches are cheap.
                self.next_path = index;
                self.last_sent = now;
                return Some(transmit);
            }
        }
        self.next_path = 0;
        None
    }

    /// Estimators learn that the sender is the limit.
    fn on_nothing_to_send(&mut self, now: Instant) {
        let has_unsent = self.streams.has_unsent();
        for path in self.paths.iter_mut() {
            let has_room = path.window_unused() >= u64::from(path.mtu.current());
            let has_nothing = path.is_usable() && has_room && !has_unsent;
            path.app_limit.set(now, has_nothing);
            if has_nothing {
                path.delivery.on_app_limited(path.space.bytes_in_flight());
                path.pacer.on_idle(now, path.pacing_rate());
            }
        }
    }

    /// Fills a batch for the path at `index`.
    fn transmit_on(
        &mut self,
        now: Instant,
        index: usize,
        max_segments: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let start = buf.len();
        let mut batch = Batch::default();
        while batch.segments < max_segments {
            let path = self.paths.at(index)?;
            let before = buf.len();
            let purpose = self.purpose(now, index, batch.segments);
            let room = match purpose {
                Purpose::Parity => usize::from(path.mtu.current()),
                _ if batch.segments == 0 => usize::from(path.data_mtu()),
                _ => batch.segment_size,
            };
            // A challenge is padded as far as that goes (RFC 9000 §8.2.1).
            let room = room.min(self.allowance(path).saturating_sub(buf.len() - start));
            if room < LEAST_ROOM {
                break;
            }
            let room = match purpose {
                Purpose::Mtu(size) => usize::from(size),
                Purpose::Probe if path.probes_small() => room.min(usize::from(MIN_MTU)),
                _ => room,
            };
            let budget = max_segments - batch.segments;
            if !self.write_packet(now, index, purpose, room, budget, &mut batch, buf) {
                break;
            }
            let size = buf.len() - before;
            batch.segments += 1;
            if batch.segments == 1 {
                batch.segment_size = size;
            }
            // Only a full packet is followed by another in the same batch.
            if size < batch.segment_size || purpose != Purpose::Due || size + NEARLY_FULL < room {
                break;
            }
            if self.paths.at(index)?.is_parity_due(now) {
                // It is larger than what it covers.
                break;
            }
        }
        self.finish_assignment(now, index, &mut batch);
        if batch.segments == 0 {
            return None;
        }
        let size = buf.len() - start;
        self.totals.sent_bytes += size as u64;
        let path = self.paths.at(index)?;
        Some(Transmit {
            tuple: path.tuple,
            ecn: path.ecn.mark(),
            size,
            segment_size: (batch.segments > 1).then_some(batch.segment_size),
        })
    }

    /// Whether a challenge would not be held back for the sake of whoever really has the address.
    pub(super) fn may_challenge(&self, path: &Path) -> bool {
        self.allowance(path) >= LEAST_ROOM
    }

    /// Bytes that may leave on the path (RFC 9000 §8.1). A client knows that it asked and is
    /// not limited.
    fn allowance(&self, path: &Path) -> usize {
        match self.side {
            Side::Client => usize::MAX,
            Side::Server => path.validation.allowance(),
        }
    }

    fn purpose(&self, now: Instant, index: usize, segments: usize) -> Purpose {
        let Some(path) = self.paths.at(index) else {
            return Purpose::Due;
        };
        if segments > 0 || !path.validation.is_validated() {
            return Purpose::Due;
        }
        if path.probes > 0 || path.liveness.next_probe().is_some_and(|at| now >= at) {
            return Purpose::Probe;
        }
        if self.may_send_parity(now, path) {
            return Purpose::Parity;
        }
        if path.is_to_be_asked || (path.is_unmeasured(now) && self.streams.has_work()) {
            return Purpose::Ask;
        }
        if path.is_usable()
            && path.rtt.has_sample()
            && path.window_unused() > 2 * u64::from(path.mtu.current())
            && let Some(size) = path.mtu.probe_due(now)
        {
            return Purpose::Mtu(size);
        }
        Purpose::Due
    }

    /// Appends one packet. Returns whether there was anything to put into it.
    #[expect(
        clippy::too_many_arguments,
        reason = "the batch's state, for one caller"
    )]
    fn write_packet(
        &mut self,
        now: Instant,
        index: usize,
        purpose: Purpose,
        room: usize,
        budget: usize,
        batch: &mut Batch,
        buf: &mut Vec<u8>,
    ) -> bool {
        let is_parity = purpose == Purpose::Parity;
        let acks = !is_parity && self.acks_to_write(now, index);
        let has_control = !is_parity && self.has_control_for(now, index);
        let data = purpose == Purpose::Due && self.may_send_data(now, index);
        if purpose == Purpose::Due && !acks && !has_control && !data {
            return false;
        }
        let start = buf.len();
        let Some((marks, packet_number)) = self.write_header(index, buf) else {
            return false;
        };
        let payload_start = buf.len();
        let Some(payload_room) = room.checked_sub(payload_start - start + TAG_LEN) else {
            buf.truncate(start);
            return false;
        };
        let mut writer = FrameWriter::new(buf, payload_room);
        if let Some(mac) = self.control.authenticate {
            writer.push(
                &Frame::Authenticate(Authenticate { mac }),
                Some(Token::Authenticate),
            );
        }
        let proof_only = writer.written();
        let is_proof = self
            .paths
            .at(index)
            .is_some_and(|path| is_proof(now, path, purpose));
        if is_proof {
            writer.set_padded();
        }
        if let Purpose::Mtu(size) = purpose {
            writer.push(&Frame::Ping, Some(Token::MtuProbe { size }));
            writer.pad_to(payload_room);
        } else {
            if acks {
                self.write_parity_reports(&mut writer);
                self.write_acks(now, index, &mut writer);
            }
            if has_control {
                self.write_control(now, index, &mut writer);
            }
            if data {
                self.write_data(now, index, budget, batch, &mut writer);
            }
            if !writer.asks_for_answer(proof_only) {
                match purpose {
                    Purpose::Probe => self.write_probe(now, index, &mut writer),
                    Purpose::Ask => {
                        writer.push(&Frame::Ping, None);
                    }
                    Purpose::Parity => self.write_parity(index, &mut writer),
                    Purpose::Due | Purpose::Mtu(_) => {}
                }
            }
        }
        if writer.written() == proof_only {
            buf.truncate(start);
            return false;
        }
        if is_proof && writer.is_ack_eliciting() {
            writer.pad_to(
                (usize::from(MIN_MTU) - TAG_LEN)
                    .saturating_sub(payload_start - start)
                    .min(payload_room),
            );
        }
        // Header protection samples 16 bytes from 4 behind the packet number.
        writer.pad_to(4);
        let (tokens, eliciting) = writer.finish();
        let ack_eliciting = eliciting.is_eliciting();
        if ack_eliciting && matches!(purpose, Purpose::Due | Purpose::Probe) {
            self.cover_with_parity(now, index, packet_number, &buf[payload_start..]);
        }
        let Some(path) = self.paths.at_mut(index) else {
            return false;
        };
        let Some(keys) = &mut self.keys else {
            return false;
        };
        if let Err(error) = keys.seal_packet(path.id, packet_number, &marks, buf) {
            buf.truncate(start);
            self.fail(now, error);
            return false;
        }
        let size = buf.len() - start;
        let in_flight = ack_eliciting
            && match purpose {
                Purpose::Mtu(_) => false,
                Purpose::Parity => path.parity_respects_window(),
                Purpose::Due | Purpose::Probe | Purpose::Ask => true,
            };
        let delivery = path.delivery.on_sent(now, path.space.bytes_in_flight());
        path.space.on_sent(
            packet_number,
            SentPacket {
                sent_at: now,
                size: size as u16,
                eliciting,
                in_flight,
                tokens,
                delivery,
            },
        );
        if ack_eliciting && std::mem::replace(&mut self.is_answered, false) {
            // RFC 9000 §10.1: whoever sends waits for the answer a whole idle timeout.
            self.idle_since = now;
        }
        path.validation.on_sent(size);
        path.counters.sent_packets += 1;
        path.counters.sent_bytes += size as u64;
        if in_flight {
            let rate = path.pacing_rate();
            path.pacer.on_sent(now, size as u64, rate);
            let in_flight = path.space.bytes_in_flight();
            path.controller.on_packet_sent(now, size as u64, in_flight);
            self.path_views.on_sent(index, size as u64);
        }
        match purpose {
            Purpose::Mtu(size) => path.mtu.on_probe_sent(size),
            Purpose::Probe => self.on_probe_sent(now, index),
            Purpose::Ask => path.is_to_be_asked = false,
            Purpose::Parity => path.on_parity_sent(size),
            Purpose::Due => {}
        }
        if self
            .paths
            .at(index)
            .is_some_and(|path| path.space.is_full())
        {
            // Only a peer that acknowledges nothing leaves so many open.
            self.give_up_in_flight(now, index);
        }
        true
    }

    /// Starts a packet on the path at `index` with its next number.
    pub(super) fn write_header(
        &mut self,
        index: usize,
        buf: &mut Vec<u8>,
    ) -> Option<(crate::wire::header::Marks, u64)> {
        let key_phase = self.keys.as_ref()?.key_phase();
        let random = self.rng.next_u64();
        let dcid = self.paths.remote(self.paths.at(index)?.id)?.cid;
        let path = self.paths.at_mut(index)?;
        let packet_number = path.space.next_packet_number(random);
        let header = ShortHeader {
            dcid,
            key_phase,
            packet_number,
            largest_acked: path.space.largest_acked(),
        };
        Some((header.encode(buf), packet_number))
    }

    /// Something that must be answered: a symbol of the head block if there is one.
    fn write_probe(&mut self, now: Instant, index: usize, writer: &mut FrameWriter<'_>) {
        let Some(path) = self.paths.at(index) else {
            return;
        };
        let carries_data = self.handshake.is_usable() && !path.probes_small();
        if !carries_data || self.streams.write_probe(now, path.slot, writer).is_none() {
            writer.push(&Frame::Ping, None);
        }
    }

    /// Whether frames that are neither data nor acknowledgements wait for this path.
    fn has_control_for(&self, now: Instant, index: usize) -> bool {
        let Some(path) = self.paths.at(index) else {
            return false;
        };
        path.has_challenges(now) || (self.has_control() && self.control_path(now) == Some(index))
    }

    fn has_control(&self) -> bool {
        self.control.has_frames()
            || self.handshake.has_one_rtt_crypto()
            || (self.handshake.is_usable()
                && (self.addresses.has_frames() || self.streams.has_control()))
    }

    /// The usable path with the smallest RTT, of those that were heard of lately if there are any:
    /// what has died since it was last used would be found out at the expense of what it takes.
    /// Any validated one if none is usable.
    fn control_path(&self, now: Instant) -> Option<usize> {
        self.paths.best_validated(|path| {
            let rank = || (!path.was_heard_lately(now), path.srtt());
            path.is_usable().then(rank)
        })
    }

    fn write_control(&mut self, now: Instant, index: usize, writer: &mut FrameWriter<'_>) {
        if let Some(path) = self.paths.at_mut(index) {
            write_validation(now, path, writer);
        }
        if self.control_path(now) != Some(index) {
            return;
        }
        self.handshake.write_one_rtt_crypto(writer);
        self.control.write(writer);
        if self.handshake.is_usable() {
            self.addresses.write(writer);
            self.streams.write_control(writer);
        }
    }
}

/// Whether what leaves is to prove that the path carries datagrams of 1200 bytes: while its
/// address is validated, with answers to the peer's challenges (RFC 9000 §8.2), and where it did
/// not before (RFC 9000 §14.2).
fn is_proof(now: Instant, path: &Path, purpose: Purpose) -> bool {
    let asks = purpose == Purpose::Probe && path.mtu.is_narrow();
    !path.validation.is_validated() || path.has_challenges(now) || asks
}

/// Answers to the peer's challenges, and ours.
fn write_validation(now: Instant, path: &mut Path, writer: &mut FrameWriter<'_>) {
    let size = Frame::PathResponse(PathResponse { data: [0; 8] }).size();
    while writer.room() >= size {
        let Some(data) = path.validation.pop_response() else {
            break;
        };
        writer.push(&Frame::PathResponse(PathResponse { data }), None);
    }
    if writer.room() >= size {
        // With several addresses to try, each has its turn within the usual interval.
        let interval = path.srtt() / (1 + path.alternatives.len() as u32);
        if let Some(data) = path.validation.take_challenge(now, interval) {
            if path.validation.challenges_sent() > 1 {
                path.try_next();
            }
            writer.push(&Frame::PathChallenge(PathChallenge { data }), None);
        }
    }
    let pair = path.pair.as_mut().filter(|_| writer.room() >= size);
    if let Some(data) = pair.and_then(PacketPair::take) {
        writer.push(&Frame::PathChallenge(PathChallenge { data }), None);
    }
}

/// A block waits for the peer's credit for this part of the shortest RTT at most.
const PATIENCE_PART: u32 = 8;
/// A packet has room for a challenge and the proof of a secret in so many bytes.
const LEAST_ROOM: usize = 80;
/// A packet that is short of its room by less than this counts as full.
const NEARLY_FULL: usize = 64;
