//! A connection that comes to a bottleneck where a TCP flow has been for some time.

use mpfec_sim::scenario::Scenario;

/// Two subflows that join a CUBIC flow three seconds late, in a queue that holds 600 ms.
const DEEP_QUEUE: &str = r#"
name = "latecomer"
start_s = 3
warmup_s = 17
duration_s = 60
application = { kind = "bulk" }

[[link]]
name = "core"
both = { rate_mbps = 10, delay_ms = 75 }
forward = { queue_bdp = 4 }

[[path]]
name = "A"
both = { rate_mbps = 1000, delay_ms = 0, queue_packets = 10000 }
via = ["core"]

[[path]]
name = "B"
both = { rate_mbps = 1000, delay_ms = 0, queue_packets = 10000 }
via = ["core"]

[[traffic]]
kind = "cubic"
name = "tcp"
via = ["core"]

[[variant]]
profile = "auto"
"#;

/// The queue is never empty, so that no drain tells what the link loses by itself: all of what
/// overflows it might be that.
#[test]
fn who_joins_a_queue_that_others_keep_full_answers_its_overflows() {
    let scenario =
        Scenario::from_toml(DEEP_QUEUE, "test").unwrap_or_else(|error| panic!("{error}"));
    for seed in 1..=3 {
        let result = scenario.run(0, 0, seed);
        assert_eq!(result.failure, None, "seed {seed}");
        let metric = |name| result.metric(name).expect("it is measured");
        let (share, dropped) = (metric("share"), metric("overflow_percent.A"));
        assert!((0.5..=1.4).contains(&share), "{share}, seed {seed}");
        assert!(dropped <= 2.0, "{dropped} % dropped, seed {seed}");
    }
}
