//! Mobile links: their delay varies on both ways, their rate dips and comes back.

use mpfec_sim::scenario::Scenario;

use super::metric;

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(text, "test").unwrap_or_else(|error| panic!("{error}"))
}

/// What acknowledgements wait for on their way back passed for a queue of the data once start-up had
/// ended with few packets in flight: they came further apart than those that anybody else may have sent
/// in between, at the rate that the path had by then.
#[test]
fn a_path_is_not_held_to_a_trickle_by_what_its_acknowledgements_wait_for() {
    let scenario = scenario(
        "name = \"mobile\"\nwarmup_s = 3\nduration_s = 5\napplication = { kind = \"bulk\" }\n\
         [[path]]\nname = \"A\"\n\
         both = { rate_mbps = 60, delay_ms = 13.5, slot_ms = 5, jitter_ms = 3 }\n\
         forward = { queue_packets = 1000 }\n\
         [[path]]\nname = \"B\"\n\
         both = { rate_mbps = 40, delay_ms = 19, slot_ms = 5, jitter_ms = 8 }\n\
         forward = { queue_packets = 1000, loss_percent = 0.5 }\n\
         [[variant]]\nname = \"auto\"\nprofile = \"auto\"\n",
    );
    for seed in [1, 2, 3, 14] {
        let result = scenario.run(0, 0, seed);
        assert_eq!(result.failure, None, "seed {seed}");
        let share = metric(&result, "limit_percent");
        assert!(share >= 95.0, "seed {seed}: {share:.1} %");
    }
}

/// The slow path took what was left over while the fast one was too slow, which then never had enough to
/// show that it no longer was.
#[test]
fn a_slow_path_is_left_again_when_the_fast_one_has_recovered_from_a_dip() {
    for rate in [20, 33] {
        let scenario = scenario(&format!(
            "name = \"dip\"\nwarmup_s = 8\nduration_s = 5\n\
             application = {{ kind = \"blocks\", best_path_load_percent = 40 }}\n\
             [[path]]\nname = \"lte\"\n\
             both = {{ rate_mbps = {rate}, delay_ms = 23, slot_ms = 1, jitter_ms = 2 }}\n\
             forward = {{ queue_packets = 400 }}\n\
             [[path]]\nname = \"satellite\"\n\
             both = {{ rate_mbps = 8, delay_ms = 290, jitter_ms = 5 }}\n\
             forward = {{ queue_packets = 80 }}\n\
             [[variant]]\nprofile = \"auto\"\n\
             [[change]]\nat_s = 3\npath = \"lte\"\nset = {{ rate_mbps = {dip} }}\n\
             [[change]]\nat_s = 4.5\npath = \"lte\"\nset = {{ rate_mbps = {rate} }}\n",
            dip = 0.3 * f64::from(rate),
        ));
        for seed in 1..=6 {
            let result = scenario.run(0, 0, seed);
            assert_eq!(result.failure, None, "{rate} Mbit/s, seed {seed}");
            let delay = metric(&result, "block_delay_ms.p99");
            assert!(delay <= 90.0, "{rate} Mbit/s, seed {seed}: {delay:.0} ms");
        }
    }
}
