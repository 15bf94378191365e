//! One packet number space of the handshake: its keys, packets and CRYPTO data.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::component::FrameWriter;
use crate::crypto::Keys;
use crate::error::TransportError;
use crate::recovery::{CryptoStream, PacketSpace, ReceivedPackets, SentPacket, Token};
use crate::rng::Rng;
use crate::wire::frame::{self, Ack, Crypto};
use crate::wire::{ConnectionId, LongHeader, LongType};

pub(crate) use crate::crypto::Level;

/// Initial or Handshake packets.
#[derive(Debug)]
pub(crate) struct EarlySpace {
    pub(crate) keys: Keys,
    pub(crate) packets: PacketSpace<()>,
    pub(crate) received: ReceivedPackets,
    pub(crate) crypto: CryptoStream,
    probe: bool,
}

/// Connection IDs of a packet.
#[derive(Debug)]
pub(crate) struct PacketIds {
    pub(crate) dcid: ConnectionId,
    pub(crate) scid: ConnectionId,
}

impl EarlySpace {
    pub(crate) fn new(keys: Keys) -> Self {
        Self {
            keys,
            packets: PacketSpace::new(),
            received: ReceivedPackets::new(),
            crypto: CryptoStream::new(),
            probe: false,
        }
    }

    /// After a Retry: the same CRYPTO data again under new keys (RFC 9000 §17.2.5.2).
    pub(crate) fn restart(&mut self, keys: Keys) {
        self.keys = keys;
        self.probe();
    }

    /// An ACK frame. Returns an RTT sample if the largest packet is newly acknowledged.
    pub(crate) fn on_ack(&mut self, now: Instant, ack: &Ack) -> Result<Option<Duration>, TransportError> {
        let mut acked = Vec::new();
        self.packets.on_ack(ack.ranges(), ack.largest, &mut acked)?;
        let mut sample = None;
        for packet in acked {
            if packet.packet_number == ack.largest && packet.packet.ack_eliciting {
                sample = Some(now.saturating_duration_since(packet.packet.sent_at));
            }
            for token in packet.packet.tokens {
                match token {
                    Token::Crypto { offset, length } => self.crypto.on_acked(offset, length),
                    Token::Ack { largest, .. } => self.received.on_ack_acked(largest),
                    _ => {}
                }
            }
        }
        Ok(sample)
    }

    /// Returns whether anything was lost.
    pub(crate) fn detect_lost(&mut self, now: Instant, loss_delay: Duration) -> bool {
        let mut lost = Vec::new();
        self.packets.detect_lost(now, 3, loss_delay, &mut lost);
        for packet in &lost {
            self.resend(&packet.packet);
        }
        !lost.is_empty()
    }

    fn resend(&mut self, packet: &SentPacket<()>) {
        for token in &packet.tokens {
            if let Token::Crypto { offset, length } = *token {
                self.crypto.on_lost(offset, length);
            }
        }
    }

    /// Nothing was heard: everything unacknowledged goes out once more, or at least a PING.
    pub(crate) fn probe(&mut self) {
        let mut lost = Vec::new();
        self.packets.declare_all_lost(&mut lost);
        for packet in &lost {
            self.resend(&packet.packet);
        }
        self.probe = true;
    }

    pub(crate) fn wants_to_send(&self, now: Instant) -> bool {
        self.probe || self.crypto.has_pending() || self.received.ack_due(now)
    }

    /// Appends one packet to the datagram in `out`, up to 1200 bytes together, filled up to
    /// `pad_to` bytes if given.
    #[expect(clippy::too_many_arguments, reason = "one caller; all of it goes into the header")]
    pub(crate) fn write_packet(
        &mut self,
        now: Instant,
        level: Level,
        ids: &PacketIds,
        token: &Bytes,
        pad_to: Option<usize>,
        rng: &mut Rng,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let packet_number = self.packets.next_packet_number(rng.next_u64());
        let header = LongHeader {
            kind: if level == Level::Initial { LongType::Initial } else { LongType::Handshake },
            dcid: ids.dcid,
            scid: ids.scid,
            token: token.clone(),
            packet_number,
            largest_acked: self.packets.largest_acked(),
        };
        let marks = header.encode(out);
        let Some(room) = (DATAGRAM_SIZE - TAG).checked_sub(out.len()).filter(|room| *room >= MIN_ROOM) else {
            out.truncate(start);
            return;
        };
        let payload_start = out.len();
        let mut writer = FrameWriter::new(out, room);
        if self.received.has_unsent() {
            let largest = self.received.largest().unwrap_or(0);
            let delay = self.received.ack_delay(now);
            if Ack::encode(None, self.received.ranges(), delay, None, writer.room(), writer.buf()) {
                writer.wrote_ack(Token::Ack { path: 0, largest });
                self.received.on_ack_sent(now);
            }
        }
        while writer.room() > Crypto::MAX_HEADER {
            let Some((offset, data)) = self.crypto.next_chunk(writer.room() - Crypto::MAX_HEADER) else { break };
            let length = data.len() as u32;
            Crypto::encode(offset, data, writer.buf());
            writer.wrote(Some(Token::Crypto { offset, length }));
        }
        if std::mem::take(&mut self.probe) && !writer.is_ack_eliciting() {
            writer.buf().push(frame::PING);
            writer.wrote(None);
        }
        let (tokens, ack_eliciting) = writer.finish();
        // Header protection samples 16 bytes from 4 behind the packet number (RFC 9001 §5.4.2).
        let padded = pad_to.map_or(0, |size| size.saturating_sub(TAG)).max(payload_start + 4);
        if out.len() < padded {
            out.resize(padded, 0);
        }
        out.resize(out.len() + TAG, 0);
        self.keys.seal_packet(packet_number, &marks, out);
        let size = (out.len() - start) as u16;
        self.packets.on_sent(
            packet_number,
            SentPacket { sent_at: now, size, ack_eliciting, in_flight: true, tokens, delivery: () },
        );
    }
}

const DATAGRAM_SIZE: usize = 1200;
const TAG: usize = 16;
const MIN_ROOM: usize = 32;
