//! The packets that say that the connection is over, on every path.

use std::time::Instant;

use super::Connection;
use super::state::CloseFrame;
use crate::address::Transmit;
use crate::component::{FrameWriter, Tokens};
use crate::error::TransportError;
use crate::id::Side;
use crate::path::MIN_MTU;
use crate::recovery::{Eliciting, SentPacket};
use crate::wire::TAG_LEN;
use crate::wire::frame::{ApplicationClose, Authenticate, ConnectionClose, Frame};

impl Connection {
    pub(super) fn transmit_close(&mut self, now: Instant, buf: &mut Vec<u8>) -> Option<Transmit> {
        let transmit = self.next_close(now, buf)?;
        self.totals.sent_bytes += transmit.size as u64;
        Some(transmit)
    }

    fn next_close(&mut self, now: Instant, buf: &mut Vec<u8>) -> Option<Transmit> {
        if self.closing.paths.is_empty() && self.state.wants_to_send_close() {
            let frame = self.state.take_close_frame()?;
            if self.keys.is_none() || self.paths.len() == 0 || !self.handshake.is_confirmed() {
                self.handshake.write_close(now, &frame, &mut self.rng);
            }
            self.closing.paths = (0..self.paths.len()).collect();
            self.closing.frame = Some(frame);
        }
        if let Some(transmit) = self.handshake.routes.poll_transmit(buf) {
            return Some(transmit);
        }
        let frame = self.closing.frame.clone()?;
        while let Some(index) = self.closing.paths.pop() {
            if let Some(transmit) = self.write_close_on(now, index, &frame, buf) {
                return Some(transmit);
            }
        }
        None
    }

    fn write_close_on(
        &mut self,
        now: Instant,
        index: usize,
        frame: &CloseFrame,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let path = self.paths.at(index)?;
        if self.side == Side::Server && path.validation.allowance() < usize::from(MIN_MTU) {
            return None;
        }
        let start = buf.len();
        let (marks, packet_number) = self.write_header(index, buf)?;
        let mut writer = FrameWriter::new(buf, usize::from(MIN_MTU) - HEADER_ROOM - TAG_LEN);
        if let Some(mac) = self.control.authenticate {
            writer.push(&Frame::Authenticate(Authenticate { mac }), None);
        }
        // The last word on streams, for example that everything was read.
        let control_room = writer.room().saturating_sub(CLOSE_ROOM);
        let mut control = writer.within(control_room);
        if self.handshake.is_usable() {
            self.streams.write_control(&mut control);
        }
        let (tokens, _) = control.finish();
        let room = writer.room();
        writer.push(&frame.to_wire(false, room), None);
        writer.pad_to(4);
        // Nobody acknowledges it: the next closing packet says it again.
        let slot = self.paths.at(index)?.slot;
        for token in &tokens {
            self.streams.on_lost(now, token, slot);
        }
        let path = self.paths.at_mut(index)?;
        let keys = self.keys.as_mut()?;
        if keys
            .seal_packet(path.id, packet_number, &marks, buf)
            .is_err()
        {
            buf.truncate(start);
            return None;
        }
        let size = buf.len() - start;
        // Nobody acknowledges it any more, but its number is used up.
        let delivery = path.delivery.on_sent(now, path.space.bytes_in_flight());
        path.space.on_sent(
            packet_number,
            SentPacket {
                sent_at: now,
                size: size as u16,
                eliciting: Eliciting::No,
                in_flight: false,
                tokens: Tokens::new(),
                delivery,
            },
        );
        path.validation.on_sent(size);
        path.counters.sent_packets += 1;
        path.counters.sent_bytes += size as u64;
        Some(Transmit {
            tuple: path.tuple,
            ecn: None,
            size,
            segment_size: None,
        })
    }
}

impl CloseFrame {
    /// The frame with as much of its reason as fits into `room` bytes. In Initial and
    /// Handshake packets an application's close says nothing (RFC 9000 §10.2.3).
    pub(super) fn to_wire(&self, early: bool, room: usize) -> Frame {
        match self {
            Self::Application { .. } if early => ConnectionClose::within(
                &TransportError::new(TransportError::APPLICATION_ERROR, ""),
                room,
            ),
            Self::Application { code, reason } => ApplicationClose::within(*code, reason, room),
            Self::Transport(error) => ConnectionClose::within(error, room),
        }
    }
}

/// For the closing frame and its reason.
const CLOSE_ROOM: usize = 300;
/// First byte, connection ID and the longest packet number.
const HEADER_ROOM: usize = 1 + 8 + 4;
