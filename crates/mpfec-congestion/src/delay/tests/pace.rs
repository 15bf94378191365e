//! How fast packets leave while the application limits, and while a queue is drained.

use std::time::Duration;

use super::super::pace::STEADY_PACE;
use super::super::steady::{Drain, Steady};
use super::super::{BUSY, Mode};
use super::Link;
use crate::CongestionController;

/// A path of 1000 packets per second and 50 ms in the steady state, with a window that would
/// carry more than the path does.
fn planted(has_seen_limit: bool) -> Link {
    let mut link = Link::new(1000.0, 0.05, 50.0);
    let control = &mut link.control;
    control.set_floor(0.05);
    control.srtt = 0.05;
    control.window = 70.0;
    control.mode = Mode::Steady(Steady::new(70.0));
    (control.rate, control.rate_max) = (900.0, 1000.0);
    (control.delivered_max, control.delivered_mean) = (1000.0, 900.0);
    control.busy_rounds = 0;
    control.has_seen_limit = has_seen_limit;
    link
}

#[test]
fn an_application_that_pauses_is_paced_at_what_was_carried_once_a_limit_was_seen() {
    let pace = planted(true).pace();
    assert!(pace <= STEADY_PACE * 1000.0 + 1.0, "{pace:.0} packets/s");
    assert!(pace > 0.99 * 1000.0, "{pace:.0} packets/s");
}

#[test]
fn before_a_limit_was_seen_what_was_carried_does_not_bound_the_pace() {
    let link = planted(false);
    let wanted = (70.0 - link.control.target()) / 0.05;
    assert!(wanted > 1.1 * 1000.0);
    let pace = link.pace();
    assert!(
        (pace / wanted - 1.0).abs() < 0.01,
        "{pace:.0}, not {wanted:.0}"
    );
}

#[test]
fn a_path_that_was_full_paces_an_application_of_bursts_at_its_rate() {
    let mut link = Link::new(1000.0, 0.05, 50.0);
    link.rounds(60, f64::INFINITY);
    assert!(link.control.has_seen_limit, "{:?}", link.control);
    // Two rounds of little, then one of more than fits.
    for round in 0..300 {
        link.round(if round % 3 == 2 { f64::INFINITY } else { 15.0 });
        if link.control.is_app_limited() && link.control.state() == "steady" {
            let pace = link.pace();
            assert!(pace <= 1.06 * 1000.0, "round {round}: {pace:.0} packets/s");
        }
    }
}

#[test]
fn an_application_that_never_fills_the_path_shows_no_limit() {
    let mut link = Link::new(1000.0, 0.05, 50.0);
    link.rounds(100, 15.0);
    assert!(!link.control.has_seen_limit, "{:?}", link.control);
    // More than twice what it writes.
    let pace = link.pace();
    assert!(pace > 2.0 * 15.0 / 0.05, "{pace:.0} packets/s");
}

#[test]
fn where_delays_vary_what_was_carried_does_not_bound_the_pace() {
    let pace = |swing| {
        let mut link = planted(true);
        for _ in 0..3 {
            link.control.noise.show(0.0, swing);
        }
        link.pace()
    };
    let (calm, varied) = (pace(0.004), pace(0.008));
    assert!(calm <= 1.03 * 1000.0, "{calm:.0} packets/s");
    assert!(varied > 1.1 * 1000.0, "{varied:.0} packets/s");
}

/// What a burst loses is found while the next one leaves, and the application limits in between.
#[test]
fn bursts_that_overrun_the_queue_are_slowed_although_their_losses_are_found_in_the_next_one() {
    let mut link = planted(true);
    let ms = Duration::from_millis;
    for _ in 0..20 {
        for (at, rtt, lost, app_limited) in [
            (0, 51, 4, false),
            (15, 60, 0, false),
            (30, 69, 0, true),
            (60, 50, 0, true),
        ] {
            link.now += ms(at) / 2;
            if lost > 0 {
                // Behind the last one that was acknowledged before.
                link.lose(lost, link.now - ms(60));
            }
            link.ack(6, ms(rtt), 20.0, app_limited);
        }
    }
    let bound = link.control.overruns.pace();
    assert!(bound.is_some_and(|pace| pace < 1.2), "{bound:?}");
    // The next one may take several round trips.
    let mut pace_after = |rounds| {
        link.control.busy_rounds = rounds;
        link.pace()
    };
    let slowed = pace_after(0);
    assert!(pace_after(3) <= slowed && pace_after(BUSY) > 1.2 * slowed);
}

/// A drain lets out 45 packets at a time of a path that holds 50, after a queue of 20.
#[test]
fn a_drain_is_paced_for_the_empty_path() {
    let mut link = planted(true);
    link.control.busy_rounds = 1;
    (link.control.srtt, link.control.queue_delay) = (0.07, 0.02);
    let Mode::Steady(steady) = &mut link.control.mode else {
        unreachable!("planted so");
    };
    steady.drain = Drain::Second { window: 45.0 };
    let wanted = STEADY_PACE * 45.0 / 0.05;
    let pace = link.pace();
    assert!((pace - wanted).abs() < 1.0, "{pace:.0}, not {wanted:.0}");
}

#[test]
fn a_drain_takes_nothing_from_what_the_path_is_expected_to_carry() {
    let mut link = Link::new(1000.0, 0.05, 50.0);
    link.rounds(62, f64::INFINITY);
    let mut steady = Steady::new(link.control.window);
    steady.drain = Drain::Second { window: 20.0 };
    link.control.mode = Mode::Steady(steady);
    let lasting = link.control.lasting_rate() as f64 / link.control.mss;
    assert!((900.0..1100.0).contains(&lasting), "{lasting:.0} packets/s");
    let pace = link.pace();
    assert!(pace < 500.0, "{pace:.0} packets/s");
}

#[test]
fn a_window_for_more_than_was_delivered_promises_no_more_than_that() {
    let mut link = planted(true);
    assert_eq!(link.control.lasting_rate(), 0, "nothing was delivered yet");
    link.rounds(10, 40.0);
    let delivered = 40.0 / 0.05 * link.control.mss;
    let lasting = link.control.lasting_rate() as f64;
    assert!(
        lasting < 1.05 * delivered,
        "{lasting:.0}, not {delivered:.0}"
    );
}

#[test]
fn the_window_leaves_room_for_what_waits_for_its_acknowledgement() {
    let mut link = planted(true);
    let packets = |link: &Link| (link.control.cwnd() as f64 / link.control.mss).round();
    assert_eq!(packets(&link), 71.0);
    link.ack(5, Duration::from_millis(50), 70.0, false);
    assert_eq!(packets(&link), 75.0);
    // No more than an eighth: that often a receiver acknowledges.
    link.ack(30, Duration::from_millis(50), 70.0, false);
    assert_eq!(packets(&link), 79.0);
}

#[test]
fn a_drain_of_a_path_too_short_for_timers_is_paced_with_its_queue() {
    let mut link = planted(true);
    let control = &mut link.control;
    control.set_floor(0.001);
    (control.srtt, control.queue_delay, control.busy_rounds) = (0.004, 0.003, 1);
    if let Mode::Steady(steady) = &mut control.mode {
        steady.drain = Drain::Second { window: 20.0 };
    }
    let (pace, most) = (link.pace(), STEADY_PACE * 20.0 / 0.004);
    assert!(pace <= most + 1.0, "{pace:.0}, not {most:.0} packets/s");
}

#[test]
fn a_burst_of_losses_is_sent_into_at_full_pace_for_three_timeouts_and_ever_slower_then() {
    let mut link = planted(true);
    let full = link.pace();
    let mut left = Vec::new();
    for timeouts in 1..=11 {
        link.control.on_timeout(link.now, timeouts);
        left.push((1000.0 * link.pace() / full).round());
    }
    let expected = [
        1000.0, 1000.0, 1000.0, 500.0, 500.0, 500.0, 500.0, 500.0, 250.0, 125.0, 63.0,
    ];
    assert_eq!(left, expected);
    assert!(link.control.sends_through_silence());
    link.rounds(1, f64::INFINITY);
    assert!(link.pace() > 0.7 * full, "{} packets/s", link.pace());
}

#[test]
fn a_path_of_which_nothing_is_known_does_not_send_into_silence() {
    let link = Link::new(1000.0, 0.05, 50.0);
    assert_eq!(link.control.state(), "startup");
    assert!(!link.control.sends_through_silence());
}

/// Packets in flight above the window in the steady state, where so many were acknowledged at once in
/// each of the last rounds.
fn room_for(batches: &[f64], target_cap: f64) -> f64 {
    let mut link = planted(true);
    let control = &mut link.control;
    control.target_cap = target_cap;
    for batch in batches {
        control.batch = *batch;
        control.note_batch();
    }
    control.cwnd() as f64 / control.mss - control.window
}

#[test]
fn packets_that_arrive_together_have_room_beside_the_window() {
    // An eighth of the window is what the receiver acknowledges at once.
    for target_cap in [f64::INFINITY, 4.0] {
        let few = room_for(&[9.0; 9], target_cap);
        assert!((7.0..18.0).contains(&few), "{few}");
        assert_eq!(room_for(&[40.0; 9], target_cap).round(), 40.0);
        // No more than the window itself.
        assert_eq!(room_for(&[400.0; 9], target_cap).round(), 70.0);
    }
}

#[test]
fn what_came_together_once_or_twice_was_a_host_that_stood_still() {
    let few = room_for(&[9.0; 9], f64::INFINITY);
    let batches = [40.0, 9.0, 40.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0];
    assert_eq!(room_for(&batches, f64::INFINITY), few);
}
