//! Paced blocks on several paths of which one could carry everything alone.

use mpfec_sim::scenario::Scenario;

/// The best path loses nothing. The others are nearer and carry nine tenths of what is written,
/// and their bursts take more than is made up for ahead of loss.
const PATHS: &str = r#"
name = "fallback"
warmup_s = 5
duration_s = 20
application = { kind = "blocks", best_path_load_percent = 70 }

[[path]]
name = "near"
both = { rate_mbps = 16, delay_ms = 45.5, queue_packets = 291 }
forward = { burst = { percent = 6.4, length = 1.2 } }

[[path]]
name = "nearest"
both = { rate_mbps = 5.2, delay_ms = 6.5, queue_packets = 7 }
forward = { burst = { percent = 14, length = 7.9 } }

[[path]]
name = "best"
both = { rate_mbps = 25, delay_ms = 80, queue_packets = 367 }

[[variant]]
profile = "auto"

[[variant]]
name = "best path"
profile = "auto"
paths = "best"
"#;

/// The nearest path carries all with a quarter to spare. What its bursts take is not its queue's
/// doing: slowed down for it, it would need the slow ones.
const BURSTS: &str = r#"
name = "bursts"
warmup_s = 5
duration_s = 20
application = { kind = "blocks", best_path_load_percent = 70 }

[[path]]
name = "best"
both = { rate_mbps = 23, delay_ms = 22.5, queue_packets = 155 }
forward = { burst = { percent = 0.72, length = 3.8 } }

[[path]]
name = "far"
both = { rate_mbps = 11, delay_ms = 155, queue_packets = 796 }

[[path]]
name = "slow"
both = { rate_mbps = 2, delay_ms = 120, queue_packets = 38 }
forward = { burst = { percent = 1, length = 4.1 } }

[[variant]]
profile = "auto"
"#;

fn p99_of_delay(scenario: &Scenario, variant: usize, seed: u64) -> f64 {
    let result = scenario.run(0, variant, seed);
    assert_eq!(result.failure, None, "seed {seed}");
    result.metric("block_delay_ms.p99").expect("it is measured")
}

fn scenario(toml: &str) -> Scenario {
    Scenario::from_toml(toml, "test").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn hardly_a_block_comes_later_than_the_best_path_alone_would_bring_it() {
    let scenario = scenario(PATHS);
    for seed in 1..=3 {
        let all = p99_of_delay(&scenario, 0, seed);
        let best = p99_of_delay(&scenario, 1, seed);
        assert!(
            all <= 1.1 * best,
            "seed {seed}: 99 % within {all:.0} ms, {best:.0} ms over the best path alone"
        );
    }
}

#[test]
fn a_near_path_that_loses_in_bursts_is_not_slowed_down_until_far_ones_are_needed() {
    let scenario = scenario(BURSTS);
    for seed in [13, 16, 17, 28, 32] {
        let p99 = p99_of_delay(&scenario, 0, seed);
        assert!(p99 <= 95.0, "seed {seed}: 99 % within {p99:.0} ms");
    }
}
