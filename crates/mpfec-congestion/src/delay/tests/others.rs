//! Beside flows that fill the queue, a path does not give way for good.

use std::time::Duration;

use super::super::evidence::tests::after;
use super::super::evidence::{Lesson, Losses};
use super::super::round::Round;
use super::super::steady::{Drain, Steady};
use super::super::{Delay, Mode};
use super::{Link, MSS};
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
    round.bytes = round.acked * control.mss;
    round.lost = f64::from(lost);
    (round.rise_min, round.rise_max) = (delay, 1.1 * delay);
    round.delay_sum = delay * round.acked;
    round.in_flight_max = control.effective_window();
    control.srtt = length;
    control.on_round(&round, length);
}

#[test]
fn a_queue_that_grows_while_the_window_shrinks_is_somebody_elses() {
    let mut control = known();
    let delays = [
        0.04, 0.05, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.22, 0.24, 0.27,
    ];
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
fn a_queue_far_longer_than_the_target_is_filled_by_others() {
    let mut control = known();
    assert!(!control.is_filled_by_others(), "5 ms are 5 packets");
    round(&mut control, 900.0, 0.08, 0);
    assert!(control.is_filled_by_others());
}

#[test]
fn a_queue_that_grows_is_ours_on_a_slower_path_if_a_drain_empties_it() {
    let mut control = known();
    let (mut delivered, mut delay) = (900.0_f64, 0.03_f64);
    let mut drains = 0;
    for number in 0..30 {
        delivered = (0.7 * delivered).max(100.0);
        delay *= 1.25;
        // What a drain held back is missing a round later.
        let was_drain = control.state() == "drain";
        if was_drain {
            (delay, drains) = (0.002, drains + 1);
        } else {
            delay = delay.max(0.03);
        }
        round(&mut control, delivered, delay, 0);
        assert_ne!(control.state(), "compete", "round {number}, {delay:.3} s");
    }
    assert!(drains >= 2, "{drains} rounds of drains");
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

/// The target after a loss that the queue has cost one who delivers so many of 1000 packets per
/// second, and forty rounds later.
fn targets_after_an_overflow(delivered: f64) -> (f64, f64) {
    let mut control = known();
    control.evidence.forget_start(false);
    (control.delivered_mean, control.rate) = (delivered, delivered);
    control.window = 0.11 * delivered;
    control.target_cap = 10.0;
    let Mode::Steady(steady) = &mut control.mode else {
        panic!("{control:?}");
    };
    steady.answered_now();
    see(&mut control, 0.01, (20.0, 0), Lesson::None);
    see(&mut control, 0.01, (20.0, 5), Lesson::None);
    round(&mut control, delivered, 0.01, 5);
    assert_eq!(control.state(), "drain", "answered");
    let after = control.target_cap;
    for _ in 0..40 {
        round(&mut control, delivered, 0.005, 0);
    }
    (after, control.target_cap)
}

#[test]
fn who_has_less_than_an_equal_share_does_not_aim_at_less_of_the_queue_that_overflows() {
    let (after, later) = targets_after_an_overflow(300.0);
    assert!(after >= 10.0, "{after:.2} packets");
    assert!(later > 1.8 * after, "{later:.2} packets");
    let (after, later) = targets_after_an_overflow(700.0);
    assert!(after < 5.5, "{after:.2} packets");
    assert!(later < 1.2 * after, "{later:.2} packets");
}

/// An acknowledgement for so many packets, and losses noticed with it, at a queue's delay.
fn see(control: &mut Delay, delay: f64, (acked, lost): (f64, u32), lesson: Lesson) {
    let delays = after(delay);
    let losses = Losses {
        lost: lost.into(),
        drained: 0,
        runs: lost,
        delay: None,
    };
    let lessons = (lesson, Lesson::None);
    control.evidence.on_ack(delays, acked, losses, lessons);
}

/// The link is seen to lose so many of some 300 packets without a queue.
fn loses(control: &mut Delay, lost: u32) {
    see(control, 0.0, (0.0, lost), Lesson::StartingUp);
}

/// A path whose queue is short, after `rounds` in which so many packets per second were delivered
/// and the queue delayed by `delay`, with a loss answered shortly before.
fn watched(delivered: f64, delay: f64, rounds: u32) -> Delay {
    watched_with(0.0, delivered, delay, rounds)
}

/// The same with more in flight, at times, than the window that has so much delivered.
fn watched_with(in_flight: f64, delivered: f64, delay: f64, rounds: u32) -> Delay {
    let mut control = known();
    control.target_cap = 2.0;
    watch(control, in_flight, delivered, delay, rounds)
}

/// The same of a path that is known already.
fn watch(mut control: Delay, in_flight: f64, delivered: f64, delay: f64, rounds: u32) -> Delay {
    control.evidence.forget_start(false);
    control.window = 0.1 * delivered;
    (control.delivered_mean, control.delivered_max) = (delivered, delivered);
    let mut seen = Round::new();
    (seen.acked, seen.delay_sum, seen.in_flight_max) = (1.0, delay, in_flight);
    seen.bytes = control.mss;
    for _ in 0..rounds {
        control.watch_others(&seen, true);
    }
    let Mode::Steady(steady) = &mut control.mode else {
        panic!("{control:?}");
    };
    steady.answered_now();
    control
}

#[test]
fn who_has_more_than_an_equal_share_beside_others_sees_it() {
    let share = watched(700.0, 0.01, 300).excessive_share();
    let share = share.expect("seven tenths are too much");
    assert!((0.65..0.8).contains(&share), "{share:.2}");
    let cases = [
        (700.0, 0.0, 300, "without a queue nobody else is there"),
        (950.0, 0.01, 300, "a window that fills the path makes one"),
        (450.0, 0.01, 300, "less than half is no excess"),
        (700.0, 0.01, 8, "a few rounds may be chance"),
    ];
    for (delivered, delay, rounds, why) in cases {
        let share = watched(delivered, delay, rounds).excessive_share();
        assert_eq!(share, None, "{why}");
    }
    let ours = watched_with(95.0, 700.0, 0.01, 300).excessive_share();
    assert_eq!(
        ours, None,
        "what is in flight fills the path, though the window would not"
    );
    let mut noisy = watched(700.0, 0.01, 300);
    loses(&mut noisy, 9);
    assert_eq!(noisy.excessive_share(), None, "no TCP flow is left");
    let mut quiet = watched(700.0, 0.01, 300);
    let Mode::Steady(steady) = &mut quiet.mode else {
        panic!("{quiet:?}");
    };
    steady.quiet_rounds = 200;
    assert_eq!(quiet.excessive_share(), None, "nothing overflows");
}

/// Nor do they with the queue that we keep ourselves, on a path that has become slower: of six packets at
/// 1000 a second.
#[test]
fn delays_that_vary_by_as_much_without_a_queue_show_nobody() {
    let cases = [(0.005, 2.0, true), (0.005, 6.0, false), (0.012, 2.0, false)];
    for (swing, target, shows) in cases {
        let mut control = known();
        for _ in 0..9 {
            control.noise.show(0.0, swing);
        }
        control.target_cap = target;
        let share = watch(control, 0.0, 700.0, 0.01, 300).excessive_share();
        assert_eq!(
            share.is_some(),
            shows,
            "{share:?} with 10 ms, {swing} s, {target} packets"
        );
    }
}

/// A loss among delays that differ by 20 ms without a queue, when we have come down to 100 packets per
/// second of the 1000 that were carried.
#[test]
fn where_delays_vary_by_as_much_as_a_queue_makes_no_loss_is_a_crowds() {
    for (swing, is_doubtful) in [(0.0, false), (0.02, true)] {
        let mut link = Link::new(1000.0, 0.1, 50.0);
        link.control = watched(700.0, 0.01, 300);
        let control = &mut link.control;
        (control.rate, control.rate_max) = (100.0, 1000.0);
        for _ in 0..9 {
            control.noise.show(0.0, swing);
        }
        link.lose(1, link.now);
        link.now += Duration::from_millis(120);
        link.ack(20, Duration::from_millis(120), 70.0, false);
        let share = link.control.excessive_share();
        assert_eq!(share.is_none(), is_doubtful, "{share:?}, {swing} s");
    }
}

#[test]
fn on_a_path_of_few_packets_what_waits_for_its_acknowledgement_hides_nobody() {
    let mut control = watched(140.0, 0.01, 0);
    control.carried.resize(0.2);
    let mut seen = Round::new();
    (seen.acked, seen.delay_sum, seen.in_flight_max) = (1.0, 0.01, 19.0);
    seen.bytes = control.mss;
    for _ in 0..300 {
        control.watch_others(&seen, true);
    }
    assert!(control.excessive_share().is_some(), "{control:?}");
}

#[test]
fn who_has_more_than_an_equal_share_beside_others_answers_every_loss_in_the_queue() {
    for (delivered, keeps) in [(700.0, 0.7..0.701), (450.0, 0.85..1.1)] {
        let mut control = watched(delivered, 0.01, 301);
        // The link loses as much as this by itself.
        loses(&mut control, 3);
        see(&mut control, 0.01, (69.0, 1), Lesson::None);
        control.window = 70.0;
        round(&mut control, delivered, 0.01, 1);
        let kept = control.window / 70.0;
        assert!(keeps.contains(&kept), "{delivered}: {kept:.3}");
    }
}

#[test]
fn who_has_more_than_an_equal_share_beside_others_grows_slower_than_they_do() {
    let mut control = watched(700.0, 0.001, 300);
    assert_eq!(control.excessive_share(), None, "{control:?}");
    let free = {
        control.window = 60.0;
        round(&mut control, 700.0, 0.001, 0);
        control.window - 60.0
    };
    let mut control = watched(700.0, 0.01, 300);
    control.window = 60.0;
    round(&mut control, 700.0, 0.001, 0);
    let grown = control.window - 60.0;
    assert!((0.1..0.4).contains(&grown), "{grown:.2} packets");
    assert!(free > 2.0 * grown, "{free:.2} without others");
}

#[test]
fn a_loss_while_a_long_queue_stands_is_somebodys_if_it_is_not_the_first_nor_start_ups() {
    for (quiet, drains, delivered, state) in [
        (60, 3, 1000.0, "drain"),
        (59, 3, 1000.0, "compete"),
        (59, 2, 1000.0, "drain"),
        // The path has just become slower.
        (59, 3, 600.0, "drain"),
    ] {
        let mut control = known();
        control.evidence.forget_start(false);
        for _ in 0..12 {
            round(&mut control, 1000.0, 0.005, 0);
        }
        let Mode::Steady(steady) = &mut control.mode else {
            panic!("{control:?}");
        };
        steady.drain = Drain::No;
        (steady.quiet_rounds, steady.drains) = (quiet, drains);
        control.delivered_now = delivered;
        see(&mut control, 0.05, (1.0, 0), Lesson::None);
        see(&mut control, 0.05, (99.0, 1), Lesson::None);
        round(&mut control, 1000.0, 0.05, 1);
        assert_eq!(
            control.state(),
            state,
            "{quiet} rounds, {drains} drains, {delivered}"
        );
    }
}

#[test]
fn in_a_queue_that_drops_bursts_who_is_paced_grows_slower_and_shrinks_further_as_one_of_several() {
    // Queues of 5 and 20 packets at 1000 per second.
    for (longest, growth, fewest) in [(0.005, 0.1..0.2, 2.0), (0.02, 0.2..0.4, 4.0)] {
        let mut control = watched(700.0, 0.004, 300);
        control.evidence.forget_delays();
        see(&mut control, longest, (70.0, 0), Lesson::None);
        assert!(control.excessive_share().is_some(), "{control:?}");
        control.window = 60.0;
        assert_eq!(control.fewest(), 4.0, "the only path");
        round(&mut control, 700.0, 0.001, 0);
        let grown = control.window - 60.0;
        assert!(growth.contains(&grown), "{longest}: {grown:.3} packets");
        control.part = 0.5;
        assert_eq!(control.fewest(), fewest, "{longest}");
    }
}

#[test]
fn beside_others_in_a_queue_of_five_packets_a_loss_is_its_overflow_though_no_delay_shows_it() {
    // Packets per second of 1000, least delay in a round, and the longest that was seen.
    let cases = [
        (800.0, 0.004, 0.005, true, "others keep five packets there"),
        (800.0, 0.001, 0.005, false, "the queue is empty at times"),
        (
            950.0,
            0.004,
            0.005,
            false,
            "the path carries all that it can",
        ),
        (
            800.0,
            0.004,
            0.02,
            false,
            "an overflow of twenty would show",
        ),
    ];
    for (rate, least, longest, is_crowded, why) in cases {
        let mut control = watched(rate, 0.0, 0);
        control.evidence.forget_delays();
        see(&mut control, longest, (70.0, 0), Lesson::None);
        // The window fills the path, and a queue of our own could be what is seen.
        (control.window, control.rate) = (105.0, rate);
        let mut seen = Round::new();
        (seen.acked, seen.delay_sum, seen.rise_min) = (1.0, 0.004, least);
        seen.bytes = control.mss;
        for _ in 0..300 {
            control.watch_others(&seen, true);
        }
        assert_eq!(control.is_crowded(), is_crowded, "{why}");
        see(&mut control, 0.0, (1.0, 0), Lesson::None);
        see(&mut control, 0.0, (99.0, 1), Lesson::None);
        control.window = 100.0;
        round(&mut control, rate, 0.0, 1);
        let is_cut = control.window < 75.0;
        assert_eq!(is_cut, is_crowded, "{why}: {:.1}", control.window);
    }
}
