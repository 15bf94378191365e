use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{Faults, GilbertElliott, LinkConfig, Policer, QueueLimit};

const KITCHEN: &str = r#"
name = "kitchen"
summary = "Wi-Fi behind a wall, and a phone"

[[path]]
name = "wifi"
both = { rate_mbps = 20, delay_ms = 12.5 }
forward = { loss_percent = 3, burst = { percent = 1, length = 4 } }
backward = { queue_packets = 100 }

[[path]]
name = "phone"
both = { rate_mbps = 10, delay_ms = 30, jitter_ms = 5, queue_bdp = 0.5 }
backward = { rate_mbps = inf, queue_bdp = inf }

[[change]]
at_s = 5
path = "wifi"
cut = true

[[change]]
at_s = 7.5
path = "phone"
direction = "forward"
set = { rate_mbps = 2.5, loss_percent = 1 }
"#;

#[test]
fn a_file_says_what_it_looks_like() {
    let setup = Setup::from_toml(KITCHEN).expect("valid");
    let [wifi, phone] = &setup.paths[..] else {
        panic!("two paths")
    };
    assert_eq!(
        (setup.name.as_str(), wifi.name.as_str(), phone.name.as_str()),
        ("kitchen", "wifi", "phone")
    );
    let base = LinkConfig::new(20_000_000, Duration::from_micros(12_500));
    assert_eq!(
        wifi.backward,
        base.clone().with_queue(QueueLimit::Packets(100))
    );
    let bursts = Some(GilbertElliott::bursts(0.01, 4.0));
    let queue = QueueLimit::Bytes(62_500);
    assert_eq!(
        wifi.forward,
        LinkConfig {
            bursts,
            queue,
            ..base.with_loss(0.03)
        }
    );
    assert_eq!(phone.forward.queue, QueueLimit::Bytes(37_500));
    assert_eq!(
        (phone.backward.rate, phone.backward.queue),
        (None, QueueLimit::Unlimited)
    );
    let timed = |at_ms, path, direction, change| TimedChange {
        at: Duration::from_millis(at_ms),
        path,
        direction,
        change,
    };
    assert_eq!(
        setup.changes,
        [
            timed(5_000, 0, Direction::Both, Change::Cut),
            timed(7_500, 1, Direction::Forward, Change::Rate(Some(2_500_000))),
            timed(7_500, 1, Direction::Forward, Change::Loss(0.01)),
        ]
    );
}

#[test]
fn every_built_in_setup_survives_the_trip_through_a_file() {
    for setup in Setup::built_in() {
        let text = setup.to_toml().expect("valid");
        assert_eq!(Setup::from_toml(&text).as_ref(), Ok(&setup), "{text}");
    }
}

/// The error of the text with `from` replaced by `to`.
fn error(from: &str, to: &str) -> String {
    assert!(KITCHEN.contains(from));
    Setup::from_toml(&KITCHEN.replacen(from, to, 1))
        .expect_err("spoilt")
        .to_string()
}

#[test]
fn errors_name_the_place_the_figure_and_the_range() {
    let cases = [
        (
            "loss_percent = 3",
            "loss_percent = 300",
            "path wifi, forward: loss_percent is 300, which is not from 0 to 100",
        ),
        (
            "delay_ms = 12.5",
            "delay_ms = -1",
            "path wifi, forward: delay_ms is -1, which is not from 0 to 8640000000",
        ),
        (
            "rate_mbps = 10",
            "rate_mbps = nan",
            "path phone, forward: rate_mbps is NaN, which is not from 0.000001 to 1000000",
        ),
        (
            "rate_mbps = 2.5",
            "rate_mbps = 0",
            "change 2: rate_mbps is 0, which is not from 0.000001 to 1000000",
        ),
        (
            "at_s = 5",
            "at_s = inf",
            "change 1: at_s is inf, which is not from 0 to 8640000",
        ),
        (
            "path = \"wifi\"",
            "path = \"wfi\"",
            "change 1: there is no path \"wfi\"",
        ),
        ("cut = true", "", "change 1 neither cuts nor sets anything"),
        (
            "queue_packets = 100",
            "queue_packets = 1, queue_bytes = 1",
            "path wifi, backward: only one of queue_bdp, queue_bytes and queue_packets",
        ),
        (
            "queue_packets = 100",
            "rate_mbps = inf, queue_bdp = 2",
            "path wifi, backward: queue_bdp needs a rate_mbps; or give queue_bytes",
        ),
        (
            "queue_packets = 100",
            "police = { rate_mbps = 0, burst_bytes = 1 }",
            "path wifi, backward: rate_mbps is 0, which is not from 0.000001 to 1000000",
        ),
        (
            "queue_packets = 100",
            "slot_ms = -1",
            "path wifi, backward: slot_ms is -1, which is not from 0 to 8640000000",
        ),
        (
            "burst = {",
            "gilbert = { enter = 1, leave = 1 }, burst = {",
            "path wifi, forward: only one of burst and gilbert",
        ),
        (
            "percent = 1, length = 4",
            "percent = 90, length = 1",
            "path wifi, forward: bursts so short cannot lose so much",
        ),
        (
            "name = \"phone\"",
            "name = \"wifi\"",
            "two paths are called \"wifi\"",
        ),
        (
            "name = \"kitchen\"",
            "name = \"a b\"",
            "\"a b\" is no name: 1 to 32 ASCII letters, digits, '-', '_' or '.'",
        ),
        (
            "loss_percent = 1 ",
            "overhead = 20 ",
            "change 2: the overhead of a link does not change",
        ),
        (
            "loss_percent = 1 ",
            "queue_bdp = 1 ",
            "change 2: a change gives its queue in queue_bytes or queue_packets",
        ),
        (
            "loss_percent = 1 ",
            "reorder_ms = 1 ",
            "change 2: a change gives reorder_percent and reorder_ms together",
        ),
    ];
    for (from, to, want) in cases {
        assert_eq!(error(from, to), want);
    }
}

#[test]
fn a_misspelt_key_is_an_error_with_its_line() {
    let message = error("loss_percent = 3", "los_percent = 3");
    assert!(
        message.contains("line 8") && message.contains("los_percent"),
        "{message}"
    );
}

#[test]
fn hostile_files_are_refused_without_panic() {
    let many_paths: String = (0..100)
        .map(|index| format!("[[path]]\nname = \"p{index}\"\n"))
        .collect();
    let many_changes = "[[change]]\nat_s = 1\npath = \"a\"\ncut = true\n".repeat(MOST_CHANGES + 1);
    let nested = format!("name = {}", "[".repeat(100_000));
    let cases = [
        String::new(),
        "name = \"x\"".into(),
        format!("name = \"x\"\n{many_paths}"),
        format!("name = \"x\"\n[[path]]\nname = \"a\"\n{many_changes}"),
        "x".repeat(MOST_BYTES + 1),
        nested,
        "name = \"x\"\n[[path]]\nname = \"a\"\nboth = { mtu = 99999999999 }".into(),
        "name = \"x\"\n[[path]]\nname = \"a\"\nboth = { mtu = 1 }".into(),
        "name = \"x\"\n[[path]]\nname = \"a\"\nboth = { queue_bytes = -1 }".into(),
        "name = \"x\"\n[[path]]\nname = \"a\"\nboth = { queue_bytes = 9223372036854775807 }".into(),
        "name = \"x\"\n[[path]]\nname = \"a\"\nboth = { rate_mbps = 1, queue_bdp = 1e300 }".into(),
        "name = \"x\"\n[[path]]\nname = \"a\"\nboth = { gilbert = { enter = 2, leave = 1 } }"
            .into(),
        "name = \"x\"\n[[path]]\nname = \"\"".into(),
    ];
    for text in cases {
        assert!(
            Setup::from_toml(&text).is_err(),
            "{}",
            &text[..text.len().min(200)]
        );
    }
}

/// A share that percent can say in a few digits, as people write them.
fn share() -> impl Strategy<Value = f64> {
    (0u32..=1_000_000).prop_map(|millionths| f64::from(millionths) / 1e6)
}

fn delay() -> impl Strategy<Value = Duration> {
    (0u64..10_000_000_000_000).prop_map(Duration::from_nanos)
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        prop::option::of(1u64..=1_000_000_000_000).prop_map(Change::Rate),
        delay().prop_map(Change::Delay),
        delay().prop_map(Change::Jitter),
        any::<bool>().prop_map(Change::JitterReorders),
        (0u64..=1_000_000_000_000).prop_map(|bytes| Change::Queue(QueueLimit::Bytes(bytes))),
        (0u64..=1_000_000_000_000).prop_map(|packets| Change::Queue(QueueLimit::Packets(packets))),
        Just(Change::Queue(QueueLimit::Unlimited)),
        prop::option::of((1u64..=1_000_000_000_000, 0u64..=1_000_000_000_000))
            .prop_map(|it| Change::Policer(it.map(|(rate, burst)| Policer { rate, burst }))),
        prop::option::of((1u64..10_000_000_000_000).prop_map(Duration::from_nanos))
            .prop_map(Change::Codel),
        delay().prop_map(Change::Slot),
        share().prop_map(Change::Loss),
        (0.0..=1.0f64, 0.0..=1.0f64, 0.0..=1.0f64, 0.0..=1.0f64).prop_map(
            |(enter, leave, good_loss, bad_loss)| {
                Change::Bursts(Some(GilbertElliott {
                    enter,
                    leave,
                    good_loss,
                    bad_loss,
                }))
            }
        ),
        (share(), delay()).prop_map(|(share, delay)| Change::Reorder { share, delay }),
        share().prop_map(Change::Duplicate),
        share().prop_map(Change::Corrupt),
        (29u32..=65_563).prop_map(Change::Mtu),
        Just(Change::Cut),
        Just(Change::Restore),
    ]
}

fn link() -> impl Strategy<Value = LinkConfig> {
    (prop::collection::vec(change(), 0..12), 0u32..=256).prop_map(|(figures, overhead)| {
        let mut link = LinkConfig {
            overhead,
            faults: Faults::default(),
            ..LinkConfig::default()
        };
        figures.iter().for_each(|figure| figure.apply_to(&mut link));
        link
    })
}

fn setup() -> impl Strategy<Value = Setup> {
    let paths = prop::collection::vec((link(), link()), 1..=4);
    let direction = prop_oneof![
        Just(Direction::Forward),
        Just(Direction::Backward),
        Just(Direction::Both)
    ];
    let changes = prop::collection::vec((delay(), 0usize..4, direction, change()), 0..10);
    (paths, changes, "[^\\p{Cc}]{0,20}").prop_map(|(links, changes, summary)| {
        let paths: Vec<_> = (1..)
            .zip(links)
            .map(|(number, (forward, backward))| PathSetup {
                name: format!("path-{number}"),
                forward,
                backward,
            })
            .collect();
        let changes = changes
            .into_iter()
            .map(|(at, path, direction, change)| TimedChange {
                at,
                path: path % paths.len(),
                direction,
                change,
            });
        Setup {
            name: "random".into(),
            summary,
            changes: changes.collect(),
            paths,
        }
    })
}

proptest! {
    #[test]
    fn any_valid_setup_survives_the_trip_through_a_file(setup in setup()) {
        prop_assert_eq!(setup.check(), Ok(()));
        let text = setup.to_toml().expect("valid");
        prop_assert_eq!(Setup::from_toml(&text), Ok(setup));
    }

    #[test]
    fn no_damage_to_a_file_makes_it_panic(at in 0..KITCHEN.len(), with in "\\PC{0,3}", length in 0usize..30) {
        let end = (at + length).min(KITCHEN.len());
        let _ = Setup::from_toml(&format!("{}{with}{}", &KITCHEN[..at], &KITCHEN[end..]));
    }
}

#[test]
fn a_file_without_a_name_takes_the_one_it_is_given() {
    let nameless = KITCHEN.replacen("name = \"kitchen\"", "", 1);
    assert_eq!(Setup::from_toml(&nameless), Err(ParseError::NoName));
    let setup = Setup::from_toml_named(&nameless, "attic").expect("valid");
    assert_eq!(setup.name, "attic");
    let named = Setup::from_toml_named(KITCHEN, "attic").expect("valid");
    assert_eq!(named.name, "kitchen", "what the file says counts");
    assert!(Setup::from_toml_named(&nameless, "an attic").is_err());
}

#[test]
fn a_queue_in_bandwidth_delay_products_holds_so_many_packets_at_least() {
    let queue = |figures: &str| {
        let text = format!(
            "name = \"x\"\n[[path]]\nname = \"a\"\nboth = {{ rate_mbps = 1, delay_ms = 10, {figures} }}"
        );
        Setup::from_toml(&text).expect("valid").paths[0]
            .forward
            .queue
    };
    // A bandwidth-delay product is 2500 bytes.
    assert_eq!(
        queue("queue_bdp = 2, queue_packets_least = 5"),
        QueueLimit::Bytes(7500)
    );
    assert_eq!(
        queue("queue_bdp = 4, queue_packets_least = 5"),
        QueueLimit::Bytes(10_000)
    );
    assert_eq!(
        queue("queue_packets = 2, queue_packets_least = 5"),
        QueueLimit::Packets(2)
    );
}
