use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::{BlockDecoder, BlockEncoder, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};

fn esi(value: u32) -> EncodingSymbolId {
    EncodingSymbolId::new(value).unwrap()
}

fn encoder(source: &[u8], bytes: usize, seed: u64) -> BatchEncoder {
    let mut encoder = BatchEncoder::new(SymbolSize::new(bytes as u32).unwrap(), seed);
    for symbol in source.chunks(bytes) {
        encoder.push_source(Bytes::copy_from_slice(symbol)).unwrap();
    }
    encoder.close();
    encoder
}

fn decoder(k: usize, bytes: usize) -> Box<dyn BlockDecoder> {
    new_decoder(
        SourceSymbols::new(k as u32).unwrap(),
        SymbolSize::new(bytes as u32).unwrap(),
    )
}

fn encode(encoder: &mut BatchEncoder, value: u32) -> Bytes {
    let mut out = Vec::new();
    encoder.encode(esi(value), &mut out).unwrap();
    out.into()
}

proptest! {
    #[test]
    fn independent_combinations_and_source_symbols_give_the_batch(
        k in 1_usize..=32, bytes in 1_usize..50, short in 0_usize..50,
        order in prop::collection::vec(0_u32..200, 200), seed: u64,
    ) {
        let len = k * bytes - short.min(bytes - 1);
        let source: Vec<u8> = (0..len).map(|at| (at as u64 * 31 + seed) as u8).collect();
        let mut encoder = encoder(&source, bytes, seed);
        let mut decoder = decoder(k, bytes);
        let mut whole = vec![None; k];
        for value in order {
            let before = decoder.missing();
            let symbol = encode(&mut encoder, value);
            if let Some(place) = whole.get_mut(value as usize) {
                *place = Some(symbol.to_vec());
            }
            let progress = decoder.push(esi(value), symbol).unwrap();
            match progress {
                Progress::Redundant => prop_assert_eq!(decoder.missing(), before),
                _ => prop_assert_eq!(decoder.missing(), before - 1),
            }
            if progress == Progress::Complete {
                break;
            }
        }
        prop_assert_eq!(decoder.missing(), 0);
        while let Some((at, symbol)) = decoder.poll_recovered() {
            whole[at as usize] = Some(symbol.to_vec());
        }
        let mut all: Vec<u8> = whole.into_iter().flat_map(|symbol| symbol.unwrap()).collect();
        all.truncate(len);
        prop_assert_eq!(all, source);
    }

    #[test]
    fn any_symbols_do_no_harm(
        k in 1_usize..=40, bytes in 1_usize..20,
        pushes in prop::collection::vec((0_u32..80, 0_usize..70, any::<u8>()), 0..80),
    ) {
        let mut decoder = decoder(k, bytes);
        for (value, length, fill) in pushes {
            let symbol: Bytes = (0..length).map(|at| fill.wrapping_mul(at as u8)).collect();
            let before = decoder.missing();
            if decoder.push(esi(value), symbol).is_err() {
                prop_assert_eq!(decoder.missing(), before);
            }
            while decoder.poll_recovered().is_some() {}
        }
    }
}

#[test]
fn combinations_that_say_nothing_new_are_ignored() {
    let source = [1, 2, 3, 4];
    let mut encoder = encoder(&source, 2, 7);
    let mut decoder = decoder(2, 2);
    let first = encode(&mut encoder, 2);
    assert_eq!(
        decoder.push(esi(2), first.clone()),
        Ok(Progress::Useful { missing: 1 })
    );
    let doubled: Bytes = first.iter().map(|&b| crate::gf256::mul(b, 2)).collect();
    for (value, symbol) in [(2, first), (3, doubled), (9, Bytes::from_static(&[0; 4]))] {
        assert_eq!(decoder.push(esi(value), symbol), Ok(Progress::Redundant));
    }
    let second = encode(&mut encoder, 3);
    assert_eq!(decoder.push(esi(3), second), Ok(Progress::Complete));
}

#[test]
fn a_batch_takes_no_more_than_its_most() {
    let full = vec![0; MAX_BATCH as usize];
    let mut encoder = BatchEncoder::new(SymbolSize::new(1).unwrap(), 0);
    for byte in &full {
        encoder
            .push_source(Bytes::copy_from_slice(&[*byte]))
            .unwrap();
    }
    assert!(encoder.push_source(Bytes::from_static(&[1])).is_err());
    let mut large = decoder(MAX_BATCH as usize + 1, 1);
    assert!(large.push(esi(50), Bytes::from_static(&[1; 34])).is_err());
}
