//! Beside somebody's upload, whose queue holds up acknowledgements.

use std::time::Duration;

use super::super::Mode;
use super::Link;
use crate::CongestionController;

/// Rounds on a link of 1000 packets/s and 40 ms beside an upload that holds acknowledgements up by
/// so many seconds, more and less by a fifth: the packets per second that arrive in
/// the last half of the rounds, as part of these, and the packets that wait meanwhile.
fn rounds(link: &mut Link, count: u32, held_up: f64) -> (f64, f64) {
    let (mut start, mut arrived, mut waited) = (link.now, 0.0, 0.0);
    for round in 0..count {
        if round == count / 2 {
            (start, arrived, waited) = (link.now, 0.0, 0.0);
        }
        let swing = f64::from((round % 20).abs_diff(10)) / 10.0 - 0.5;
        let wanted = held_up * (1.0 + 0.4 * swing);
        // A queue empties and fills as packets pass.
        link.held_up += (wanted - link.held_up).clamp(-0.02, 0.02);
        let sent = (link.control.cwnd() / u64::from(link.mss)) as f64;
        let queued = (sent - link.capacity * (link.floor + link.held_up)).max(0.0);
        waited += queued;
        arrived += sent - (queued - link.queue).max(0.0);
        link.round(f64::INFINITY);
    }
    let passed = (link.now - start).as_secs_f64();
    let share = arrived / passed / link.capacity;
    (share, waited / f64::from(count - count / 2))
}

fn link() -> Link {
    let mut link = Link::new(1000.0, 0.04, 80.0);
    rounds(&mut link, 60, 0.0);
    link
}

#[test]
fn what_an_upload_holds_up_is_in_flight_besides() {
    for held_up in [0.02, 0.2, 0.5] {
        let mut link = link();
        let (share, queued) = rounds(&mut link, 60, held_up);
        assert!(share >= 0.95, "{held_up} s: {share:.2} of the link");
        assert!(queued <= 30.0, "{held_up} s: {queued} packets wait");
    }
}

/// The round trip alone does not tell whose queue it is.
#[test]
fn without_times_an_upload_passes_for_a_queue() {
    let mut link = link();
    link.is_timed = false;
    let (share, _) = rounds(&mut link, 60, 0.2);
    assert!(share <= 0.7, "{share:.2} of the link");
}

#[test]
fn no_queue_of_ours_is_left_when_the_upload_is_over() {
    let mut link = link();
    rounds(&mut link, 60, 0.2);
    let (share, queued) = rounds(&mut link, 40, 0.0);
    assert!(share >= 0.95, "{share:.2} of the link");
    assert!(queued <= 20.0, "{queued} packets wait");
}

/// The least round trip that it knows has the queue of the upload in it.
#[test]
fn a_connection_that_began_during_an_upload_keeps_no_queue_after_it() {
    let mut link = Link::new(1000.0, 0.04, 80.0);
    rounds(&mut link, 60, 0.15);
    let (share, queued) = rounds(&mut link, 60, 0.0);
    assert!(share >= 0.95, "{share:.2} of the link");
    assert!(queued <= 20.0, "{queued} packets wait");
}

/// A peer says of acknowledgements that come after 20 ms, each 2 ms after another, that they were held
/// up: for 45 ms first, and then again and again by 3 ms more than the one before.
#[test]
fn a_peer_that_lies_about_its_clock_gets_no_more_than_what_it_acknowledges() {
    let mut link = Link::new(1000.0, 0.02, 20.0);
    link.rounds(100, f64::INFINITY);
    let rtt = Duration::from_millis(22);
    for ack in 0..4000_u32 {
        let told_ms = if ack < 40 { 45 } else { 5 + 3 * (ack % 20) };
        link.now += Duration::from_millis(2);
        link.held_up = f64::from(told_ms) / 1e3;
        link.ack(2, rtt, 20.0, false);
        let control = &link.control;
        for value in [control.rate, control.delivered_max, control.delivered_mean] {
            assert!(value <= 4000.0, "{value:.0} packets/s, {ack}");
        }
        let waits = control.unheard();
        assert!(waits <= 10.0, "{waits:.1} packets besides, {ack}");
        assert!(control.srtt >= 0.019, "{:.4} s, {ack}", control.srtt);
        let pace = link.pace();
        assert!(pace <= 6000.0, "{pace:.0} packets/s, {ack}");
    }
}

/// Acknowledgements take turns on two ways, of which an upload fills one.
#[test]
fn what_one_of_two_ways_holds_up_is_reconsidered_once() {
    let mut link = Link::new(1000.0, 0.04, 80.0);
    link.rounds(60, f64::INFINITY);
    let mut begins = 0;
    for ack in 0..400_u32 {
        link.now += Duration::from_millis(5);
        link.route = ack % 2;
        link.held_up = if link.route == 1 && ack > 100 {
            0.1
        } else {
            0.0
        };
        let rtt = Duration::from_secs_f64(0.045 + link.held_up);
        link.ack(5, rtt, 45.0, false);
        begins += u32::from(link.control.floor.begins_to_hold_up().is_some());
        if begins == 1 && !matches!(link.control.mode, Mode::Compete(_)) {
            link.control.compete(60.0);
        }
    }
    assert_eq!(begins, 1);
    assert_eq!(link.control.state(), "compete");
    let held_up = link.control.held_up;
    assert!((0.04..0.06).contains(&held_up), "{held_up:.3} s on average");
}

/// With it a delay has gone that the window had nothing to do with.
#[test]
fn what_turns_out_to_be_held_up_begins_the_delays_anew_that_tell_a_longer_path() {
    let mut link = link();
    assert!(link.control.flat.knows_delays());
    for _ in 0..200 {
        link.now += Duration::from_millis(1);
        link.held_up = 0.02;
        link.ack(1, Duration::from_millis(60), 45.0, false);
        if link.control.floor.begins_to_hold_up().is_some() {
            return assert!(!link.control.flat.knows_delays());
        }
    }
    panic!("nothing was held up");
}

/// What an overflow has left is below the window that it was answered at, up to which a path grows
/// as TCP does, also if what passed for a queue since has turned out to be none.
#[test]
fn a_path_that_begins_anew_below_the_window_of_an_overflow_grows() {
    let grown = |begins_anew: bool| {
        let mut link = Link::new(1000.0, 0.04, 5.0);
        link.rounds(60, f64::INFINITY);
        link.capacity = 500.0;
        link.rounds(8, f64::INFINITY);
        assert_eq!(link.control.state(), "steady");
        if begins_anew {
            link.control.begin_anew();
        }
        link.capacity = 1000.0;
        let before = link.control.window;
        link.rounds(40, f64::INFINITY);
        (before, link.control.window)
    };
    let [(_, expected), (before, window)] = [false, true].map(grown);
    assert!(
        before < 20.0 && expected > 30.0,
        "{before:.1}, {expected:.1}"
    );
    assert!(
        window >= expected,
        "{window:.1} packets, {expected:.1} otherwise"
    );
}

#[test]
fn a_round_lasts_for_as_many_round_trips_as_acknowledgements_are_held_up_by() {
    let trips = |floor, held_up| {
        let mut control = Link::new(1000.0, floor, 20.0).control;
        control.set_floor(floor);
        control.held_up = held_up;
        control.trips_in_a_round()
    };
    assert_eq!(trips(0.02, 0.0), 1);
    assert_eq!(trips(0.02, 0.14), 8);
    assert_eq!(trips(0.002, 0.008), 1, "no round is shorter than 10 ms");
}
