//! An application that pauses, where others fill the queue and where the path becomes longer.

use super::super::evidence::{Delays, Evidence, Lesson, Losses};
use super::super::round::Round;
use super::super::steady::Steady;
use super::super::{Delay, Mode};
use super::MSS;
use crate::CongestionController;

const FLOOR: f64 = 0.1;

/// A path of 100 ms on which an application writes 200 packets per second, in bursts that come three
/// times as fast.
fn known() -> Delay {
    with_bursts(600.0)
}

/// The same, in bursts that come at so many packets per second.
fn with_bursts(rate: f64) -> Delay {
    let mut control = Delay::new(MSS, 20);
    control.set_floor(FLOOR);
    control.window = 35.0;
    control.mode = Mode::Steady(Steady::new(35.0));
    let clean = Delays {
        own: 0.0,
        least: 0.0,
        swing: 0.0,
        packet_time: 0.002,
        least_packet_time: 0.002,
        stalled: 0.0,
    };
    let lessons = (Lesson::StartingUp, Lesson::None);
    control
        .evidence
        .on_ack(clean, 100.0, Losses::default(), lessons);
    for _ in 0..10 {
        round(&mut control, 0.0, 20.0);
    }
    control.carried.on_bursts(rate);
    assert_eq!(control.state(), "steady");
    control
}

/// A round in which the application pauses and the queue delays by `delay`, with so many packets in
/// flight at most.
fn round(control: &mut Delay, delay: f64, in_flight: f64) {
    let length = FLOOR + delay;
    let mut round = Round::new();
    round.acked = 200.0 * length;
    (round.rise_min, round.rise_max) = (delay, delay + 0.005);
    round.delay_sum = delay * round.acked;
    round.in_flight_max = in_flight;
    round.app_limited = true;
    control.srtt = length;
    control.on_round(&round, length);
}

/// No acknowledgement need fall into a pause: what the application wrote is not what the path carries.
#[test]
fn rounds_with_pauses_between_acknowledgements_do_not_lower_the_rate() {
    for has_paused in [true, false] {
        let mut control = known();
        control.rate = 300.0;
        for _ in 0..20 {
            let mut round = Round::new();
            round.acked = 200.0 * FLOOR;
            (round.rise_min, round.rise_max) = (0.0, 0.005);
            round.in_flight_max = 20.0;
            round.has_paused = has_paused;
            control.on_round(&round, FLOOR);
        }
        let expected = if has_paused { 300.0 } else { 200.0 };
        assert!((control.rate - expected).abs() < 5.0, "{}", control.rate);
    }
}

#[test]
fn a_queue_that_stands_for_three_rounds_is_not_that_of_an_application_that_pauses() {
    let mut control = known();
    for rounds in 1..=3 {
        assert_eq!(control.state(), "steady", "before round {rounds}");
        round(&mut control, 0.05, 30.0);
    }
    assert_eq!(control.state(), "compete");
    // Half of 600 packets per second in 150 ms.
    let window = control.window;
    assert!((44.0..46.0).contains(&window), "{window:.0} packets");
}

#[test]
fn a_queue_that_was_gone_in_between_may_be_its_own() {
    let mut control = known();
    for number in 0..20 {
        let delay = if number % 3 == 2 { 0.0 } else { 0.05 };
        round(&mut control, delay, 30.0);
        assert_eq!(control.state(), "steady", "round {number}");
    }
}

#[test]
fn a_queue_that_what_is_in_flight_explains_is_its_own() {
    let mut control = with_bursts(250.0);
    // Path and queue hold 38.
    for number in 0..10 {
        round(&mut control, 0.05, 30.0);
        assert_eq!(control.state(), "steady", "round {number}");
    }
}

#[test]
fn a_link_of_which_the_loss_is_not_known_is_not_taken_for_one_without() {
    let mut control = known();
    control.evidence = Evidence::new();
    for number in 0..10 {
        round(&mut control, 0.05, 30.0);
        assert_eq!(control.state(), "steady", "round {number}");
    }
}

#[test]
fn a_delay_that_does_not_move_is_a_longer_path_which_is_explored_anew() {
    let mut control = known();
    control.has_seen_limit = true;
    let mut rounds = 0;
    while control.state() != "startup" && rounds < 100 {
        round(&mut control, 0.05, 30.0);
        rounds += 1;
    }
    assert!((36..=42).contains(&rounds), "after {rounds} rounds");
    let floor = control.floor_seconds();
    assert!((floor - 0.15).abs() < 0.005, "{floor:.3} s");
    assert_eq!(control.carried.shared(1.0), 0.0);
    assert!(!control.has_seen_limit);
}

#[test]
fn a_short_delay_that_does_not_move_is_nobodys() {
    let mut control = known();
    control.compete(control.window);
    for _ in 0..40 {
        round(&mut control, 0.01, 20.0);
    }
    assert_eq!(control.state(), "steady");
}

#[test]
fn a_queue_of_others_that_moves_is_not_taken_for_the_path() {
    let mut control = known();
    for number in 0..200 {
        let delay = 0.05 + 0.03 * f64::from(number % 20) / 20.0;
        round(&mut control, delay, 30.0);
    }
    assert_eq!(control.state(), "compete");
}

/// A queue overflows when it is longest.
#[test]
fn a_loss_in_a_round_that_has_become_twice_as_long_takes_a_third_of_the_rate() {
    let mut control = known();
    control.compete(control.window);
    round(&mut control, 0.0, 20.0);
    let before = control.window / FLOOR;
    control.marked = true;
    round(&mut control, FLOOR, 30.0);
    let left = control.window / (2.0 * FLOOR) / before;
    assert!((0.5..0.75).contains(&left), "{left:.2}");
}
