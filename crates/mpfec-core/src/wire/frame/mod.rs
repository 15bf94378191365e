//! Frames: what the payload of a packet is made of (RFC 9000 §12.4). Each file knows the
//! frames of one subject, this one what they have in common.

mod ack;
mod close;
mod crypto;
mod datagram;
mod field;
mod flow;
mod parity;
mod path;
mod stream;
mod symbol;

use bytes::Bytes;

use super::Space;
use super::reader::{Malformed, Reader};
use super::varint;
use crate::error::TransportError;
use crate::id::Dir;

pub(crate) use self::ack::{Ack, AckFacts, ArrivalTime, DELAY_EXPONENT, EcnCounts};
pub(crate) use self::close::{ApplicationClose, ConnectionClose};
pub(crate) use self::crypto::Crypto;
pub(crate) use self::datagram::DatagramFrame;
pub(crate) use self::field::Field;
pub(crate) use self::flow::{
    MAX_STREAM_COUNT, MaxStreamData, MaxStreams, StreamDataBlocked, StreamsBlocked,
};
pub(crate) use self::parity::{Covered, Parity, ParityReport};
pub(crate) use self::path::{
    AddAddress, Authenticate, PathAbandon, PathChallenge, PathConnectionId, PathResponse,
    PathShare, PathStatus, RemoveAddress,
};
pub(crate) use self::stream::{BlockAck, ResetStream, StopSending, StreamDelivered, StreamFin};
pub(crate) use self::symbol::{Symbol, SymbolCode, SymbolHeader};

/// One frame. Payloads are slices of the packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A run of zero bytes, or one of them when written.
    Padding,
    /// Asks for an acknowledgement.
    Ping,
    Ack(Ack),
    Crypto(Crypto),
    ResetStream(ResetStream),
    StopSending(StopSending),
    StreamFin(StreamFin),
    StreamDelivered(StreamDelivered),
    /// Bytes that the peer may send on all streams together.
    MaxData(u64),
    MaxStreamData(MaxStreamData),
    MaxStreams(MaxStreams),
    /// The limit on all streams together that is in the way.
    DataBlocked(u64),
    StreamDataBlocked(StreamDataBlocked),
    StreamsBlocked(StreamsBlocked),
    PathConnectionId(PathConnectionId),
    PathAbandon(PathAbandon),
    PathChallenge(PathChallenge),
    PathResponse(PathResponse),
    ConnectionClose(ConnectionClose),
    ApplicationClose(ApplicationClose),
    /// The server has confirmed the handshake.
    HandshakeDone,
    AddAddress(AddAddress),
    RemoveAddress(RemoveAddress),
    Authenticate(Authenticate),
    PathStatus(PathStatus),
    PathShare(PathShare),
    BlockAck(BlockAck),
    Parity(Parity),
    ParityReport(ParityReport),
    Datagram(DatagramFrame),
    Symbol(Symbol),
}

impl Frame {
    /// Type on the wire.
    pub(crate) fn ty(&self) -> u64 {
        u64::from(match self {
            Self::Padding => PADDING,
            Self::Ping => PING,
            Self::Ack(frame) => frame.ty(),
            Self::Crypto(_) => CRYPTO,
            Self::ResetStream(_) => RESET_STREAM,
            Self::StopSending(_) => STOP_SENDING,
            Self::StreamFin(_) => STREAM_FIN,
            Self::StreamDelivered(_) => STREAM_DELIVERED,
            Self::MaxData(_) => MAX_DATA,
            Self::MaxStreamData(_) => MAX_STREAM_DATA,
            Self::MaxStreams(frame) => frame.ty(),
            Self::DataBlocked(_) => DATA_BLOCKED,
            Self::StreamDataBlocked(_) => STREAM_DATA_BLOCKED,
            Self::StreamsBlocked(frame) => frame.ty(),
            Self::PathConnectionId(_) => PATH_CONNECTION_ID,
            Self::PathAbandon(_) => PATH_ABANDON,
            Self::PathChallenge(_) => PATH_CHALLENGE,
            Self::PathResponse(_) => PATH_RESPONSE,
            Self::ConnectionClose(_) => CONNECTION_CLOSE,
            Self::ApplicationClose(_) => APPLICATION_CLOSE,
            Self::HandshakeDone => HANDSHAKE_DONE,
            Self::AddAddress(_) => ADD_ADDRESS,
            Self::RemoveAddress(_) => REMOVE_ADDRESS,
            Self::Authenticate(_) => AUTHENTICATE,
            Self::PathStatus(_) => PATH_STATUS,
            Self::PathShare(_) => PATH_SHARE,
            Self::BlockAck(_) => BLOCK_ACK,
            Self::Parity(_) => PARITY_WITH_LENGTH,
            Self::ParityReport(_) => PARITY_REPORT,
            Self::Datagram(frame) => frame.ty(),
            Self::Symbol(frame) => frame.ty(),
        })
    }

    /// Bytes that [`encode`](Self::encode) appends.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Padding | Self::Ping | Self::HandshakeDone => 1,
            Self::Ack(frame) => frame.size(),
            Self::Crypto(frame) => frame.size(),
            Self::ResetStream(frame) => frame.size(),
            Self::StopSending(frame) => frame.size(),
            Self::StreamFin(frame) => frame.size(),
            Self::StreamDelivered(frame) => frame.size(),
            Self::MaxData(limit) | Self::DataBlocked(limit) => 1 + varint::size(*limit),
            Self::MaxStreamData(frame) => frame.size(),
            Self::MaxStreams(frame) => frame.size(),
            Self::StreamDataBlocked(frame) => frame.size(),
            Self::StreamsBlocked(frame) => frame.size(),
            Self::PathConnectionId(frame) => frame.size(),
            Self::PathAbandon(frame) => frame.size(),
            Self::PathChallenge(frame) => frame.size(),
            Self::PathResponse(frame) => frame.size(),
            Self::ConnectionClose(frame) => frame.size(),
            Self::ApplicationClose(frame) => frame.size(),
            Self::AddAddress(frame) => frame.size(),
            Self::RemoveAddress(frame) => frame.size(),
            Self::Authenticate(frame) => frame.size(),
            Self::PathStatus(frame) => frame.size(),
            Self::PathShare(frame) => frame.size(),
            Self::BlockAck(frame) => frame.size(),
            Self::Parity(frame) => frame.size(),
            Self::ParityReport(frame) => frame.size(),
            Self::Datagram(frame) => frame.size(),
            Self::Symbol(frame) => frame.size(),
        }
    }

    /// Appends the frame; other frames may follow it.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Padding => out.push(PADDING),
            Self::Ping => out.push(PING),
            Self::HandshakeDone => out.push(HANDSHAKE_DONE),
            Self::Ack(frame) => frame.write(out),
            Self::Crypto(frame) => frame.encode(out),
            Self::ResetStream(frame) => frame.encode(out),
            Self::StopSending(frame) => frame.encode(out),
            Self::StreamFin(frame) => frame.encode(out),
            Self::StreamDelivered(frame) => frame.encode(out),
            Self::MaxData(limit) => encode_limit(MAX_DATA, *limit, out),
            Self::DataBlocked(limit) => encode_limit(DATA_BLOCKED, *limit, out),
            Self::MaxStreamData(frame) => frame.encode(out),
            Self::MaxStreams(frame) => frame.encode(out),
            Self::StreamDataBlocked(frame) => frame.encode(out),
            Self::StreamsBlocked(frame) => frame.encode(out),
            Self::PathConnectionId(frame) => frame.encode(out),
            Self::PathAbandon(frame) => frame.encode(out),
            Self::PathChallenge(frame) => frame.encode(out),
            Self::PathResponse(frame) => frame.encode(out),
            Self::ConnectionClose(frame) => frame.encode(out),
            Self::ApplicationClose(frame) => frame.encode(out),
            Self::AddAddress(frame) => frame.encode(out),
            Self::RemoveAddress(frame) => frame.encode(out),
            Self::Authenticate(frame) => frame.encode(out),
            Self::PathStatus(frame) => frame.encode(out),
            Self::PathShare(frame) => frame.encode(out),
            Self::BlockAck(frame) => frame.encode(out),
            Self::Parity(frame) => frame.encode(out),
            Self::ParityReport(frame) => frame.encode(out),
            Self::Datagram(frame) => frame.encode(out),
            Self::Symbol(frame) => frame.encode(out),
        }
    }

    /// Whether its receiver must acknowledge the packet (RFC 9000 §13.2).
    pub(crate) fn is_ack_eliciting(&self) -> bool {
        !matches!(
            self,
            Self::Padding
                | Self::Ack(_)
                | Self::ParityReport(_)
                | Self::ConnectionClose(_)
                | Self::ApplicationClose(_)
        )
    }

    /// Whether a packet of `space` may carry it: in the handshake only what the handshake
    /// needs, and after it acknowledgements name their path.
    pub(crate) fn is_allowed_in(&self, space: Space) -> bool {
        match self {
            Self::Padding | Self::Ping | Self::Crypto(_) | Self::ConnectionClose(_) => true,
            Self::Ack(ack) => (space == Space::Data) == ack.path.is_some(),
            _ => space == Space::Data,
        }
    }

    /// Reads what follows the type `ty` in `payload`.
    #[inline]
    fn parse(ty: u8, payload: &Bytes, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match ty {
            SYMBOL..=SYMBOL_LAST
            | LINEAR_SYMBOL..=LINEAR_SYMBOL_LAST
            | BATCH_SYMBOL..=BATCH_SYMBOL_LAST => Self::Symbol(Symbol::parse(ty, payload, reader)?),
            ACK | ACK_ECN | PATH_ACK | PATH_ACK_ECN | TIMED_PATH_ACK | TIMED_PATH_ACK_ECN => {
                Self::Ack(Ack::parse(ty, reader)?)
            }
            PADDING => Self::Padding,
            PING => Self::Ping,
            CRYPTO => Self::Crypto(Crypto::parse(payload, reader)?),
            RESET_STREAM => Self::ResetStream(ResetStream::parse(reader)?),
            STOP_SENDING => Self::StopSending(StopSending::parse(reader)?),
            STREAM_FIN => Self::StreamFin(StreamFin::parse(reader)?),
            STREAM_DELIVERED => Self::StreamDelivered(StreamDelivered::parse(reader)?),
            MAX_DATA => Self::MaxData(reader.varint()?),
            MAX_STREAM_DATA => Self::MaxStreamData(MaxStreamData::parse(reader)?),
            MAX_STREAMS_BIDI => Self::MaxStreams(MaxStreams::parse(Dir::Bi, reader)?),
            MAX_STREAMS_UNI => Self::MaxStreams(MaxStreams::parse(Dir::Uni, reader)?),
            DATA_BLOCKED => Self::DataBlocked(reader.varint()?),
            STREAM_DATA_BLOCKED => Self::StreamDataBlocked(StreamDataBlocked::parse(reader)?),
            STREAMS_BLOCKED_BIDI => Self::StreamsBlocked(StreamsBlocked::parse(Dir::Bi, reader)?),
            STREAMS_BLOCKED_UNI => Self::StreamsBlocked(StreamsBlocked::parse(Dir::Uni, reader)?),
            PATH_CONNECTION_ID => Self::PathConnectionId(PathConnectionId::parse(reader)?),
            PATH_ABANDON => Self::PathAbandon(PathAbandon::parse(reader)?),
            PATH_CHALLENGE => Self::PathChallenge(PathChallenge::parse(reader)?),
            PATH_RESPONSE => Self::PathResponse(PathResponse::parse(reader)?),
            CONNECTION_CLOSE => Self::ConnectionClose(ConnectionClose::parse(reader)?),
            APPLICATION_CLOSE => Self::ApplicationClose(ApplicationClose::parse(payload, reader)?),
            HANDSHAKE_DONE => Self::HandshakeDone,
            ADD_ADDRESS => Self::AddAddress(AddAddress::parse(reader)?),
            REMOVE_ADDRESS => Self::RemoveAddress(RemoveAddress::parse(reader)?),
            AUTHENTICATE => Self::Authenticate(Authenticate::parse(reader)?),
            PATH_STATUS => Self::PathStatus(PathStatus::parse(reader)?),
            PATH_SHARE => Self::PathShare(PathShare::parse(reader)?),
            BLOCK_ACK => Self::BlockAck(BlockAck::parse(reader)?.checked()?),
            PARITY | PARITY_WITH_LENGTH => Self::Parity(Parity::parse(ty, payload, reader)?),
            PARITY_REPORT => Self::ParityReport(ParityReport::parse(reader)?),
            DATAGRAM | DATAGRAM_WITH_LENGTH | NUMBERED_DATAGRAM => {
                Self::Datagram(DatagramFrame::parse(ty, payload, reader)?)
            }
            _ => return Err(Malformed("unknown frame type")),
        })
    }
}

fn encode_limit(ty: u8, limit: u64, out: &mut Vec<u8>) {
    out.push(ty);
    varint::encode(limit, out);
}

/// The frames of a packet's payload in order; ends after the first that cannot be read.
/// That a payload is not empty (RFC 9000 §12.4) is for the caller to check.
#[derive(Debug, Clone)]
pub(crate) struct Frames {
    payload: Bytes,
    at: usize,
}

impl Frames {
    /// Reads the frames in `payload`.
    pub(crate) fn new(payload: Bytes) -> Self {
        Self { payload, at: 0 }
    }
}

impl Iterator for Frames {
    type Item = Result<Frame, TransportError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.payload.get(self.at..)?;
        let ty = *rest.first()?;
        if ty == PADDING {
            // A thousand bytes of padding are one step.
            let run = rest
                .iter()
                .position(|byte| *byte != PADDING)
                .unwrap_or(rest.len());
            self.at += run;
            return Some(Ok(Frame::Padding));
        }
        let mut reader = Reader::new(&self.payload, self.at + 1);
        match Frame::parse(ty, &self.payload, &mut reader) {
            Ok(frame) => {
                self.at = reader.position();
                Some(Ok(frame))
            }
            Err(Malformed(reason)) => {
                self.at = self.payload.len();
                Some(Err(
                    TransportError::frame_encoding(reason).in_frame(u64::from(ty))
                ))
            }
        }
    }
}

macro_rules! types {
    ($($name:ident = $value:literal;)*) => {
        $(pub(crate) const $name: u8 = $value;)*
    };
}

types! {
    PADDING = 0x00;
    PING = 0x01;
    ACK = 0x02;
    ACK_ECN = 0x03;
    PATH_ACK = 0x04;
    PATH_ACK_ECN = 0x05;
    CRYPTO = 0x06;
    RESET_STREAM = 0x08;
    STOP_SENDING = 0x09;
    STREAM_FIN = 0x0a;
    STREAM_DELIVERED = 0x0b;
    TIMED_PATH_ACK = 0x0c;
    TIMED_PATH_ACK_ECN = 0x0d;
    MAX_DATA = 0x10;
    MAX_STREAM_DATA = 0x11;
    MAX_STREAMS_BIDI = 0x12;
    MAX_STREAMS_UNI = 0x13;
    DATA_BLOCKED = 0x14;
    STREAM_DATA_BLOCKED = 0x15;
    STREAMS_BLOCKED_BIDI = 0x16;
    STREAMS_BLOCKED_UNI = 0x17;
    PATH_CONNECTION_ID = 0x18;
    PATH_ABANDON = 0x19;
    PATH_CHALLENGE = 0x1a;
    PATH_RESPONSE = 0x1b;
    CONNECTION_CLOSE = 0x1c;
    APPLICATION_CLOSE = 0x1d;
    HANDSHAKE_DONE = 0x1e;
    ADD_ADDRESS = 0x1f;
    REMOVE_ADDRESS = 0x20;
    AUTHENTICATE = 0x21;
    PATH_STATUS = 0x22;
    PATH_SHARE = 0x23;
    BLOCK_ACK = 0x24;
    PARITY = 0x26;
    PARITY_WITH_LENGTH = 0x27;
    PARITY_REPORT = 0x28;
    DATAGRAM = 0x30;
    DATAGRAM_WITH_LENGTH = 0x31;
    NUMBERED_DATAGRAM = 0x32;
    SYMBOL = 0x38;
    SYMBOL_LAST = 0x3f;
    LINEAR_SYMBOL = 0x7a;
    LINEAR_SYMBOL_LAST = 0x7f;
    BATCH_SYMBOL = 0xba;
    BATCH_SYMBOL_LAST = 0xbf;
}

#[cfg(test)]
mod tests;
