//! Whether a stranger's first Initial packet is authentic, found out without keeping
//! anything: rustls puts keys into boxes, and a server allocates nothing for those who
//! cannot even seal a packet.

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey, quic};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};

use crate::wire::{ConnectionId, packet_number};

/// Whether `packet`, the whole of a client's Initial packet to `dcid`, was sealed with the
/// keys that follow from that (RFC 9001 §5.2). Its bytes are spoilt.
pub(crate) fn is_authentic_initial(
    dcid: ConnectionId,
    packet: &mut [u8],
    packet_number_at: usize,
) -> bool {
    open(dcid, packet, packet_number_at).is_some()
}

fn open(dcid: ConnectionId, packet: &mut [u8], packet_number_at: usize) -> Option<()> {
    let initial = Salt::new(HKDF_SHA256, &INITIAL_SALT).extract(dcid.as_slice());
    let client = Prk::from(initial.expand(CLIENT_IN, HKDF_SHA256).ok()?);
    let header_key = quic::HeaderProtectionKey::from(client.expand(HP, &quic::AES_128).ok()?);
    let packet_key = UnboundKey::from(client.expand(KEY, &AES_128_GCM).ok()?);
    let mut nonce = [0; NONCE_LEN];
    client.expand(IV, IvLen).ok()?.fill(&mut nonce).ok()?;

    // RFC 9001 §5.4: the sample begins where a packet number of four bytes would end.
    let sample = packet.get(packet_number_at + 4..packet_number_at + 20)?;
    let [first_mask, number_mask @ ..] = header_key.new_mask(sample).ok()?;
    let first = packet.first_mut()?;
    *first ^= first_mask & 0x0f;
    let length = usize::from(*first & 0x03) + 1;
    let payload_at = packet_number_at + length;
    let mut truncated = 0;
    let number = packet.get_mut(packet_number_at..payload_at)?;
    for (byte, mask) in number.iter_mut().zip(number_mask) {
        *byte ^= mask;
        truncated = truncated << 8 | u64::from(*byte);
    }
    let number = packet_number::expand(truncated, length, None).to_be_bytes();
    for (byte, number) in nonce[NONCE_LEN - number.len()..].iter_mut().zip(number) {
        *byte ^= number;
    }

    let (header, payload) = packet.split_at_mut(payload_at);
    LessSafeKey::new(packet_key)
        .open_in_place(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(&*header),
            payload,
        )
        .ok()
        .map(|_| ())
}

/// How long the IV of every AEAD of TLS 1.3 is.
struct IvLen;

impl KeyType for IvLen {
    fn len(&self) -> usize {
        NONCE_LEN
    }
}

/// RFC 9001 §5.2.
const INITIAL_SALT: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad,
    0xcc, 0xbb, 0x7f, 0x0a,
];
/// Labels of HKDF-Expand-Label with the length of what they give (RFC 9001 appendix A.1).
const CLIENT_IN: &[&[u8]] = &[b"\x00\x20\x0ftls13 client in\x00"];
const KEY: &[&[u8]] = &[b"\x00\x10\x0etls13 quic key\x00"];
const IV: &[&[u8]] = &[b"\x00\x0c\x0dtls13 quic iv\x00"];
const HP: &[&[u8]] = &[b"\x00\x10\x0dtls13 quic hp\x00"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::Keys;
    use crate::id::Side;
    use crate::wire::header::{LongHeader, LongType};

    fn dcid() -> ConnectionId {
        ConnectionId::from([0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08])
    }

    /// A client's Initial packet, and where its packet number is.
    fn sealed(packet_number: u64) -> (Vec<u8>, usize) {
        let header = LongHeader {
            kind: LongType::Initial,
            dcid: dcid(),
            scid: ConnectionId::from([1; 8]),
            token: b"token",
            packet_number,
            largest_acked: None,
        };
        let mut packet = Vec::new();
        let marks = header.encode(&mut packet);
        packet.extend_from_slice(&[1; 40]);
        Keys::initial(dcid().as_slice(), Side::Client).seal_packet(
            packet_number,
            &marks,
            &mut packet,
        );
        (packet, marks.packet_number_at)
    }

    #[test]
    fn what_the_keys_of_a_connection_seal_is_authentic() {
        for packet_number in [0, 1, 200, 40_000, 10_000_000, 4_000_000_000] {
            let (mut packet, at) = sealed(packet_number);
            assert!(
                is_authentic_initial(dcid(), &mut packet, at),
                "{packet_number}"
            );
        }
    }

    #[test]
    fn anything_else_is_not() {
        let (packet, at) = sealed(7);
        for byte in 0..packet.len() {
            let mut packet = packet.clone();
            packet[byte] ^= 1;
            assert!(
                !is_authentic_initial(dcid(), &mut packet, at),
                "byte {byte}"
            );
        }
        let mut other = packet.clone();
        assert!(!is_authentic_initial(
            ConnectionId::from([0; 8]),
            &mut other,
            at
        ));
        for length in 0..packet.len() {
            assert!(!is_authentic_initial(
                dcid(),
                &mut packet[..length].to_vec(),
                at
            ));
        }
    }
}
