//! The pipeline code: in order at once, and any N symbols give the group.

use bytes::Bytes;
use mpfec_codec::gf256;
use mpfec_codec::pipeline::{PipelineCode, PipelineDecoder, PipelineEncoder};
use mpfec_codec::{DecodeError, EncodeError, Progress, SourceSymbols};
use proptest::prelude::*;

use crate::common::{Random, esi, padded, source, symbol_size};

fn encoder(seed: u64, bytes: usize, packets: &[Bytes]) -> PipelineEncoder {
    let mut encoder = PipelineEncoder::new(PipelineCode::new(seed), symbol_size(bytes));
    for packet in packets {
        encoder.push(packet.clone()).unwrap();
    }
    encoder.close();
    encoder
}

fn decoder(seed: u64, bytes: usize, packets: usize) -> PipelineDecoder {
    let packets = SourceSymbols::new(packets as u32).unwrap();
    PipelineDecoder::new(PipelineCode::new(seed), packets, symbol_size(bytes)).unwrap()
}

fn encode(encoder: &PipelineEncoder, value: u32) -> Bytes {
    let mut out = Vec::new();
    encoder.encode(value..value + 1, &mut out).unwrap();
    out.into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_n_symbols_give_the_group(
        n in 1_usize..=32, bytes in prop_oneof![1_usize..100, Just(1280_usize)],
        short in 0_usize..100, redundant in 1_u32..=224, polls: bool, seed: u64,
    ) {
        let packets = source(n * bytes - short.min(bytes - 1), bytes, seed);
        let encoder = encoder(seed, bytes, &packets);
        let mut decoder = decoder(seed, bytes, n);
        let mut random = Random::new(seed);
        let mut order: Vec<u32> = (0..n as u32 + redundant).collect();
        random.shuffle(&mut order);
        if redundant < 20 {
            // Coded packets in order first.
            order[..n].sort_unstable();
        }
        let mut decoded = Vec::new();
        for (at, &value) in order[..n].iter().enumerate() {
            let progress = decoder.push(esi(value), encode(&encoder, value)).unwrap();
            let missing = (n - at - 1) as u32;
            prop_assert_eq!(decoder.missing(), missing);
            prop_assert_eq!(progress, if missing == 0 { Progress::Complete } else { Progress::Useful { missing } });
            if polls || missing == 0 {
                decoded.extend(std::iter::from_fn(|| decoder.poll_decoded()));
            }
        }
        let expected: Vec<_> = (0..).zip(packets.iter().map(|packet| padded(packet, bytes))).collect();
        prop_assert_eq!(decoded, expected);
        for &value in &order {
            let late = decoder.push(esi(value), encode(&encoder, value));
            prop_assert_eq!(late, Ok(Progress::Redundant));
        }
        prop_assert_eq!(decoder.poll_decoded(), None);
    }

    #[test]
    fn packets_in_order_decode_at_once(n in 1_usize..=32, lost in 0_usize..25, seed: u64) {
        let packets = source(n * 50, 50, seed);
        let encoder = encoder(seed, 50, &packets);
        let mut decoder = decoder(seed, 50, n);
        for value in (0..n).filter(|&value| value != lost) {
            decoder.push(esi(value as u32), encode(&encoder, value as u32)).unwrap();
            let expected = (value < lost).then(|| (value as u32, packets[value].clone()));
            prop_assert_eq!(decoder.poll_decoded(), expected);
        }
        if lost < n {
            let last = decoder.push(esi(n as u32 + 7), encode(&encoder, n as u32 + 7));
            prop_assert_eq!(last, Ok(Progress::Complete));
            for (value, packet) in (0..).zip(packets).skip(lost) {
                prop_assert_eq!(decoder.poll_decoded(), Some((value, packet)));
            }
        }
    }

    #[test]
    fn any_symbols_do_no_harm(
        n in 1_usize..=32, bytes in 1_usize..40, seed: u64,
        pushes in prop::collection::vec((prop_oneof![3 => 0_u32..40, 1 => 0_u32..1 << 24], prop_oneof![4 => Just(None), 1 => (0_usize..45).prop_map(Some)], any::<bool>()), 0..60),
    ) {
        let mut decoder = decoder(seed, bytes, n);
        for (value, length, polls) in pushes {
            let length = length.unwrap_or(bytes);
            let before = decoder.missing();
            let result = decoder.push(esi(value), vec![value as u8; length].into());
            prop_assert_eq!(result.is_ok(), value < n as u32 + 224 && length == bytes);
            if !matches!(result, Ok(Progress::Useful { .. } | Progress::Complete)) {
                prop_assert_eq!(decoder.missing(), before);
            }
            if polls {
                decoder.poll_decoded();
            }
        }
    }
}

#[test]
fn a_coded_packet_is_the_packet_plus_products_of_those_before() {
    let packets = source(3, 1, 1);
    let encoder = encoder(5, 1, &packets);
    let [p0, p1, p2] = [0, 1, 2].map(|at| packets[at][0]);
    assert_eq!(encode(&encoder, 0), packets[0]);
    let c1 = encode(&encoder, 1)[0];
    assert!(c1 ^ p1 != 0 && gf256::inverse(p0).is_some());
    // With the others 0, what remains of C_2 is P_2.
    let zeros = [
        Bytes::from_static(&[0]),
        Bytes::from_static(&[0]),
        packets[2].clone(),
    ];
    assert_eq!(encode(&self::encoder(5, 1, &zeros), 2)[0], p2);
}

#[test]
fn symbols_together_are_the_symbols_one_by_one() {
    let packets = source(20 * 30 - 3, 30, 2);
    let encoder = encoder(6, 30, &packets);
    let one_by_one: Vec<u8> = (3..27).flat_map(|value| encode(&encoder, value)).collect();
    let mut together = b"kept".to_vec();
    encoder.encode(3..27, &mut together).unwrap();
    assert_eq!(together[4..], one_by_one);
    encoder.encode(9..9, &mut together).unwrap();
    assert_eq!(together.len(), 4 + 24 * 30);
}

#[test]
fn coded_packets_leave_before_the_group_is_closed() {
    let packets = source(3 * 10, 10, 3);
    let mut open = PipelineEncoder::new(PipelineCode::new(1), symbol_size(10));
    let all = encoder(1, 10, &packets);
    for (value, packet) in (0..).zip(&packets) {
        open.push(packet.clone()).unwrap();
        assert_eq!(encode(&open, value), encode(&all, value));
    }
    let refused = open.encode(2..4, &mut Vec::new());
    assert_eq!(
        refused,
        Err(EncodeError::Open {
            esi: esi(3),
            source_symbols: 3
        })
    );
    open.close();
    assert_eq!(encode(&open, 3), encode(&all, 3));
}

#[test]
fn what_a_group_cannot_have_is_refused() {
    let packets = source(32 * 10, 10, 4);
    let full = encoder(1, 10, &packets);
    let mut out = b"kept".to_vec();
    for last in [256, 1 << 24, u32::MAX] {
        let refused = full.encode(255..last.saturating_add(1), &mut out);
        assert!(
            matches!(
                refused,
                Err(EncodeError::NoRepair {
                    source_symbols: 32,
                    ..
                })
            ),
            "{refused:?}"
        );
    }
    assert_eq!(out, b"kept");
    let mut open = PipelineEncoder::new(PipelineCode::new(1), symbol_size(10));
    assert_eq!(
        open.push(Bytes::new()),
        Err(EncodeError::SymbolSize { got: 0, want: 10 })
    );
    packets
        .iter()
        .for_each(|packet| open.push(packet.clone()).unwrap());
    assert_eq!(
        open.push(packets[0].clone()),
        Err(EncodeError::Full { source_symbols: 32 })
    );

    let mut empty = PipelineEncoder::new(PipelineCode::new(1), symbol_size(10));
    empty.close();
    assert_eq!(empty.encode(0..1, &mut out), Err(EncodeError::Empty));

    let packets = SourceSymbols::new(33).unwrap();
    let refused = PipelineDecoder::new(PipelineCode::new(1), packets, symbol_size(10));
    assert_eq!(
        refused.unwrap_err().to_string(),
        "packets of a pipeline group 33 is not in 1..=32"
    );

    let mut decoder = decoder(1, 10, 4);
    let refused = decoder.push(esi(4 + 224), vec![0; 10].into());
    assert!(
        matches!(refused, Err(DecodeError::NoRepair { .. })),
        "{refused:?}"
    );
    for got in [0, 9, 11] {
        let refused = decoder.push(esi(0), vec![0; got].into());
        assert_eq!(
            refused,
            Err(DecodeError::SymbolSize {
                esi: esi(0),
                got,
                want: 10
            })
        );
    }
}

proptest! {
    /// What the transport does: packets are coded as they leave, the last as short as it is,
    /// and are decoded where they lie whenever the run from the first on has grown.
    #[test]
    fn packets_are_decoded_where_they_lie(
        n in 1_usize..=32, bytes in 1_usize..80, short in 0_usize..80, step in 1_usize..8, seed: u64,
    ) {
        let length = n * bytes - short.min(bytes - 1);
        let group: Vec<u8> = source(length, bytes, seed).concat();
        let code = PipelineCode::new(seed);
        let mut data = Vec::new();
        let mut decoded = 0;
        for m in 0..n {
            let before = data.len();
            code.code(&group, symbol_size(bytes), m, &mut data);
            prop_assert_eq!(data.len(), length.min(before + bytes));
            if (m + 1) % step == 0 || m + 1 == n {
                code.decode(&mut data, symbol_size(bytes), decoded);
                decoded = m + 1;
                prop_assert_eq!(&data, &group[..data.len()]);
            }
        }
        code.code(&group, symbol_size(bytes), n, &mut data);
        prop_assert_eq!(data, group, "there is no packet beyond the last");
    }

    #[test]
    fn coded_packets_are_those_of_the_encoder(n in 1_usize..=32, seed: u64) {
        let packets = source(n * 10, 10, seed);
        let encoder = encoder(seed, 10, &packets);
        for m in 0..n {
            let mut coded = Vec::new();
            PipelineCode::new(seed).code(&packets.concat(), symbol_size(10), m, &mut coded);
            prop_assert_eq!(&encode(&encoder, m as u32)[..], &coded[..]);
        }
    }
}
