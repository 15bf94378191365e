//! Paths of one connection that may share a short queue drain it together.

use std::time::Duration;

use super::super::evidence::tests::after;
use super::super::evidence::{Delays, Lesson, Losses};
use super::super::steady::{Drain, Steady};
use super::super::{Drained, Mode};
use super::Link;
use crate::{CongestionController, Drains};

/// A path of so many packets per second and seconds, with a queue of `queue` packets, in the
/// steady state with `window`.
fn settled(capacity: f64, floor: f64, queue: f64, window: f64) -> Link {
    let mut link = Link::new(capacity, floor, queue);
    let control = &mut link.control;
    control.set_floor(floor);
    control.srtt = floor;
    control.window = window;
    control.mode = Mode::Steady(Steady::new(window));
    (control.rate, control.rate_max) = (capacity, capacity);
    (control.delivered_max, control.delivered_mean) = (capacity, capacity);
    control.has_seen_limit = true;
    link
}

/// A path of 1000 packets per second and 100 ms in the steady state, some rounds after a drain.
fn steady(rounds: u32) -> Link {
    let mut link = settled(1000.0, 0.1, 100.0, 108.0);
    link.rounds(rounds, f64::INFINITY);
    link
}

fn hear_of_a_drain(link: &mut Link) {
    link.sibling_drains = Drains::Now;
    link.now += Duration::from_millis(1);
    link.ack(1, Duration::from_millis(108), 108.0, false);
}

#[test]
fn a_path_with_a_short_queue_drains_when_a_sibling_does() {
    let mut link = steady(5);
    link.control.target_cap = 4.0;
    assert_eq!(link.control.state(), "steady");
    hear_of_a_drain(&mut link);
    assert_eq!(link.control.state(), "drain");
    assert!(
        link.control.drains().is_held(),
        "and says so: {:?}",
        link.control
    );
    let limit = link.control.effective_window();
    assert!(limit <= 0.91 * 100.0, "{limit:.1} packets");
    // It lasts a round, and the sibling that still drains starts no other at once.
    link.rounds(3, f64::INFINITY);
    assert_eq!(link.control.state(), "steady");
    link.rounds(2, f64::INFINITY);
    assert_eq!(link.control.state(), "steady");
}

#[test]
fn a_path_with_a_deep_queue_does_not_drain_when_a_sibling_does() {
    let mut link = steady(5);
    // It has shown a delay of forty packets.
    link.ack(1, Duration::from_millis(140), 108.0, false);
    assert!(!link.control.has_short_queue());
    assert!(!link.control.evidence.is_shallow(0.001));
    hear_of_a_drain(&mut link);
    assert_eq!(link.control.state(), "steady");
    assert!(!link.control.drains().is_held());
}

#[test]
fn a_path_that_has_just_drained_does_not_join_another_drain() {
    let mut link = steady(5);
    link.control.target_cap = 4.0;
    hear_of_a_drain(&mut link);
    link.sibling_drains = Drains::No;
    link.rounds(2, f64::INFINITY);
    assert_eq!(link.control.state(), "steady");
    hear_of_a_drain(&mut link);
    assert_eq!(link.control.state(), "steady");
}

#[test]
fn a_verdict_in_an_ordinary_drain_makes_it_a_deep_one_that_teaches() {
    let mut link = steady(5);
    if let Mode::Steady(steady) = &mut link.control.mode {
        steady.drain = Drain::First {
            window: 95.0,
            deep: false,
        };
    }
    link.now += Duration::from_millis(1);
    link.ack(1, Duration::from_millis(108), 108.0, false);
    assert_eq!(link.control.state(), "drain");
    assert!(!link.control.drains().is_held());
    link.control.marked = true;
    for _ in 0..2 {
        if !link.control.drains().is_held() {
            assert_eq!(link.control.state(), "drain", "{:?}", link.control);
            link.round(f64::INFINITY);
        }
    }
    assert!(link.control.drains().is_held(), "{:?}", link.control);
    link.round(f64::INFINITY);
    assert_eq!(link.control.lesson(), Lesson::DeeplyDrained);
}

#[test]
fn marks_of_what_left_before_the_answer_are_not_answered_again() {
    let mut link = steady(5);
    link.control.marked = true;
    link.round(f64::INFINITY);
    let (window, target_cap) = (link.control.window, link.control.target_cap);
    assert!(target_cap.is_finite(), "answered");
    for _ in 0..2 {
        link.control.marked = true;
        link.round(f64::INFINITY);
    }
    link.rounds(3, f64::INFINITY);
    assert!(link.control.target_cap >= target_cap, "{:?}", link.control);
    let after = link.control.window;
    assert!(after >= 0.95 * window, "{after:.1} packets of {window:.1}");
    link.control.marked = true;
    link.round(f64::INFINITY);
    assert!(link.control.target_cap < target_cap, "a later one is");
}

/// What was held back leaves when the drain ends, and may overflow a short queue.
#[test]
fn what_leaves_when_a_drain_ends_does_not_belong_to_it() {
    let mut link = steady(5);
    let from = link.now;
    let until = from + Duration::from_millis(100);
    link.control.drained = Some(Drained {
        from,
        until: Some(until),
        is_deep: true,
        least_delay: 0.0,
        is_joined: false,
        is_missed: false,
        is_believed: false,
    });
    link.lose(20, until);
    assert_eq!(link.control.losses.drained, 0);
    link.lose(
        3,
        until.checked_sub(Duration::from_micros(1)).expect("later"),
    );
    link.lose(2, from);
    assert_eq!(link.control.losses.drained, 5);
}

#[test]
fn a_drain_that_lost_far_more_than_those_before_is_repeated_at_once() {
    let drains_after = |lost: u32| {
        let mut link = steady(1);
        let evidence = &mut link.control.evidence;
        let mut teach = |acked: f64, lost: u32| {
            let delays = after(0.0);
            let losses = Losses {
                lost: u64::from(lost),
                drained: u64::from(lost),
                runs: lost,
                delay: None,
            };
            let lesson = Lesson::DeeplyDrained;
            evidence.on_ack(delays, acked, losses, (lesson, lesson));
            // A lesson ends with a round that adds nothing to it.
            evidence.on_round(0.001, 1e6, 1e6);
            evidence.on_round(0.001, 1e6, 1e6);
        };
        for _ in 0..4 {
            teach(80.0, 20);
        }
        teach(100.0 - f64::from(lost), lost);
        link.rounds(1, f64::INFINITY);
        link.control.drains().is_held()
    };
    assert!(drains_after(80));
    assert!(!drains_after(20));
}

/// A path of eight packets and a queue of five, which overflows, some rounds after start-up.
fn overflowing(rounds: u32) -> Link {
    let mut link = settled(100.0, 0.08, 5.0, 16.0);
    for _ in 0..rounds {
        // Something is lost in each, whatever the window.
        let sent_at = link.now;
        link.control.window = 16.0;
        link.round(f64::INFINITY);
        link.lose(1, sent_at);
    }
    link
}

#[test]
fn a_small_window_that_loses_packets_drains_until_it_knows_what_the_link_loses() {
    assert!(!overflowing(4).control.evidence.knows_baseline());
    let link = overflowing(14);
    assert!(link.control.evidence.knows_baseline(), "{:?}", link.control);
    assert!(!link.control.evidence.is_blind());
}

#[test]
fn a_new_way_of_acknowledgements_does_not_hide_the_queue_that_stands() {
    let mut link = steady(5);
    let before = link.control.queue_delay;
    assert!(before > 0.005, "{before} s of queue");
    link.route = 1;
    link.round(f64::INFINITY);
    let after = link.control.queue_delay;
    assert!(after > 0.8 * before, "{before} s before, {after} s after");
}

/// Whether a deep drain begins within fifty rounds on a path that was taken for one without loss,
/// with so many packets lost in each without a queue; a full one holds twenty.
fn drains_deeply_where_it_loses(lost: u32) -> bool {
    let mut link = steady(0);
    link.control.evidence.forget_start(false);
    let delays = after(0.02);
    let lessons = (Lesson::None, Lesson::None);
    let evidence = &mut link.control.evidence;
    evidence.on_ack(delays, 1.0, Losses::default(), lessons);
    assert_eq!(evidence.baseline(), 0.0);
    for _ in 0..50 {
        let sent_at = link.now;
        link.control.window = 95.0;
        link.round(f64::INFINITY);
        if link.control.drains().is_held() {
            return true;
        }
        link.lose(lost, sent_at);
    }
    false
}

#[test]
fn drains_that_lost_nothing_by_chance_are_not_the_last_deep_ones_where_packets_get_lost() {
    assert!(drains_deeply_where_it_loses(2));
    assert!(!drains_deeply_where_it_loses(0));
}

/// Rounds until a deep drain on a link that carries `packets` in a round trip, of whose packets 45
/// have shown that it loses every other one.
fn rounds_until_a_deep_drain(packets: f64) -> u32 {
    let mut link = settled(packets / 0.1, 0.1, 50.0, packets + 8.0);
    let delays = Delays {
        own: 0.0,
        least: 0.0,
        swing: 0.0,
        packet_time: 0.1 / packets,
        least_packet_time: 0.1 / packets,
        stalled: 0.0,
    };
    let losses = Losses {
        lost: 22,
        drained: 22,
        runs: 22,
        delay: None,
    };
    let lesson = Lesson::DeeplyDrained;
    let evidence = &mut link.control.evidence;
    evidence.on_ack(delays, 23.0, losses, (lesson, lesson));
    for rounds in 1..200 {
        link.round(f64::INFINITY);
        let Mode::Steady(steady) = &link.control.mode else {
            panic!("{:?}", link.control);
        };
        if matches!(steady.drain, Drain::First { deep: true, .. }) {
            return rounds;
        }
    }
    200
}

#[test]
fn deep_drains_follow_soon_where_each_shows_little_of_what_the_link_loses() {
    let (small, large) = (
        rounds_until_a_deep_drain(40.0),
        rounds_until_a_deep_drain(100.0),
    );
    assert!(small <= 45, "{small} rounds");
    assert!(large > 2 * small, "{large} rounds where one shows 90");
}
