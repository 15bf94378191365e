//! Hosts that stand still now and then, on links whose delay varies.

use mpfec_sim::scenario::Scenario;

/// A stall of tens of milliseconds looks like a queue several times as long as the one that there is,
/// and what varies by 2 ms hides the delay of that one, which is 5 ms when full.
const BESIDE_CUBIC: &str = r#"
name = "busy"
warmup_s = 20
duration_s = 20
pauses = { every_s = 2, most_ms = 80 }
application = { kind = "bulk" }

[[link]]
name = "core"
both = { rate_mbps = 30, delay_ms = 10, jitter_ms = 2 }
forward = { queue_bdp = 0.25 }

[[path]]
name = "A"
both = { rate_mbps = 1000, delay_ms = 0, queue_packets = 10000 }
via = ["core"]

[[traffic]]
kind = "cubic"
name = "tcp"
via = ["core"]
start_s = 3

[[variant]]
profile = "auto"
"#;

#[test]
fn what_a_short_queue_drops_is_answered_where_delays_hide_it() {
    let scenario = Scenario::from_toml(BESIDE_CUBIC, "busy").unwrap_or_else(|e| panic!("{e}"));
    for seed in 1..=2 {
        let run = scenario.run(0, 0, seed);
        assert_eq!(run.failure, None);
        let share = run.metric("share").expect("there is a flow beside it");
        assert!((0.7..1.1).contains(&share), "seed {seed}: {share:.2}");
    }
}
