//! Bursts of losses that take more packets than a path holds.

use mpfec_sim::scenario::Scenario;
use mpfec_sim::{GilbertElliott, PathSetup, Setup, scene};

use crate::{mbit, ms, secs};

/// Ten packets are more than a path of 10 Mbit/s and 10 ms holds.
const BURSTS: &str = r#"
name = "bursts"
warmup_s = 5
duration_s = 20
application = { kind = "bulk" }

[[path]]
name = "A"
both = { rate_mbps = 10, delay_ms = 5 }
forward = { queue_bdp = 4, burst = { percent = 20, length = 10 } }
"#;

const BESIDE_ANOTHER: &str = r#"
[[path]]
name = "B"
both = { rate_mbps = 4, delay_ms = 20 }
"#;

const SEEDS: u64 = 8;

const PROFILE: &str = r#"
[[variant]]
profile = "auto"
"#;

/// Shares of the limit: the least of some seeds, and the mean.
fn shares(paths: &str) -> (f64, f64) {
    let text = format!("{BURSTS}{paths}{PROFILE}");
    let scenario = Scenario::from_toml(&text, "test").unwrap_or_else(|error| panic!("{error}"));
    let shares = (1..=SEEDS).map(|seed| {
        let result = scenario.run(0, 0, seed);
        assert_eq!(result.failure, None, "seed {seed}");
        let metric = |name| result.metric(name).expect("it is measured");
        assert!(metric("overflow_percent.A") <= 5.0, "seed {seed}");
        metric("limit_percent") / 100.0
    });
    let (least, sum) = shares.fold((1.0, 0.0), |(least, sum), share| {
        (f64::min(least, share), sum + share)
    });
    (least, sum / SEEDS as f64)
}

/// Where each lost packet held its place in the window until it was known to be lost, the mean was 0.85.
#[test]
fn a_burst_longer_than_the_window_is_sent_through_where_there_is_no_other_path() {
    let (least, mean) = shares("");
    assert!(least >= 0.83, "{least:.2} of the link");
    assert!(mean >= 0.88, "{mean:.2} of the link");
}

#[test]
fn and_asked_through_with_small_packets_while_another_path_carries_on() {
    let (least, mean) = shares(BESIDE_ANOTHER);
    assert!(least >= 0.83, "{least:.2} of both links");
    assert!(mean >= 0.88, "{mean:.2} of both links");
}

/// A path that loses much and then dies looks like a burst at first. Where losses come in bursts one
/// window more leaves before the first timeout.
#[test]
fn what_is_sent_into_a_path_that_is_dead_is_some_windows_and_no_more() {
    let bursts = GilbertElliott::bursts(0.1, 10.0);
    for (loss, bursts, most) in [(0.1, None, 8.0), (0.0, Some(bursts), 9.0)] {
        let mut path = PathSetup::symmetric("a", mbit(10), ms(50), loss);
        path.forward.bursts = bursts;
        let setup = Setup {
            name: "noisy".to_owned(),
            summary: String::new(),
            paths: vec![path],
            changes: Vec::new(),
        };
        let windows = |seed| {
            let mut net = scene().setup(setup.clone()).seed(seed).connect();
            net.send(1 << 40);
            net.run_for(secs(5));
            net.cut_at(ms(0), "a");
            let before = net.path_stats("a");
            net.run_for(secs(5));
            let after = net.path_stats("a");
            (after.sent_bytes - before.sent_bytes) as f64 / before.cwnd_bytes as f64
        };
        let all: Vec<f64> = (1..=SEEDS).map(windows).collect();
        let mean = all.iter().sum::<f64>() / SEEDS as f64;
        assert!((3.0..most).contains(&mean), "{mean:.2} windows: {all:.1?}");
    }
}

/// What a path holds of paced data is less than a burst takes: then nothing is heard of it until
/// it is asked, and what it carried is given up.
#[test]
fn bursts_that_make_a_path_fall_silent_are_known_for_what_they_are() {
    let mut bursty = PathSetup::symmetric("a", mbit(10), ms(20), 0.0);
    bursty.forward.bursts = Some(GilbertElliott::bursts(0.05, 20.0));
    let setup = Setup {
        name: "bursty".to_owned(),
        summary: String::new(),
        paths: vec![bursty, PathSetup::symmetric("b", mbit(10), ms(40), 0.0)],
        changes: Vec::new(),
    };
    for seed in 1..=4 {
        let mut net = scene().setup(setup.clone()).seed(seed).connect();
        for _ in 0..400 {
            net.send(32 << 10);
            net.run_for(ms(50));
        }
        let stats = net.path_stats("a");
        let (loss, burst) = (stats.loss, stats.loss_burst);
        assert!(burst >= 5.0, "seed {seed}: {burst:.1} in a row");
        assert!(loss < 0.5, "seed {seed}: {loss:.2}");
        net.check_bytes();
    }
}

/// Each block makes a queue of its own, so that a loss is found when the delay is higher than it
/// was where the packet was lost.
const BLOCKS: &str = r#"
name = "blocks"
warmup_s = 5
duration_s = 20
application = { kind = "blocks", best_path_load_percent = 70 }

[[path]]
name = "1"
both = { rate_mbps = 40, delay_ms = 10, queue_packets = 87 }
forward = { burst = { percent = 2.1, length = 3 } }

[[path]]
name = "2"
both = { rate_mbps = 2.4, delay_ms = 55, queue_packets = 6 }

[[path]]
name = "3"
both = { rate_mbps = 6.4, delay_ms = 110, queue_packets = 246 }
forward = { loss_percent = 3.4 }
"#;

#[test]
fn what_a_link_loses_of_blocks_does_not_pass_for_a_queue_that_they_overflow() {
    let text = format!("{BLOCKS}{PROFILE}");
    let scenario = Scenario::from_toml(&text, "test").unwrap_or_else(|error| panic!("{error}"));
    for seed in 1..=2 {
        let result = scenario.run(0, 0, seed);
        assert_eq!(result.failure, None, "seed {seed}");
        let late = result.metric("block_delay_ms.p99").expect("it is measured");
        assert!(late <= 60.0, "seed {seed}: {late:.0} ms");
    }
}
