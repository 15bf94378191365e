//! Paths that drop packets before any of them waits, and siblings that may meet the same.

use std::time::Duration;

use super::super::Mode;
use super::super::evidence::{Delays, Lesson, Losses};
use super::super::steady::Steady;
use super::Link;
use crate::{CongestionController, Drains};

/// Packets per second, and seconds.
const CAPACITY: f64 = 200.0;
const FLOOR: f64 = 0.04;

/// A path that lets pass what it carries and nothing else, whose drains have lost so many of 200 packets,
/// and which has just answered losses that no delay went with. Its part of the connection is half.
fn policed(lost: u32) -> Link {
    let mut link = Link::new(CAPACITY, FLOOR, 0.0);
    let control = &mut link.control;
    control.set_floor(FLOOR);
    control.srtt = FLOOR;
    control.window = CAPACITY * FLOOR;
    control.mode = Mode::Steady(Steady::new(control.window));
    (control.rate, control.rate_max) = (CAPACITY, CAPACITY);
    (control.delivered_max, control.delivered_mean) = (CAPACITY, CAPACITY);
    control.has_seen_limit = true;
    let delays = Delays {
        own: 0.0,
        least: 0.0,
        swing: 0.0,
        packet_time: 1.0 / CAPACITY,
        least_packet_time: 1.0 / CAPACITY,
        stalled: 0.0,
    };
    let lesson = (Lesson::DeeplyDrained, Lesson::DeeplyDrained);
    let losses = Losses {
        lost: u64::from(lost),
        drained: u64::from(lost),
        runs: lost,
        delay: None,
    };
    let acked = f64::from(200 - lost);
    control.evidence.on_ack(delays, acked, losses, lesson);
    for _ in 0..40 {
        if link.control.state() == "steady" {
            link.control.window = 1.5 * CAPACITY * FLOOR;
        }
        link.round(f64::INFINITY);
        if link.control.overflows_unseen() {
            return link;
        }
    }
    panic!("no loss was answered: {:?}", link.control);
}

/// After so many rounds, on a path without random loss.
fn later(rounds: u32) -> Link {
    let mut link = policed(0);
    link.rounds(rounds, f64::INFINITY);
    link
}

#[test]
fn what_overflows_without_delay_grows_by_little_until_that_would_show() {
    // Where nothing is lost at random, growth is TCP's.
    let noisy = || {
        let mut link = policed(10);
        link.rounds(4, f64::INFINITY);
        link
    };
    let mut link = noisy();
    let before = link.control.window;
    let (mut sent, mut rounds) = (0.0, 0);
    while sent < 60.0 {
        sent += link.control.window;
        link.round(f64::INFINITY);
        rounds += 1;
    }
    let grown = link.control.window / before;
    assert!(
        (1.0..=1.15).contains(&grown),
        "{grown:.2} times in {rounds} rounds of {before:.1} packets"
    );
    // A queue that would show when it is full is filled as fast as ever.
    let mut link = noisy();
    let before = link.control.window;
    if let Mode::Steady(steady) = &mut link.control.mode {
        steady.forget_unseen();
    }
    link.rounds(rounds, f64::INFINITY);
    let else_grown = link.control.window / before;
    assert!(else_grown > grown + 0.02, "{else_grown:.2} and {grown:.2}");
}

#[test]
fn several_subflows_pace_out_no_fewer_packets_together_than_one() {
    let mut link = later(1);
    link.control.part = 1.0;
    assert_eq!(link.control.fewest_paced(), 4.0, "the only one");
    for (part, fewest) in [(0.5, 2.0), (0.25, 1.0), (0.1, 1.0)] {
        link.control.part = part;
        assert_eq!(link.control.fewest_paced(), fewest, "part {part}");
    }
    // In flight there may be as many as ever: fewer would hide what is lost.
    link.control.window = 1.0;
    let packets = link.control.cwnd() as f64 / f64::from(link.mss);
    assert!(packets >= 4.0, "{packets:.2} packets");
    let pace = link.pace() * FLOOR;
    assert!(pace <= 1.05, "{pace:.2} packets in a round trip");
}

/// What it takes for the lessons of drains, if the sibling says so for the first `held` acknowledgements of
/// each of them, and else that it would.
fn lessons(count: usize, held: usize, drains: Drains) -> Vec<Lesson> {
    let mut link = later(12);
    let (mut lessons, mut since, mut was_lesson) = (Vec::new(), 0, false);
    for number in 0..20_000 {
        if number % 40 == 0 {
            // Now and then one gets lost, or no drain would be a deep one.
            link.lose(1, link.now - Duration::from_secs_f64(FLOOR));
        }
        let holds = link.control.drains().is_held();
        since = if holds { since + 1 } else { 0 };
        link.sibling_drains = if holds && since <= held {
            drains
        } else {
            Drains::WithOthers
        };
        link.now += Duration::from_millis(4);
        link.ack(2, Duration::from_secs_f64(FLOOR), 20.0, false);
        let lesson = link.control.lesson();
        if lesson != Lesson::None && !was_lesson {
            lessons.push(lesson);
        }
        was_lesson = lesson != Lesson::None;
        if lessons.len() == count {
            return lessons;
        }
    }
    panic!("{lessons:?}: {:?}", link.control);
}

#[test]
fn a_drain_teaches_nothing_if_a_sibling_that_may_overflow_the_same_place_went_on_as_usual() {
    let always = usize::MAX;
    for drains in [Drains::Now, Drains::Overrun, Drains::No] {
        assert_eq!(lessons(1, always, drains), [Lesson::DeeplyDrained]);
    }
    assert_eq!(lessons(1, 0, Drains::Now), [Lesson::Unclear]);
    // Its round trip is shorter, so that it goes on sooner.
    assert_eq!(lessons(1, 2, Drains::Now), [Lesson::DeeplyDrained]);
}

#[test]
fn a_sibling_that_never_joins_does_not_keep_a_path_from_learning() {
    use Lesson::{DeeplyDrained, Unclear};
    let expected = [Unclear, Unclear, Unclear, DeeplyDrained, Unclear];
    assert_eq!(lessons(5, 0, Drains::Now), expected);
}

/// Window after and before a sibling's drain, after `lost` of ours were lost at once.
fn kept(drains: Drains, lost: u32) -> f64 {
    let mut link = later(8);
    if lost > 0 {
        link.lose(lost, link.now);
    }
    link.now += Duration::from_millis(1);
    link.ack(2, Duration::from_secs_f64(FLOOR), 8.0, false);
    let before = link.control.window;
    link.sibling_drains = drains;
    link.now += Duration::from_millis(1);
    link.ack(1, Duration::from_secs_f64(FLOOR), 20.0, false);

    assert!(link.control.drains().is_held(), "{:?}", link.control);
    link.control.window / before
}

#[test]
fn an_answer_of_a_sibling_is_joined_where_packets_of_ours_were_lost_as_well() {
    assert_eq!(kept(Drains::Overrun, 8), 0.7);
    assert_eq!(kept(Drains::Overrun, 0), 1.0, "none was");
    assert_eq!(kept(Drains::Now, 8), 1.0, "it only looks");
}
