use proptest::prelude::*;

use super::*;
use crate::{Faults, GilbertElliott, Policer, QueueLimit};

#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
fn epoch() -> Instant {
    Instant::now()
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn mbit(mbit: u64) -> u64 {
    mbit * 1_000_000
}

/// A datagram that fills a 1500-byte packet.
fn full() -> Bytes {
    Bytes::from_static(&[0; 1472])
}

/// Everything that arrives by `until`, as (time since `start`, tag).
fn drain<T: Clone>(link: &mut Link<T>, start: Instant, until: Instant) -> Vec<(Duration, T)> {
    std::iter::from_fn(|| link.poll_delivery(until))
        .map(|got| (got.at - start, got.tag))
        .collect()
}

/// Submits `count` full datagrams evenly spaced by `gap` and takes all that arrives.
fn run(
    config: LinkConfig,
    seed: u64,
    count: u32,
    gap: Duration,
) -> (Vec<(Duration, u32)>, LinkCounters) {
    let start = epoch();
    let mut link = Link::new(config, seed);
    for tag in 0..count {
        let _ = link.submit(start + gap * tag, full(), tag);
    }
    let arrived = drain(&mut link, start, start + Duration::from_secs(100_000));
    assert_eq!(link.held(), 0);
    (arrived, link.counters())
}

#[test]
fn a_packet_takes_its_transmission_and_the_delay() {
    let (arrived, _) = run(LinkConfig::new(mbit(20), ms(10)), 1, 3, Duration::ZERO);
    let micros: Vec<_> = arrived.iter().map(|(at, _)| at.as_micros()).collect();
    assert_eq!(micros, [10_600, 11_200, 11_800]);
}

#[test]
fn a_link_holds_no_more_than_memory_allows_however_long_its_queue_and_its_delay_are() {
    let large = Bytes::from(vec![0; 65_000]);
    for config in [
        // All of it waits; all of it is on the way.
        LinkConfig::new(1, ms(0)),
        LinkConfig {
            delay: Duration::from_secs(3600),
            ..LinkConfig::default()
        },
    ] {
        let config = LinkConfig {
            queue: QueueLimit::Unlimited,
            mtu: 65_535,
            ..config
        };
        let mut link = Link::new(config, 1);
        let now = epoch();
        let held = (0..5000).take_while(|&tag| link.submit(now, large.clone(), tag).is_ok());
        let held = held.count() as u64 * 65_000;
        assert!(held > MOST_HELD_BYTES - 200_000, "{held}");
        assert!(held < MOST_HELD_BYTES + 200_000, "{held}");
    }
}

#[test]
fn a_rate_that_does_not_divide_a_nanosecond_is_still_exact() {
    // 12 000 bits at 7 Mbit/s: 7 packets in exactly 12 ms.
    let (arrived, _) = run(LinkConfig::new(mbit(7), ms(0)), 1, 7_000, Duration::ZERO);
    assert_eq!(
        arrived.last().map(|&(at, _)| at),
        Some(Duration::from_secs(12))
    );
}

#[test]
fn a_burst_beyond_the_queue_is_dropped_at_its_tail() {
    let config = LinkConfig::new(mbit(12), ms(5)).with_queue(QueueLimit::Bytes(4 * 1500));
    let (arrived, counters) = run(config, 1, 20, Duration::ZERO);
    // One in the transmitter and four that wait.
    assert_eq!(
        arrived.iter().map(|&(_, tag)| tag).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4]
    );
    assert_eq!(counters.dropped_queue, 15);
}

#[test]
fn the_queue_has_room_again_as_packets_leave() {
    // 1 ms a packet, one every 0.5 ms, 10 of room: half is lost once the queue is full.
    let config = LinkConfig::new(mbit(12), ms(5)).with_queue(QueueLimit::Packets(10));
    let (arrived, counters) = run(config, 1, 2_000, Duration::from_micros(500));
    assert!(
        (1_005..=1_015).contains(&arrived.len()),
        "{}",
        arrived.len()
    );
    assert_eq!(counters.dropped_queue + counters.delivered, 2_000);
}

#[test]
fn an_infinitely_fast_link_only_delays() {
    let (arrived, _) = run(
        LinkConfig {
            delay: ms(7),
            ..LinkConfig::default()
        },
        1,
        5,
        Duration::ZERO,
    );
    assert!(arrived.iter().all(|&(at, _)| at == ms(7)));
    assert_eq!(
        arrived.iter().map(|&(_, tag)| tag).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4]
    );
}

#[test]
fn lost_packets_have_used_the_rate() {
    let config = LinkConfig::new(mbit(12), ms(0)).with_loss(0.5);
    let (arrived, counters) = run(config, 3, 10_000, Duration::ZERO);
    assert!(
        (4_800..=5_200).contains(&arrived.len()),
        "{}",
        arrived.len()
    );
    assert_eq!(counters.dropped_loss + counters.delivered, 10_000);
    // 10 000 packets of 1 ms each, lost or not.
    let last = arrived.last().map(|&(at, _)| at).unwrap_or_default();
    assert!(
        (Duration::from_millis(9_980)..=Duration::from_secs(10)).contains(&last),
        "{last:?}"
    );
}

#[test]
fn oversized_packets_vanish() {
    let start = epoch();
    let mut link = Link::new(LinkConfig::default(), 1);
    assert_eq!(link.submit(start, Bytes::from(vec![0; 1472]), ()), Ok(()));
    assert_eq!(
        link.submit(start, Bytes::from(vec![0; 1473]), ()),
        Err(DropReason::TooBig)
    );
}

#[test]
fn what_is_transmitted_within_a_slot_arrives_together_at_its_end() {
    let config = LinkConfig {
        slot: ms(20),
        ..LinkConfig::new(mbit(10), ms(5))
    };
    // A packet takes 1.2 ms: sixteen end within the first slot.
    let (arrived, _) = run(config, 1, 40, Duration::ZERO);
    let at_ms = |at| arrived.iter().filter(|(when, _)| *when == ms(at)).count();
    assert_eq!((at_ms(25), at_ms(45), at_ms(65)), (16, 17, 7));
}

#[test]
fn a_policer_lets_a_burst_pass_and_then_its_rate_and_delays_nothing() {
    let config = LinkConfig {
        policer: Some(Policer {
            rate: mbit(6),
            burst: 15_000,
        }),
        ..LinkConfig::new(mbit(1000), ms(10))
    };
    assert_eq!(config.carried_rate(), Some(mbit(6)));
    // At twice its rate: what is saved up lasts for 19 packets, then every second one passes.
    let (arrived, counters) = run(config, 1, 1000, ms(1));
    let at_once = (0..)
        .zip(&arrived)
        .take_while(|&(index, &(_, tag))| index == tag);
    assert_eq!(at_once.count(), 19);
    assert_eq!(counters.dropped_queue, 491);
    let waited = arrived.iter().map(|&(at, tag)| at - ms(1) * tag);
    assert!(waited.max() < Some(Duration::from_micros(10_020)));
}

#[test]
fn codel_keeps_the_delay_of_an_overloaded_queue_near_its_target_and_drops_no_burst() {
    let overload = |codel, gap, count| {
        let config = LinkConfig {
            codel,
            queue: QueueLimit::Packets(1000),
            ..LinkConfig::new(mbit(10), ms(10))
        };
        run(config, 1, count, gap)
    };
    // A packet takes 1.2 ms. Sixty wait for 72 ms, and are gone within the interval of 100.
    let (_, counters) = overload(Some(ms(5)), Duration::ZERO, 60);
    assert_eq!(counters.dropped_queue, 0);
    // 5 % too many, for 20 s: what does not answer is dropped the more, the longer it goes on.
    let gap = Duration::from_micros(1143);
    let delay_at_end = |codel| {
        let (arrived, counters) = overload(codel, gap, 17_500);
        let &(at, tag) = arrived.last().expect("some arrive");
        (at - gap * tag, counters.dropped_queue)
    };
    let (delay, dropped) = delay_at_end(None);
    assert!(delay > ms(900) && dropped == 0, "{delay:?} {dropped}");
    let (delay, dropped) = delay_at_end(Some(ms(5)));
    assert!(delay < ms(60) && dropped > 700, "{delay:?} {dropped}");
}

#[test]
fn jitter_spreads_but_does_not_reorder_unless_asked() {
    let base = LinkConfig {
        jitter: ms(20),
        ..LinkConfig::new(mbit(100), ms(10))
    };
    let (arrived, _) = run(base.clone(), 5, 2_000, Duration::from_micros(300));
    assert!(arrived.is_sorted_by_key(|&(_, tag)| tag));
    let delays = arrived
        .iter()
        .map(|&(at, tag)| at - Duration::from_micros(300) * tag);
    assert!(
        delays
            .clone()
            .all(|delay| (ms(10)..=ms(31)).contains(&delay))
    );
    assert!(delays.max() > Some(ms(28)));

    let (arrived, _) = run(
        LinkConfig {
            jitter_reorders: true,
            ..base
        },
        5,
        2_000,
        Duration::from_micros(300),
    );
    assert!(!arrived.is_sorted_by_key(|&(_, tag)| tag));
    assert!(arrived.is_sorted_by_key(|&(at, _)| at));
}

#[test]
fn reordering_holds_back_the_share_it_should() {
    let faults = Faults {
        reorder: 0.1,
        reorder_delay: ms(5),
        ..Faults::default()
    };
    let (arrived, counters) = run(
        LinkConfig {
            faults,
            ..LinkConfig::default()
        },
        2,
        10_000,
        ms(1),
    );
    let late = arrived
        .iter()
        .filter(|&&(at, tag)| at == ms(1) * tag + ms(5))
        .count();
    assert_eq!(late as u64, counters.reordered);
    assert!((900..=1_100).contains(&late), "{late}");
}

#[test]
fn duplicates_and_corruption_come_at_their_rates() {
    let faults = Faults {
        duplicate: 0.05,
        corrupt: 0.02,
        ..Faults::default()
    };
    let start = epoch();
    let mut link = Link::new(
        LinkConfig {
            faults,
            ..LinkConfig::default()
        },
        8,
    );
    for tag in 0..20_000 {
        link.submit(start, full(), tag).expect("nothing refuses it");
    }
    let arrived: Vec<_> = std::iter::from_fn(|| link.poll_delivery(start)).collect();
    let counters = link.counters();
    assert_eq!(arrived.len() as u64, 20_000 + counters.duplicated);
    assert!(
        (900..=1_100).contains(&counters.duplicated),
        "{}",
        counters.duplicated
    );
    assert!(
        (340..=460).contains(&counters.corrupted),
        "{}",
        counters.corrupted
    );
    let damaged = arrived.iter().filter(|got| got.payload != full()).count() as u64;
    assert!(damaged >= counters.corrupted);
}

#[test]
fn turning_on_jitter_does_not_change_what_is_lost() {
    let lossy = LinkConfig {
        bursts: Some(GilbertElliott::bursts(0.05, 3.0)),
        ..LinkConfig::default().with_loss(0.02)
    };
    let faults = Faults {
        duplicate: 0.3,
        reorder: 0.1,
        reorder_delay: ms(3),
        corrupt: 0.2,
    };
    let tags = |config| {
        let mut tags: Vec<_> = run(config, 6, 5_000, ms(1))
            .0
            .into_iter()
            .map(|(_, tag)| tag)
            .collect();
        tags.sort_unstable();
        tags.dedup();
        tags
    };
    assert_eq!(
        tags(lossy.clone()),
        tags(LinkConfig {
            jitter: ms(9),
            jitter_reorders: true,
            faults,
            ..lossy
        })
    );
}

#[test]
fn a_cut_swallows_what_waits_and_what_comes_and_spares_what_has_left() {
    let start = epoch();
    let mut link = Link::new(LinkConfig::new(mbit(12), ms(50)), 1);
    for tag in 0..5 {
        link.submit(start, full(), tag)
            .expect("the queue is unlimited");
    }
    // 1 ms a packet: two have left, one is half out.
    link.apply(start + Duration::from_micros(2_500), Change::Cut);
    assert_eq!(link.submit(start + ms(3), full(), 9), Err(DropReason::Cut));
    link.apply(start + ms(10), Change::Restore);
    link.submit(start + ms(10), full(), 10).expect("it is back");
    let arrived = drain(&mut link, start, start + ms(100));
    assert_eq!(arrived, [(ms(51), 0), (ms(52), 1), (ms(61), 10)]);
    assert_eq!(link.counters().dropped_cut, 4);
}

#[test]
fn a_new_rate_holds_for_the_rest_of_a_packet_too() {
    let start = epoch();
    let mut link = Link::new(LinkConfig::new(mbit(12), ms(0)), 1);
    for tag in 0..3 {
        link.submit(start, full(), tag)
            .expect("the queue is unlimited");
    }
    // Half of the first packet has gone at 1 ms a packet; the rest is ten times slower.
    link.apply(
        start + Duration::from_micros(500),
        Change::Rate(Some(1_200_000)),
    );
    link.apply(start + ms(8), Change::Rate(None));
    let arrived = drain(&mut link, start, start + ms(8));
    assert_eq!(
        arrived,
        [(Duration::from_micros(5_500), 0), (ms(8), 1), (ms(8), 2)]
    );
}

#[test]
fn a_shorter_delay_does_not_let_packets_overtake() {
    let start = epoch();
    let mut link = Link::new(
        LinkConfig {
            delay: ms(100),
            ..LinkConfig::default()
        },
        1,
    );
    link.submit(start, full(), 0).expect("no limit");
    link.apply(start + ms(1), Change::Delay(ms(10)));
    link.submit(start + ms(1), full(), 1).expect("no limit");
    link.submit(start + ms(95), full(), 2).expect("no limit");
    assert_eq!(
        drain(&mut link, start, start + ms(200)),
        [(ms(100), 0), (ms(100), 1), (ms(105), 2)]
    );
}

#[test]
fn the_timeout_leads_to_every_delivery_without_polling_in_between() {
    let start = epoch();
    let mut link = Link::new(LinkConfig::new(mbit(10), ms(30)).with_loss(0.3), 4);
    for tag in 0..500 {
        link.submit(start + ms(2) * tag, full(), tag)
            .expect("the queue is unlimited");
    }
    let mut now = start + ms(2) * 499;
    let mut wakeups = 0;
    let mut got = drain(&mut link, start, now).len();
    while let Some(at) = link.poll_timeout() {
        assert!(at >= now, "time goes on");
        (now, wakeups) = (at, wakeups + 1);
        got += drain(&mut link, start, now).len();
    }
    assert_eq!(got as u64 + link.counters().dropped_loss, 500);
    assert!(wakeups <= 500);
}

/// What may happen to a link in a random test.
#[derive(Debug, Clone)]
enum Operation {
    Submit(usize),
    Wait(u64),
    Poll,
    Change(Change),
}

fn operation() -> impl Strategy<Value = Operation> {
    let change = prop_oneof![
        prop::option::of(1u64..50_000_000).prop_map(Change::Rate),
        (0u64..200).prop_map(|delay| Change::Delay(ms(delay))),
        (0u64..50).prop_map(|jitter| Change::Jitter(ms(jitter))),
        any::<bool>().prop_map(Change::JitterReorders),
        (0u64..20_000).prop_map(|bytes| Change::Queue(QueueLimit::Bytes(bytes))),
        (0u64..20).prop_map(|packets| Change::Queue(QueueLimit::Packets(packets))),
        prop::option::of((1u64..50_000_000, 0u64..20_000))
            .prop_map(|it| Change::Policer(it.map(|(rate, burst)| Policer { rate, burst }))),
        prop::option::of((1u64..50).prop_map(ms)).prop_map(Change::Codel),
        (0u64..50).prop_map(|slot| Change::Slot(ms(slot))),
        (0.0..1.0f64).prop_map(Change::Loss),
        (0.0..0.9f64, 1.0..9.0f64)
            .prop_map(|(rate, length)| Change::Bursts(Some(GilbertElliott::bursts(rate, length)))),
        (0.0..1.0f64).prop_map(|share| Change::Reorder {
            share,
            delay: ms(10)
        }),
        (0.0..1.0f64).prop_map(Change::Duplicate),
        (0.0..1.0f64).prop_map(Change::Corrupt),
        Just(Change::Cut),
        Just(Change::Restore),
    ];
    prop_oneof![
        6 => (0usize..1_600).prop_map(Operation::Submit),
        3 => (0u64..20_000).prop_map(Operation::Wait),
        2 => Just(Operation::Poll),
        1 => change.prop_map(Operation::Change),
    ]
}

/// Plays `operations`, polling also where `eager`; returns what arrived and the counts.
fn play(
    operations: &[Operation],
    seed: u64,
    eager: bool,
) -> (Vec<(Duration, usize, Bytes)>, LinkCounters) {
    let start = epoch();
    let mut now = start;
    let mut arrived = Vec::new();
    let mut link = Link::new(LinkConfig::new(mbit(5), ms(20)), seed);
    for (tag, operation) in operations.iter().enumerate() {
        let mut poll = eager;
        match *operation {
            Operation::Submit(size) => {
                let _ = link.submit(now, Bytes::from(vec![tag as u8; size]), tag);
            }
            Operation::Wait(micros) => now += Duration::from_micros(micros),
            Operation::Poll => poll = true,
            Operation::Change(change) => link.apply(now, change),
        }
        if poll {
            while let Some(got) = link.poll_delivery(now) {
                assert!(got.at <= now);
                arrived.push((got.at - start, got.tag, got.payload));
            }
        }
        let counters = link.counters();
        assert_eq!(
            counters.submitted + counters.duplicated,
            counters.delivered + counters.dropped() + link.held()
        );
    }
    arrived.extend(
        std::iter::from_fn(|| {
            let at = link.poll_timeout()?;
            now = now.max(at);
            Some(
                std::iter::from_fn(|| link.poll_delivery(now))
                    .map(|got| (got.at - start, got.tag, got.payload))
                    .collect::<Vec<_>>(),
            )
        })
        .flatten(),
    );
    assert_eq!(link.held(), 0);
    (arrived, link.counters())
}

proptest! {
    #[test]
    fn every_packet_is_accounted_for_and_a_seed_repeats(operations in prop::collection::vec(operation(), 0..200), seed: u64) {
        let (arrived, counters) = play(&operations, seed, false);
        let again = play(&operations, seed, false);
        prop_assert_eq!(&again, &(arrived.clone(), counters));
        // How often it is polled changes neither the times nor the counts.
        let (mut eager, eager_counters) = play(&operations, seed, true);
        let mut arrived = arrived;
        arrived.sort();
        eager.sort();
        prop_assert_eq!((eager, eager_counters), (arrived, counters));
    }
}
