//! Scenarios: what they measure, and that they measure it again.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use mpfec_sim::scenario::{RunResult, Scenario, ScenarioResult, run_all};

const PATHS: &str = r#"
name = "test"
duration_s = 10
warmup_s = 2

[[path]]
name = "A"
both = { rate_mbps = 10, delay_ms = 10 }

[[path]]
name = "B"
both = { rate_mbps = 5, delay_ms = 20 }
forward = { loss_percent = 1 }
"#;

fn scenario(rest: &str) -> Scenario {
    Scenario::from_toml(&format!("{PATHS}{rest}"), "test").unwrap_or_else(|error| panic!("{error}"))
}

/// The only case and variant, with the figures asked for.
fn figures<const N: usize>(rest: &str, names: [&str; N]) -> [f64; N] {
    let scenario = scenario(&format!("{rest}\n[[variant]]\nprofile = \"auto\"\n"));
    figures_of(&scenario.run(0, 0, 1), names)
}

/// A run of an application that is done some day: it has no warm-up.
fn ending(application: &str) -> RunResult {
    let text = PATHS.replace("warmup_s = 2", "");
    let text = format!("{text}[application]\n{application}\n[[variant]]\nprofile = \"auto\"\n");
    let scenario = Scenario::from_toml(&text, "test").unwrap_or_else(|error| panic!("{error}"));
    scenario.run(0, 0, 1)
}

fn figures_of<const N: usize>(result: &RunResult, names: [&str; N]) -> [f64; N] {
    assert_eq!(result.failure, None);
    names.map(|name| {
        let value = result.metric(name);
        value.unwrap_or_else(|| panic!("no {name} among {:?}", result.metrics))
    })
}

#[test]
fn bulk_fills_the_paths_and_the_series_say_when() {
    let [goodput, a, b, late] = figures(
        "",
        [
            "goodput_mbps",
            "path.A.goodput_mbps",
            "path.B.goodput_mbps",
            "goodput_mbps@5-10",
        ],
    );
    assert!((13.3..14.4).contains(&goodput), "{goodput}");
    assert!((13.3..14.4).contains(&late), "{late}");
    assert!(
        (9.0..9.9).contains(&a) && (4.3..4.9).contains(&b),
        "{a} {b}"
    );
}

#[test]
fn a_transfer_with_an_end_is_timed() {
    let names = ["completion_s", "completed_percent", "goodput_mbps"];
    let bulk = |bytes| figures_of(&ending(&format!("kind = \"bulk\"\nbytes = {bytes}")), names);
    let [time, done, goodput] = bulk(2_000_000);
    // 16 Mbit at 14 Mbit/s, a handshake, and slow start.
    assert!((1.14..2.0).contains(&time), "{time}");
    assert!(
        done == 100.0 && (goodput - 16.0 / time).abs() < 1e-9,
        "{goodput}"
    );
    let [time, done, _] = bulk(50_000_000);
    assert_eq!([time, done], [10.0, 0.0]);
}

#[test]
fn blocks_at_a_rate_take_a_round_trip_or_so() {
    let [mean, p99, jitter, goodput] = figures(
        "[application]\nkind = \"blocks\"\nblock_bytes = 10000\nrate_mbps = 4",
        [
            "block_delay_ms.mean",
            "block_delay_ms.p99",
            "block_delay_ms.jitter",
            "goodput_mbps",
        ],
    );
    // 10 ms of wire, and 80 kbit on one path or both.
    assert!((12.0..40.0).contains(&mean), "{mean}");
    assert!(p99 < 100.0 && jitter < 20.0, "{p99} {jitter}");
    assert!((goodput - 4.0).abs() < 0.1, "{goodput}");
}

#[test]
fn a_video_below_the_rate_of_the_paths_is_complete() {
    let video = |rate| {
        let rest =
            format!("[application]\nkind = \"video\"\nrate_mbps = {rate}\ndeadline_ms = 400");
        let [complete] = figures(&rest, ["frames_complete_percent"]);
        complete
    };
    assert!(video(3.4) > 99.0, "{}", video(3.4));
    assert!(video(20.0) < 20.0, "{}", video(20.0));
}

#[test]
fn a_page_takes_two_round_trips_and_its_bytes() {
    let [page, done, goodput] = figures_of(
        &ending("kind = \"web\"\nobjects = 6\npage_bytes = 1105920\npages = 5"),
        ["page_s", "completed_percent", "goodput_mbps"],
    );
    // 8.8 Mbit at 14 Mbit/s at best.
    assert!((0.6..1.2).contains(&page), "{page}");
    assert_eq!(done, 100.0);
    assert!(goodput > 5.0, "{goodput}");
}

#[test]
fn a_connection_for_each_path_adds_up() {
    let scenario = scenario(
        r#"
        [[variant]]
        name = "two"
        profile = "auto"
        connections = "per-path"
        [[variant]]
        name = "a"
        profile = "auto"
        paths = ["A"]
        [[variant]]
        name = "b"
        profile = "auto"
        paths = ["B"]
        "#,
    );
    let goodput = |variant| {
        let [goodput] = figures_of(&scenario.run(0, variant, 1), ["goodput_mbps"]);
        goodput
    };
    let (two, a, b) = (goodput(0), goodput(1), goodput(2));
    assert!((two - a - b).abs() < 0.3, "{two} for {a} and {b}");
    assert!(b > 4.0, "{b}");
}

/// A few small blocks, a TCP flow and a UDP flow in one bottleneck.
const BESIDE_TCP_AND_UDP: &str = r#"
name = "t"
start_s = 20
duration_s = 30
application = { kind = "blocks", rate_mbps = RATE, block_bytes = 1000 }
[[link]]
name = "core"
both = { rate_mbps = 8, delay_ms = 25, queue_packets = 50 }
[[path]]
name = "A"
both = { rate_mbps = 100, delay_ms = 5 }
via = ["core"]
[[traffic]]
kind = "newreno"
name = "tcp"
via = ["core"]
[[traffic]]
kind = "udp"
name = "udp"
path = "A"
rate_mbps = 2
[[variant]]
profile = "auto"
"#;

#[test]
fn traffic_takes_its_share_of_a_bottleneck_that_paths_share() {
    let scenario = Scenario::named("shared-bottleneck").expect("built in");
    // Which packets of a queue are dropped depends on when the small ones come, so five rates are
    // averaged.
    let rates = [0.06, 0.08, 0.1, 0.12, 0.14];
    let mut tcp_alone = [0.0; 2];
    for rate in rates {
        let text = BESIDE_TCP_AND_UDP.replace("RATE", &rate.to_string());
        let scenario = Scenario::from_toml(&text, "test").expect("valid");
        let figures = figures_of(
            &scenario.run(0, 0, 1),
            ["traffic.tcp.goodput_mbps", "traffic.udp.goodput_mbps"],
        );
        for (mean, figure) in tcp_alone.iter_mut().zip(figures) {
            *mean += figure / rates.len() as f64;
        }
    }
    assert!((tcp_alone[0] - 5.6).abs() < 0.5, "{tcp_alone:?}");
    assert!((tcp_alone[1] - 1.96).abs() < 0.1, "{tcp_alone:?}");
    let [goodput, tcp] = figures_of(
        &scenario.run(0, 0, 1),
        ["goodput_mbps", "traffic.tcp.goodput_mbps"],
    );
    assert!((6.8..7.9).contains(&(goodput + tcp)), "{goodput} {tcp}");
    assert!(tcp > 2.0, "{goodput} {tcp}");
}

#[test]
fn a_share_is_measured_in_equal_parts_of_the_slowest_link() {
    let text = r#"
        name = "t"
        warmup_s = 5
        duration_s = 20
        [[link]]
        name = "core"
        both = { rate_mbps = 8, delay_ms = 15 }
        [[path]]
        name = "A"
        both = { rate_mbps = 100, delay_ms = 5 }
        via = ["core"]
        [[path]]
        name = "B"
        both = { rate_mbps = 100, delay_ms = 5 }
        via = ["core"]
        [[path]]
        name = "C"
        both = { rate_mbps = 4, delay_ms = 20 }
        forward = { loss_percent = 10 }
        [[traffic]]
        kind = "udp"
        name = "steady"
        via = ["core"]
        rate_mbps = 2
        flows = 2
        [[traffic]]
        kind = "udp"
        name = "later"
        via = ["core"]
        rate_mbps = 2
        start_s = 100
        [[variant]]
        profile = "mptcp"
    "#;
    let scenario = Scenario::from_toml(text, "test").expect("valid");
    let result = scenario.run(0, 0, 1);
    let names = ["share", "share.A", "share.B", "share.C"];
    let [all, a, b, c] = figures_of(&result, names);
    // A third of 8 Mbit/s is the connection's part, and twice 2 Mbit/s leave it half as much again.
    assert!((1.4..=1.51).contains(&(a + b)), "{a} {b}");
    // TCP has little of what loses a tenth.
    assert!((0.05..=0.3).contains(&c), "{c}");
    let parts = 8.0 / 3.0 + 3.6;
    let mean = ((a + b) * 8.0 / 3.0 + c * 3.6) / parts;
    assert!((all - mean).abs() < 1e-9, "{all} {mean}");
    let [steady] = figures_of(&result, ["traffic.steady.share"]);
    assert!((0.73..=0.76).contains(&steady), "{steady}");
    assert_eq!(result.metric("traffic.later.share"), None);
}

#[test]
fn other_connections_come_and_go() {
    let rest = r#"
        [[traffic]]
        kind = "connection"
        name = "other"
        path = "A"
        start_s = 5
        stop_s = 9
        [[variant]]
        profile = "auto"
        paths = ["A"]
    "#;
    let result = scenario(rest).run(0, 0, 1);
    let [before, during, after, other] = figures_of(
        &result,
        [
            "goodput_mbps@0-2",
            "goodput_mbps@4-6",
            "goodput_mbps@9-10",
            "traffic.other.goodput_mbps@4-6",
        ],
    );
    assert!(before > 9.0 && after > 8.5, "{before} {after}");
    assert!(during < 8.5 && other > 1.0, "{during} {other}");
}

#[test]
fn changes_happen_when_they_should_and_shared_links_change_as_well() {
    let text = r#"
        name = "t"
        duration_s = 9
        [[link]]
        name = "core"
        both = { rate_mbps = 8, delay_ms = 5 }
        [[path]]
        name = "A"
        both = { rate_mbps = 50, delay_ms = 5 }
        via = ["core"]
        [[change]]
        at_s = 3
        link = "core"
        set = { rate_mbps = 4 }
        [[change]]
        at_s = 6
        path = "A"
        set = { rate_mbps = 2 }
        [[variant]]
        profile = "auto"
    "#;
    let scenario = Scenario::from_toml(text, "test").expect("valid");
    let seeds = 4;
    let mut means = [0.0; 3];
    for seed in 1..=seeds {
        let seconds = ["goodput_mbps@2-3", "goodput_mbps@5-6", "goodput_mbps@8-9"];
        let figures = figures_of(&scenario.run(0, 0, seed), seconds);
        for (mean, figure) in means.iter_mut().zip(figures) {
            *mean += figure / seeds as f64;
        }
    }
    let [first, second, third] = means;
    assert!((7.0..7.8).contains(&first), "{first}");
    assert!((3.5..3.9).contains(&second), "{second}");
    assert!((1.6..2.0).contains(&third), "{third}");
}

#[test]
fn a_path_that_never_answers_is_a_failure_with_a_reason() {
    let text = r#"
        name = "t"
        duration_s = 60
        [[path]]
        name = "A"
        both = { rate_mbps = 5 }
        forward = { loss_percent = 100 }
        [[variant]]
        profile = "auto"
    "#;
    let scenario = Scenario::from_toml(text, "test").expect("valid");
    let result = scenario.run(0, 0, 1);
    assert!(result.metrics.is_empty(), "{:?}", result.metrics);
    let failure = result.failure.expect("it cannot connect");
    assert!(
        failure.starts_with("the connection was closed: "),
        "{failure}"
    );
}

#[test]
fn the_same_seed_gives_the_same_figures_on_any_number_of_threads() {
    let scenarios = [scenario(
        r#"
        [[traffic]]
        kind = "on-off"
        name = "web"
        path = "B"
        rate_mbps = 3
        on_s = 0.3
        off_s = 0.5
        distribution = "pareto"
        packet_mix = [[44, 1], [1500, 1]]
        [[variant]]
        profile = "auto"
        [[variant]]
        profile = "mptcp"
        [[case]]
        name = "near"
        [[case]]
        name = "far"
        set = { "path.B.both.delay_ms" = 80 }
        "#,
    )];
    let run = |threads| -> Vec<ScenarioResult> {
        let ended = AtomicUsize::new(0);
        let threads = NonZeroUsize::new(threads).expect("some threads");
        let results = run_all(&scenarios, &[3, 4], threads, &|progress| {
            assert_eq!(progress.total, 8);
            ended.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(ended.into_inner(), 8);
        results
    };
    let one = run(1);
    assert!(one == run(3), "three threads are as good as one");
    let seeds = &one[0].cases[1].variants[1].runs;
    assert_eq!(seeds[0].failure, None);
    assert_ne!(seeds[0].metrics, seeds[1].metrics);
    let again = scenarios[0].run(1, 1, 4);
    assert_eq!(again.metrics, seeds[1].metrics);
    assert_eq!(again.series, seeds[1].series);
    let summary = one[0]
        .summary(1, "mptcp", "goodput_mbps")
        .expect("both runs");
    assert!(
        summary.count == 2 && summary.half_width > 0.0,
        "{summary:?}"
    );
}
