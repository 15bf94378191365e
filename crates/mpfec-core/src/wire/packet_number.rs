//! Packet numbers travel truncated (RFC 9000 §17.1, appendices A.2 and A.3).

use super::varint;

/// Bytes, from 1 to 4, with which the peer can tell `packet_number` from every other that
/// may be in flight. More than 2^31 packets must never be.
#[inline]
pub(crate) fn encode_len(packet_number: u64, largest_acked: Option<u64>) -> usize {
    let unacked = match largest_acked {
        Some(largest) => packet_number.saturating_sub(largest),
        None => packet_number.saturating_add(1),
    };
    // The window must be more than twice as wide as what is in flight.
    match unacked {
        0..=0x80 => 1,
        0x81..=0x8000 => 2,
        0x8001..=0x80_0000 => 3,
        _ => 4,
    }
}

/// Appends the `len` lowest bytes.
#[inline]
pub(crate) fn encode(packet_number: u64, len: usize, out: &mut Vec<u8>) {
    let bytes = (packet_number as u32).to_be_bytes();
    out.extend_from_slice(&bytes[4 - len.min(4)..]);
}

/// The packet number that ends in `truncated`, of `len` bytes (1 to 4), and is closest to
/// the one expected next.
#[inline]
pub(crate) fn expand(truncated: u64, len: usize, largest_received: Option<u64>) -> u64 {
    let expected = largest_received.map_or(0, |largest| (largest + 1).min(varint::MAX));
    let window = 1_u64 << (8 * len.min(4));
    let half = window / 2;
    let candidate = (expected & !(window - 1)) | (truncated & (window - 1));
    if candidate + half <= expected && candidate < (1 << 62) - window {
        candidate + window
    } else if candidate > expected + half && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn truncate(packet_number: u64, len: usize) -> u64 {
        packet_number & ((1 << (8 * len)) - 1)
    }

    #[test]
    fn the_examples_of_rfc_9000_a_2_and_a_3_hold() {
        assert_eq!(encode_len(0xac_5c02, Some(0xab_e8b3)), 2);
        assert_eq!(encode_len(0xac_e8fe, Some(0xab_e8b3)), 3);
        assert_eq!(expand(0x9b32, 2, Some(0xa82f_30ea)), 0xa82f_9b32);
    }

    #[test]
    fn the_first_packet_takes_one_byte() {
        assert_eq!(encode_len(0, None), 1);
        assert_eq!(expand(0, 1, None), 0);
    }

    #[test]
    fn nothing_overflows_at_the_end_of_the_number_space() {
        let last = (1 << 62) - 1;
        for len in 1..=4 {
            assert_eq!(expand(truncate(last, len), len, Some(last - 1)), last);
            assert!(expand(0, len, Some(last)) <= last);
        }
    }

    proptest! {
        #[test]
        fn a_packet_is_recognised_whatever_arrived_before_it(
            largest_acked in 0_u64..(1 << 61),
            in_flight in 1_u64..(1 << 31),
            arrived in 0.0..1.0_f64,
            unacknowledged_yet: bool,
        ) {
            let packet_number = largest_acked + in_flight;
            let acked = (!unacknowledged_yet || largest_acked > 0).then_some(largest_acked);
            let len = encode_len(packet_number, acked);
            let received = largest_acked + (in_flight as f64 * arrived) as u64;
            prop_assert_eq!(expand(truncate(packet_number, len), len, Some(received)), packet_number);
        }

        #[test]
        fn expansion_keeps_the_bytes_that_travelled(truncated: u64, len in 1_usize..=4, largest in 0_u64..(1 << 62)) {
            let number = expand(truncated, len, Some(largest));
            prop_assert!(number < 1 << 62);
            prop_assert_eq!(truncate(number, len), truncate(truncated, len));
        }
    }
}
