//! Several TCP flows beside a connection: a half of the place is more than an equal share then.

use mpfec_sim::scenario::Scenario;

use super::{metric, run_of};

/// The share of a connection, 1 being fair, over one and over two subflows.
fn shares(scenario: &str, case: &str, seed: u64) -> [f64; 2] {
    let scenario = Scenario::named(scenario).expect("a scenario that is built in");
    ["one subflow", "two subflows"]
        .map(|variant| metric(&run_of(&scenario, case, variant, seed), "share"))
}

/// What losses tell of how many there are bounds what a connection takes: half of the link would be
/// 3 shares of one beside 5, and 8 beside 15.
#[test]
fn a_connection_takes_no_half_of_a_link_from_many_tcp_flows() {
    for (case, most) in [
        ("10 Mbit/s, 60 ms, 4 BDP, 5 flows", 2.0),
        ("50 Mbit/s, 20 ms, 4 BDP, 15 flows", 2.0),
        ("50 Mbit/s, 60 ms, 1 BDP, 15 flows", 2.0),
        ("50 Mbit/s, 60 ms, 4 BDP, 15 flows", 2.0),
    ] {
        for share in shares("fairness-crowd", case, 1) {
            assert!(share <= most, "{case}: {share:.2} of a share");
        }
    }
}

/// Hosts that stand still make a full queue look like less than half of one, and what it drops like
/// losses of the link. Who believes that takes six shares with either seed.
#[test]
fn a_connection_on_busy_hosts_takes_no_half_of_a_link_from_many_tcp_flows() {
    for seed in [1, 3] {
        for share in shares("fairness-crowd-busy", "50 ms, 4 BDP, 15 flows", seed) {
            assert!(share <= 2.0, "seed {seed}: {share:.2} of a share");
        }
    }
}

/// Nor does it give way to them for good.
#[test]
fn a_connection_has_a_share_beside_many_tcp_flows() {
    for case in [
        "10 Mbit/s, 60 ms, 1 BDP, 5 flows",
        "50 Mbit/s, 20 ms, 1 BDP, 5 flows",
        "50 Mbit/s, 60 ms, 4 BDP, 15 flows",
    ] {
        for share in shares("fairness-crowd", case, 2) {
            assert!(share >= 0.4, "{case}: {share:.2} of a share");
        }
    }
}
