//! The small codes: what a group costs. Making and freeing encoder or decoder, and handing
//! out what was decoded, is included; throughput counts the group's packets.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpfec_codec::parity::{ParityDecoder, ParityEncoder};
use mpfec_codec::pipeline::{PipelineCode, PipelineDecoder, PipelineEncoder};
use mpfec_codec::{
    BlockDecoder, BlockEncoder, CodecKind, EncodingSymbolId, Progress, SourceSymbols, SymbolSize,
};

criterion_main!(benches);
criterion_group!(benches, linear, pipeline, parity);

/// The linear code, by K and loss; as many repair symbols as are lost.
fn linear(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("linear");
    for k in [10, 27, 64, 128, 256] {
        for loss_percent in [5, 20, 50] {
            let lost = (k * loss_percent / 100).max(1);
            let source = source(k);
            group.throughput(Throughput::Bytes(u64::from(k) * T as u64));
            let mut out = Vec::with_capacity(lost as usize * T);
            let mut encode = |symbols: &[Bytes]| {
                let mut encoder = CodecKind::Linear.encoder(size());
                fill(encoder.as_mut(), symbols);
                encoder.expect_repair(lost);
                out.clear();
                for value in k..k + lost {
                    encoder.encode(id(value), &mut out).expect("it is closed");
                }
                Bytes::copy_from_slice(black_box(&out))
            };
            let repair = encode(&source);
            let name = format!("{loss_percent}%");
            let id_of = |what| BenchmarkId::new(format!("{what}/K={k}"), &name);
            group.bench_function(id_of("encode"), |bencher| bencher.iter(|| encode(&source)));

            let is_lost = |value: u32| (0..lost).any(|nth| nth * k / lost == value);
            let kept = (0..k).filter(|&value| !is_lost(value));
            let mut symbols: Vec<_> = kept
                .map(|value| (id(value), source[value as usize].clone()))
                .collect();
            symbols.extend((0..lost).map(|nth| {
                let start = nth as usize * T;
                (id(k + nth), repair.slice(start..start + T))
            }));
            group.bench_function(id_of("decode"), |bencher| {
                let decode = |symbols: Vec<_>| {
                    let mut decoder = CodecKind::Linear.decoder(number(k), size());
                    for (esi, symbol) in symbols {
                        decoder.push(esi, symbol).expect("symbols of the block");
                    }
                    while let Some(decoded) = decoder.poll_recovered() {
                        black_box(decoded);
                    }
                };
                bencher.iter_batched(|| symbols.clone(), decode, BatchSize::SmallInput);
            });
        }
    }
}

/// The pipeline code: all coded packets of a group, and the group again from them, or with
/// redundant ones instead of the first, the fifth, ..
fn pipeline(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pipeline");
    let code = PipelineCode::new(1);
    for n in [8, 16, 20] {
        let source = source(n);
        group.throughput(Throughput::Bytes(u64::from(n) * T as u64));
        let mut out = Vec::with_capacity((n as usize + 5) * T);
        let mut encode = |packets: Vec<Bytes>, redundant| {
            let mut encoder = PipelineEncoder::new(code.clone(), size());
            for packet in packets {
                encoder.push(packet).expect("a group has room for it");
            }
            encoder.close();
            out.clear();
            encoder
                .encode(0..n + redundant, &mut out)
                .expect("they exist");
            black_box(&out).len()
        };
        group.bench_function(BenchmarkId::new("encode", n), |bencher| {
            let setup = || source.clone();
            bencher.iter_batched(setup, |packets| encode(packets, 0), BatchSize::SmallInput);
        });
        encode(source.clone(), 5);
        let all = Bytes::from(out);
        for lost in [0, 1, 5] {
            let values = (0..n + 5).filter(|value| value % 4 != 0 || value / 4 >= lost);
            let symbols = values.map(|value| {
                let start = value as usize * T;
                (id(value), all.slice(start..start + T))
            });
            let symbols: Vec<_> = symbols.take(n as usize).collect();
            group.bench_function(
                BenchmarkId::new(format!("decode, {lost} lost"), n),
                |bencher| {
                    let decode = |symbols: Vec<_>| {
                        let decoder = PipelineDecoder::new(code.clone(), number(n), size());
                        let mut decoder = decoder.expect("a group may have so many");
                        for (esi, symbol) in symbols {
                            decoder.push(esi, symbol).expect("symbols of the group");
                        }
                        while let Some(decoded) = decoder.poll_decoded() {
                            black_box(decoded);
                        }
                    };
                    bencher.iter_batched(|| symbols.clone(), decode, BatchSize::SmallInput);
                },
            );
        }
    }
}

/// XOR parity: making it, and recovering one symbol.
fn parity(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parity");
    for k in [4, 10, 20, 200] {
        let source = source(k);
        let mut encoder = ParityEncoder::new(size());
        fill(&mut encoder, &source);
        let mut parity = Vec::with_capacity(T);
        group.throughput(Throughput::Bytes(u64::from(k) * T as u64));
        group.bench_function(BenchmarkId::new("encode", k), |bencher| {
            bencher.iter(|| {
                parity.clear();
                encoder.encode(id(k), &mut parity).expect("it is closed");
                black_box(&parity).len()
            });
        });
        let parity = Bytes::from(parity);
        group.bench_function(BenchmarkId::new("recover", k), |bencher| {
            let setup = || {
                let mut decoder = ParityDecoder::new(number(k), size());
                for (value, symbol) in (0..).zip(&source).skip(1) {
                    decoder
                        .push(id(value), symbol.clone())
                        .expect("a symbol of the group");
                }
                (decoder, parity.clone())
            };
            let recover = |(mut decoder, parity): (ParityDecoder, Bytes)| {
                assert_eq!(decoder.push(id(k), parity), Ok(Progress::Complete));
                decoder.poll_recovered()
            };
            bencher.iter_batched(setup, recover, BatchSize::SmallInput);
        });
    }
}

fn fill(encoder: &mut dyn BlockEncoder, symbols: &[Bytes]) {
    for symbol in symbols {
        encoder
            .push_source(symbol.clone())
            .expect("symbols of a valid block");
    }
    encoder.close();
}

/// Symbols as they come in datagrams: somewhere in memory, behind a header.
fn source(count: u32) -> Vec<Bytes> {
    let datagram = |nth: u32| -> Bytes {
        (0..(HEADER + T) as u32)
            .map(|at| (nth * 31 + at * 7 + at / 256) as u8)
            .collect()
    };
    (0..count)
        .map(|nth| datagram(nth).slice(HEADER..))
        .collect()
}

fn size() -> SymbolSize {
    SymbolSize::new(T as u32).expect("1280 bytes are a valid size")
}

fn number(count: u32) -> SourceSymbols {
    SourceSymbols::new(count).expect("numbers of symbols here are valid")
}

fn id(value: u32) -> EncodingSymbolId {
    EncodingSymbolId::new(value).expect("identifiers here are small")
}

const T: usize = 1280;
const HEADER: usize = 24;
