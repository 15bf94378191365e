//! How many times as fast as the `raptorq` crate, whose plans are reused, in one run.
//!
//! `cargo run --release -p mpfec-codec --example ratios [encode|decode] [K...]`
//! With `MPFEC_KERNEL=avx2` in the environment, ours computes with that kernel.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "measures and reports"
)]

use std::hint::black_box;
use std::time::Instant;

use bytes::Bytes;
use mpfec_codec::gf256::Kernel;
use mpfec_codec::{CodecKind, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};
use raptorq::{
    EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder,
    SourceBlockEncoder, SourceBlockEncodingPlan,
};

fn main() {
    choose_kernel();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| {
        let named = arguments
            .iter()
            .any(|argument| argument == "encode" || argument == "decode");
        !named || arguments.iter().any(|argument| argument == name)
    };
    let mut blocks: Vec<u32> = arguments
        .iter()
        .filter_map(|argument| argument.parse().ok())
        .collect();
    if blocks.is_empty() {
        blocks = vec![10, 27, 64, 128, 256, 512, 1000, 4000, 10_000];
    }
    println!("kernel {}", Kernel::best().name());
    println!(
        "{:8} {:>6} {:>5} {:>12} {:>12} {:>7}",
        "", "K", "loss", "ours", "crate", "ratio"
    );
    for (name, measure) in [
        ("encode", encode as fn(u32, u32) -> Pair),
        ("decode", decode),
    ] {
        if !is_wanted(name) {
            continue;
        }
        for &k in &blocks {
            for loss in [5, 20, 50] {
                let lost = (k * loss + 50) / 100;
                let pair = measure(k, lost.max(1));
                println!(
                    "{name:8} {k:6} {loss:4}% {:10.2}us {:10.2}us {:7.2}",
                    pair.ours * 1e6,
                    pair.theirs * 1e6,
                    pair.ratio,
                );
            }
        }
    }
}

fn choose_kernel() {
    let Ok(name) = std::env::var("MPFEC_KERNEL") else {
        return;
    };
    let kernel = Kernel::available().find(|kernel| kernel.name() == name);
    let kernel = kernel.expect("a kernel that this CPU has");
    assert!(kernel.prefer(), "nothing was computed before");
}

/// Medians: seconds per block, and of how long theirs took, divided by how long ours did
/// right before.
struct Pair {
    ours: f64,
    theirs: f64,
    ratio: f64,
}

fn encode(k: u32, repairs: u32) -> Pair {
    let data = data(k);
    let symbols = split(&data);
    let info = info(k);
    let plan = SourceBlockEncodingPlan::generate(k as u16);
    let mut out = Vec::with_capacity(repairs as usize * T);
    compare(
        || symbols.clone(),
        |symbols| {
            let mut encoder = CodecKind::RaptorQ.encoder(size());
            for symbol in symbols {
                encoder.push_source(symbol).expect("a symbol of the block");
            }
            encoder.close();
            encoder.expect_repair(repairs);
            out.clear();
            for esi in k..k + repairs {
                encoder.encode(id(esi), &mut out).expect("a closed block");
            }
            black_box(out.len());
        },
        || (),
        |()| {
            let encoder = SourceBlockEncoder::with_encoding_plan(0, &info, &data, &plan);
            black_box(encoder.repair_packets(0, repairs));
        },
        k,
    )
}

fn decode(k: u32, lost: u32) -> Pair {
    let data = data(k);
    let symbols = received(k, lost, &data);
    let info = info(k);
    let packets: Vec<EncodingPacket> = symbols
        .iter()
        .map(|(esi, symbol)| EncodingPacket::new(PayloadId::new(0, esi.value()), symbol.to_vec()))
        .collect();
    let enough = k as usize;
    compare(
        || symbols.clone(),
        |symbols| {
            let mut decoder =
                CodecKind::RaptorQ.decoder(SourceSymbols::new(k).expect("a K"), size());
            for (esi, symbol) in symbols {
                if decoder.push(esi, symbol) == Ok(Progress::Complete) {
                    break;
                }
            }
            assert_eq!(decoder.missing(), 0, "the symbols give the block");
            while let Some(symbol) = decoder.poll_recovered() {
                black_box(symbol);
            }
        },
        || packets.clone(),
        |mut packets| {
            let mut decoder = SourceBlockDecoder::new(0, &info, u64::from(k) * T as u64);
            let more = packets.split_off(enough);
            let mut block = decoder.decode(packets);
            for packet in more {
                if block.is_some() {
                    break;
                }
                block = decoder.decode([packet]);
            }
            black_box(block.expect("the symbols give the block"));
        },
        k,
    )
}

/// Runs both in turns, some at a time.
fn compare<A, B>(
    prepare_ours: impl Fn() -> A,
    mut ours: impl FnMut(A),
    prepare_theirs: impl Fn() -> B,
    mut theirs: impl FnMut(B),
    k: u32,
) -> Pair {
    // Short samples, so that most are not interrupted by whatever else runs.
    let batch = (2_000 / k).clamp(1, 20);
    let samples = if k >= 4000 { 15 } else { 101 };
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..samples {
        times.0.push(time(batch * 4, &prepare_ours, &mut ours));
        times.1.push(time(batch, &prepare_theirs, &mut theirs));
    }
    let ratios = times
        .0
        .iter()
        .zip(&times.1)
        .map(|(ours, theirs)| theirs / ours);
    Pair {
        ratio: median(ratios.collect()),
        ours: median(times.0),
        theirs: median(times.1),
    }
}

fn time<A>(count: u32, prepare: &impl Fn() -> A, run: &mut impl FnMut(A)) -> f64 {
    let prepared: Vec<A> = (0..count).map(|_| prepare()).collect();
    let start = Instant::now();
    prepared.into_iter().for_each(run);
    start.elapsed().as_secs_f64() / f64::from(count)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn data(k: u32) -> Vec<u8> {
    let mut state = 1_u64;
    (0..k as usize * T)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        })
        .collect()
}

/// The symbols in one buffer, at the start of a cache line.
fn split(data: &[u8]) -> Vec<Bytes> {
    let mut buffer = vec![0; data.len() + 64];
    let start = buffer.as_ptr().align_offset(64).min(64);
    buffer[start..start + data.len()].copy_from_slice(data);
    let buffer = Bytes::from(buffer);
    let starts = (start..start + data.len()).step_by(T);
    starts.map(|start| buffer.slice(start..start + T)).collect()
}

/// What is left when `lost` random source symbols are, and repair symbols instead.
fn received(k: u32, lost: u32, data: &[u8]) -> Vec<(EncodingSymbolId, Bytes)> {
    let mut encoder = CodecKind::RaptorQ.encoder(size());
    for symbol in split(data) {
        encoder.push_source(symbol).expect("a symbol of the block");
    }
    encoder.close();
    let mut order: Vec<u32> = (0..k).collect();
    let mut state = u64::from(k * 7 + lost);
    for at in 0..k as usize {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        order.swap(at, at + (state >> 33) as usize % (k as usize - at));
    }
    let mut kept = order.split_off(lost as usize);
    kept.sort_unstable();
    kept.extend(k..k + lost + 4);
    let mut symbol = Vec::new();
    kept.into_iter()
        .map(|esi| {
            symbol.clear();
            encoder
                .encode(id(esi), &mut symbol)
                .expect("a closed block");
            (id(esi), Bytes::copy_from_slice(&symbol))
        })
        .collect()
}

fn id(esi: u32) -> EncodingSymbolId {
    EncodingSymbolId::new(esi).expect("identifiers here are small")
}

fn size() -> SymbolSize {
    SymbolSize::new(T as u32).expect("1280 is a valid size")
}

fn info(k: u32) -> ObjectTransmissionInformation {
    ObjectTransmissionInformation::new(u64::from(k) * T as u64, T as u16, 1, 1, 1)
}

const T: usize = 1280;
