//! What coding a block costs, by K and by loss, in bytes of source data per second.
//!
//! `encode` makes as many repair symbols as the loss takes away (at 0 %: it hands out
//! the source symbols only); `decode` takes the K symbols that remain, source symbols
//! first, and whatever more the block needs. Making and freeing the encoder or decoder
//! is included, the plan for K is not: a process makes it once.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpfec_codec::{BlockEncoder, CodecKind, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};

criterion_main!(benches);
criterion_group!(benches, encode, decode);

fn encode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("encode");
    for (k, loss_percent) in cases() {
        let source = source(k);
        let symbols: Vec<u32> = match lost(k, loss_percent) {
            0 => (0..k).collect(),
            lost => (k..k + lost).collect(),
        };
        let mut out = Vec::with_capacity(symbols.len() * SYMBOL_BYTES);
        group.throughput(Throughput::Bytes(u64::from(k) * SYMBOL_BYTES as u64));
        group.bench_function(
            BenchmarkId::new(format!("K={k}"), format!("{loss_percent}%")),
            |bencher| {
                bencher.iter(|| {
                    let mut encoder = encoder(&source);
                    out.clear();
                    for &esi in &symbols {
                        encoder
                            .encode(id(esi), &mut out)
                            .expect("a symbol of a closed block");
                    }
                    black_box(out.len())
                });
            },
        );
    }
}

fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    for (k, loss_percent) in cases() {
        let symbols = received(k, lost(k, loss_percent));
        let source_symbols = SourceSymbols::new(k).expect("K of a case is valid");
        group.throughput(Throughput::Bytes(u64::from(k) * SYMBOL_BYTES as u64));
        group.bench_function(
            BenchmarkId::new(format!("K={k}"), format!("{loss_percent}%")),
            |bencher| {
                bencher.iter_batched(
                    || symbols.clone(),
                    |symbols| {
                        let mut decoder = CodecKind::RaptorQ.decoder(source_symbols, size());
                        for (esi, symbol) in symbols {
                            if decoder.push(esi, symbol) == Ok(Progress::Complete) {
                                break;
                            }
                        }
                        assert_eq!(decoder.missing(), 0, "the symbols give the block");
                        while let Some(recovered) = decoder.poll_recovered() {
                            black_box(recovered);
                        }
                    },
                    BatchSize::SmallInput,
                );
            },
        );
    }
}

fn cases() -> impl Iterator<Item = (u32, u32)> {
    [8, 32, 64, 256]
        .into_iter()
        .flat_map(|k| [0, 5, 20].map(|loss_percent| (k, loss_percent)))
}

/// Symbols lost of K: at least one unless nothing is.
fn lost(k: u32, loss_percent: u32) -> u32 {
    (k * loss_percent).div_ceil(100)
}

fn size() -> SymbolSize {
    SymbolSize::new(SYMBOL_BYTES as u32).expect("1200 bytes are a valid size")
}

fn id(esi: u32) -> EncodingSymbolId {
    EncodingSymbolId::new(esi).expect("identifiers here are small")
}

fn source(k: u32) -> Vec<Bytes> {
    let symbol = |position: u32| -> Bytes {
        (0..SYMBOL_BYTES as u32)
            .map(|at| (position * 31 + at * 7) as u8)
            .collect()
    };
    (0..k).map(symbol).collect()
}

fn encoder(source: &[Bytes]) -> Box<dyn BlockEncoder> {
    let mut encoder = CodecKind::RaptorQ.encoder(size());
    for symbol in source {
        encoder
            .push_source(symbol.clone())
            .expect("symbols of a valid block");
    }
    encoder.close();
    encoder
}

/// The symbols of a block of which `lost` source symbols, spread evenly, are replaced
/// by repair symbols; a few more repair symbols follow.
fn received(k: u32, lost: u32) -> Vec<(EncodingSymbolId, Bytes)> {
    let source = source(k);
    let mut encoder = encoder(&source);
    let is_lost = |position: u32| (0..lost).any(|nth| nth * k / lost == position);
    let kept = (0..k).filter(|&position| !is_lost(position));
    kept.chain(k..k + lost + 4)
        .map(|esi| {
            let mut symbol = Vec::new();
            encoder
                .encode(id(esi), &mut symbol)
                .expect("a symbol of a closed block");
            (id(esi), symbol.into())
        })
        .collect()
}

/// T: what fits into a packet of an ordinary path.
const SYMBOL_BYTES: usize = 1200;
