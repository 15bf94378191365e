//! Packet headers: the version-independent properties of RFC 8999, and within them the
//! layout of RFC 9000 §17 under a version number of our own.

use std::ops::Range;

use smallvec::SmallVec;

use super::reader::{Malformed, Reader};
use super::{ConnectionId, LOCAL_CID_LEN, MIN_DATAGRAM, TAG_LEN, VERSION, packet_number, varint};

/// What a long header that carries frames is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LongType {
    /// The first flight of either end; protected against accidents only.
    Initial,
    /// The rest of the TLS handshake.
    Handshake,
}

/// The header of an Initial or Handshake packet that is to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LongHeader<'a> {
    pub(crate) kind: LongType,
    pub(crate) dcid: ConnectionId,
    pub(crate) scid: ConnectionId,
    /// From a Retry; written in Initial packets only.
    pub(crate) token: &'a [u8],
    pub(crate) packet_number: u64,
    pub(crate) largest_acked: Option<u64>,
}

impl LongHeader<'_> {
    /// Appends the header, with a Length that [`Marks::patch_length`] fills in.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Marks {
        let start = out.len();
        let number_len = packet_number::encode_len(self.packet_number, self.largest_acked);
        let kind = match self.kind {
            LongType::Initial => INITIAL,
            LongType::Handshake => HANDSHAKE,
        };
        encode_long_start(
            LONG | FIXED | kind << 4 | (number_len - 1) as u8,
            VERSION,
            self.dcid,
            self.scid,
            out,
        );
        if self.kind == LongType::Initial {
            varint::encode(self.token.len() as u64, out);
            out.extend_from_slice(self.token);
        }
        out.extend_from_slice(&[0x40, 0]);
        let packet_number_at = out.len();
        packet_number::encode(self.packet_number, number_len, out);
        Marks {
            start,
            packet_number_at,
            payload_at: out.len(),
            is_long: true,
        }
    }
}

/// The header of a 1-RTT packet that is to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShortHeader {
    pub(crate) dcid: ConnectionId,
    pub(crate) key_phase: bool,
    pub(crate) packet_number: u64,
    pub(crate) largest_acked: Option<u64>,
}

impl ShortHeader {
    /// Appends the header.
    #[inline]
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Marks {
        let start = out.len();
        let number_len = packet_number::encode_len(self.packet_number, self.largest_acked);
        out.push(FIXED | u8::from(self.key_phase) << 2 | (number_len - 1) as u8);
        out.extend_from_slice(self.dcid.as_slice());
        let packet_number_at = out.len();
        packet_number::encode(self.packet_number, number_len, out);
        Marks {
            start,
            packet_number_at,
            payload_at: out.len(),
            is_long: false,
        }
    }
}

/// Positions in the buffer that a header was appended to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks {
    /// The packet's first byte.
    pub(crate) start: usize,
    /// The first byte of its packet number.
    pub(crate) packet_number_at: usize,
    /// The first byte of its payload.
    pub(crate) payload_at: usize,
    /// Whether it has a long header.
    pub(crate) is_long: bool,
}

impl Marks {
    /// Writes the Length of a long header, when the packet with its tag ends where `buf`
    /// does: at most 16 383 bytes behind the packet number. Short headers have none.
    pub(crate) fn patch_length(&self, buf: &mut [u8]) {
        if !self.is_long {
            return;
        }
        let length = buf.len() - self.packet_number_at;
        debug_assert!(length < 1 << 14, "a packet is no larger than MAX_DATAGRAM");
        buf[self.packet_number_at - 2..self.packet_number_at]
            .copy_from_slice(&(0x4000 | length as u16).to_be_bytes());
    }
}

/// The first packet of a datagram, as far as it can be read without keys. Ranges and
/// positions are relative to the datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Protected {
    /// A 1-RTT packet, or a stateless reset; it fills the rest of the datagram, of at least
    /// 21 bytes. With fewer than 29 it can be a reset only.
    Short {
        dcid: ConnectionId,
        packet_number_at: usize,
    },
    /// An Initial or Handshake packet with room for the header protection's sample. The next
    /// packet starts at `end`.
    Long {
        kind: LongType,
        dcid: ConnectionId,
        scid: ConnectionId,
        /// Empty but for Initial packets of a client.
        token: Range<usize>,
        packet_number_at: usize,
        end: usize,
    },
    /// The server wants the client to prove its address. The last 16 bytes of the datagram
    /// are the integrity tag; the token is not empty.
    Retry {
        dcid: ConnectionId,
        scid: ConnectionId,
        token: Range<usize>,
    },
    /// The server does not speak this version, but others.
    VersionNegotiation {
        dcid: ConnectionId,
        scid: ConnectionId,
        versions: Range<usize>,
    },
    /// A long header of a version that we do not speak.
    UnknownVersion {
        version: u32,
        dcid: ConnectionId,
        scid: ConnectionId,
    },
}

/// Why a packet is dropped unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeaderError {
    /// It ends within the header, or too early for a protected payload.
    #[error("packet cut off")]
    CutOff,
    /// The bit that tells this protocol from others is zero.
    #[error("fixed bit is zero")]
    FixedBit,
    /// Longer than any that this version has.
    #[error("connection ID of {0} bytes where at most 20 are allowed")]
    ConnectionId(u8),
    /// 0-RTT, which does not exist here.
    #[error("unknown packet type {0}")]
    Type(u8),
    /// A Retry that asks for nothing.
    #[error("retry without a token")]
    EmptyToken,
    /// The list of versions is empty or no list of 4-byte numbers.
    #[error("version list of {0} bytes")]
    Versions(usize),
}

impl From<Malformed> for HeaderError {
    fn from(_: Malformed) -> Self {
        Self::CutOff
    }
}

/// Reads the header of the first packet in `datagram`. What follows it in the datagram, if
/// it is a long one, starts at its `end`.
#[inline]
pub(crate) fn parse(datagram: &[u8]) -> Result<Protected, HeaderError> {
    let first = *datagram.first().ok_or(HeaderError::CutOff)?;
    if first & LONG != 0 {
        return parse_long(first, datagram);
    }
    if first & FIXED == 0 {
        return Err(HeaderError::FixedBit);
    }
    let dcid: [u8; LOCAL_CID_LEN] = Reader::new(datagram, 1).array()?;
    if datagram.len() < MIN_SHORT_PACKET {
        return Err(HeaderError::CutOff);
    }
    Ok(Protected::Short {
        dcid: ConnectionId::from(dcid),
        packet_number_at: 1 + LOCAL_CID_LEN,
    })
}

fn parse_long(first: u8, datagram: &[u8]) -> Result<Protected, HeaderError> {
    let mut reader = Reader::new(datagram, 1);
    let version = u32::from_be_bytes(reader.array()?);
    let dcid = read_connection_id(&mut reader)?;
    let scid = read_connection_id(&mut reader)?;
    if version == VERSION_NEGOTIATION {
        let versions = reader.position()..datagram.len();
        return if versions.is_empty() || versions.len() % 4 != 0 {
            Err(HeaderError::Versions(versions.len()))
        } else {
            Ok(Protected::VersionNegotiation {
                dcid,
                scid,
                versions,
            })
        };
    }
    if version != VERSION {
        return Ok(Protected::UnknownVersion {
            version,
            dcid,
            scid,
        });
    }
    if first & FIXED == 0 {
        return Err(HeaderError::FixedBit);
    }
    let kind = match first >> 4 & 3 {
        INITIAL => LongType::Initial,
        HANDSHAKE => LongType::Handshake,
        RETRY => return parse_retry(&reader, datagram.len(), dcid, scid),
        other => return Err(HeaderError::Type(other)),
    };
    let token = match kind {
        LongType::Initial => {
            let len = reader.varint()?;
            reader.span(len)?
        }
        LongType::Handshake => reader.position()..reader.position(),
    };
    let length = reader.varint()?;
    let packet = reader.span(length)?;
    if packet.len() < SAMPLE_OFFSET + SAMPLE_LEN {
        return Err(HeaderError::CutOff);
    }
    Ok(Protected::Long {
        kind,
        dcid,
        scid,
        token,
        packet_number_at: packet.start,
        end: packet.end,
    })
}

fn parse_retry(
    reader: &Reader<'_>,
    end: usize,
    dcid: ConnectionId,
    scid: ConnectionId,
) -> Result<Protected, HeaderError> {
    let len = reader
        .remaining()
        .checked_sub(TAG_LEN)
        .ok_or(HeaderError::CutOff)?;
    if len == 0 {
        return Err(HeaderError::EmptyToken);
    }
    Ok(Protected::Retry {
        dcid,
        scid,
        token: reader.position()..end - TAG_LEN,
    })
}

fn read_connection_id(reader: &mut Reader<'_>) -> Result<ConnectionId, HeaderError> {
    let len = reader.byte()?;
    if usize::from(len) > ConnectionId::MAX_LEN {
        return Err(HeaderError::ConnectionId(len));
    }
    ConnectionId::new(reader.slice(u64::from(len))?).ok_or(HeaderError::ConnectionId(len))
}

/// Appends a Retry packet (RFC 9000 §17.2.5) but for its tag.
pub(crate) fn encode_retry_without_tag(
    dcid: ConnectionId,
    scid: ConnectionId,
    token: &[u8],
    out: &mut Vec<u8>,
) {
    encode_long_start(LONG | FIXED | RETRY << 4, VERSION, dcid, scid, out);
    out.extend_from_slice(token);
}

/// What the tag of a Retry packet authenticates (RFC 9001 §5.8): the destination of the
/// client's first packet, and the Retry but for its tag.
pub(crate) fn retry_pseudo_packet(
    original_dcid: ConnectionId,
    retry_without_tag: &[u8],
) -> SmallVec<[u8; MAX_RETRY_PSEUDO_PACKET]> {
    let mut out = SmallVec::new();
    out.push(original_dcid.len() as u8);
    out.extend_from_slice(original_dcid.as_slice());
    out.extend_from_slice(retry_without_tag);
    out
}

/// Appends a Version Negotiation packet that offers [`VERSION`] (RFC 9000 §17.2.1). The
/// bits of `random` fill those that have no meaning. The connection IDs are those of the
/// packet that it answers, swapped.
pub(crate) fn encode_version_negotiation(
    dcid: ConnectionId,
    scid: ConnectionId,
    random: u8,
    out: &mut Vec<u8>,
) {
    encode_long_start(LONG | FIXED | random, VERSION_NEGOTIATION, dcid, scid, out);
    out.extend_from_slice(&VERSION.to_be_bytes());
}

fn encode_long_start(
    first: u8,
    version: u32,
    dcid: ConnectionId,
    scid: ConnectionId,
    out: &mut Vec<u8>,
) {
    out.push(first);
    out.extend_from_slice(&version.to_be_bytes());
    for cid in [dcid, scid] {
        out.push(cid.len() as u8);
        out.extend_from_slice(cid.as_slice());
    }
}

const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
const INITIAL: u8 = 0;
const HANDSHAKE: u8 = 2;
const RETRY: u8 = 3;
const VERSION_NEGOTIATION: u32 = 0;
/// Header protection's sample starts so far behind the packet number (RFC 9001 §5.4.2).
const SAMPLE_OFFSET: usize = 4;
const SAMPLE_LEN: usize = 16;
/// For a Retry that fits a datagram which every path carries.
const MAX_RETRY_PSEUDO_PACKET: usize = 1 + ConnectionId::MAX_LEN + MIN_DATAGRAM - TAG_LEN;
/// The shortest stateless reset (RFC 9000 §10.3).
const MIN_SHORT_PACKET: usize = 21;

#[cfg(test)]
mod tests;
