//! What RFC 6330 says about symbols, and that they stay what they are: two versions
//! of this crate must understand each other.

use bytes::Bytes;
use mpfec_codec::CodecKind;
use raptorq::{Encoder, ObjectTransmissionInformation};

use crate::common::{closed_encoder, encode, padded, source};

fn repair(source: &[Bytes], bytes: usize, count: u32) -> Vec<Bytes> {
    let mut encoder = closed_encoder(CodecKind::RaptorQ, bytes, source);
    let k = source.len() as u32;
    (k..k + count)
        .map(|esi| encode(encoder.as_mut(), esi))
        .collect()
}

/// RFC 6330 §5.3.1: a block is extended to K' symbols with zeros, and repair symbol
/// K + i of the block is symbol K' + i of the extended one.
#[test]
fn zeros_fill_the_block_up_to_the_next_k_of_table_2() {
    // The first rows of table 2 (RFC 6330 §5.6), and one larger.
    for (k, extended) in [
        (1, 10),
        (9, 10),
        (11, 12),
        (13, 18),
        (19, 20),
        (21, 26),
        (27, 30),
        (250, 257),
    ] {
        let short = source(k * 16, 16, 1);
        let mut long = short.clone();
        long.resize(extended, Bytes::from_static(&[0; 16]));
        assert_eq!(repair(&short, 16, 20), repair(&long, 16, 20), "K = {k}");
        if k > 1 {
            long.push(Bytes::from_static(&[0; 16]));
            assert_ne!(
                repair(&short, 16, 20),
                repair(&long, 16, 20),
                "{extended} is a K' of table 2"
            );
        }
    }
}

/// RFC 6330 §4.4.1.2: a last symbol that is too short is filled with zeros.
#[test]
fn a_short_last_symbol_counts_as_filled_with_zeros() {
    let short = source(7 * 20 - 13, 20, 2);
    let filled: Vec<Bytes> = short.iter().map(|symbol| padded(symbol, 20)).collect();
    assert_eq!(repair(&short, 20, 20), repair(&filled, 20, 20));
}

/// RFC 6330 §5.3: the code is linear over GF(256), so symbols add up as blocks do.
#[test]
fn the_repair_of_a_sum_is_the_sum_of_the_repairs() {
    let xor = |a: &[Bytes], b: &[Bytes]| -> Vec<Bytes> {
        a.iter()
            .zip(b)
            .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a ^ b).collect())
            .collect()
    };
    let (a, b) = (source(33 * 24, 24, 3), source(33 * 24, 24, 4));
    assert_eq!(
        repair(&xor(&a, &b), 24, 30),
        xor(&repair(&a, 24, 30), &repair(&b, 24, 30))
    );
}

/// Every byte of a symbol is coded for itself (RFC 6330 §5.3.5.3), so T may be anything.
#[test]
fn symbols_of_any_size_are_columns_of_larger_ones() {
    let wide = source(12 * 37, 37, 5);
    let column = |symbols: &[Bytes]| -> Vec<Bytes> {
        symbols.iter().map(|symbol| symbol.slice(9..10)).collect()
    };
    assert_eq!(
        repair(&column(&wide), 1, 20),
        column(&repair(&wide, 37, 20))
    );
}

/// The same symbols as the `raptorq` crate makes when asked for a whole object.
#[test]
fn symbols_agree_with_an_rfc_6330_object_of_one_block() {
    for k in [1, 10, 27, 64, 101] {
        let source = source(k * 18, 18, 6);
        let information = ObjectTransmissionInformation::new((k * 18) as u64, 18, 1, 1, 1);
        let object = Encoder::new(&source.concat(), information);
        let mut encoder = closed_encoder(CodecKind::RaptorQ, 18, &source);
        for packet in object.get_encoded_packets(40) {
            let esi = packet.payload_id().encoding_symbol_id();
            assert_eq!(
                encode(encoder.as_mut(), esi),
                packet.data(),
                "K = {k}, ESI {esi}"
            );
        }
    }
}

/// RFC 6330 has no test vectors; these values were made once and must not change.
#[test]
fn symbols_stay_what_they_are() {
    let counting = |k: u8| -> Vec<Bytes> {
        (0..k)
            .map(|first| Bytes::from(vec![first, first ^ 0xff]))
            .collect()
    };
    let hex = |symbols: &[Bytes]| {
        symbols
            .iter()
            .flatten()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    assert_eq!(
        hex(&repair(&counting(10), 2, 8)),
        "cdb384bd4da765521ee4c63d16e2f82a"
    );
    assert_eq!(
        hex(&repair(&counting(27), 2, 8)),
        "7c5478e83c7110cc0b3cc42f2383faeb"
    );
    assert_eq!(
        hex(&repair(&counting(200), 2, 8)),
        "9b4581502bf5db22aeaf93730f30f033"
    );
}
