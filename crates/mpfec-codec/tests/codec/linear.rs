//! The linear code: any K symbols give the block, surely among the first 256.

use bytes::Bytes;
use mpfec_codec::{CodecKind, DecodeError, EncodeError, Progress};
use proptest::prelude::*;

use crate::common::{Random, closed_encoder, decoder, encode, esi, padded, source, symbol_size};

const KIND: CodecKind = CodecKind::Linear;

/// Sends symbols in this order until the block is complete, checks what comes out and
/// returns how many it took.
fn send(length: usize, bytes: usize, order: &[u32], seed: u64) -> usize {
    let source = source(length, bytes, seed);
    let k = source.len() as u32;
    let mut encoder = closed_encoder(KIND, bytes, &source);
    let mut decoder = decoder(KIND, source.len(), bytes);
    let took = order.iter().position(|&value| {
        let symbol = encode(encoder.as_mut(), value);
        let before = decoder.missing();
        let progress = decoder.push(esi(value), symbol).unwrap();
        match progress {
            Progress::Useful { missing } => assert_eq!(missing, decoder.missing()),
            Progress::Redundant => assert_eq!(before, decoder.missing()),
            Progress::Complete => assert_eq!(decoder.missing(), 0),
        }
        progress == Progress::Complete
    });
    let took = took.expect("the symbols give the block") + 1;
    let received = &order[..took];
    for position in (0..k).filter(|position| !received.contains(position)) {
        let expected = padded(&source[position as usize], bytes);
        assert_eq!(decoder.poll_recovered(), Some((position, expected)));
    }
    assert_eq!(decoder.poll_recovered(), None, "each symbol comes out once");
    took
}

/// Source symbols that arrive and repair symbols from `first` on, as many as are lost.
fn shuffled(k: u32, first: u32, loss_percent: usize, random: &mut Random) -> Vec<u32> {
    let mut order: Vec<u32> = (0..k)
        .filter(|_| random.below(100) >= loss_percent)
        .collect();
    let lost = k - order.len() as u32;
    order.extend(first..first + lost);
    random.shuffle(&mut order);
    order
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_k_of_the_first_256_symbols_give_the_block(
        k in prop_oneof![1_u32..=12, 1_u32..=255],
        bytes in prop_oneof![1_usize..=64, Just(1200_usize), Just(1279_usize)],
        short in 0_usize..64,
        all_at_random: bool,
        loss_percent in prop_oneof![Just(1_usize), Just(20), Just(50), Just(100)],
        seed: u64,
    ) {
        let mut random = Random::new(seed);
        let length = k as usize * bytes - short.min(bytes - 1);
        let mut order: Vec<u32> = (0..256).collect();
        random.shuffle(&mut order);
        if !all_at_random {
            // Mostly source symbols, in any order.
            let (mut kept, mut repair): (Vec<u32>, Vec<u32>) = order.iter().copied().partition(|&value| value < k);
            kept.retain(|_| random.below(100) >= loss_percent);
            repair.truncate(k as usize - kept.len());
            prop_assume!(kept.len() + repair.len() == k as usize);
            kept.append(&mut repair);
            order = kept;
        }
        prop_assert_eq!(send(length, bytes, &order, seed), k as usize);
    }

    #[test]
    fn any_k_symbols_or_a_few_more_give_the_block(
        k in prop_oneof![1_u32..=300, Just(1024_u32)],
        bytes in 1_usize..=40,
        first in prop_oneof![1024_u32..2000, Just((1 << 24) - 1100)],
        loss_percent in prop_oneof![Just(1_usize), Just(20), Just(50), Just(100)],
        seed: u64,
    ) {
        let mut random = Random::new(seed);
        let mut order = shuffled(k, first, loss_percent, &mut random);
        let more = order.iter().max().map_or(first, |&last| last.max(first) + 1);
        order.extend(more..more + 8);
        let took = send(k as usize * bytes, bytes, &order, seed);
        prop_assert!(took <= k as usize + 4, "{took} symbols for {k}");
    }

    #[test]
    fn any_symbols_do_no_harm(
        k in prop_oneof![1_u32..=4, 1_u32..=64],
        bytes in 1_usize..=40,
        pushes in prop::collection::vec((0_u32..300, any::<bool>(), prop_oneof![4 => Just(None), 1 => (0_usize..45).prop_map(Some)], any::<u8>()), 0..200),
    ) {
        let mut decoder = decoder(KIND, k as usize, bytes);
        let mut is_complete = false;
        for (value, from_the_end, length, byte) in pushes {
            let value = if from_the_end { (1 << 24) - 1 - value } else { value };
            let length = length.unwrap_or(bytes);
            let before = decoder.missing();
            let fits = if value < k { (1..=bytes).contains(&length) } else { length == bytes };
            match decoder.push(esi(value), Bytes::from(vec![byte; length])) {
                Err(DecodeError::SymbolSize { got, want, .. }) => {
                    prop_assert_eq!((fits, got, want), (false, length, bytes));
                    prop_assert_eq!(decoder.missing(), before);
                }
                Ok(Progress::Redundant) => prop_assert_eq!(decoder.missing(), before),
                Ok(Progress::Complete) => {
                    prop_assert!(!is_complete && fits);
                    is_complete = true;
                }
                Ok(Progress::Useful { missing }) => prop_assert_eq!((missing, fits), (decoder.missing(), true)),
                other => prop_assert!(false, "{:?}", other),
            }
            prop_assert_eq!(decoder.missing() == 0, is_complete);
            prop_assert!(is_complete || decoder.poll_recovered().is_none());
        }
    }
}

#[test]
fn every_choice_of_four_of_nine_symbols_gives_a_block_of_four() {
    for chosen in (0_u32..1 << 9).filter(|chosen| chosen.count_ones() == 4) {
        let order: Vec<u32> = (0..9).filter(|value| chosen >> value & 1 == 1).collect();
        assert_eq!(send(4 * 10 - 3, 10, &order, u64::from(chosen)), 4);
    }
}

#[test]
fn a_symbol_that_comes_late_is_not_decoded() {
    // Ten are lost, four repair symbols begin to solve, then four of the ten arrive.
    let k = 40;
    let order: Vec<u32> = (10..k)
        .chain(k..k + 4)
        .chain([0, 9, 3, 4])
        .chain(k + 4..k + 6)
        .collect();
    assert_eq!(send(k as usize * 100, 100, &order, 1), k as usize);
    // Nine late ones are taken out in between.
    let order: Vec<u32> = (20..k)
        .chain(k..k + 8)
        .chain(0..9)
        .chain(k + 8..k + 12)
        .collect();
    assert_eq!(send(k as usize * 100, 100, &order, 1), k as usize);
}

#[test]
fn a_symbol_that_says_nothing_new_is_redundant() {
    let source = source(30 * 8, 8, 2);
    let mut encoder = closed_encoder(KIND, 8, &source);
    let mut decoder = decoder(KIND, 30, 8);
    for value in 10..60 {
        let symbol = encode(encoder.as_mut(), value);
        let is_complete = decoder.missing() == 0;
        let first = decoder.push(esi(value), symbol.clone()).unwrap();
        assert_eq!(first == Progress::Redundant, is_complete);
        assert_eq!(decoder.push(esi(value), symbol), Ok(Progress::Redundant));
    }
    for value in 0..10 {
        let late = decoder.push(esi(value), source[value as usize].clone());
        assert_eq!(late, Ok(Progress::Redundant));
        assert_eq!(
            decoder.poll_recovered(),
            Some((value, source[value as usize].clone()))
        );
    }
}

#[test]
fn a_block_without_loss_has_nothing_to_recover() {
    let order: Vec<u32> = (0..1024).rev().collect();
    assert_eq!(send(1024 * 100, 100, &order, 3), 1024);
}

#[test]
fn repair_symbols_are_the_same_in_any_order() {
    let source = source(50 * 64 - 7, 64, 4);
    let mut in_order = closed_encoder(KIND, 64, &source);
    in_order.expect_repair(300);
    let mut at_random = closed_encoder(KIND, 64, &source);
    let mut values: Vec<u32> = (50..350).collect();
    let symbols: Vec<Bytes> = values
        .iter()
        .map(|&value| encode(in_order.as_mut(), value))
        .collect();
    Random::new(5).shuffle(&mut values);
    for value in values {
        assert_eq!(
            encode(at_random.as_mut(), value),
            symbols[value as usize - 50]
        );
    }
    let last = (1 << 24) - 1;
    assert_eq!(
        encode(in_order.as_mut(), last),
        encode(at_random.as_mut(), last)
    );
}

#[test]
fn a_block_has_at_most_1024_source_symbols() {
    let mut encoder = KIND.encoder(symbol_size(1));
    for _ in 0..1024 {
        encoder.push_source(Bytes::from_static(b"a")).unwrap();
    }
    let refused = encoder.push_source(Bytes::from_static(b"b"));
    assert_eq!(
        refused,
        Err(EncodeError::Full {
            source_symbols: 1024
        })
    );
}

#[test]
fn a_larger_block_has_no_repair_symbols() {
    let mut decoder = decoder(KIND, 1025, 1);
    let mut push = |value| decoder.push(esi(value), Bytes::from_static(b"x"));
    assert!(matches!(push(1025), Err(DecodeError::NoRepair { .. })));
    let completes = (0..1025).find(|&value| push(value) == Ok(Progress::Complete));
    assert_eq!(completes, Some(1024));
}

#[test]
fn a_block_closed_empty_has_no_symbols() {
    let mut encoder = KIND.encoder(symbol_size(10));
    encoder.close();
    assert_eq!(
        encoder.encode(esi(0), &mut Vec::new()),
        Err(EncodeError::Empty)
    );
}
