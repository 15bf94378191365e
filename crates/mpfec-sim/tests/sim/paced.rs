//! Blocks of an application that pauses are not held up by a window taken down for nothing.

use mpfec_sim::scenario::{RunResult, Scenario};

use super::metric;

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(text, "test").unwrap_or_else(|error| panic!("{error}"))
}

fn run(scenario: &Scenario, case: usize, seed: u64) -> RunResult {
    let result = scenario.run(case, 0, seed);
    assert_eq!(result.failure, None, "seed {seed}");
    result
}

/// Of a few packets at a time some are soon lost behind others by chance, which is no overflow.
#[test]
fn losses_by_chance_do_not_hold_up_blocks() {
    let text = r#"
name = "chance"
warmup_s = 5
duration_s = 30
application = { kind = "blocks", load_percent = 70 }

[[path]]
name = "a"
both = { rate_mbps = 5.9, delay_ms = 16.5, queue_packets = 9 }
forward = { loss_percent = 1.2 }

[[variant]]
profile = "auto"
"#;
    let scenario = scenario(text);
    // A block takes 45 ms to leave, and 17 ms to come.
    for seed in 1..=24 {
        let delay = metric(&run(&scenario, 0, seed), "block_delay_ms.p99");
        assert!(delay <= 75.0, "seed {seed}: {delay:.0} ms");
    }
}

/// Of 10 Mbit/s the application takes less than half, so that it need not wait for more than what the
/// flow beside keeps in the queue: 0.4 s at most.
#[test]
fn blocks_beside_a_tcp_flow_wait_for_its_queue_only() {
    let scenario = Scenario::named("blocks-busy").expect("a scenario that is built in");
    for (case, most) in [
        ("2 Mbit/s, 20 ms, 4 BDP", 300.0),
        ("2 Mbit/s, 100 ms, 0.25 BDP", 200.0),
        ("2 Mbit/s, 100 ms, 1 BDP", 350.0),
        ("2 Mbit/s, 100 ms, 4 BDP", 1200.0),
        ("2 Mbit/s in 6 KB, 100 ms, 1 BDP", 350.0),
        ("2 Mbit/s in 6 KB, 100 ms, 4 BDP", 1200.0),
        ("4 Mbit/s, 100 ms, 4 BDP", 2000.0),
    ] {
        let mut cases = scenario.cases.iter();
        let at = cases.position(|found| found.name == case).expect("a case");
        for seed in 1..=4 {
            let result = run(&scenario, at, seed);
            let delay = metric(&result, "block_delay_ms.p99");
            assert!(delay <= most, "{case}, seed {seed}: {delay:.0} ms");
            let beside = metric(&result, "traffic.tcp.goodput_mbps");
            assert!(beside >= 4.0, "{case}, seed {seed}: {beside:.1} Mbit/s");
        }
    }
}

/// Four flows leave the application an equal share of 2 Mbit/s; what writes twice as much gives way.
#[test]
fn who_writes_more_than_an_equal_share_gives_way_to_tcp_flows() {
    let flow =
        |name| format!("[[traffic]]\nkind = \"cubic\"\nname = \"{name}\"\nvia = [\"core\"]\n");
    let flows = ["a", "b", "c", "d"].map(flow).join("");
    let text = format!(
        r#"
name = "four"
warmup_s = 10
duration_s = 60
application = {{ kind = "blocks", rate_mbps = 4 }}

[[link]]
name = "core"
both = {{ rate_mbps = 10, delay_ms = 50 }}
forward = {{ queue_bdp = 0.25 }}

[[path]]
name = "A"
both = {{ rate_mbps = 1000, delay_ms = 0, queue_packets = 10000 }}
via = ["core"]

{flows}
[[variant]]
profile = "auto"
"#
    );
    let scenario = scenario(&text);
    for seed in 1..=3 {
        let goodput = metric(&run(&scenario, 0, seed), "goodput_mbps");
        assert!((0.8..2.8).contains(&goodput), "seed {seed}: {goodput:.1}");
    }
}

/// A route changes: no queue of ours has made the path longer, and a window that was large enough no
/// longer is.
#[test]
fn a_path_that_becomes_longer_holds_blocks_up_for_a_moment_only() {
    for (mbps, to_ms) in [(2, 60), (4, 60), (4, 100), (6, 60)] {
        let text = format!(
            r#"
name = "longer"
duration_s = 30
application = {{ kind = "blocks", rate_mbps = {mbps} }}

[[path]]
name = "a"
both = {{ rate_mbps = 10, delay_ms = 20, queue_packets = 100 }}

[[variant]]
profile = "auto"

[[change]]
at_s = 12
path = "a"
set = {{ delay_ms = {to_ms} }}
"#
        );
        let scenario = scenario(&text);
        for seed in 1..=2 {
            let delay = metric(&run(&scenario, 0, seed), "block_delay_ms.max");
            assert!(
                delay <= 750.0,
                "{mbps} Mbit/s, {to_ms} ms, seed {seed}: {delay:.0} ms"
            );
        }
    }
}

/// Blocks over a path of 10 Mbit/s that loses so much, beside one that loses nothing and is nearer or
/// farther, once the paths are known.
fn blocks_over_two(loss_percent: f64, delay_ms: u32) -> Scenario {
    scenario(&format!(
        r#"
name = "rare"
warmup_s = 120
duration_s = 80
application = {{ kind = "blocks", best_path_load_percent = 70 }}

[[path]]
name = "a"
both = {{ rate_mbps = 10, delay_ms = {delay_ms}, queue_packets = 200 }}
forward = {{ loss_percent = {loss_percent} }}

[[path]]
name = "b"
both = {{ rate_mbps = 5, delay_ms = 40, queue_packets = 60 }}

[[variant]]
profile = "auto"
"#
    ))
}

#[test]
fn what_paths_without_loss_carry_is_not_repaired() {
    for delay_ms in [15, 100] {
        let result = run(&blocks_over_two(0.0, delay_ms), 0, 1);
        let repair = metric(&result, "repair_percent");
        assert!(repair <= 0.5, "{delay_ms} ms: {repair:.1} %");
    }
}

/// Each of these losses may be the first in very many packets.
#[test]
fn rare_losses_delay_fewer_than_one_block_in_a_hundred() {
    for delay_ms in [15, 100] {
        let delay = |loss_percent, seed| {
            let result = run(&blocks_over_two(loss_percent, delay_ms), 0, seed);
            metric(&result, "block_delay_ms.p99")
        };
        let without = delay(0.0, 1);
        for (loss_percent, seed) in [(0.003, 1), (0.01, 2), (0.03, 3)] {
            let with = delay(loss_percent, seed);
            assert!(
                with <= 1.1 * without,
                "{loss_percent} % of {delay_ms} ms: {with:.0} ms instead of {without:.0}"
            );
        }
    }
}

/// What is late holds up a block as much as what is lost, and a stall more than either.
#[test]
fn links_that_stand_still_for_a_moment_remain_protected_though_they_lose_nothing() {
    let mut text = String::from(
        "name = \"stalls\"\nwarmup_s = 10\nduration_s = 40\n\
         application = { kind = \"blocks\", best_path_load_percent = 40 }\n\
         [[path]]\nname = \"A\"\nboth = { rate_mbps = 56, delay_ms = 5.5, slot_ms = 10 }\n\
         forward = { queue_packets = 900 }\n\
         [[path]]\nname = \"B\"\nboth = { rate_mbps = 47, delay_ms = 5, slot_ms = 10 }\n\
         forward = { queue_packets = 900 }\n\
         [[variant]]\nprofile = \"auto\"\n",
    );
    for stall in 0..12 {
        let (path, rate) = [("A", 56), ("B", 47)][stall % 2];
        let at = 2 + 4 * stall;
        for (at, rate) in [
            (format!("{at}"), "0.05"),
            (format!("{at}.4"), &rate.to_string()),
        ] {
            text += &format!(
                "[[change]]\nat_s = {at}\npath = \"{path}\"\nset = {{ rate_mbps = {rate} }}\n"
            );
        }
    }
    let repair = metric(&run(&scenario(&text), 0, 1), "repair_percent");
    assert!(repair >= 6.0, "{repair:.1} %");
}

/// The far path could carry everything alone, in 57 ms; the near one helps a little, and
/// acknowledgements come back on it.
fn blocks_beside_a_near_path(near: &str) -> Scenario {
    scenario(&format!(
        r#"
name = "near"
warmup_s = 5
duration_s = 20
application = {{ kind = "blocks", best_path_load_percent = 70 }}

[[path]]
name = "near"
{near}

[[path]]
name = "far"
both = {{ rate_mbps = 29, delay_ms = 46, queue_packets = 511 }}

[[variant]]
profile = "auto"
"#
    ))
}

/// Pauses between acknowledgements were not seen, so that the far path passed for one that carries no
/// more than that, and was drained now and then.
#[test]
fn a_path_is_not_held_back_for_pauses_between_acknowledgements() {
    let scenario = blocks_beside_a_near_path(
        "both = { rate_mbps = 1.2, delay_ms = 6.5, queue_packets = 5 }\n\
         forward = { loss_percent = 5 }",
    );
    for seed in 1..=4 {
        let delay = metric(&run(&scenario, 0, seed), "block_delay_ms.p99");
        assert!(delay <= 58.5, "seed {seed}: {delay:.1} ms");
    }
}

/// Where answers to the peer's own probes get lost, it takes the near path for dead though what is sent
/// on it arrives, and acknowledges on the far one.
#[test]
fn a_path_that_is_wrongly_taken_for_dead_goes_on_bringing_acknowledgements() {
    let scenario = blocks_beside_a_near_path(
        "both = { rate_mbps = 3, delay_ms = 6.5, queue_packets = 10 }\n\
         forward = { burst = { percent = 26, length = 2.1 } }",
    );
    for seed in 1..=6 {
        let delay = metric(&run(&scenario, 0, seed), "block_delay_ms.p99");
        assert!(delay <= 62.0, "seed {seed}: {delay:.1} ms");
    }
}
