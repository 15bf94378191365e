//! Variable-length integers (RFC 9000 §16): the two highest bits say whether 1, 2, 4 or 8
//! bytes follow, the rest is the value in network byte order.

/// The largest value that can be written.
pub(crate) const MAX: u64 = (1 << 62) - 1;

/// Bytes that [`encode`] writes for `value`.
pub(crate) const fn size(value: u64) -> usize {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// Appends `value` in the fewest bytes. Larger values than [`MAX`], which only an
/// application's error codes can have, are written as [`MAX`].
#[inline]
pub(crate) fn encode(value: u64, out: &mut Vec<u8>) {
    match size(value) {
        1 => out.push(value as u8),
        2 => out.extend_from_slice(&(0x4000 | value as u16).to_be_bytes()),
        4 => out.extend_from_slice(&(0x8000_0000 | value as u32).to_be_bytes()),
        _ => out.extend_from_slice(&(0xc000_0000_0000_0000 | value.min(MAX)).to_be_bytes()),
    }
}

/// The value at the start of `bytes` and how many bytes it takes, which may be more than
/// necessary; `None` if it is cut off.
#[inline]
pub(crate) fn decode(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    match first >> 6 {
        0 => Some((u64::from(first), 1)),
        1 => {
            let raw = u16::from_be_bytes(*bytes.first_chunk()?);
            Some((u64::from(raw & 0x3fff), 2))
        }
        2 => {
            let raw = u32::from_be_bytes(*bytes.first_chunk()?);
            Some((u64::from(raw & 0x3fff_ffff), 4))
        }
        _ => {
            let raw = u64::from_be_bytes(*bytes.first_chunk()?);
            Some((raw & MAX, 8))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_rfc_9000_a_1_decode() {
        let eight = [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c];
        assert_eq!(decode(&eight), Some((151_288_809_941_952_652, 8)));
        assert_eq!(decode(&[0x9d, 0x7f, 0x3e, 0x7d]), Some((494_878_333, 4)));
        assert_eq!(decode(&[0x7b, 0xbd]), Some((15_293, 2)));
        assert_eq!(decode(&[0x25]), Some((37, 1)));
        assert_eq!(decode(&[0x40, 0x25]), Some((37, 2)));
    }

    #[test]
    fn a_value_beyond_the_largest_is_written_as_the_largest() {
        let mut out = Vec::new();
        encode(u64::MAX, &mut out);
        assert_eq!(decode(&out), Some((MAX, 8)));
    }

    #[test]
    fn a_value_that_is_cut_off_is_no_value() {
        for value in [0_u64, 64, 16_384, 1 << 30] {
            let mut out = Vec::new();
            encode(value, &mut out);
            for end in 0..out.len() {
                assert_eq!(decode(&out[..end]), None);
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes_in_the_size_foretold(raw: u64, bits in 0_u32..=62) {
            let value = raw & ((1 << bits) - 1);
            let mut out = Vec::new();
            encode(value, &mut out);
            prop_assert_eq!(out.len(), size(value));
            out.push(0xff);
            prop_assert_eq!(decode(&out), Some((value, size(value))));
        }

        #[test]
        fn any_bytes_decode_to_something_that_encodes_again(bytes: Vec<u8>) {
            if let Some((value, len)) = decode(&bytes) {
                prop_assert!(value <= MAX && len <= bytes.len() && len >= size(value));
            }
        }
    }
}
