//! What packets cost beside cryptography and coding: headers, symbols and acknowledgements,
//! written and read.

use std::hint::black_box;
use std::ops::RangeInclusive;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpfec_core::fuzzing;

criterion_main!(benches);
criterion_group!(benches, symbol_packet, acknowledgement, padding);

fn symbol_packet(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("symbol packet");
    let symbol = vec![0x5a; SYMBOL_BYTES];
    group.throughput(Throughput::Bytes(SYMBOL_BYTES as u64));

    let mut out = Vec::with_capacity(2 * SYMBOL_BYTES);
    let mut packet_number = 0;
    group.bench_function("write", |bencher| {
        bencher.iter(|| {
            packet_number += 1;
            out.clear();
            black_box(fuzzing::write_symbol_packet(
                packet_number,
                &symbol,
                &mut out,
            ))
        });
    });

    out.clear();
    let payload_at = fuzzing::write_symbol_packet(123_456, &symbol, &mut out);
    let packet = Bytes::from(out);
    group.bench_function("read header", |bencher| {
        bencher.iter(|| fuzzing::packet_number_at(black_box(&packet)));
    });
    let payload = packet.slice(payload_at..);
    group.bench_function("read frames", |bencher| {
        bencher.iter(|| fuzzing::count_frames(black_box(&payload)));
    });
    group.finish();
}

fn acknowledgement(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("acknowledgement");
    for count in [1, 2, 8, 32] {
        let mut out = Vec::with_capacity(ROOM);
        group.bench_function(BenchmarkId::new("write", count), |bencher| {
            bencher.iter(|| {
                out.clear();
                black_box(fuzzing::write_ack(ranges(count), ROOM, &mut out))
            });
        });
        out.clear();
        fuzzing::write_ack(ranges(count), ROOM, &mut out);
        let payload = Bytes::from(out);
        group.bench_function(BenchmarkId::new("read", count), |bencher| {
            bencher.iter(|| fuzzing::count_frames(black_box(&payload)));
        });
    }
    group.finish();
}

/// A probe of the path MTU is a PING and nothing else.
fn padding(criterion: &mut Criterion) {
    let mut payload = vec![0; 1400];
    payload[0] = 1;
    let payload = Bytes::from(payload);
    criterion.bench_function("padding", |bencher| {
        bencher.iter(|| fuzzing::count_frames(black_box(&payload)));
    });
}

/// Ranges of ten packets, every eleventh of which was lost; the newest first.
fn ranges(count: u64) -> impl Iterator<Item = RangeInclusive<u64>> + Clone {
    (0..count)
        .rev()
        .map(|index| FIRST_PACKET + 11 * index)
        .map(|first| first..=first + 9)
}

const SYMBOL_BYTES: usize = 1200;
const ROOM: usize = 1200;
const FIRST_PACKET: u64 = 100_000;
