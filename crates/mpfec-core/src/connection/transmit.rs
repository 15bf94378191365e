//! What leaves next: the ordered list of everything that has something to say.

use std::time::{Duration, Instant};

use mpfec_sched::{Assignment, View};

use super::Connection;
use super::state::CloseFrame;
use crate::address::Transmit;
use crate::component::FrameWriter;
use crate::id::Side;
use crate::path::{MIN_MTU, Path};
use crate::recovery::{SentPacket, Token};
use crate::wire::frame::{self, Ack, ApplicationClose, Authenticate, ConnectionClose, Crypto, PathChallenge, PathResponse};
use crate::wire::ShortHeader;

/// A batch of packets for one path that is being built.
#[derive(Debug, Default)]
struct Batch {
    segments: usize,
    /// Bytes of each datagram but the last.
    segment_size: usize,
    /// What the scheduler chose and is not yet used up.
    assignment: Option<Assignment>,
}

/// What one packet is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Whatever is due; nothing leaves if nothing is.
    Due,
    /// A PTO fired or a suspected path is asked: beyond cwnd, must be acknowledged.
    Probe,
    /// Find out whether a datagram of this size passes.
    Mtu(u16),
}

impl Connection {
    pub(super) fn transmit(&mut self, now: Instant, max_segments: usize, buf: &mut Vec<u8>) -> Option<Transmit> {
        if !self.state.is_open() {
            return self.transmit_close(now, buf);
        }
        if !self.handshake.is_confirmed() {
            if let Some(transmit) = self.handshake.poll_transmit(now, &mut self.rng, buf) {
                self.totals.sent_bytes += transmit.size as u64;
                self.last_sent = now;
                return Some(transmit);
            }
        }
        self.keys.as_ref()?;
        let symbol_bytes = u64::from(self.paths.iter().map(|path| path.mtu.current()).max()?);
        self.path_views.refresh(&mut self.paths, now, symbol_bytes);
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
        self.on_nothing_to_send(now);
        None
    }

    /// Every path was asked and had nothing: blocks that wait for more data are closed, so
    /// that a small write never waits, and estimators learn that the sender is the limit.
    fn on_nothing_to_send(&mut self, _now: Instant) {
        for path in self.paths.iter_mut() {
            path.app_limited = path.is_usable() && path.window_room() >= u64::from(path.mtu.current());
            if path.app_limited && !self.streams.has_unsent() {
                path.delivery.on_app_limited(path.space.bytes_in_flight());
            }
        }
    }

    /// Fills a batch for the path at `index`.
    fn transmit_on(&mut self, now: Instant, index: usize, max_segments: usize, buf: &mut Vec<u8>) -> Option<Transmit> {
        let start = buf.len();
        let mut batch = Batch::default();
        while batch.segments < max_segments {
            let path = self.paths.at(index)?;
            let room = if batch.segments == 0 { usize::from(path.mtu.current()) } else { batch.segment_size };
            if !path.validation.may_send(buf.len() - start + room) && self.side == Side::Server {
                break;
            }
            let before = buf.len();
            let purpose = self.purpose(now, index, batch.segments);
            let room = if let Purpose::Mtu(size) = purpose { usize::from(size) } else { room };
            let budget = max_segments - batch.segments;
            if !self.write_packet(now, index, purpose, room, budget, &mut batch, buf) {
                break;
            }
            let size = buf.len() - before;
            batch.segments += 1;
            if batch.segments == 1 {
                batch.segment_size = size;
            }
            // Only full packets are followed by another in the same batch.
            if size < batch.segment_size || purpose != Purpose::Due || size + 64 < room {
                break;
            }
        }
        if batch.segments == 0 {
            return None;
        }
        let size = buf.len() - start;
        self.totals.sent_bytes += size as u64;
        let path = self.paths.at(index)?;
        Some(Transmit {
            tuple: path.tuple,
            ecn: None,
            size,
            segment_size: (batch.segments > 1).then_some(batch.segment_size),
        })
    }

    fn purpose(&self, now: Instant, index: usize, segments: usize) -> Purpose {
        let Some(path) = self.paths.at(index) else { return Purpose::Due };
        if segments > 0 || !path.validation.is_validated() {
            return Purpose::Due;
        }
        if path.probes > 0 || path.liveness.next_probe().is_some_and(|at| now >= at) {
            return Purpose::Probe;
        }
        if path.is_usable() && path.rtt.has_sample() && path.window_room() > 2 * u64::from(path.mtu.current()) {
            if let Some(size) = path.mtu.probe_due(now) {
                return Purpose::Mtu(size);
            }
        }
        Purpose::Due
    }

    /// Appends one packet. Returns whether there was anything to put into it.
    #[expect(clippy::too_many_arguments, reason = "the batch's state, for one caller")]
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
        let Some(keys) = &self.keys else { return false };
        let Some(path) = self.paths.at(index) else { return false };
        let Some(remote) = self.paths.remote(path.id) else { return false };
        let acks = self.acks_to_write(now, index);
        let has_control = self.has_control_for(now, index);
        let data = purpose == Purpose::Due && self.may_send_data(now, index);
        if purpose == Purpose::Due && !acks && !has_control && !data {
            return false;
        }
        let (dcid, key_phase) = (remote.cid, keys.key_phase());
        let random = self.rng.next_u64();
        let Some(path) = self.paths.at_mut(index) else { return false };
        let start = buf.len();
        let packet_number = path.space.next_packet_number(random);
        let header = ShortHeader { dcid, key_phase, packet_number, largest_acked: path.space.largest_acked() };
        let marks = header.encode(buf);
        let payload_start = buf.len();
        let Some(payload_room) = room.checked_sub(payload_start - start + TAG) else {
            buf.truncate(start);
            return false;
        };

        let mut writer = FrameWriter::new(buf, payload_room);
        if let Some(mac) = self.control.authenticate {
            Authenticate { mac }.encode(writer.buf());
            writer.wrote(Some(Token::Authenticate));
        }
        let mut symbols = 0;
        match purpose {
            Purpose::Mtu(size) => {
                writer.buf().push(frame::PING);
                writer.wrote(Some(Token::MtuProbe { size }));
                let end = start + usize::from(size) - TAG;
                writer.buf().resize(end, 0);
            }
            Purpose::Due | Purpose::Probe => {
                if acks {
                    self.write_acks(now, index, &mut writer);
                }
                if has_control {
                    self.write_control(now, index, &mut writer);
                }
                if data {
                    symbols = self.write_data(now, index, budget, batch, &mut writer);
                }
                if purpose == Purpose::Probe && !writer.is_ack_eliciting() {
                    self.write_probe(index, &mut writer);
                }
            }
        }
        let (tokens, ack_eliciting) = writer.finish();
        if buf.len() == payload_start || (purpose == Purpose::Due && tokens.is_empty() && !ack_eliciting) {
            buf.truncate(start);
            return false;
        }
        if buf.len() < payload_start + 4 {
            buf.resize(payload_start + 4, 0);
        }
        // An address is validated with a datagram of full size (RFC 9000 §8.2.1).
        let Some(path) = self.paths.at_mut(index) else { return false };
        if !path.validation.is_validated() && path.validation.may_send(usize::from(MIN_MTU)) | (self.side == Side::Client) {
            let full = start + usize::from(MIN_MTU) - TAG;
            if buf.len() < full && ack_eliciting {
                buf.resize(full, 0);
            }
        }
        buf.resize(buf.len() + TAG, 0);
        let Some(keys) = &mut self.keys else { return false };
        keys.seal_packet(path.id, packet_number, &marks, &mut buf[start..]);
        let size = buf.len() - start;
        let in_flight = path.space.bytes_in_flight();
        let counts = ack_eliciting && !matches!(purpose, Purpose::Mtu(_));
        path.space.on_sent(
            packet_number,
            SentPacket {
                sent_at: now,
                size: size as u16,
                ack_eliciting,
                in_flight: counts,
                tokens,
                delivery: path.delivery.on_sent(now, in_flight),
            },
        );
        path.validation.on_sent(size);
        path.counters.sent_packets += 1;
        path.counters.sent_bytes += size as u64;
        if counts {
            path.pacer.on_sent(now, size as u64);
            let in_flight = path.space.bytes_in_flight();
            path.controller.on_packet_sent(now, size as u64, in_flight);
            self.path_views.on_sent(index, size as u64);
        }
        match purpose {
            Purpose::Mtu(size) => path.mtu.on_probe_sent(size),
            Purpose::Probe => {
                path.probes = path.probes.saturating_sub(1);
                let srtt = path.srtt();
                path.liveness.on_probe(now, srtt);
            }
            Purpose::Due => {}
        }
        let _ = symbols;
        true
    }

    /// Whether cwnd and pacer let a data packet out on the path now.
    fn may_send_data(&mut self, now: Instant, index: usize) -> bool {
        if !self.handshake.is_usable() {
            return false;
        }
        let Some(path) = self.paths.at_mut(index) else { return false };
        let size = u64::from(path.mtu.current());
        if !path.is_usable() || (path.window_room() < size && path.space.bytes_in_flight() > 0) {
            return false;
        }
        let rate = path.pacing_rate();
        path.pacer.delay(now, rate, size).is_none()
    }

    /// When paths that have data to send may do so, as far as the pacer decides that.
    pub(super) fn pacing_deadlines(&self) -> impl Iterator<Item = (Instant, u32)> {
        let idle = !self.handshake.is_usable() || !(self.streams.has_work() || self.datagrams.has_outgoing());
        self.paths
            .iter()
            .filter(move |path| !idle && path.is_usable())
            .filter(|path| path.window_room() >= u64::from(path.mtu.current()))
            .filter_map(|path| {
                let mut pacer = path.pacer.clone();
                let size = u64::from(path.mtu.current());
                Some((pacer.next_send(self.last_now, path.pacing_rate(), size)?, path.id))
            })
    }

    /// Datagrams first, then what the scheduler chooses, until the packet is full. Returns
    /// how many symbols were written.
    fn write_data(
        &mut self,
        now: Instant,
        index: usize,
        budget: usize,
        batch: &mut Batch,
        writer: &mut FrameWriter<'_>,
    ) -> usize {
        if self.datagrams.has_outgoing() && self.datagrams.write(writer) {
            self.events.push_back(super::Event::DatagramsUnblocked);
        }
        let mut symbols = 0;
        while writer.room() > MIN_SYMBOL_ROOM {
            let Some(assignment) = self.next_assignment(now, index, budget, batch) else { break };
            let Some(slot) = self.paths.at(index).map(|path| path.slot) else { break };
            if self.streams.write_symbol(assignment.block, assignment.symbol, slot, writer).is_none() {
                batch.assignment = None;
                break;
            }
            symbols += 1;
            batch.assignment = (assignment.count > 1)
                .then(|| Assignment { count: assignment.count - 1, ..assignment });
        }
        symbols
    }

    /// The rest of what the scheduler chose before, or its next choice.
    fn next_assignment(&mut self, now: Instant, index: usize, budget: usize, batch: &mut Batch) -> Option<Assignment> {
        if let Some(assignment) = batch.assignment.take() {
            return Some(assignment);
        }
        let budget = self.symbol_budget(now, index, budget)?;
        let view = View {
            now,
            paths: self.path_views.as_slice(),
            blocks: self.streams.blocks(),
            has_repair: self.config.profile.codec.has_repair(),
            version: self.streams.version(),
            writer_blocked: self.streams.writer_blocked(),
            arrival_rate: self.streams.arrival_rate(),
            window_closed: self.streams.window_closed(),
        };
        let assignment = self.scheduler.select(index, budget, &view)?;
        self.scheduler.on_sent(index, &assignment, &view);
        Some(assignment)
    }

    /// How many packets the window and the pacer let out now, at most `budget`.
    fn symbol_budget(&mut self, now: Instant, index: usize, budget: usize) -> Option<u32> {
        let path = self.paths.at_mut(index)?;
        let size = u64::from(path.mtu.current());
        let window = path.window_room() / size;
        let rate = path.pacing_rate();
        let paced = path.pacer.budget(now, rate) / size;
        Some(window.min(paced).min(budget as u64).max(1) as u32)
    }

    /// A packet that must be answered: a symbol of the head block if there is one.
    fn write_probe(&mut self, index: usize, writer: &mut FrameWriter<'_>) {
        let Some(slot) = self.paths.at(index).map(|path| path.slot) else { return };
        if self.handshake.is_usable() && self.streams.write_probe(slot, writer).is_some() {
            return;
        }
        if writer.room() >= 1 {
            writer.buf().push(frame::PING);
            writer.wrote(None);
        }
    }

    /// Whether an acknowledgement is due and this is the path that takes it.
    fn acks_to_write(&self, now: Instant, index: usize) -> bool {
        let due = |path: &Path| path.received.ack_due(now);
        if !self.paths.iter().any(due) {
            return false;
        }
        let best = self.ack_path(now);
        best == Some(index)
            || self.paths.at(index).is_some_and(|path| due(path) && path.acks_elsewhere >= OWN_ACK_INTERVAL)
    }

    /// The path on which acknowledgements arrive soonest, of those that were heard of lately.
    fn ack_path(&self, now: Instant) -> Option<usize> {
        let heard = |path: &Path| {
            path.last_received.is_some_and(|at| {
                now.saturating_duration_since(at) <= 2 * path.pto_base().min(Duration::from_millis(500))
            })
        };
        let candidates = || self.paths.iter().enumerate().filter(|(_, path)| path.validation.is_validated());
        candidates()
            .filter(|(_, path)| heard(path) && !path.liveness.is_suspected())
            .min_by_key(|(_, path)| path.srtt())
            .or_else(|| candidates().max_by_key(|(_, path)| path.last_received))
            .map(|(index, _)| index)
    }

    /// Writes what every path has to acknowledge.
    fn write_acks(&mut self, now: Instant, index: usize, writer: &mut FrameWriter<'_>) {
        let carrier = self.paths.at(index).map(|path| path.id);
        for path in self.paths.iter_mut() {
            if !path.received.has_unsent() {
                continue;
            }
            let Some(largest) = path.received.largest() else { continue };
            let ecn = Some(path.received.ecn()).filter(|counts| counts.any());
            let delay = path.received.ack_delay(now);
            if !Ack::encode(Some(path.id), path.received.ranges(), delay, ecn, writer.room(), writer.buf()) {
                continue;
            }
            writer.wrote_ack(Token::Ack { path: path.id, largest });
            if Some(path.id) == carrier || path.acks_elsewhere < OWN_ACK_INTERVAL {
                path.received.on_ack_sent();
                path.acks_elsewhere =
                    if Some(path.id) == carrier { 0 } else { path.acks_elsewhere.saturating_add(1) };
            }
        }
    }

    /// Whether frames that are neither data nor acknowledgements wait for this path.
    fn has_control_for(&self, now: Instant, index: usize) -> bool {
        let Some(path) = self.paths.at(index) else { return false };
        if path.validation.has_frames(now) {
            return true;
        }
        self.control_path() == Some(index) && self.has_control()
    }

    fn has_control(&self) -> bool {
        self.control.has_frames()
            || self.handshake.has_one_rtt_crypto()
            || (self.handshake.is_usable() && (self.addresses.has_frames() || self.streams.has_control()))
    }

    /// The usable path with the smallest RTT; any validated one if none is usable.
    fn control_path(&self) -> Option<usize> {
        let candidates = || self.paths.iter().enumerate().filter(|(_, path)| path.validation.is_validated());
        candidates()
            .filter(|(_, path)| path.is_usable())
            .min_by_key(|(_, path)| path.srtt())
            .or_else(|| candidates().max_by_key(|(_, path)| path.last_received))
            .map(|(index, _)| index)
    }

    fn write_control(&mut self, now: Instant, index: usize, writer: &mut FrameWriter<'_>) {
        let common = self.control_path() == Some(index);
        if let Some(path) = self.paths.at_mut(index) {
            let interval = path.pto_base();
            while writer.room() >= PathResponse::SIZE {
                let Some(data) = path.validation.pop_response() else { break };
                PathResponse { data }.encode(writer.buf());
                writer.wrote(None);
            }
            if writer.room() >= PathChallenge::SIZE {
                if let Some(data) = path.validation.take_challenge(now, interval) {
                    PathChallenge { data }.encode(writer.buf());
                    writer.wrote(None);
                }
            }
        }
        if !common {
            return;
        }
        let crypto = self.handshake.one_rtt_crypto();
        while writer.room() > Crypto::MAX_HEADER {
            let Some((offset, data)) = crypto.send.next_chunk(writer.room() - Crypto::MAX_HEADER) else { break };
            let length = data.len() as u32;
            Crypto::encode(offset, data, writer.buf());
            writer.wrote(Some(Token::Crypto { offset, length }));
        }
        self.control.write(writer);
        if self.handshake.is_usable() {
            self.addresses.write(writer);
            self.streams.write_control(writer);
        }
    }

    /// The packet that says that the connection is over, on every path.
    fn transmit_close(&mut self, now: Instant, buf: &mut Vec<u8>) -> Option<Transmit> {
        if self.close_on.is_empty() && self.state.wants_to_send_close() {
            self.close_on = (0..self.paths.len()).collect();
            self.closing_frame = self.state.take_close_frame();
            if self.keys.is_none() || self.close_on.is_empty() {
                let frame = self.closing_frame.take()?;
                self.handshake.write_close(now, frame, &mut self.rng);
            }
        }
        if let Some(transmit) = self.handshake.poll_close(buf) {
            return Some(transmit);
        }
        while let Some(index) = self.close_on.pop() {
            let Some(frame) = self.closing_frame.clone() else { continue };
            if let Some(transmit) = self.write_close_on(now, index, &frame, buf) {
                return Some(transmit);
            }
        }
        None
    }

    fn write_close_on(&mut self, now: Instant, index: usize, frame: &CloseFrame, buf: &mut Vec<u8>) -> Option<Transmit> {
        let start = buf.len();
        let keys = self.keys.as_mut()?;
        let path = self.paths.at_mut(index)?;
        if !path.validation.may_send(200) && self.side == Side::Server {
            return None;
        }
        let (id, tuple) = (path.id, path.tuple);
        let packet_number = path.space.next_packet_number(self.rng.next_u64());
        let largest_acked = path.space.largest_acked();
        let dcid = self.paths.remote(id)?.cid;
        let header = ShortHeader { dcid, key_phase: keys.key_phase(), packet_number, largest_acked };
        let marks = header.encode(buf);
        if let Some(mac) = self.control.authenticate {
            Authenticate { mac }.encode(buf);
        }
        encode_close(frame, false, buf);
        buf.resize(buf.len() + TAG + 4, 0);
        keys.seal_packet(id, packet_number, &marks, &mut buf[start..]);
        // The number is spent, whether or not anybody acknowledges it.
        let size = buf.len() - start;
        let path = self.paths.at_mut(index)?;
        let delivery = path.delivery.on_sent(now, path.space.bytes_in_flight());
        let sent = SentPacket {
            sent_at: now,
            size: size as u16,
            ack_eliciting: false,
            in_flight: false,
            tokens: crate::component::Tokens::new(),
            delivery,
        };
        path.space.on_sent(packet_number, sent);
        Some(Transmit { tuple, ecn: None, size, segment_size: None })
    }

    /// The symbol size T with which a full symbol packet fits `mtu` bytes, with room for what
    /// else every packet carries now.
    pub(super) fn symbol_size_for(&self, mtu: u16) -> u16 {
        let proof = if self.control.authenticate.is_some() { Authenticate::SIZE as u16 } else { 0 };
        mtu - HEADER_ROOM - TAG as u16 - SYMBOL_HEADER_ROOM - proof
    }

    /// The largest message that fits into a packet now, if the peer takes any.
    #[must_use]
    pub fn max_datagram_size(&self) -> Option<usize> {
        let limit = self.handshake.peer()?.max_datagram_frame_size;
        if limit == 0 {
            return None;
        }
        let mtu = self.paths.iter().filter(|path| path.is_usable()).map(|path| path.mtu.current()).min();
        let proof = if self.control.authenticate.is_some() { Authenticate::SIZE } else { 0 };
        let room = usize::from(mtu.unwrap_or(MIN_MTU) - HEADER_ROOM) - TAG - 3 - proof;
        Some(room.min(usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(3)))
    }
}

/// In Initial and Handshake packets an application's close says nothing (RFC 9000 §10.2.3).
pub(super) fn encode_close(frame: &CloseFrame, early: bool, buf: &mut Vec<u8>) {
    match frame {
        CloseFrame::Application { .. } if early => {
            ConnectionClose { code: crate::TransportError::APPLICATION_ERROR, frame: 0, reason: "".into() }.encode(buf);
        }
        CloseFrame::Application { code, reason } => {
            ApplicationClose { code: *code, reason: reason.clone() }.encode(buf);
        }
        CloseFrame::Transport(error) => {
            ConnectionClose { code: error.code, frame: error.frame, reason: error.reason.clone() }.encode(buf);
        }
    }
}

const TAG: usize = 16;
/// First byte, connection ID and the longest packet number.
const HEADER_ROOM: u16 = 1 + 8 + 4;
/// Type, stream, SBN, offset, T, ESI and block length at their usual sizes; longer ones
/// appear after 2^30 bytes of a stream.
const SYMBOL_HEADER_ROOM: u16 = 1 + 2 + 4 + 8 + 2 + 2 + 4;
/// Symbols smaller than this are not worth a place behind other frames.
const MIN_SYMBOL_ROOM: usize = 64;
/// Every so many acknowledgements one takes the path that it speaks of, in case the other
/// way is dead.
const OWN_ACK_INTERVAL: u8 = 4;
