//! Policers, which drop what exceeds a rate and let nothing wait.

use mpfec_sim::scenario::Scenario;

use super::{metric, run_of};

/// What a policer drops looks like what a noisy link loses: refilling it would only be dropped.
#[test]
fn what_a_policer_drops_is_not_made_up_for() {
    let scenario = Scenario::named("policed").expect("a scenario that is built in");
    for case in [
        "5 Mbit/s, 10 ms, 8 KB at once, no loss",
        "5 Mbit/s, 10 ms, 1 MB at once, no loss",
        "20 Mbit/s, 10 ms, 200 KB at once, 2 %",
    ] {
        for seed in 1..=2 {
            let result = run_of(&scenario, case, "auto", seed);
            let (share, dropped) = (
                metric(&result, "share"),
                metric(&result, "overflow_percent"),
            );
            assert!(share >= 0.97, "{case}, seed {seed}: {share:.3} arrive");
            assert!(
                dropped <= 7.0,
                "{case}, seed {seed}: {dropped:.1} % dropped"
            );
        }
    }
}

/// Protection against losses that it brings about itself would grow until nothing else is sent.
#[test]
fn blocks_behind_a_policer_are_not_protected_against_it() {
    let scenario = Scenario::named("policed").expect("a scenario that is built in");
    for (case, most) in [
        ("5 Mbit/s, 10 ms, 8 KB at once, no loss", 75.0),
        ("50 Mbit/s, 40 ms, 200 KB at once, no loss", 40.0),
        ("50 Mbit/s, 200 ms, 1 MB at once, 2 %", 125.0),
    ] {
        for seed in 1..=2 {
            let result = run_of(&scenario, case, "blocks", seed);
            let (delay, dropped) = (
                metric(&result, "block_delay_ms.p99"),
                metric(&result, "overflow_percent"),
            );
            assert!(delay <= most, "{case}, seed {seed}: {delay:.0} ms");
            assert!(
                dropped <= 5.0,
                "{case}, seed {seed}: {dropped:.1} % dropped"
            );
        }
    }
}

/// Each of two subflows finds only its part of what both overflow, and what one loses while it holds back
/// may be what the other sends.
#[test]
fn two_subflows_behind_one_policer_do_not_flood_it() {
    let scenario = Scenario::named("policed-shared").expect("a scenario that is built in");
    for (case, most) in [
        ("5 Mbit/s, 20 ms, 30 KB at once", 20.0),
        ("20 Mbit/s, 20 ms, 1 MB at once", 7.5),
        ("50 Mbit/s, 20 ms, 30 KB at once", 3.0),
    ] {
        for seed in 1..=2 {
            let result = run_of(&scenario, case, "two subflows", seed);
            let (share, dropped) = (
                metric(&result, "share"),
                metric(&result, "overflow_percent.A"),
            );
            assert!(share >= 0.92, "{case}, seed {seed}: {share:.3} arrive");
            assert!(
                dropped <= most,
                "{case}, seed {seed}: {dropped:.1} % dropped"
            );
        }
    }
}

/// Two subflows answer as one flow would, or a TCP flow beside them has next to nothing.
#[test]
fn a_tcp_flow_behind_the_policer_of_two_subflows_is_not_starved() {
    let scenario = Scenario::named("policed-shared").expect("a scenario that is built in");
    for case in [
        "50 Mbit/s, 20 ms, 30 KB at once",
        "50 Mbit/s, 20 ms, 1 MB at once",
    ] {
        for seed in 1..=2 {
            let result = run_of(&scenario, case, "two beside TCP", seed);
            let theirs = metric(&result, "traffic.tcp.share");
            assert!(
                theirs >= 0.12,
                "{case}, seed {seed}: {theirs:.2} of a share"
            );
        }
    }
}

/// What a drain loses while siblings that may overflow the same place go on as usual says nothing about the
/// link. But this one is elsewhere, and its round trip is so short that it always goes on: the path took what it
/// lost from then on for overflows, and gave way to nobody for good.
#[test]
fn a_path_learns_what_it_loses_beside_one_with_a_far_shorter_round_trip() {
    let scenario = Scenario::from_toml(
        "name = \"elsewhere\"\nwarmup_s = 15\nduration_s = 20\napplication = { kind = \"bulk\" }\n\
         [[path]]\nname = \"A\"\nboth = { rate_mbps = 5, delay_ms = 100, queue_packets = 2 }\n\
         [[path]]\nname = \"B\"\nboth = { rate_mbps = 20, delay_ms = 5, queue_packets = 2 }\n\
         [[variant]]\nprofile = \"auto\"\n\
         [[change]]\nat_s = 10\npath = \"A\"\nset = { loss_percent = 10 }\n",
        "test",
    )
    .expect("a scenario");
    for seed in 1..=4 {
        let result = scenario.run(0, 0, seed);
        let carried = metric(&result, "path.A.goodput_mbps");
        assert!(carried >= 3.4, "seed {seed}: {carried:.2} of 4.3 Mbit/s");
    }
}
