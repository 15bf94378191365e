//! Paths that at once let pass a small part of what they did, and let nothing wait.

use super::super::Mode;
use super::super::steady::Steady;
use super::Link;
use crate::CongestionController;

/// Packets per second before, and seconds.
const BEFORE: f64 = 16_000.0;
const FLOOR: f64 = 0.02;

/// A path without a queue, full in the steady state.
fn full() -> Link {
    let mut link = Link::new(BEFORE, FLOOR, 0.0);
    let control = &mut link.control;
    control.set_floor(FLOOR);
    control.srtt = FLOOR;
    control.window = BEFORE * FLOOR;
    control.mode = Mode::Steady(Steady::new(control.window));
    (control.rate, control.rate_max) = (BEFORE, BEFORE);
    (control.delivered_max, control.delivered_mean) = (BEFORE, BEFORE);
    control.has_seen_limit = true;
    link.rounds(2, f64::INFINITY);
    link
}

#[test]
fn a_path_that_has_collapsed_is_taken_for_what_it_lets_pass_now() {
    let mut link = full();
    link.capacity = 400.0;
    let mut sent = 0.0;
    for _ in 0..20 {
        sent += link.control.cwnd() as f64 / f64::from(link.mss);
        link.round(f64::INFINITY);
    }
    // 160 packets pass in that time; 320 are in flight when it begins.
    assert!(sent <= 2000.0, "{sent:.0} packets");
    let held = link.capacity * FLOOR;
    assert!(link.control.window <= 3.0 * held, "{:?}", link.control);
    let p0 = link.control.evidence.baseline();
    assert!(p0 < 0.3, "{p0:.2} of it passes for the link's own");
}

#[test]
fn a_round_in_which_next_to_nothing_passes_may_be_a_moment() {
    let mut link = full();
    let window = link.control.window;
    link.capacity = 400.0;
    link.round(f64::INFINITY);
    link.capacity = BEFORE;
    link.rounds(3, f64::INFINITY);
    assert!(link.control.window >= 0.7 * window, "{:?}", link.control);
}

#[test]
fn a_burst_of_losses_on_a_small_path_is_no_collapse() {
    let mut link = full();
    link.capacity = 1000.0;
    let control = &mut link.control;
    control.window = 1000.0 * FLOOR;
    (control.rate, control.rate_max) = (1000.0, 1000.0);
    (control.delivered_max, control.delivered_mean) = (1000.0, 1000.0);
    // Two rounds of twenty packets, of which two arrive.
    link.capacity = 100.0;
    link.rounds(2, f64::INFINITY);
    assert!(link.control.delivered_max > 900.0, "{:?}", link.control);
}
