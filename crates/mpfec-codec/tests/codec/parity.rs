//! XOR parity: one lost symbol of a group comes back.

use bytes::Bytes;
use mpfec_codec::parity::{ParityDecoder, ParityEncoder};
use mpfec_codec::{BlockDecoder, BlockEncoder, DecodeError, EncodeError, Progress, SourceSymbols};
use proptest::prelude::*;

use crate::common::{Random, encode, esi, padded, source, symbol_size};

fn encoder(bytes: usize, source: &[Bytes]) -> ParityEncoder {
    let mut encoder = ParityEncoder::new(symbol_size(bytes));
    for symbol in source {
        encoder.push_source(symbol.clone()).unwrap();
    }
    encoder.close();
    encoder
}

fn decoder(bytes: usize, k: usize) -> ParityDecoder {
    ParityDecoder::new(SourceSymbols::new(k as u32).unwrap(), symbol_size(bytes))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn one_lost_symbol_comes_back(
        k in 1_usize..=300, bytes in 1_usize..100, short in 0_usize..100, lost in 0_usize..301, seed: u64,
    ) {
        let source = source(k * bytes - short.min(bytes - 1), bytes, seed);
        let mut encoder = encoder(bytes, &source);
        let mut decoder = decoder(bytes, k);
        let lost = lost.min(k);
        let mut order: Vec<u32> = (0..=k as u32).filter(|&value| value as usize != lost).collect();
        Random::new(seed).shuffle(&mut order);
        for (at, &value) in order.iter().enumerate() {
            let symbol = encode(&mut encoder, value);
            let missing = (k - at - 1) as u32;
            let progress = if missing == 0 { Progress::Complete } else { Progress::Useful { missing } };
            prop_assert_eq!(decoder.push(esi(value), symbol.clone()), Ok(progress));
            prop_assert_eq!(decoder.push(esi(value), symbol), Ok(Progress::Redundant));
            prop_assert_eq!(decoder.missing(), missing);
        }
        let expected = source.get(lost).map(|symbol| (lost as u32, padded(symbol, bytes)));
        prop_assert_eq!(decoder.poll_recovered(), expected);
        prop_assert_eq!(decoder.poll_recovered(), None);
        let late = decoder.push(esi(lost as u32), vec![1; bytes].into());
        prop_assert_eq!(late, Ok(Progress::Redundant));
    }
}

#[test]
fn the_parity_is_the_sum() {
    let mut encoder = encoder(
        2,
        &[
            Bytes::from_static(&[1, 2]),
            Bytes::from_static(&[4, 8]),
            Bytes::from_static(&[16]),
        ],
    );
    let mut out = b"kept".to_vec();
    encoder.encode(esi(3), &mut out).unwrap();
    assert_eq!(out, *b"kept\x15\x0a");
    let refused = encoder.encode(esi(4), &mut out);
    assert_eq!(
        refused,
        Err(EncodeError::NoRepair {
            esi: esi(4),
            source_symbols: 3
        })
    );
}

#[test]
fn two_lost_symbols_do_not_come_back() {
    let source = source(50, 10, 1);
    let mut decoder = decoder(10, 5);
    for value in [0, 2, 4] {
        decoder
            .push(esi(value), source[value as usize].clone())
            .unwrap();
    }
    let parity = encode(&mut encoder(10, &source), 5);
    assert_eq!(
        decoder.push(esi(5), parity),
        Ok(Progress::Useful { missing: 1 })
    );
    assert_eq!(decoder.poll_recovered(), None);
}

#[test]
fn what_a_group_cannot_have_is_refused() {
    let mut decoder = decoder(10, 5);
    for (value, got) in [(0, 0), (0, 11), (5, 9), (5, 11), (5, 0)] {
        let refused = decoder.push(esi(value), vec![0; got].into());
        assert_eq!(
            refused,
            Err(DecodeError::SymbolSize {
                esi: esi(value),
                got,
                want: 10
            })
        );
    }
    for value in [6, (1 << 24) - 1] {
        let refused = decoder.push(esi(value), vec![0; 10].into());
        assert!(
            matches!(refused, Err(DecodeError::NoRepair { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(decoder.missing(), 5);
    let mut open = ParityEncoder::new(symbol_size(10));
    assert_eq!(
        open.encode(esi(0), &mut Vec::new()),
        Err(EncodeError::Open {
            esi: esi(0),
            source_symbols: 0
        })
    );
    open.close();
    assert_eq!(
        open.encode(esi(0), &mut Vec::new()),
        Err(EncodeError::Empty)
    );
}
