//! MPTCP-PNC and the systems that it is compared with, over the paper's paths.

use std::time::Duration;

use mpfec_core::Profile;
use mpfec_sim::{Setup, scene};

use crate::{ms, secs};

const SYSTEMS: [&str; 4] = ["pnc", "cmt-nc", "nc-mptcp", "mptcp-nc"];

fn profile(name: &str) -> Profile {
    name.parse().expect("a profile")
}

/// What a system reaches on the paper's paths.
#[derive(Debug)]
struct Outcome {
    mbps: f64,
    /// Mean time from when a byte first leaves until it is read.
    delay: Duration,
    repair: f64,
    overhead: f64,
}

/// A bulk transfer over the `pnc` setup, measured after a warm-up.
fn run(name: &str, buffer_kib: u64, seed: u64, time: Duration) -> Outcome {
    let mut net = scene()
        .setup(Setup::named("pnc").expect("built in"))
        .profile(profile(name))
        .server(|config| {
            config.stream_window = buffer_kib << 10;
            config.connection_window = buffer_kib << 10;
        })
        .seed(seed)
        .connect();
    net.send(1 << 40);
    net.run_for(secs(10));
    let stats = |net: &mpfec_sim::Simulation| net.client_connection().expect("open").stats();
    let (before, read_before) = (stats(&net).streams, net.server().read());
    let step = ms(5);
    let (mut waiting, steps) = (0.0, time.as_millis() / step.as_millis());
    for _ in 0..steps {
        net.run_for(step);
        let sent = stats(&net).streams.sent_stream_bytes;
        waiting += (sent - net.server().read()) as f64 * step.as_secs_f64();
    }
    net.check_bytes();
    if std::env::var_os("SHOW").is_some() {
        for path in stats(&net).paths {
            println!("    {path:?}");
        }
    }
    let after = stats(&net).streams;
    let read = (net.server().read() - read_before) as f64;
    let symbols =
        |stats: &mpfec_core::StreamStats| stats.sent_source_symbols + stats.sent_repair_symbols;
    Outcome {
        mbps: read * 8e-6 / time.as_secs_f64(),
        delay: Duration::from_secs_f64(waiting / read.max(1.0)),
        repair: (after.sent_repair_symbols - before.sent_repair_symbols) as f64
            / (symbols(&after) - symbols(&before)) as f64,
        overhead: (after.sent_coefficient_bytes - before.sent_coefficient_bytes) as f64 / read,
    }
}

#[test]
#[ignore = "figures"]
fn figures() {
    for kib in [64, 128, 256, 512, 1024] {
        for name in SYSTEMS {
            let o = run(name, kib, 1, secs(30));
            println!(
                "{kib:5} {name:9} {:6.2} Mbit/s {:4} ms repair {:4.1} % coefficients {:.2} %",
                o.mbps,
                o.delay.as_millis(),
                100.0 * o.repair,
                100.0 * o.overhead
            );
        }
    }
}
