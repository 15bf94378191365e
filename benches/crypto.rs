//! What it costs to seal and open a 1-RTT packet, by its size, in bytes of payload per second
//! on one core.

use std::hint::black_box;
use std::time::Instant;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpfec_core::fuzzing::Link;

criterion_main!(benches);
criterion_group!(benches, seal, open);

/// Payload bytes of a small packet, of one on a path of 1472 bytes, and of a jumbo frame's.
const SIZES: [usize; 3] = [100, 1440, 8900];
/// Packets that one buffer holds, as in a batch for the kernel.
const BATCH: usize = 16;

fn seal(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("seal");
    for size in SIZES {
        group.throughput(Throughput::Bytes((size * BATCH) as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            let payload = vec![0x5a; size];
            let mut buffer = Vec::with_capacity(BATCH * (size + 64));
            let (mut link, mut packet_number) = (Link::default(), 0);
            bencher.iter(|| {
                buffer.clear();
                if packet_number > FRESH_KEYS {
                    (link, packet_number) = (Link::default(), 0);
                }
                for _ in 0..BATCH {
                    packet_number += 1;
                    link.seal(1, packet_number, &payload, &mut buffer);
                }
                black_box(buffer.len())
            });
        });
    }
    group.finish();
}

fn open(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("open");
    for size in SIZES {
        let payload = vec![0x5a; size];
        let mut link = Link::default();
        let mut packet = Vec::new();
        link.seal(1, 1000, &payload, &mut packet);
        let now = now();
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter_batched_ref(
                || packet.clone(),
                |packet| black_box(link.open(now, 1, packet, Some(999))),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

#[expect(clippy::disallowed_methods, reason = "a benchmark needs an epoch")]
fn now() -> Instant {
    Instant::now()
}

/// Nobody acknowledges here, so that no key update helps when a key is used up.
const FRESH_KEYS: u64 = 1 << 22;
