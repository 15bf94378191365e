//! Beside flows that fill the queue, a path does not give way for good.

use super::super::round::Round;
use super::super::steady::Steady;
use super::super::{Delay, Mode};
use super::MSS;
use crate::CongestionController;

/// A path of 100 ms that has carried 1000 packets per second, in the steady state.
fn known() -> Delay {
    let mut control = Delay::new(MSS, 20);
    control.set_floor(0.1);
    control.window = 110.0;
    control.mode = Mode::Steady(Steady::new(110.0));
    control.has_seen_limit = true;
    control.srtt = 0.11;
    for _ in 0..30 {
        round(&mut control, 1000.0, 0.005, 0);
    }
    assert_eq!(control.state(), "steady");
    control
}

/// A round in which so many packets per second are delivered and the queue delays by `delay`.
fn round(control: &mut Delay, delivered: f64, delay: f64, lost: u32) {
    let length = 0.1 + delay;
    let mut round = Round::new();
    round.acked = delivered * length;
    round.lost = f64::from(lost);
    (round.delay_min, round.delay_max) = (delay, 1.1 * delay);
    round.delay_sum = delay * round.acked;
    round.in_flight_max = control.effective_window();
    control.srtt = length;
    control.on_round(&round, length);
}

#[test]
fn a_queue_that_grows_while_the_window_shrinks_is_somebody_elses() {
    let mut control = known();
    let delays = [0.04, 0.05, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2];
    let (mut delivered, mut rounds) = (900.0, 0);
    for delay in delays {
        if control.state() == "compete" {
            break;
        }
        delivered *= 0.7;
        round(&mut control, delivered, delay, 0);
        rounds += 1;
    }
    assert_eq!(control.state(), "compete", "after {rounds} rounds");
    // Half of 1000 packets per second, at the RTT with its queue.
    let share = 500.0 * control.srtt;
    assert!(
        control.window >= 0.65 * share,
        "{:.0} of {share:.0} packets",
        control.window
    );
    assert!(control.window <= share, "{:.0}", control.window);
}

#[test]
fn a_queue_that_shrinks_with_the_window_is_what_a_slower_path_has_made() {
    let mut control = known();
    let mut delay = 0.3;
    for _ in 0..30 {
        round(&mut control, 200.0, delay, 0);
        assert_ne!(control.state(), "compete", "at {delay:.3} s");
        delay = (0.8 * delay).max(0.01);
    }
}

#[test]
fn a_queue_that_stays_for_some_rounds_but_does_not_grow_is_nobody_elses_yet() {
    let mut control = known();
    for rounds in 0..10 {
        let delay = if rounds % 2 == 0 { 0.09 } else { 0.096 };
        round(&mut control, 100.0, delay, 0);
        assert_ne!(control.state(), "compete", "after {rounds} rounds");
    }
}

#[test]
fn a_path_that_was_never_faster_gives_way_to_nobody() {
    let mut control = Delay::new(MSS, 20);
    control.set_floor(0.1);
    control.window = 40.0;
    control.mode = Mode::Steady(Steady::new(40.0));
    let mut delay = 0.02;
    for _ in 0..7 {
        round(&mut control, 200.0, delay, 0);
        delay *= 1.1;
        assert_eq!(control.state(), "steady");
    }
}

#[test]
fn a_path_that_is_longer_after_a_queue_has_drained_is_explored_anew() {
    let mut control = known();
    for delay in [0.2, 0.12, 0.09] {
        round(&mut control, 600.0, delay, 0);
    }
    for rounds in 0..12 {
        if control.state() == "startup" {
            let floor = control.floor_seconds();
            assert!((floor - 0.19).abs() < 0.001, "{floor:.3} s");
            return;
        }
        round(&mut control, 600.0 * 0.9_f64.powi(rounds), 0.09, 0);
    }
    panic!("{control:?}");
}

/// Rounds after a loss that another flow's short queue has cost, with three packets of ours in it:
/// by how much the window has grown.
fn growth_after_a_loss(delivered: f64) -> f64 {
    let mut control = known();
    control.evidence.forget_start(false);
    control.target_cap = 2.0;
    for _ in 0..2 {
        let Mode::Steady(steady) = &mut control.mode else {
            panic!("{control:?}");
        };
        steady.answered_now();
        control.window = 0.12 * delivered;
        for _ in 0..5 {
            round(&mut control, delivered, 0.01, 0);
        }
    }
    control.window - 0.12 * delivered
}

#[test]
fn beside_others_in_a_short_queue_who_has_less_than_an_equal_share_grows_as_they_do() {
    let weak = growth_after_a_loss(300.0);
    assert!(weak > 1.0, "{weak:.2} packets in five rounds");
    let strong = growth_after_a_loss(700.0);
    assert!(strong < 0.0, "{strong:.2} packets in five rounds");
}
