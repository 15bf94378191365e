//! The state machine that ships, in a simulated network: one behaviour per file.

mod absurd;
mod aggregates;
mod bottleneck;
mod bursts;
mod busy_hosts;
mod close;
mod coop;
mod couple_plus;
mod crowd;
mod drawn;
mod fallback;
mod goodput;
mod groups;
mod handover;
mod handshake;
mod hostile;
mod jitter;
mod keep_alive;
mod latecomer;
mod latency;
mod limits;
mod longer;
mod mobile;
mod model;
mod moves;
mod narrow;
mod overflow;
mod paced;
mod parity;
mod path_dies;
mod paths;
mod policed;
mod profiles;
mod rare_losses;
mod redundancy;
mod scenario;
mod small_windows;
mod snapshots;
mod streams;
mod two_ways;
mod unruly;
mod upload;
mod wandering;
mod weak_links;
mod wifi_lte;
mod windows;

use std::time::Duration;

use mpfec_sim::scenario::{RunResult, Scenario};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const fn mbit(mbit: u64) -> u64 {
    mbit * 1_000_000
}

const fn kib(kib: u64) -> u64 {
    kib << 10
}

const fn mib(mib: u64) -> u64 {
    mib << 20
}

/// A run of the case of that name of a built-in scenario, over its variant of that name.
fn run_of(scenario: &Scenario, case: &str, variant: &str, seed: u64) -> RunResult {
    let mut cases = scenario.cases.iter();
    let case_at = cases.position(|found| found.name == case).expect(case);
    let mut variants = scenario.variants.iter();
    let variant_at = variants.position(|found| found.name == variant);
    let result = scenario.run(case_at, variant_at.expect(variant), seed);
    assert_eq!(result.failure, None, "{case}, seed {seed}");
    result
}

fn metric(result: &RunResult, metric: &str) -> f64 {
    result.metric(metric).expect("it is measured")
}
