//! Queues that are full round by round behind losses that hide what they drop.

use std::time::Duration;

use super::super::Mode;
use super::super::evidence::tests::after;
use super::super::evidence::{Lesson, Losses};
use super::super::round::Round;
use super::super::steady::Steady;
use super::Link;

/// A path of 1000 packets per second and 100 ms that loses `lost` of a hundred packets, with a
/// window that keeps six packets in the queue.
fn planted(lost: u64) -> Link {
    let mut link = Link::new(1000.0, 0.1, 6.0);
    let control = &mut link.control;
    control.set_floor(0.1);
    control.srtt = 0.105;
    control.window = 106.0;
    control.mode = Mode::Steady(Steady::new(106.0));
    (control.rate, control.rate_max) = (1000.0, 1000.0);
    (control.delivered_max, control.delivered_mean) = (1000.0, 1000.0);
    control.target_cap = 6.0;
    let losses = Losses {
        lost: 4 * lost,
        drained: 4 * lost,
        runs: 4 * lost as u32,
        delay: None,
    };
    let acked = 400.0 - 4.0 * lost as f64;
    let lesson = Lesson::DeeplyDrained;
    let delays = after(0.0);
    control
        .evidence
        .on_ack(delays, acked, losses, (lesson, lesson));
    link
}

/// Rounds whose delays rise to so many packets each.
fn rounds(link: &mut Link, most: &[f64]) {
    for &most in most {
        round(link, 0.1 * most, most, 106.0);
    }
}

/// A round whose delay rises from `least` to `most` packets, with so many in flight; those of an
/// application that pauses are less than the window.
fn round(link: &mut Link, least: f64, most: f64, in_flight: f64) {
    for ninth in 0..10 {
        let waiting = least + (most - least) * f64::from(ninth) / 9.0;
        let rtt = Duration::from_secs_f64(0.1 + 0.001 * waiting);
        link.now += Duration::from_millis(11);
        link.ack(10, rtt, in_flight, in_flight < 106.0);
    }
}

#[test]
fn a_queue_that_is_full_in_every_round_behind_random_loss_is_aimed_at_with_half_of_it() {
    let mut link = planted(20);
    let before = link.control.target();
    assert!(before > 5.9, "{before} packets");
    rounds(&mut link, &[6.0; 6]);
    let after = link.control.target();
    assert!(after <= 3.4, "{after} packets in a queue of six");
}

#[test]
fn a_window_that_keeps_the_queue_full_although_the_target_was_halved_comes_down_to_what_is_carried()
{
    let mut link = planted(20);
    rounds(&mut link, &[6.0; 5]);
    link.control.window = 160.0;
    rounds(&mut link, &[6.0; 40]);
    let window = link.control.window;
    assert!((100.0..135.0).contains(&window), "{window} packets");
}

#[test]
fn a_queue_that_stays_full_at_the_least_target_gets_half_of_that() {
    let control = &mut planted(20).control;
    let delays = after(0.006);
    let lessons = (Lesson::None, Lesson::None);
    control
        .evidence
        .on_ack(delays, 1.0, Losses::default(), lessons);
    (control.window, control.target_cap) = (160.0, 2.0);
    let mut round = Round::new();
    round.rise_max = 0.006;
    for _ in 0..8 {
        control.heed_ceiling(&round, true);
    }
    let golden = 0.1 * control.refilled(1000.0) + 1.0;
    let window = control.window;
    assert!((window - golden).abs() < 1e-6, "{window}, not {golden}");
}

#[test]
fn a_queue_that_an_application_which_pauses_never_empties_is_aimed_at_with_half_of_it() {
    for (least, aims_at) in [(4.0, 0.0..3.4), (0.5, 5.9..6.1)] {
        let mut link = planted(20);
        for _ in 0..6 {
            round(&mut link, least, 6.0, 60.0);
        }
        let cap = link.control.target_cap;
        assert!(
            aims_at.contains(&cap),
            "{cap} packets if at least {least} wait"
        );
    }
}

#[test]
fn a_largest_delay_that_varies_is_no_full_queue() {
    let mut link = planted(20);
    rounds(&mut link, &[6.0, 5.9, 4.5, 6.0, 6.1, 5.0]);
    let after = link.control.target();
    assert!(after > 5.9, "{after} packets");
}

#[test]
fn without_random_loss_what_a_full_queue_drops_shows_by_itself() {
    let mut link = planted(0);
    rounds(&mut link, &[6.0; 6]);
    let after = link.control.target();
    assert!(after > 5.9, "{after} packets");
}
