//! Links that let packets go together, as the aggregates of Wi-Fi and the grants of LTE do.

use mpfec_sim::scenario::Scenario;

use super::{metric, run_of};

/// A hundred and seventy packets of each slot come together: with room for an eighth of the window, as
/// much as a receiver acknowledges at once, what is sent stopped for each of them.
#[test]
fn packets_that_go_together_do_not_stop_what_is_sent() {
    let scenario = Scenario::named("aggregates").expect("a scenario that is built in");
    for case in [
        "100 Mbit/s, 10 ms, slots of 20 ms, no loss",
        "100 Mbit/s, 10 ms, slots of 20 ms, 2 %",
        "100 Mbit/s, 40 ms, slots of 20 ms, 2 %",
    ] {
        for seed in 1..=2 {
            let result = run_of(&scenario, case, "auto", seed);
            let share = metric(&result, "share");
            assert!(share >= 0.95, "{case}, seed {seed}: {share:.3}");
        }
    }
}

/// The newest of packets that come together has waited longer if those behind it are lost, which is no
/// queue; and the rate at which such packets come, less than the link's while the application pauses, is
/// none that the link limits.
#[test]
fn blocks_over_a_link_that_lets_packets_go_together_are_not_held_up() {
    let scenario = Scenario::named("aggregates").expect("a scenario that is built in");
    // A slot more than the blocks take over an even link.
    for (case, most) in [
        ("20 Mbit/s, 10 ms, slots of 10 ms, 2 %", 45.0),
        ("100 Mbit/s, 10 ms, slots of 20 ms, no loss", 35.0),
        ("100 Mbit/s, 10 ms, slots of 20 ms, 2 %", 35.0),
        ("100 Mbit/s, 40 ms, slots of 10 ms, 2 %", 45.0),
    ] {
        for seed in 1..=4 {
            let result = run_of(&scenario, case, "blocks", seed);
            let delay = metric(&result, "block_delay_ms.p99");
            assert!(delay <= most, "{case}, seed {seed}: {delay:.0} ms");
        }
    }
}
