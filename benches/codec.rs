//! What a block costs, by K and by loss: our codes, other crates, and what memory allows.
//!
//! `cargo bench -p mpfec-benches --bench codec`, then
//! `cargo run -p mpfec-benches --example codec_table` for the tables and charts of
//! docs/benchmarks.md. `MPFEC_KERNEL=avx2` in the environment makes ours use that kernel,
//! see [`Kernel::name`].
//!
//! - `encode` makes as many repair symbols as the loss takes away; without loss, whatever
//!   must be done before one can be asked for. `decode` takes the K symbols that remain,
//!   source symbols first, and whatever more the block needs.
//! - Making and freeing the encoder or decoder is included, unless a crate has a way of
//!   using it again (`reed-solomon-simd`). What depends on K alone is not: a process makes
//!   it once (`raptorq` gets its plan). Inputs are made before the clock starts, for so few
//!   blocks that they stay in the cache if one does.
//! - `rlnc` has no source symbols of its own: it gets them as coded pieces with one
//!   coefficient.

use std::hint::black_box;
use std::time::Duration;

use bytes::Bytes;
use criterion::measurement::WallTime;
use criterion::{
    BatchSize, Bencher, BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput,
};
use mpfec_codec::gf256::{self, Kernel};
use mpfec_codec::{BlockEncoder, CodecKind, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use raptorq::{
    EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder,
    SourceBlockEncoder, SourceBlockEncodingPlan,
};
use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};

fn main() {
    if let Ok(name) = std::env::var("MPFEC_KERNEL") {
        let kernel = Kernel::available().find(|kernel| kernel.name() == name);
        let kernel = kernel.unwrap_or_else(|| panic!("no kernel {name:?} on this CPU"));
        assert!(kernel.prefer(), "nothing was computed before");
    }
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(60))
        .measurement_time(Duration::from_millis(400))
        .sample_size(20)
        .nresamples(1000)
        .configure_from_args();
    for k in [10, 27, 64, 128, 256, 512, 1000, 4000, 10_000] {
        memory(&mut criterion, k);
        for loss_percent in [0, 1, 5, 20, 50] {
            let case = Case::new(k, loss_percent);
            encode(&mut criterion, &case);
            decode(&mut criterion, &case);
        }
    }
    crossover(&mut criterion);
    criterion.final_summary();
}

/// What the memory does with a block: copies it, and adds it to another.
fn memory(criterion: &mut Criterion, k: u32) {
    let mut group = group(criterion, "memory", k);
    let source = noise(k);
    let mut target = noise(k);
    group.bench_function(BenchmarkId::new(format!("{k}:copy"), 0), |bencher| {
        bencher.iter(|| black_box(&mut target).copy_from_slice(black_box(&source)));
    });
    group.bench_function(BenchmarkId::new(format!("{k}:xor"), 0), |bencher| {
        bencher.iter(|| gf256::add(black_box(&mut target), black_box(&source)));
    });
}

fn encode(criterion: &mut Criterion, case: &Case) {
    let mut group = group(criterion, "encode", case.k);
    let (k, lost) = (case.k, case.lost);
    let mut out = Vec::with_capacity(lost as usize * T);
    for kind in case.kinds() {
        group.bench_function(case.id(kind.name()), |bencher| {
            let setup = || case.source.clone();
            case.iter(bencher, setup, |source| {
                let mut encoder = encoder(kind, source);
                encoder.expect_repair(lost);
                repair(encoder.as_mut(), k, lost, &mut out);
            });
        });
    }

    let plan = SourceBlockEncodingPlan::generate(k as u16);
    group.bench_function(case.id("raptorq-crate"), |bencher| {
        let information = information(k);
        bencher.iter(|| {
            let data = &case.data;
            let encoder = SourceBlockEncoder::with_encoding_plan(0, &information, data, &plan);
            encoder.repair_packets(0, lost)
        });
    });

    if lost > 0 && k <= MAX_RLNC {
        let mut random = SmallRng::seed_from_u64(1);
        group.bench_function(case.id("rlnc"), |bencher| {
            let setup = || case.data[..case.data.len() - 1].to_vec();
            let mut piece = vec![0; k as usize + T];
            case.iter(bencher, setup, |data| {
                let encoder = rlnc::full::Encoder::new(data, k as usize).expect("a block");
                for _ in 0..lost {
                    let made = encoder.code_with_buf(&mut random, black_box(&mut piece));
                    made.expect("the piece has the right length");
                }
            });
        });
    }

    if lost > 0 {
        let (k, lost) = (k as usize, lost as usize);
        let encoder = ReedSolomonEncoder::new(k, lost, T);
        let mut encoder = encoder.expect("supported numbers of shards");
        group.bench_function(case.id("reed-solomon-simd"), |bencher| {
            bencher.iter(|| {
                for symbol in &case.source {
                    encoder.add_original_shard(symbol).expect("a shard");
                }
                let made = encoder.encode().expect("all shards are there");
                for symbol in made.recovery_iter() {
                    black_box(symbol);
                }
            });
        });
    }
}

fn decode(criterion: &mut Criterion, case: &Case) {
    let mut group = group(criterion, "decode", case.k);
    let k = case.k;
    for kind in case.kinds() {
        let symbols = case.received(kind);
        group.bench_function(case.id(kind.name()), |bencher| {
            case.iter(
                bencher,
                || symbols.clone(),
                |symbols| put_together(kind, k, symbols),
            );
        });
    }

    let symbols = case.received(CodecKind::RaptorQ).into_iter();
    let packets: Vec<EncodingPacket> = symbols
        .map(|(esi, symbol)| EncodingPacket::new(PayloadId::new(0, esi.value()), symbol.to_vec()))
        .collect();
    group.bench_function(case.id("raptorq-crate"), |bencher| {
        let information = information(k);
        let setup = || {
            let mut packets = packets.clone();
            let more = packets.split_off(k as usize);
            (packets, more)
        };
        case.iter(bencher, setup, |(packets, more)| {
            let mut decoder = SourceBlockDecoder::new(0, &information, case.data.len() as u64);
            let mut block = decoder.decode(packets);
            let mut more = more.into_iter();
            while block.is_none() {
                block = decoder.decode(more.next());
            }
            block
        });
    });

    if case.lost > 0 && k <= MAX_RLNC {
        let pieces = case.pieces();
        group.bench_function(case.id("rlnc"), |bencher| {
            bencher.iter(|| {
                let mut decoder = rlnc::full::Decoder::new(T, k as usize).expect("a block");
                let mut pieces = pieces.iter();
                while !decoder.is_already_decoded() {
                    // A piece may say nothing new.
                    let _ = decoder.decode(pieces.next().expect("the pieces give the block"));
                }
                decoder.get_decoded_data().expect("the block is complete")
            });
        });
    }

    if case.lost > 0 {
        reed_solomon_decode(&mut group, case);
    }
}

fn reed_solomon_decode(group: &mut BenchmarkGroup<'_, WallTime>, case: &Case) {
    let (k, lost) = (case.k as usize, case.lost as usize);
    let encoder = ReedSolomonEncoder::new(k, lost, T);
    let mut encoder = encoder.expect("supported numbers of shards");
    for symbol in &case.source {
        encoder.add_original_shard(symbol).expect("a shard");
    }
    let made = encoder.encode().expect("all shards are there");
    let repair: Vec<Vec<u8>> = made.recovery_iter().map(<[u8]>::to_vec).collect();
    let decoder = ReedSolomonDecoder::new(k, lost, T);
    let mut decoder = decoder.expect("supported numbers of shards");
    group.bench_function(case.id("reed-solomon-simd"), |bencher| {
        bencher.iter(|| {
            for &position in &case.kept {
                let symbol = &case.source[position as usize];
                let added = decoder.add_original_shard(position as usize, symbol);
                added.expect("a shard");
            }
            for (index, symbol) in repair.iter().enumerate() {
                decoder.add_recovery_shard(index, symbol).expect("a shard");
            }
            let made = decoder.decode().expect("enough shards are there");
            for restored in made.restored_original_iter() {
                black_box(restored);
            }
        });
    });
}

/// Where the whole block becomes cheaper than symbol by symbol, by the number of repair
/// symbols: `dense` is the linear code, `replay` RaptorQ when very many are announced,
/// `auto` RaptorQ when the number is.
fn crossover(criterion: &mut Criterion) {
    for k in [64, 256, 1000] {
        let source = source(&noise(k));
        for count in [1, 4, 8, 16, 24, 32, 48, 64, 96, 128] {
            let mut group = group(criterion, "crossover", k);
            let mut out = Vec::with_capacity(count as usize * T);
            for (way, kind, expected) in [
                ("dense", CodecKind::Linear, count),
                ("replay", CodecKind::RaptorQ, 100_000),
                ("auto", CodecKind::RaptorQ, count),
            ] {
                let id = BenchmarkId::new(format!("{k}:{way}"), count);
                group.bench_function(id, |bencher| {
                    let encode = |source| {
                        let mut encoder = encoder(kind, source);
                        encoder.expect_repair(expected);
                        repair(encoder.as_mut(), k, count, &mut out);
                    };
                    bencher.iter_batched(|| source.clone(), encode, at_once(k));
                });
            }
        }
    }
}

/// One block and what is lost of it.
struct Case {
    k: u32,
    loss_percent: u32,
    /// At least one symbol if any.
    lost: u32,
    data: Vec<u8>,
    source: Vec<Bytes>,
    /// Positions of the source symbols that arrive.
    kept: Vec<u32>,
}

impl Case {
    fn new(k: u32, loss_percent: u32) -> Self {
        let lost = (k * loss_percent + 50) / 100;
        let lost = lost.max(loss_percent.min(1));
        let data = noise(k);
        Self {
            k,
            loss_percent,
            lost,
            source: source(&data),
            data,
            kept: kept(k, lost),
        }
    }

    fn id(&self, codec: &str) -> BenchmarkId {
        BenchmarkId::new(format!("{}:{codec}", self.k), self.loss_percent)
    }

    /// Our codes that have blocks of this K.
    fn kinds(&self) -> impl Iterator<Item = CodecKind> + use<> {
        let linear = (self.k <= 1024).then_some(CodecKind::Linear);
        std::iter::once(CodecKind::RaptorQ).chain(linear)
    }

    /// Source symbols, then repair symbols; four more of these than are needed at least.
    fn received(&self, kind: CodecKind) -> Vec<(EncodingSymbolId, Bytes)> {
        let mut encoder = encoder(kind, self.source.clone());
        let count = if self.lost == 0 { 0 } else { self.lost + 4 };
        encoder.expect_repair(count);
        let mut out = Vec::with_capacity(count as usize * T);
        repair(encoder.as_mut(), self.k, count, &mut out);
        let repair = out.chunks(T).map(Bytes::copy_from_slice);
        let source = self.kept.iter().map(|&position| {
            let symbol = &self.source[position as usize];
            (id(position), symbol.clone())
        });
        source.chain((self.k..).map(id).zip(repair)).collect()
    }

    /// The same for `rlnc`.
    fn pieces(&self) -> Vec<Vec<u8>> {
        let k = self.k as usize;
        let mut data = self.data.clone();
        // What its encoder puts behind the data.
        data.pop();
        let encoder = rlnc::full::Encoder::new(data.clone(), k).expect("a block");
        data.push(0x81);
        let source = self.kept.iter().map(|&position| {
            let position = position as usize;
            let mut piece = vec![0; k + T];
            piece[position] = 1;
            piece[k..].copy_from_slice(&data[position * T..][..T]);
            piece
        });
        let mut random = SmallRng::seed_from_u64(2);
        let coded = (0..self.lost + 4).map(|_| encoder.code(&mut random));
        source.chain(coded).collect()
    }

    fn iter<I, O>(
        &self,
        bencher: &mut Bencher<'_>,
        setup: impl FnMut() -> I,
        routine: impl FnMut(I) -> O,
    ) {
        bencher.iter_batched(setup, routine, at_once(self.k));
    }
}

/// So few blocks that their inputs stay in the cache.
fn at_once(k: u32) -> BatchSize {
    BatchSize::NumIterations(u64::from(200 / k).clamp(1, 20))
}

fn group<'a>(criterion: &'a mut Criterion, name: &str, k: u32) -> BenchmarkGroup<'a, WallTime> {
    let kernel = Kernel::best().name();
    let mut group = criterion.benchmark_group(format!("codec {kernel} {name}"));
    group.throughput(Throughput::Bytes(u64::from(k) * T as u64));
    if k >= 4000 {
        group.sampling_mode(SamplingMode::Flat);
    }
    group
}

fn encoder(kind: CodecKind, source: Vec<Bytes>) -> Box<dyn BlockEncoder> {
    let mut encoder = kind.encoder(size());
    for symbol in source {
        let pushed = encoder.push_source(symbol);
        pushed.expect("a symbol of a valid block");
    }
    encoder.close();
    encoder
}

fn repair(encoder: &mut dyn BlockEncoder, k: u32, count: u32, out: &mut Vec<u8>) {
    out.clear();
    for esi in k..k + count {
        encoder.encode(id(esi), out).expect("a closed block");
    }
    black_box(out);
}

fn put_together(kind: CodecKind, k: u32, symbols: Vec<(EncodingSymbolId, Bytes)>) {
    let mut decoder = kind.decoder(SourceSymbols::new(k).expect("a valid K"), size());
    for (esi, symbol) in symbols {
        if decoder.push(esi, symbol) == Ok(Progress::Complete) {
            break;
        }
    }
    assert_eq!(decoder.missing(), 0, "the symbols give the block");
    while let Some(symbol) = decoder.poll_recovered() {
        black_box(symbol);
    }
}

/// Random positions that arrive, ascending.
fn kept(k: u32, lost: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..k).collect();
    let mut random = Random(u64::from(k * 7 + lost));
    for at in 0..k as usize {
        let other = at + random.next() as usize % (k as usize - at);
        order.swap(at, other);
    }
    let mut kept = order.split_off(lost as usize);
    kept.sort_unstable();
    kept
}

/// The symbols of a block in one buffer, from the start of a cache line on.
fn source(data: &[u8]) -> Vec<Bytes> {
    let mut buffer = vec![0; data.len() + 64];
    let start = buffer.as_ptr().align_offset(64).min(64);
    buffer[start..start + data.len()].copy_from_slice(data);
    let buffer = Bytes::from(buffer);
    let starts = (start..start + data.len()).step_by(T);
    starts.map(|start| buffer.slice(start..start + T)).collect()
}

fn noise(k: u32) -> Vec<u8> {
    let mut random = Random(1);
    (0..k as usize * T).map(|_| random.next() as u8).collect()
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }
}

fn information(k: u32) -> ObjectTransmissionInformation {
    ObjectTransmissionInformation::new(u64::from(k) * T as u64, T as u16, 1, 1, 1)
}

fn size() -> SymbolSize {
    SymbolSize::new(T as u32).expect("1280 bytes are a valid size")
}

fn id(esi: u32) -> EncodingSymbolId {
    EncodingSymbolId::new(esi).expect("identifiers here are small")
}

/// T: what fits into a packet of an ordinary path.
const T: usize = 1280;
/// Beyond, a block takes `rlnc` tens of milliseconds.
const MAX_RLNC: u32 = 256;
