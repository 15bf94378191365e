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

#[test]
fn hardly_a_block_comes_later_than_the_best_path_alone_would_bring_it() {
    let scenario = Scenario::from_toml(PATHS, "test").unwrap_or_else(|error| panic!("{error}"));
    for seed in 1..=3 {
        let slowest = |variant| {
            let result = scenario.run(0, variant, seed);
            assert_eq!(result.failure, None, "seed {seed}");
            result.metric("block_delay_ms.p99").expect("it is measured")
        };
        let (all, best) = (slowest(0), slowest(1));
        assert!(
            all <= 1.5 * best,
            "seed {seed}: 99 % within {all:.0} ms, {best:.0} ms over the best path alone"
        );
    }
}
