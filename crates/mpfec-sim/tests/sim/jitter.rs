//! Links whose delay varies from packet to packet, as that of Wi-Fi and LTE does.

use mpfec_sim::scenario::{RunResult, Scenario};

/// What `auto` makes of an application and paths, with each of the seeds from 1 to `seeds`.
fn runs(application: &str, paths: &str, seeds: u64) -> Vec<RunResult> {
    runs_of(8, application, paths, seeds)
}

/// The same, of so many seconds that count.
fn runs_of(seconds: u32, application: &str, paths: &str, seeds: u64) -> Vec<RunResult> {
    let text = format!(
        "name = \"jitter\"\nwarmup_s = 5\nduration_s = {seconds}\napplication = {application}\n{paths}\n[[variant]]\nprofile = \"auto\"\n"
    );
    let scenario = Scenario::from_toml(&text, "test").unwrap_or_else(|error| panic!("{error}"));
    let run = |seed| {
        let result = scenario.run(0, 0, seed);
        assert_eq!(result.failure, None, "seed {seed}");
        result
    };
    (1..=seeds).map(run).collect()
}

/// The least part of what a link of 40 ms lets through that arrives.
fn least_share(mbps: u32, jitter_ms: u32, reorders: bool, loss_percent: u32) -> f64 {
    let path = format!(
        "[[path]]\nname = \"a\"\n\
         both = {{ rate_mbps = {mbps}, delay_ms = 20, jitter_ms = {jitter_ms}, jitter_reorders = {reorders} }}\n\
         forward = {{ loss_percent = {loss_percent}, queue_bdp = 1, queue_packets_least = 20 }}"
    );
    let shares = runs(r#"{ kind = "bulk" }"#, &path, 2)
        .into_iter()
        .map(|result| result.metric("limit_percent").expect("it is measured"));
    shares.fold(f64::INFINITY, f64::min) / 100.0
}

/// A packet that is overtaken by four others, or is some milliseconds late, is not lost.
#[test]
fn packets_that_overtake_each_other_are_not_taken_for_losses_again_and_again() {
    for (mbps, jitter_ms, loss) in [(5, 5, 0), (20, 10, 0), (20, 20, 2)] {
        let share = least_share(mbps, jitter_ms, true, loss);
        assert!(share >= 0.95, "{mbps} Mbit/s, {jitter_ms} ms: {share:.2}");
    }
}

/// The least of few samples is far above the least of many, without any queue.
#[test]
fn a_delay_that_varies_is_not_taken_for_a_queue() {
    for (mbps, jitter_ms, loss) in [(100, 5, 0), (20, 10, 2), (5, 20, 0)] {
        let share = least_share(mbps, jitter_ms, false, loss);
        assert!(share >= 0.95, "{mbps} Mbit/s, {jitter_ms} ms: {share:.2}");
    }
}

/// Acknowledgements that come together after a time without any are as late on such a path as after a
/// host that stood still: four packets, and more, take as long at this rate as the delay varies by.
#[test]
fn a_delay_that_varies_on_a_slow_link_is_not_taken_for_a_host_that_stood_still() {
    for jitter_ms in [10, 20] {
        let path = format!(
            "[[path]]\nname = \"A\"\n\
             both = {{ rate_mbps = 5, delay_ms = 20, jitter_ms = {jitter_ms} }}\n\
             forward = {{ loss_percent = 2, queue_bdp = 1, queue_packets_least = 20 }}"
        );
        let results = runs_of(18, r#"{ kind = "bulk" }"#, &path, 16);
        for (index, result) in results.iter().enumerate() {
            let share = result.metric("limit_percent").expect("it is measured");
            let seed = index + 1;
            assert!(share >= 85.0, "{jitter_ms} ms: {share:.0} %, seed {seed}");
        }
    }
}

/// Start-up ends long before the path is full, since the least of few samples looks like a queue.
#[test]
fn a_start_that_ended_for_a_delay_of_the_path_is_made_up_for() {
    for (reorders, loss) in [(false, 0), (false, 2), (true, 0), (true, 2)] {
        let share = least_share(100, 20, reorders, loss);
        assert!(share >= 0.9, "reorders: {reorders}, {loss} %: {share:.2}");
    }
}

/// Delays vary by as much as a whole round trip, so that half of what the link loses by itself is lost
/// at high delay.
#[test]
fn losses_while_the_delay_varies_are_not_taken_for_overflows() {
    let path = "[[path]]\nname = \"wifi\"\n\
                both = { rate_mbps = 20, delay_ms = 8, jitter_ms = 8 }\n\
                forward = { queue_packets = 100, loss_percent = 1 }";
    for (index, result) in runs(r#"{ kind = "bulk" }"#, path, 16).iter().enumerate() {
        let share = result.metric("limit_percent").expect("it is measured");
        assert!(share >= 95.0, "{share:.0} %, seed {}", index + 1);
    }
}

#[test]
fn wifi_and_lte_are_full_together() {
    for reorders in [false, true] {
        let path = |name, mbps, delay_ms, jitter_ms, forward| {
            format!(
                "[[path]]\nname = \"{name}\"\n\
                 both = {{ rate_mbps = {mbps}, delay_ms = {delay_ms}, jitter_ms = {jitter_ms}, jitter_reorders = {reorders} }}\n\
                 forward = {{ {forward} }}\n"
            )
        };
        let wifi = path("wifi", 20, 8, 8, "queue_packets = 100, loss_percent = 1");
        let lte = path("lte", 15, 20, 15, "queue_packets = 150");
        let seeds = if reorders { 2 } else { 16 };
        let results = runs(r#"{ kind = "bulk" }"#, &format!("{wifi}{lte}"), seeds);
        let share = |result: &RunResult| result.metric("limit_percent").expect("it is measured");
        for share in results.iter().map(share) {
            assert!(share >= 90.0, "{share:.0} %, reorders: {reorders}");
        }
        let mean = results.iter().map(share).sum::<f64>() / results.len() as f64;
        assert!(mean >= 95.0, "{mean:.0} %, reorders: {reorders}");
    }
}

/// Losses that were none would wait for a repair, and call for more of it.
#[test]
fn blocks_over_a_path_that_reorders_come_in_time_and_cost_no_more_repair() {
    let application = r#"{ kind = "blocks", best_path_load_percent = 70 }"#;
    let paths = |jitter_ms| {
        format!(
            "[[path]]\nname = \"a\"\n\
             both = {{ rate_mbps = 20, delay_ms = 20, jitter_ms = {jitter_ms}, jitter_reorders = true }}\n\
             [[path]]\nname = \"b\"\nboth = {{ rate_mbps = 10, delay_ms = 40 }}\nforward = {{ loss_percent = 2 }}"
        )
    };
    let [(calm, spare), (delay, useless)] = [0, 20].map(|jitter_ms| {
        let results = runs(application, &paths(jitter_ms), 16);
        let worst = |metric| {
            let values = results.iter().map(|result| result.metric(metric));
            values.fold(0.0, |worst, value| {
                value.expect("it is measured").max(worst)
            })
        };
        (worst("block_delay_ms.p99"), worst("redundant_percent"))
    });
    assert!(delay <= calm + 25.0, "{delay:.0} ms, {calm:.0} without");
    assert!(
        useless <= 8.0 && useless <= spare + 2.0,
        "{useless:.1} % were of no use, {spare:.1} without"
    );
}
