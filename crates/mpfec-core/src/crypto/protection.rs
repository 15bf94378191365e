//! Sealing and opening one packet in place (RFC 9001 §5).

use std::ops::Range;

use rustls::quic::{HeaderProtectionKey, PacketKey};

use crate::error::TransportError;
use crate::wire::TAG_LEN;
use crate::wire::header::Marks;
use crate::wire::packet_number;

/// A packet whose protection was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opened {
    /// The whole packet number.
    pub(crate) packet_number: u64,
    /// Where in the packet its frames are.
    pub(crate) payload: Range<usize>,
    /// The key phase bit; false in a long header.
    pub(crate) key_phase: bool,
    /// Whether the reserved bits are zero; if not, the peer broke the protocol
    /// (RFC 9000 §17.2, §17.3.1).
    pub(crate) reserved_ok: bool,
}

/// Why a packet was not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpenError {
    /// It was not sealed with these keys, was changed on the way, or is too short: it is
    /// dropped, and nothing else happens.
    Authentication,
    /// The keys may not be used any longer, or the peer broke the rules of key updates:
    /// the connection closes.
    Limit(TransportError),
}

/// Seals the packet that begins at `marks.start` and ends where `buf` ends: fills it up to
/// the length that header protection needs, appends the tag, writes the length of a long
/// header, and hides the packet number.
pub(crate) fn seal(
    header_key: &dyn HeaderProtectionKey,
    packet_key: &dyn PacketKey,
    path: u32,
    packet_number: u64,
    marks: &Marks,
    buf: &mut Vec<u8>,
) {
    // PADDING is zero: the payload grows by frames that say nothing.
    let shortest = marks.packet_number_at + SAMPLE_OFFSET;
    let end = buf.len().max(shortest);
    buf.resize(end + TAG_LEN, 0);
    marks.patch_length(buf);

    let packet = &mut buf[marks.start..];
    let (header, rest) = packet.split_at_mut(marks.payload_at - marks.start);
    let (payload, tag) = rest.split_at_mut(end - marks.payload_at);
    let sealed = packet_key
        .encrypt_in_place_for_path(path, packet_number, header, payload)
        .expect("a datagram is far below the longest message of any AEAD");
    tag.copy_from_slice(sealed.as_ref());

    let (hidden, rest) = packet.split_at_mut(marks.packet_number_at + SAMPLE_OFFSET - marks.start);
    let (first, hidden) = hidden.split_at_mut(1);
    let number_at = marks.packet_number_at - marks.start - 1;
    header_key
        .encrypt_in_place(&rest[..SAMPLE_LEN], &mut first[0], &mut hidden[number_at..])
        .expect("the sample has the length that every QUIC suite uses");
}

/// What header protection hides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unmasked {
    /// The first byte of the packet.
    pub(crate) first: u8,
    /// The whole packet number.
    pub(crate) packet_number: u64,
    /// Where the payload begins.
    pub(crate) payload_at: usize,
}

impl Unmasked {
    /// The key phase bit; false in a long header.
    pub(crate) fn key_phase(&self) -> bool {
        self.first & (LONG_FORM | KEY_PHASE) == KEY_PHASE
    }

    fn reserved_ok(&self) -> bool {
        let reserved = if self.first & LONG_FORM == 0 {
            0x18
        } else {
            0x0c
        };
        self.first & reserved == 0
    }
}

/// Removes header protection. Nothing that it yields can be trusted before [`open`].
pub(crate) fn unmask(
    header_key: &dyn HeaderProtectionKey,
    packet: &mut [u8],
    packet_number_at: usize,
    largest: Option<u64>,
) -> Result<Unmasked, OpenError> {
    if packet_number_at == 0 || packet.len() < packet_number_at + SAMPLE_OFFSET + SAMPLE_LEN {
        return Err(OpenError::Authentication);
    }
    let (hidden, rest) = packet.split_at_mut(packet_number_at + SAMPLE_OFFSET);
    let (first, hidden) = hidden.split_at_mut(1);
    let number = &mut hidden[packet_number_at - 1..];
    header_key
        .decrypt_in_place(&rest[..SAMPLE_LEN], &mut first[0], number)
        .map_err(|_| OpenError::Authentication)?;
    let first = first[0];
    let length = usize::from(first & 0x03) + 1;
    let truncated = number[..length]
        .iter()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let packet_number = packet_number::expand(truncated, length, largest);
    Ok(Unmasked {
        first,
        packet_number,
        payload_at: packet_number_at + length,
    })
}

/// Decrypts what [`unmask`] prepared. If the packet is not authentic, its bytes are spoilt.
pub(crate) fn open(
    packet_key: &dyn PacketKey,
    path: u32,
    unmasked: &Unmasked,
    packet: &mut [u8],
) -> Result<Opened, OpenError> {
    let Unmasked {
        packet_number,
        payload_at,
        ..
    } = *unmasked;
    let (header, payload) = packet.split_at_mut(payload_at);
    let plain = packet_key
        .decrypt_in_place_for_path(path, packet_number, header, payload)
        .map_err(|_| OpenError::Authentication)?;
    Ok(Opened {
        packet_number,
        payload: payload_at..payload_at + plain.len(),
        key_phase: unmasked.key_phase(),
        reserved_ok: unmasked.reserved_ok(),
    })
}

/// Header protection samples from where a packet number of four bytes would end
/// (RFC 9001 §5.4.2).
const SAMPLE_OFFSET: usize = 4;
const SAMPLE_LEN: usize = 16;
const LONG_FORM: u8 = 0x80;
/// The key phase bit of a short header (RFC 9000 §17.3.1).
pub(crate) const KEY_PHASE: u8 = 0x04;
