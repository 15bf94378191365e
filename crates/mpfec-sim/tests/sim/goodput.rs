//! How much of what the paths carry reaches the application.

use std::time::Duration;

use mpfec_sim::{PathSetup, Setup, Simulation, scene};

use crate::{mbit, ms, secs};

/// Bytes that the application reads in a second after five seconds of warm-up, as a share of
/// the setup's limit, and the run for further questions.
fn bulk(setup: Setup, seed: u64, time: Duration) -> (f64, Simulation) {
    let limit = setup.limit_mbps().expect("every path has a rate");
    let mut net = scene().setup(setup).seed(seed).connect();
    net.send(1 << 40);
    net.run_for(secs(5));
    let bytes = net.bytes_read_in(time);
    net.check_bytes();
    let mbps = bytes as f64 * 8e-6 / time.as_secs_f64();
    (mbps / limit, net)
}

/// What of its limit a set-up carries when for a while little had been written: so many small
/// messages, one each round trip of 200 ms, and then bulk.
fn bulk_after(messages: u32, name: &str, seed: u64) -> f64 {
    let limit = named(name).limit_mbps().expect("every path has a rate");
    let mut net = scene().setup(named(name)).seed(seed).connect();
    for _ in 0..messages {
        net.send(100);
        net.run_for(ms(200));
    }
    net.send(1 << 40);
    net.run_for(secs(5));
    let time = secs(5);
    let bytes = net.bytes_read_in(time);
    bytes as f64 * 8e-6 / time.as_secs_f64() / limit
}

fn named(name: &str) -> Setup {
    Setup::named(name).expect("built in")
}

/// What the setups of the papers must reach at least.
fn least_share(name: &str) -> f64 {
    match name {
        // Half of the packets of one path are lost: delivery comes in bursts.
        "fmtcp-4" => 0.85,
        "fmtcp-3" | "pnc" => 0.92,
        _ => 0.95,
    }
}

fn assert_share(name: &str, seed: u64, time: Duration) {
    let (share, net) = bulk(named(name), seed, time);
    let least = least_share(name);
    assert!(
        share >= least,
        "{name}: {share:.3} of the limit, not {least}"
    );
    let receiver = net.server_connection().expect("open").stats().streams;
    let redundant = receiver.redundant_symbols as f64 / receiver.received_symbols as f64;
    assert!(
        redundant <= 0.03,
        "{name}: {redundant:.3} of the symbols were of no use"
    );
}

#[test]
fn the_hardest_setups_of_each_paper_reach_their_share() {
    for name in [
        "fmtcp-2",
        "fmtcp-4",
        "fmtcp-8",
        "dfec-l5-r25",
        "dfec-l5-r400",
        "pnc",
        "demo",
    ] {
        assert_share(name, 7, secs(10));
    }
}

/// Some of the few packets that validate a path which loses half are always lost.
#[test]
fn a_path_that_loses_half_has_its_part_of_bulk_that_follows_messages() {
    let shares: Vec<f64> = (1..=6).map(|seed| bulk_after(8, "fmtcp-4", seed)).collect();
    let least = shares.iter().copied().fold(1.0, f64::min);
    assert!(least >= 0.95, "{shares:.2?} of the limit, seeds 1 to 6");
}

#[test]
#[ignore = "takes minutes: run with --release --ignored"]
fn every_setup_of_the_papers_reaches_its_share() {
    for setup in Setup::built_in() {
        let changes = !setup.changes.is_empty();
        if changes || setup.limit_mbps().is_none() {
            continue;
        }
        for seed in 1..=3 {
            assert_share(&setup.name, seed, secs(20));
        }
    }
}

#[test]
fn several_paths_are_never_slower_than_the_best_of_them_alone() {
    let path = |name, rate, rtt, loss| PathSetup::symmetric(name, mbit(rate), ms(rtt), loss);
    let pairs = [
        [path("good", 20, 20, 0.0), path("slow", 1, 400, 0.0)],
        [path("good", 20, 20, 0.0), path("lossy", 10, 80, 0.5)],
        [path("good", 20, 100, 0.02), path("bad", 2, 600, 0.2)],
    ];
    for pair in pairs {
        let setup = |paths| Setup {
            name: "pair".to_owned(),
            summary: String::new(),
            paths,
            changes: Vec::new(),
        };
        let [good, other] = pair.clone();
        let mut read = [vec![good], pair.to_vec()].map(|paths| {
            let mut net = scene().setup(setup(paths)).connect();
            net.send(1 << 40);
            net.bytes_read_in(secs(8))
        });
        // A path that is hardly worth its losses may cost what it takes to find that out.
        read[1] += read[0] / 100;
        assert!(read[1] >= read[0], "{}: {read:?}", other.name);
    }
}

#[test]
fn a_short_transfer_is_as_fast_as_on_the_best_path_alone() {
    for bytes in [1, 1_000, 10_000, 100_000, 300_000] {
        let alone = scene().path("near", mbit(20), ms(20));
        let both = alone.clone().path("far", mbit(20), ms(200));
        let times = [alone, both].map(|scene| {
            let mut net = scene.connect();
            net.send(bytes);
            net.deliver(secs(5))
        });
        assert!(times[1] <= times[0] + ms(10), "{bytes} bytes: {times:?}");
    }
}

#[test]
fn both_directions_are_used_at_once() {
    let mut net = scene()
        .path("a", mbit(20), ms(40))
        .path("b", mbit(10), ms(80))
        .connect();
    net.send(1 << 40);
    net.send_back(1 << 40);
    net.run_for(secs(3));
    let before = (net.server().read(), net.client().read());
    net.run_for(secs(5));
    let read = [
        net.server().read() - before.0,
        net.client().read() - before.1,
    ];
    for read in read {
        let mbps = read as f64 * 8e-6 / 5.0;
        assert!(mbps >= 0.85 * 30.0 * 0.957, "{mbps:.1} Mbit/s");
    }
}
