//! What coding a block costs, by K and by loss, in bytes of source data per second, with
//! RaptorQ as it is here (`ours`) and in the `raptorq` crate with its plan reused (`crate`).
//!
//! `encode` makes as many repair symbols as the loss takes away; `decode` takes the K
//! symbols that remain, source symbols first, and whatever more the block needs. Making
//! and freeing the encoder or decoder is included; what depends on K alone is not, a
//! process makes it once.
//!
//! `cargo bench -p mpfec-benches --bench codec`; for a table of ratios, each from samples
//! taken in turns, `cargo run --release -p mpfec-codec --example ratios`.

use std::hint::black_box;
use std::time::Duration;

use bytes::Bytes;
use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use mpfec_codec::{BlockEncoder, CodecKind, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};
use raptorq::{
    EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder,
    SourceBlockEncoder, SourceBlockEncodingPlan,
};

criterion_main!(benches);
criterion_group!(benches, encode, decode);

fn encode(criterion: &mut Criterion) {
    let mut group = group(criterion, "encode");
    for (k, loss_percent) in cases() {
        let repairs = lost(k, loss_percent);
        let symbols = source(k);
        let data = symbols.concat();
        let mut out = Vec::with_capacity(repairs as usize * SYMBOL_BYTES);
        group.throughput(Throughput::Bytes(data.len() as u64));
        group.bench_function(id_of("ours", k, loss_percent), |bencher| {
            bencher.iter_batched(
                || symbols.clone(),
                |symbols| {
                    let mut encoder = encoder(symbols);
                    encoder.expect_repair(repairs);
                    out.clear();
                    for esi in k..k + repairs {
                        let made = encoder.encode(id(esi), &mut out);
                        made.expect("a symbol of a closed block");
                    }
                    black_box(out.len())
                },
                BatchSize::SmallInput,
            );
        });
        let plan = SourceBlockEncodingPlan::generate(k as u16);
        group.bench_function(id_of("crate", k, loss_percent), |bencher| {
            bencher.iter(|| {
                let information = information(k);
                let encoder = SourceBlockEncoder::with_encoding_plan(0, &information, &data, &plan);
                encoder.repair_packets(0, repairs)
            });
        });
    }
}

fn decode(criterion: &mut Criterion) {
    let mut group = group(criterion, "decode");
    for (k, loss_percent) in cases() {
        let symbols = received(k, lost(k, loss_percent));
        let source_symbols = SourceSymbols::new(k).expect("K of a case is valid");
        let length = u64::from(k) * SYMBOL_BYTES as u64;
        group.throughput(Throughput::Bytes(length));
        group.bench_function(id_of("ours", k, loss_percent), |bencher| {
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
        });
        let packets = symbols.iter().map(|(esi, symbol)| {
            EncodingPacket::new(PayloadId::new(0, esi.value()), symbol.to_vec())
        });
        let packets: Vec<EncodingPacket> = packets.collect();
        group.bench_function(id_of("crate", k, loss_percent), |bencher| {
            bencher.iter_batched(
                || packets.clone(),
                |mut packets| {
                    let mut decoder = SourceBlockDecoder::new(0, &information(k), length);
                    let more = packets.split_off(k as usize);
                    let mut block = decoder.decode(packets);
                    let mut more = more.into_iter();
                    while block.is_none() {
                        block = decoder.decode(more.next());
                    }
                    block
                },
                BatchSize::SmallInput,
            );
        });
    }
}

fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.warm_up_time(Duration::from_millis(300));
    group
        .measurement_time(Duration::from_secs(1))
        .sample_size(20);
    group
}

fn cases() -> impl Iterator<Item = (u32, u32)> {
    [10, 27, 64, 128, 256, 512, 1000, 4000, 10_000]
        .into_iter()
        .flat_map(|k| [5, 20, 50].map(|loss_percent| (k, loss_percent)))
}

fn id_of(whose: &str, k: u32, loss_percent: u32) -> BenchmarkId {
    BenchmarkId::new(format!("{whose}/K={k}"), format!("{loss_percent}%"))
}

/// Symbols lost of K: at least one.
fn lost(k: u32, loss_percent: u32) -> u32 {
    ((k * loss_percent + 50) / 100).max(1)
}

fn size() -> SymbolSize {
    SymbolSize::new(SYMBOL_BYTES as u32).expect("1280 bytes are a valid size")
}

fn information(k: u32) -> ObjectTransmissionInformation {
    let length = u64::from(k) * SYMBOL_BYTES as u64;
    ObjectTransmissionInformation::new(length, SYMBOL_BYTES as u16, 1, 1, 1)
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

fn encoder(source: Vec<Bytes>) -> Box<dyn BlockEncoder> {
    let mut encoder = CodecKind::RaptorQ.encoder(size());
    for symbol in source {
        encoder
            .push_source(symbol)
            .expect("symbols of a valid block");
    }
    encoder.close();
    encoder
}

/// The symbols of a block of which `lost` source symbols, spread evenly, are replaced
/// by repair symbols; a few more repair symbols follow.
fn received(k: u32, lost: u32) -> Vec<(EncodingSymbolId, Bytes)> {
    let mut encoder = encoder(source(k));
    encoder.expect_repair(lost + 4);
    let is_lost = |position: u32| position * lost / k != (position + 1) * lost / k;
    let kept = (0..k).filter(|&position| !is_lost(position));
    let mut symbol = Vec::new();
    kept.chain(k..k + lost + 4)
        .map(|esi| {
            symbol.clear();
            let made = encoder.encode(id(esi), &mut symbol);
            made.expect("a symbol of a closed block");
            (id(esi), Bytes::copy_from_slice(&symbol))
        })
        .collect()
}

/// T: what fits into a packet of an ordinary path.
const SYMBOL_BYTES: usize = 1280;
