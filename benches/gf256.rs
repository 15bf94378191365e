//! How fast the arithmetic is: each kernel, beside what memory allows.
//!
//! `dot` counts the bytes multiplied and added (outputs x sources x length), `parity`
//! and `memory` the bytes of the sources, `accumulate` the bytes of the rows added.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpfec_codec::gf256::{Kernel, Slab};

criterion_main!(benches);
criterion_group!(benches, memory, parity, products, dot, accumulate);

/// What the machine can do at best: copies and reads that stay in L2.
fn memory(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("memory");
    for (level, bytes) in [("L1", 8 << 10), ("L2", 256 << 10), ("L3", 4 << 20)] {
        let (source, mut target) = (noise(bytes), noise(bytes));
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(BenchmarkId::new("copy", level), |bencher| {
            bencher.iter(|| {
                target.copy_from_slice(black_box(&source));
                black_box(&mut target);
            });
        });
        group.bench_function(BenchmarkId::new("xor", level), |bencher| {
            bencher.iter(|| {
                Kernel::best().add(&mut target, black_box(&source));
                black_box(&mut target);
            });
        });
        group.bench_function(BenchmarkId::new("read", level), |bencher| {
            bencher.iter(|| {
                let (words, _) = black_box(&source).as_chunks::<64>();
                let sum = words.iter().fold([0_u64; 8], |mut sum, line| {
                    for (sum, word) in sum.iter_mut().zip(line.as_chunks().0) {
                        *sum |= u64::from_ne_bytes(*word);
                    }
                    sum
                });
                black_box(sum);
            });
        });
    }
}

/// XOR over groups of symbols, one after the other from a pool that fits into L2.
fn parity(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parity");
    let pool = noise(200 * T);
    let symbols: Vec<&[u8]> = pool.chunks(T).collect();
    for kernel in Kernel::available() {
        for count in [4, 10, 20, 200] {
            let mut sum = vec![0; T];
            let mut groups = symbols.chunks(count).cycle();
            group.throughput(Throughput::Bytes((count * T) as u64));
            group.bench_function(BenchmarkId::new(kernel.name(), count), |bencher| {
                bencher.iter(|| {
                    sum.fill(0);
                    kernel.add_all(&mut sum, groups.next().expect("it is a cycle"));
                    black_box(&mut sum);
                });
            });
        }
    }
}

/// One product of one row.
fn products(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("mul_add");
    let (source, mut target) = (noise(T), noise(T));
    group.throughput(Throughput::Bytes(T as u64));
    for kernel in Kernel::available() {
        group.bench_function(kernel.name(), |bencher| {
            bencher.iter(|| {
                kernel.mul_add(&mut target, black_box(&source), black_box(0x53));
                black_box(&mut target);
            });
        });
    }
}

/// The workhorse: R repair symbols of K source symbols.
fn dot(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("dot");
    for kernel in Kernel::available() {
        for (sources, outputs) in [
            (20, 1),
            (27, 2),
            (27, 6),
            (64, 4),
            (128, 6),
            (256, 13),
            (512, 26),
            (1000, 50),
        ] {
            let mut slab = Slab::with_kernel(kernel);
            slab.reset(outputs, T);
            let pool = noise(sources * T);
            let symbols: Vec<&[u8]> = pool.chunks(T).collect();
            let coefficients = noise(sources * outputs);
            group.throughput(Throughput::Bytes((sources * outputs * T) as u64));
            group.bench_function(
                BenchmarkId::new(kernel.name(), format!("{outputs}x{sources}")),
                |bencher| {
                    bencher.iter(|| {
                        slab.add_dot(0..outputs, &coefficients, sources, black_box(&symbols));
                        black_box(&mut slab);
                    });
                },
            );
        }
    }
}

/// One fused row operation of a schedule: 6 rows added, 4 multiplied and added.
fn accumulate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("accumulate");
    group.throughput(Throughput::Bytes(10 * T as u64));
    for kernel in Kernel::available() {
        for rows in [32, 300, 1200] {
            let mut slab = Slab::with_kernel(kernel);
            slab.reset(rows, T);
            let place = |at: usize| (at * 7919 % rows) as u32;
            let mut at = 0;
            group.bench_function(BenchmarkId::new(kernel.name(), rows), |bencher| {
                bencher.iter(|| {
                    at += 1;
                    let dst = place(at) as usize;
                    let xors: [u32; 6] = std::array::from_fn(|nth| place(at + nth + 1));
                    let terms: [(u32, u8); 4] =
                        std::array::from_fn(|nth| (place(at + nth + 7), 0x53 + nth as u8));
                    slab.accumulate(dst, &xors, &terms);
                });
                black_box(&mut slab);
            });
        }
    }
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..bytes).map(|_| next()).collect()
}

/// T: what fits into a packet of an ordinary path.
const T: usize = 1280;
