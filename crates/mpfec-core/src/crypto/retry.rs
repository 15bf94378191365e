//! The tag by which a client knows that a Retry answers its own Initial (RFC 9001 §5.8).

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use crate::wire::header::retry_pseudo_packet;
use crate::wire::{ConnectionId, MIN_DATAGRAM, TAG_LEN};

/// The tag of a Retry that answers an Initial to `original_dcid`. It proves that its sender
/// has seen that Initial, no more: the key is public.
pub(crate) fn retry_tag(original_dcid: ConnectionId, retry_without_tag: &[u8]) -> [u8; TAG_LEN] {
    let key = UnboundKey::new(&AES_128_GCM, &KEY).expect("the key has 16 bytes");
    let tag = LessSafeKey::new(key)
        .seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(NONCE),
            Aad::from(retry_pseudo_packet(original_dcid, retry_without_tag)),
            &mut [],
        )
        .expect("a datagram is far below the longest message of AES-GCM");
    tag.as_ref().try_into().expect("the tag has 16 bytes")
}

/// Whether a Retry with this tag at its end answers an Initial to `original_dcid`, in a
/// datagram no larger than any path carries.
pub(crate) fn verify_retry_tag(
    original_dcid: ConnectionId,
    retry_without_tag: &[u8],
    tag: &[u8; TAG_LEN],
) -> bool {
    if retry_without_tag.len() + TAG_LEN > MIN_DATAGRAM {
        return false;
    }
    // The key is public: nothing can be learnt from how long this takes.
    retry_tag(original_dcid, retry_without_tag) == *tag
}

const KEY: [u8; 16] = [
    0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e,
];
const NONCE: [u8; 12] = [
    0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb,
];

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;

    use super::*;

    fn original_dcid() -> ConnectionId {
        ConnectionId::from([0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08])
    }

    /// RFC 9001 Appendix A.4.
    fn retry() -> Vec<u8> {
        let retry = "ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba";
        HEXLOWER
            .decode(retry.as_bytes())
            .expect("hexadecimal digits")
    }

    #[test]
    fn a_retry_has_the_tag_of_rfc_9001_a_4() {
        let retry = retry();
        let (without_tag, tag) = retry.split_last_chunk().expect("longer than a tag");
        assert_eq!(retry_tag(original_dcid(), without_tag), *tag);
    }

    #[test]
    fn a_changed_or_foreign_retry_is_refused() {
        let verify = |original_dcid, retry: &[u8]| {
            let (without_tag, tag) = retry.split_last_chunk().expect("longer than a tag");
            verify_retry_tag(original_dcid, without_tag, tag)
        };
        assert!(verify(original_dcid(), &retry()));
        assert!(!verify(ConnectionId::from([0; 8]), &retry()));
        for at in 0..retry().len() {
            let mut retry = retry();
            retry[at] ^= 1;
            assert!(!verify(original_dcid(), &retry), "byte {at}");
        }
    }
}
