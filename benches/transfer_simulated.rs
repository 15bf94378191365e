//! What a whole transfer costs the processor, at both ends together: 10 MB through the state
//! machines and a network in virtual time. No sockets, no waiting; time spent is work done,
//! the simulated network's and the application's check of every byte included.

use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpfec_core::Profile;
use mpfec_sim::{Scene, Setup, scene};

criterion_main!(benches);
criterion_group!(benches, transfer);

fn transfer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("transfer simulated");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
        .throughput(Throughput::Bytes(BYTES));
    for (name, profile) in [("auto", Profile::AUTO), ("uncoded", Profile::UNCODED)] {
        for (links, scene) in [
            ("clean-1gbit", clean()),
            ("fmtcp-3", named("fmtcp-3")),
            ("pnc", named("pnc")),
        ] {
            let scene = scene.profile(profile);
            group.bench_function(BenchmarkId::new(links, name), |bencher| {
                bencher.iter_batched_ref(
                    || scene.clone().connect(),
                    |simulation| {
                        simulation.send(BYTES);
                        simulation.deliver(Duration::from_secs(120))
                    },
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

fn clean() -> Scene {
    scene().path("clean", 1_000_000_000, Duration::from_millis(10))
}

fn named(name: &str) -> Scene {
    scene().setup(Setup::named(name).expect("a built-in set-up"))
}

const BYTES: u64 = 10_000_000;
