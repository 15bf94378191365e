//! Wi-Fi and LTE as they are: packets go together.

use mpfec_sim::scenario::Scenario;

use super::{metric, run_of};

/// Of what LTE lets through together the newest has waited least, and acknowledgements come back over
/// Wi-Fi: a round trip of a third of the time that the oldest takes. That is no path which fell silent.
#[test]
fn a_link_whose_packets_come_together_every_forty_milliseconds_is_not_given_up_each_time() {
    let scenario = Scenario::named("wifi-lte").expect("a scenario that is built in");
    for wifi in [
        "Wi-Fi of 50 Mbit/s",
        "Wi-Fi in slots of 10 ms",
        "Wi-Fi of 10 Mbit/s in slots of 20 ms",
    ] {
        let case = format!("{wifi}, LTE in slots of 40 ms");
        for seed in 1..=2 {
            let result = run_of(&scenario, &case, "bulk", seed);
            let share = metric(&result, "limit_percent");
            assert!(share >= 95.0, "{case}, seed {seed}: {share:.1} %");
            let in_vain = metric(&result, "redundant_percent");
            assert!(in_vain <= 1.0, "{case}, seed {seed}: {in_vain:.1} %");
        }
    }
}
