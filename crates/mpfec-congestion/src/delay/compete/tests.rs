//! Tests and verdicts beside flows that fill the buffer.

mod growth;

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use self::growth::{grown, growth};
use super::super::Delay;
use super::super::evidence::{Delays, Lesson, Losses};
use super::super::tests::limits::{event, run};
use super::super::tests::{MSS, epoch};
use super::{After, Before, Compete, Mode, Round, Test};
use crate::CongestionController;

#[test]
fn until_a_test_tells_a_path_carries_what_it_carried_at_best() {
    let mut control = Delay::new(MSS, 20);
    control.set_floor(0.1);
    control.window = 30.0;
    for _ in 0..2 {
        control.carried.on_round(1000.0, 1.0, 0.1, true);
    }
    let mut law = |is_others| {
        control.compete(30.0);
        let mut round = Round::new();
        (round.acked, round.rise_min, round.rise_max) = (30.0, 0.1, 0.1);
        let Mode::Compete(compete) = &mut control.mode else {
            panic!("it competes");
        };
        compete.is_others = is_others;
        (control.srtt, control.delivered_mean) = (0.2, 150.0);
        control.on_round(&round, 0.2);
        let Mode::Compete(compete) = &control.mode else {
            panic!("it competes");
        };
        compete.growth.cubic_part
    };
    assert_eq!(law(true), 1.0, "a seventh of it is too little");
    assert_eq!(law(false), 0.5, "and nothing is known");
}

#[test]
fn tests_show_what_all_paths_share_although_this_one_carried_little_of_it() {
    let mut control = Delay::new(MSS, 20);
    control.set_floor(0.1);
    control.window = 10.0;
    control.part = 0.1;
    // A connection of 1000 packets per second, in a bottleneck of 2000.
    for _ in 0..2 {
        control.carried.on_round(100.0, control.part, 0.1, true);
    }
    control.compete(10.0);
    let Mode::Compete(compete) = &mut control.mode else {
        panic!("it competes");
    };
    for _ in 0..3 {
        compete.capacity.learn(60.0, 0.03);
    }
    let mut round = Round::new();
    (round.acked, round.rise_min, round.rise_max) = (20.0, 0.1, 0.1);
    (control.srtt, control.delivered_mean, control.rate_max) = (0.2, 100.0, 100.0);
    control.on_round(&round, 0.2);
    let Mode::Compete(compete) = &control.mode else {
        panic!("it competes");
    };
    let law = compete.growth.cubic_part;
    assert!((law - 0.5).abs() < 0.1, "half of its part is fair: {law}");
}

#[test]
fn who_knows_nothing_of_a_path_that_delivers_nothing_keeps_a_window() {
    let mut control = Delay::new(MSS, 20);
    control.set_floor(0.1);
    control.compete(30.0);
    control.srtt = 0.2;
    let mut round = Round::new();
    (round.rise_min, round.rise_max) = (0.1, 0.1);
    control.on_round(&round, 0.2);
    let Mode::Compete(compete) = &mut control.mode else {
        panic!("it competes");
    };
    assert_eq!(compete.growth.cubic_part, 0.5);
    let grown = compete.growth.increase(epoch(), 0.2, 30.0, 10.0);
    assert!((0.0..1.0).contains(&grown), "{grown}");
}

/// A path of 50 ms and 10 000 packets per second, beside a flow of `others` packets that answers
/// nothing.
fn beside(window: f64, others: f64) -> Delay {
    beside_resized(window, others, (0, 1.0))
}

/// The same; in round `at` each packet becomes `scale` ones.
fn beside_resized(window: f64, others: f64, (at, scale): (u32, f64)) -> Delay {
    let mut control = Delay::new(MSS, 20);
    control.set_floor(0.05);
    control.window = window;
    control.compete(window);
    let (mut effective, mut before) = (window, window);
    let mut size = 1.0;
    for number in 0..40 {
        if number == at {
            size *= scale;
            control.on_mtu_update((f64::from(MSS) / scale) as u16);
            (effective, before) = (control.effective_window(), before * scale);
        }
        let rtt = ((before / size + others) / 10_000.0).max(0.05);
        control.srtt = rtt;
        let mut round = Round::new();
        round.acked = before;
        round.rise_min = rtt - 0.05;
        round.delay_sum = round.acked * round.rise_min;
        // The queue of somebody else is never quite steady.
        round.rise_max = 1.2 * rtt - 0.05;
        round.in_flight_max = effective;
        control.on_round(&round, rtt);
        before = effective;
        effective = control.effective_window();
    }
    control
}

#[test]
fn a_test_shows_what_the_path_carries_and_whether_to_grow_faster() {
    for (window, others, part) in [
        (200.0, 800.0, 1.0),
        (500.0, 500.0, 0.5),
        (800.0, 200.0, 0.0),
    ] {
        let control = beside(window, others);
        let Mode::Compete(compete) = &control.mode else {
            panic!("{window} beside {others}: {control:?}");
        };
        let capacity = compete
            .capacity
            .get(10_000.0, 1.0, 0.0)
            .expect("a test was made");
        assert!(
            (9000.0..11_000.0).contains(&capacity),
            "{window} beside {others}: {capacity:.0}"
        );
        let cubic_part = compete.growth.cubic_part;
        assert!(
            (cubic_part - part).abs() < 0.15,
            "{window} beside {others}: {cubic_part:.2}"
        );
    }
}

/// Competes for so many rounds while the path, of 50 ms when it was empty, delays by 50 ms more,
/// by a queue of 500 packets of ours if `is_queue`. Siblings hold packets back in tests as well if
/// `sibling_drains`.
fn high_and_steady(is_queue: bool, sibling_drains: bool, rounds: u32) -> Delay {
    let mut control = Delay::new(MSS, 20);
    control.set_floor(0.05);
    control.window = 1000.0;
    control.compete(1000.0);
    let mut sent = 1000.0;
    for _ in 0..rounds {
        let Mode::Compete(compete) = &control.mode else {
            break;
        };
        control.sibling_drains = sibling_drains && compete.test != Test::No;
        let delay = if is_queue {
            (sent / 10_000.0 - 0.05_f64).max(0.0)
        } else {
            0.05
        };
        control.window = 1000.0;
        control.srtt = 0.05 + delay;
        let mut round = Round::new();
        round.acked = sent;
        (round.rise_min, round.rise_max) = (delay, 1.01 * delay);
        round.delay_sum = delay * round.acked;
        sent = control.effective_window();
        round.in_flight_max = sent;
        control.on_round(&round, control.srtt);
    }
    control
}

#[test]
fn a_steady_delay_that_a_test_takes_away_is_a_queue_and_any_other_a_longer_path() {
    let control = high_and_steady(true, false, 20);
    assert_eq!(control.state(), "compete", "{control:?}");
    assert!(control.floor_seconds() < 0.051);
    let control = high_and_steady(true, false, 30);
    assert_eq!(control.state(), "steady", "three tests have emptied it");
    assert!(control.floor_seconds() < 0.051);
    let control = high_and_steady(false, true, 30);
    assert_eq!(control.state(), "compete", "a test that tells nothing");
    let control = high_and_steady(false, false, 30);
    assert_eq!(control.state(), "startup", "{control:?}");
    let floor = control.floor_seconds();
    assert!((floor - 0.1).abs() < 0.001, "{floor:.3} s");
}

/// Competes for so many rounds on a path of 50 ms and 2000 packets per second whose queue is empty
/// at some time of each but, one time in ten, for 4 ms; bursts make 5 ms of it.
fn bursts(is_filled: bool, rounds: u32) -> Delay {
    let mut control = Delay::new(MSS, 20);
    control.set_floor(0.05);
    control.compete(90.0);
    for number in 0..rounds {
        control.window = 90.0;
        control.srtt = 0.052;
        let stands = if is_filled && number % 10 == 9 {
            0.004
        } else {
            0.0005
        };
        let mut round = Round::new();
        round.acked = 90.0;
        (round.rise_min, round.rise_max) = (stands, 0.005);
        round.delay_sum = 0.002 * round.acked;
        round.in_flight_max = 60.0;
        round.app_limited = true;
        control.on_round(&round, control.srtt);
    }
    control
}

#[test]
fn a_queue_that_is_empty_at_times_in_all_of_36_rounds_is_filled_by_nobody_though_bursts_show() {
    assert_eq!(bursts(false, 35).state(), "compete");
    assert_eq!(bursts(false, 36).state(), "steady");
    assert_eq!(bursts(true, 100).state(), "compete");
}

#[test]
fn the_first_test_of_one_who_knows_of_no_others_changes_nothing() {
    for (is_others, part) in [(false, 0.5), (true, 1.0)] {
        let mut control = Delay::new(MSS, 20);
        control.set_floor(0.05);
        control.window = 100.0;
        control.compete(100.0);
        control.rate_max = 1000.0;
        let Mode::Compete(compete) = &mut control.mode else {
            panic!("it competes");
        };
        compete.is_others = is_others;
        // Others filled the queue meanwhile: it seems to be a path of three times the peak.
        compete.capacity.learn(20.0, -0.01);
        let mut round = Round::new();
        (round.acked, round.rise_min, round.rise_max) = (100.0, 0.05, 0.06);
        (control.srtt, control.delivered_mean) = (0.1, 1000.0);
        control.on_round(&round, 0.1);
        let Mode::Compete(compete) = &control.mode else {
            panic!("it competes");
        };
        assert_eq!(compete.growth.cubic_part, part, "{is_others}");
    }
}

#[test]
fn a_test_shows_the_same_bytes_if_packets_become_smaller_or_larger() {
    for scale in [2.0, 0.5, 0.25] {
        for at in 0..40 {
            let control = beside_resized(400.0, 600.0, (at, scale));
            let Mode::Compete(compete) = &control.mode else {
                panic!("{scale} from round {at} on: {control:?}");
            };
            let capacity = compete
                .capacity
                .get(1e6, 1.0, 0.0)
                .expect("a test was made")
                / scale;
            assert!(
                (9000.0..11_000.0).contains(&capacity),
                "{scale} from round {at} on: {capacity:.0}"
            );
        }
    }
}

#[test]
fn the_curve_goes_on_if_packets_become_smaller_or_larger() {
    for scale in [2.0, 0.5, 0.17] {
        for seconds in [2.0, 6.0, 13.0] {
            let (now, rtt) = (epoch(), 0.2);
            let mut control = Delay::new(MSS, 20);
            control.compete(1000.0);
            let Mode::Compete(compete) = &mut control.mode else {
                panic!("{control:?}");
            };
            compete.growth = growth(1.0, 1000.0);
            let window = grown(&mut compete.growth, 700.0, rtt, seconds);
            let step = Duration::from_secs_f64(seconds);
            let expected = compete
                .growth
                .clone()
                .increase(now + step, rtt, window, window);
            compete.resize(scale);
            let window = window * scale;
            let found = compete.growth.increase(now + step, rtt, window, window);
            let reno = 0.6 * scale.max(1.0);
            assert!(
                (found - expected * scale).abs() <= reno,
                "{scale} after {seconds} s: {found:.1} for {expected:.1} packets"
            );
        }
    }
}

#[test]
fn a_full_share_of_a_part_of_the_connection_counts_as_fair() {
    let mut compete = Compete::new(100.0);
    for (own, part) in [
        (250.0, 0.5),
        (125.0, 1.0),
        (190.0, 1.0),
        (500.0, 0.0),
        (310.0, 0.0),
    ] {
        compete.guide(1000.0, own, 0.25);
        assert_eq!(compete.growth.cubic_part, part, "{own} packets per second");
    }
}

fn found(compete: &Compete) -> (bool, u32) {
    (compete.capacity.get(1e6, 1.0, 0.0).is_some(), compete.alone)
}

fn before(delay: f64) -> Before {
    Before {
        window: 100.0,
        delay,
        mean: delay,
        is_disturbed: false,
    }
}

/// 1000 packets per second; a delay of 40 ms is a queue of 40 packets.
fn after(delay: f64) -> After {
    After {
        delay,
        mean: delay,
        packet_time: 0.001,
        noise: 0.003,
        is_short: false,
    }
}

#[test]
fn a_queue_that_a_test_empties_was_ours_unless_what_others_leave_could_not_be_told_from_none() {
    for (delay, alone) in [(0.04, 1), (0.01, 1), (0.0045, 0)] {
        let mut compete = Compete::new(100.0);
        compete.evaluate(delay * 1000.0, before(delay), &after(0.0));
        assert_eq!(found(&compete), (false, alone), "{delay} s");
    }
    let mut short = Compete::new(100.0);
    let after = After {
        is_short: true,
        ..after(0.0)
    };
    short.evaluate(4.5, before(0.0045), &after);
    assert_eq!(
        found(&short),
        (false, 1),
        "nobody competes in a short queue"
    );
}

#[test]
fn half_a_queue_that_a_test_leaves_is_somebody_elses() {
    let mut compete = Compete::new(100.0);
    compete.alone = 2;
    compete.evaluate(20.0, before(0.04), &after(0.02));
    assert_eq!(found(&compete), (true, 0));
}

#[test]
fn a_test_while_a_sibling_holds_packets_back_shows_nothing() {
    for delay in [0.0, 0.02] {
        let mut compete = Compete::new(100.0);
        let before = Before {
            is_disturbed: true,
            ..before(0.04)
        };
        compete.evaluate(20.0, before, &after(delay));
        assert_eq!(found(&compete), (false, 0));
    }
}

#[test]
fn a_delay_that_does_not_move_at_all_says_nothing_of_what_the_path_carries() {
    let mut compete = Compete::new(100.0);
    compete.evaluate(20.0, before(0.08), &after(0.0799));
    assert_eq!(found(&compete), (false, 0));
}

#[test]
fn no_test_begins_while_a_sibling_drains() {
    let mut control = Delay::new(MSS, 20);
    control.set_floor(0.05);
    control.window = 500.0;
    control.compete(500.0);
    control.sibling_drains = true;
    for _ in 0..100 {
        let mut round = Round::new();
        round.acked = 500.0;
        (round.rise_min, round.rise_max) = (0.05, 0.08);
        round.delay_sum = 500.0 * 0.05;
        round.in_flight_max = 500.0;
        control.srtt = 0.1;
        control.on_round(&round, 0.1);
        let Mode::Compete(compete) = &control.mode else {
            panic!("{control:?}");
        };
        assert_eq!(compete.test, Test::No);
    }
}

/// Three packets fill a path of 36 ms and 84 packets per second: of the four that a drain lets out
/// one always waits.
#[test]
fn a_queue_of_one_packet_that_a_drain_leaves_is_nobody_elses() {
    let mut control = Delay::new(MSS, 20);
    control.set_floor(0.036);
    control.window = 9.0;
    control.compete(9.0);
    let (mut effective, mut before) = (9.0, 9.0);
    for _ in 0..70 {
        let rtt: f64 = before / 84.0;
        control.srtt = rtt;
        let mut round = Round::new();
        round.acked = before;
        (round.rise_min, round.rise_max) = (rtt - 0.036, 1.2 * rtt - 0.036);
        round.delay_sum = before * round.rise_min;
        round.in_flight_max = effective;
        control.on_round(&round, rtt);
        before = effective;
        effective = control.effective_window();
    }
    assert!(matches!(control.mode, Mode::Steady(_)), "{control:?}");
}

#[test]
fn a_cut_is_left_to_take_effect_for_two_rounds() {
    let mut control = Delay::new(MSS, 20);
    control.set_floor(0.05);
    control.window = 100.0;
    control.compete_after_cut();
    assert_eq!(control.window, 70.0);
    for rounds in 0..2 {
        let Mode::Compete(compete) = &control.mode else {
            panic!("{control:?}");
        };
        assert_eq!(compete.hold, 2 - rounds);
        assert_eq!(compete.test, Test::No);
        control.marked = true;
        let mut round = Round::new();
        (round.acked, round.rise_min, round.rise_max) = (70.0, 0.02, 0.05);
        (control.srtt, control.delivered_max) = (0.07, 1400.0);
        control.on_round(&round, 0.07);
        assert_eq!(control.window, 70.0, "no second cut in round {rounds}");
    }
}

#[test]
fn a_delay_that_a_host_made_does_not_hide_an_overflow() {
    let mut control = Delay::new(MSS, 20);
    control.set_floor(0.05);
    control.window = 100.0;
    control.compete(100.0);
    let packet_time = 0.000_5;
    let see = |control: &mut Delay, delay, acked, lost: u32, lesson| {
        let losses = Losses {
            lost: lost.into(),
            drained: 0,
            runs: lost,
            delay: None,
        };
        let lessons = (lesson, Lesson::None);
        let delays = Delays {
            own: delay,
            least: 0.0,
            swing: 0.0,
            packet_time,
            least_packet_time: packet_time,
            stalled: 0.0,
        };
        control.evidence.on_ack(delays, acked, losses, lessons);
    };
    see(&mut control, 0.0, 30.0, 0, Lesson::DeeplyDrained);
    see(&mut control, 0.08, 1.0, 0, Lesson::None);
    see(&mut control, 0.01, 1.0, 0, Lesson::None);
    for _ in 0..3 {
        see(&mut control, 0.012, 70.0, 30, Lesson::None);
        let mut round = Round::new();
        (round.acked, round.lost, round.rise_min, round.rise_max) = (70.0, 30.0, 0.01, 0.012);
        (control.srtt, control.delivered_max) = (0.062, 2000.0);
        control.on_round(&round, 0.062);
    }
    assert!(control.window < 75.0, "{:.0}", control.window);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::with_cases(300) })]

    #[test]
    fn every_cut_is_followed_by_a_round_that_leaves_it_to_take_effect(
        events in prop::collection::vec(event(), 1..300),
    ) {
        let mut growing = false;
        run(&events, |control| {
            let Mode::Compete(compete) = &control.mode else {
                growing = false;
                return Ok(());
            };
            let grows = compete.growth.epoch.is_some();
            // Only a cut ends a stretch of growth.
            prop_assert!(!growing || grows || compete.hold > 0, "{:?}", compete);
            growing = grows;
            Ok(())
        })?;
    }
}
