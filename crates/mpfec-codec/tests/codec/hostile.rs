//! A peer may send any symbols in any order: nothing panics, the state stays
//! consistent, and neither memory nor work grows without bound.

use bytes::Bytes;
use mpfec_codec::{BlockDecoder, CodecKind, DecodeError, Progress};
use proptest::prelude::*;

use crate::common::{Random, closed_encoder, decoder, encode, esi, source};

/// Checks what must hold after every push, whatever was pushed.
struct Watched {
    decoder: Box<dyn BlockDecoder>,
    k: u32,
    bytes: usize,
    is_complete: bool,
}

impl Watched {
    fn new(kind: CodecKind, k: usize, bytes: usize) -> Self {
        Self {
            decoder: decoder(kind, k, bytes),
            k: k as u32,
            bytes,
            is_complete: false,
        }
    }

    fn push(&mut self, value: u32, symbol: Bytes) -> Result<Progress, DecodeError> {
        let before = self.decoder.missing();
        let result = self.decoder.push(esi(value), symbol);
        let after = self.decoder.missing();
        assert!(after <= self.k);
        match result {
            Ok(Progress::Complete) => {
                assert!(!self.is_complete, "completion is said once");
                self.is_complete = true;
            }
            Ok(Progress::Useful { missing }) => {
                assert_eq!((missing, self.is_complete), (after, false))
            }
            Ok(Progress::Redundant) | Err(_) => assert_eq!(before, after, "nothing changed"),
        }
        assert_eq!(after == 0, self.is_complete);
        if !self.is_complete {
            assert_eq!(
                self.decoder.poll_recovered(),
                None,
                "nothing comes out of an incomplete block"
            );
        }
        result
    }

    /// What comes out: ascending positions below K, T bytes each.
    fn drain(&mut self) -> Vec<u32> {
        let mut positions = Vec::new();
        while let Some((position, symbol)) = self.decoder.poll_recovered() {
            assert_eq!(symbol.len(), self.bytes);
            assert!(position < self.k && positions.last().is_none_or(|&last| last < position));
            positions.push(position);
        }
        positions
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_symbols_never_panic(
        raptorq: bool,
        k in prop_oneof![1_u32..=4, 1_u32..=64],
        bytes in 1_usize..=40,
        pushes in prop::collection::vec((0_u32..200, any::<bool>(), prop_oneof![Just(None), (0_usize..45).prop_map(Some)], any::<u8>()), 0..200),
    ) {
        let kind = if raptorq { CodecKind::RaptorQ } else { CodecKind::Uncoded };
        let mut watched = Watched::new(kind, k as usize, bytes);
        for (value, from_the_end, length, byte) in pushes {
            let value = if from_the_end { (1 << 24) - 1 - value } else { value };
            let length = length.unwrap_or(bytes);
            let result = watched.push(value, Bytes::from(vec![byte; length]));
            let fits = if value < k { (1..=bytes).contains(&length) } else { raptorq && length == bytes };
            prop_assert_eq!(result.is_ok(), fits, "{:?}", result);
        }
        watched.drain();
    }

    #[test]
    fn identifiers_far_apart_never_panic(k in 1_usize..=300, stride in 1_u32..50_000, first in 0_u32..1 << 20) {
        let mut watched = Watched::new(CodecKind::RaptorQ, k, 1);
        let values = (first..1 << 24).step_by(stride as usize).take(k + 100);
        for value in values {
            watched.push(value, Bytes::from_static(b"x")).unwrap();
        }
        watched.drain();
    }
}

#[test]
fn a_symbol_of_the_wrong_size_is_told_apart() {
    let mut watched = Watched::new(CodecKind::RaptorQ, 3, 10);
    for (value, got) in [(0, 0), (0, 11), (3, 9), (3, 11), (3, 0), ((1 << 24) - 1, 5)] {
        let result = watched.push(value, Bytes::from(vec![0; got]));
        assert_eq!(
            result,
            Err(DecodeError::SymbolSize {
                esi: esi(value),
                got,
                want: 10
            })
        );
    }
    assert_eq!(watched.decoder.missing(), 3);
}

#[test]
fn a_repair_symbol_of_an_uncoded_block_is_told_apart() {
    let mut watched = Watched::new(CodecKind::Uncoded, 3, 10);
    let result = watched.push(3, Bytes::from(vec![0; 10]));
    assert!(
        matches!(result, Err(DecodeError::NoRepair { .. })),
        "{result:?}"
    );
}

#[test]
fn duplicates_and_latecomers_are_redundant() {
    let source = source(40 * 8, 8, 1);
    let mut encoder = closed_encoder(CodecKind::RaptorQ, 8, &source);
    let mut watched = Watched::new(CodecKind::RaptorQ, 40, 8);
    for value in 20..200 {
        let symbol = encode(encoder.as_mut(), value);
        let was_complete = watched.is_complete;
        let first = watched.push(value, symbol.clone()).unwrap();
        assert_eq!(first == Progress::Redundant, was_complete);
        assert_eq!(
            watched.push(value, symbol),
            Ok(Progress::Redundant),
            "{value} for the second time"
        );
    }
    assert!(watched.is_complete);
    for value in 0..40 {
        let late = watched.push(value, source[value as usize].clone());
        assert_eq!(
            late,
            Ok(Progress::Redundant),
            "the lost symbol {value} after all"
        );
    }
    assert_eq!(watched.drain(), (0..20).collect::<Vec<_>>());
}

#[test]
fn wrong_bytes_give_wrong_bytes_and_no_panic() {
    let mut random = Random::new(2);
    let mut watched = Watched::new(CodecKind::RaptorQ, 64, 100);
    for value in 0..200 {
        let symbol: Bytes = (0..100).map(|_| random.next() as u8).collect();
        watched.push(value * 3, symbol).unwrap();
    }
    assert!(watched.is_complete);
    assert_eq!(
        watched.drain().len(),
        64 - 22,
        "22 of the first 64 positions are multiples of 3"
    );
}

/// Repair symbols of a one-symbol block are multiples of it: about one in 256 is zero
/// and tells nothing. Those are the identifiers a hostile sender would choose.
fn worthless_identifiers() -> impl Iterator<Item = u32> {
    let mut encoder = closed_encoder(CodecKind::RaptorQ, 1, &[Bytes::from_static(&[1])]);
    (1..1 << 24).filter(move |&value| encode(encoder.as_mut(), value) == [0_u8].as_slice())
}

#[test]
fn symbols_chosen_to_tell_nothing_are_not_kept() {
    let mut watched = Watched::new(CodecKind::RaptorQ, 1, 1);
    let mut values = worthless_identifiers();
    let mut worthless = || values.next().expect("there are more");
    let zero = || Bytes::from_static(&[0]);
    // With the first there are as many as it takes, for once.
    let first = watched.push(worthless(), zero());
    assert_eq!(first, Ok(Progress::Useful { missing: 1 }));
    for _ in 0..100 {
        assert_eq!(watched.push(worthless(), zero()), Ok(Progress::Redundant));
    }
    assert_eq!(
        watched.push(0, Bytes::from_static(&[9])),
        Ok(Progress::Complete),
        "the source symbol itself helps"
    );
    assert_eq!(watched.drain(), []);
}

#[test]
fn a_block_that_resists_is_solved_by_the_next_good_symbol() {
    let mut encoder = closed_encoder(CodecKind::RaptorQ, 1, &[Bytes::from_static(&[5])]);
    let mut watched = Watched::new(CodecKind::RaptorQ, 1, 1);
    for value in worthless_identifiers().take(2) {
        watched.push(value, Bytes::from_static(&[0])).unwrap();
    }
    assert_eq!(watched.decoder.missing(), 1);
    let good = (1..)
        .map(|value| (value, encode(encoder.as_mut(), value)))
        .find(|good| good.1[0] != 0);
    let (value, symbol) = good.expect("nearly all are good");
    assert_eq!(watched.push(value, symbol), Ok(Progress::Complete));
    assert_eq!(
        watched.decoder.poll_recovered(),
        Some((0, Bytes::from_static(&[5])))
    );
}
