//! One packet number space of the handshake: its keys, packets and CRYPTO data.

use std::time::{Duration, Instant};

use super::state::CloseFrame;
use crate::component::{FrameWriter, Tokens};
use crate::crypto::Keys;
use crate::error::TransportError;
use crate::recovery::{
    CryptoReceive, CryptoSend, Eliciting, PacketSpace, ReceivedPackets, SentPacket, Token,
};
use crate::rng::Rng;
use crate::wire::frame::{Ack, AckFacts, Crypto, Frame};
use crate::wire::header::{LongHeader, LongType, Marks};
use crate::wire::{ConnectionId, TAG_LEN};

pub(crate) use crate::crypto::Level;

/// Initial or Handshake packets.
#[derive(Debug)]
pub(crate) struct EarlySpace {
    pub(crate) keys: Keys,
    pub(crate) packets: PacketSpace<()>,
    pub(crate) received: ReceivedPackets,
    pub(crate) send: CryptoSend,
    pub(crate) receive: CryptoReceive,
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
            received: ReceivedPackets::new(Duration::ZERO),
            send: CryptoSend::default(),
            receive: CryptoReceive::default(),
            probe: false,
        }
    }

    /// After a Retry: the same CRYPTO data again under new keys (RFC 9000 §17.2.5.2).
    pub(crate) fn restart(&mut self, now: Instant, keys: Keys) {
        self.keys = keys;
        self.probe(now);
    }

    /// An ACK frame. Returns an RTT sample if the largest packet is newly acknowledged, and
    /// whether any part of the handshake is.
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        ack: &Ack,
    ) -> Result<(Option<Duration>, bool), TransportError> {
        let mut acked = Vec::new();
        self.packets.on_ack(ack.ranges(), ack.largest, &mut acked)?;
        let (mut sample, mut goes_on) = (None, false);
        for packet in acked {
            if packet.packet_number == ack.largest && packet.packet.eliciting.is_eliciting() {
                sample = Some(now.saturating_duration_since(packet.packet.sent_at));
            }
            for token in packet.packet.tokens {
                match token {
                    Token::Crypto { offset, length } => {
                        goes_on = true;
                        self.send.on_acked(offset, length);
                    }
                    Token::Ack { largest, .. } => self.received.on_ack_acked(largest),
                    _ => {}
                }
            }
        }
        Ok((sample, goes_on))
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
                self.send.on_lost(offset, length);
            }
        }
    }

    /// Nothing was heard: everything unacknowledged goes out once more, or at least a PING.
    pub(crate) fn probe(&mut self, now: Instant) {
        let mut lost = Vec::new();
        self.packets.declare_all_lost(now, &mut lost);
        for packet in &lost {
            self.resend(&packet.packet);
        }
        self.probe = true;
    }

    pub(crate) fn wants_to_send(&self, now: Instant) -> bool {
        self.probe || self.send.has_pending() || self.received.ack_due(now)
    }

    /// Appends one packet to the datagram in `out`, up to 1200 bytes together, filled up to
    /// `pad_to` bytes if given.
    #[expect(
        clippy::too_many_arguments,
        reason = "one caller; all of it goes into the header"
    )]
    pub(crate) fn write_packet(
        &mut self,
        now: Instant,
        level: Level,
        ids: &PacketIds,
        token: &[u8],
        pad_to: Option<usize>,
        rng: &mut Rng,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let (marks, packet_number) = self.write_header(level, ids, token, rng, out);
        let Some(room) = (DATAGRAM_SIZE - TAG_LEN)
            .checked_sub(out.len())
            .filter(|room| *room >= MIN_ROOM)
        else {
            out.truncate(start);
            return;
        };
        let payload_start = out.len();
        let mut writer = FrameWriter::new(out, room);
        if self.received.has_unsent() {
            let facts = AckFacts {
                path: None,
                delay: self.received.ack_delay(now),
                received: None,
                ecn: None,
            };
            let largest = self.received.largest().unwrap_or(0);
            let ranges = self.received.ranges();
            let told = Ack::encode(&facts, ranges, writer.room(), writer.buf());
            if told > 0 {
                writer.wrote_ack(Token::Ack { path: 0, largest });
                self.received.on_ack_sent(told);
            }
        }
        write_crypto(&mut self.send, &mut writer);
        if std::mem::take(&mut self.probe) && !writer.is_ack_eliciting() {
            writer.push(&Frame::Ping, None);
        }
        let (tokens, eliciting) = writer.finish();
        // Header protection samples 16 bytes from 4 behind the packet number (RFC 9001 §5.4.2).
        let padded = pad_to
            .map_or(0, |size| size.saturating_sub(TAG_LEN))
            .max(payload_start + 4);
        if out.len() < padded {
            out.resize(padded, 0);
        }
        self.keys.seal_packet(packet_number, &marks, out);
        let size = (out.len() - start) as u16;
        self.packets.on_sent(
            packet_number,
            SentPacket {
                sent_at: now,
                size,
                eliciting,
                in_flight: true,
                tokens,
                delivery: (),
            },
        );
    }

    /// Appends a packet that ends the connection; nobody acknowledges it any more.
    #[expect(
        clippy::too_many_arguments,
        reason = "one caller; all of it goes into the header"
    )]
    pub(crate) fn write_close(
        &mut self,
        now: Instant,
        level: Level,
        ids: &PacketIds,
        token: &[u8],
        frame: &CloseFrame,
        rng: &mut Rng,
        out: &mut Vec<u8>,
    ) {
        let (marks, packet_number) = self.write_header(level, ids, token, rng, out);
        let payload_start = out.len();
        let Some(room) = (DATAGRAM_SIZE - TAG_LEN)
            .checked_sub(out.len())
            .filter(|room| *room >= MIN_ROOM)
        else {
            out.truncate(marks.start);
            return;
        };
        frame.to_wire(true, room).encode(out);
        if level == Level::Initial {
            out.resize(out.len().max(payload_start + room / 2), 0);
        }
        self.keys.seal_packet(packet_number, &marks, out);
        let packet = SentPacket {
            sent_at: now,
            size: (out.len() - marks.start) as u16,
            eliciting: Eliciting::No,
            in_flight: false,
            tokens: Tokens::new(),
            delivery: (),
        };
        self.packets.on_sent(packet_number, packet);
    }

    fn write_header(
        &mut self,
        level: Level,
        ids: &PacketIds,
        token: &[u8],
        rng: &mut Rng,
        out: &mut Vec<u8>,
    ) -> (Marks, u64) {
        let packet_number = self.packets.next_packet_number(rng.next_u64());
        let header = LongHeader {
            kind: if level == Level::Initial {
                LongType::Initial
            } else {
                LongType::Handshake
            },
            dcid: ids.dcid,
            scid: ids.scid,
            token: if level == Level::Initial { token } else { &[] },
            packet_number,
            largest_acked: self.packets.largest_acked(),
        };
        (header.encode(out), packet_number)
    }
}

/// Fills a packet with TLS messages.
pub(super) fn write_crypto(send: &mut CryptoSend, writer: &mut FrameWriter<'_>) {
    while let Some(room) = writer
        .room()
        .checked_sub(MAX_CRYPTO_HEADER)
        .filter(|room| *room > 0)
    {
        let Some((offset, data)) = send.next_chunk(room) else {
            return;
        };
        Crypto::encode_header(offset, data.len(), writer.buf());
        writer.buf().extend_from_slice(&data);
        writer.wrote(Some(Token::Crypto {
            offset,
            length: data.len() as u32,
        }));
    }
}

const DATAGRAM_SIZE: usize = 1200;
/// Type, offset and length.
const MAX_CRYPTO_HEADER: usize = 1 + 8 + 4;
const MIN_ROOM: usize = 32;
