//! How a window grows between cuts, and what a cut leaves.

use std::time::Duration;

use super::super::super::tests::epoch;
use super::super::{CUBIC_C, Compete, Growth};

pub(super) fn growth(cubic_part: f64, w_max: f64) -> Growth {
    Growth {
        cubic_part,
        slowdown: 1.0,
        w_max,
        cwnd_prior: w_max,
        epoch: None,
        k: 0.0,
        c: CUBIC_C,
    }
}

/// The window `seconds` after a cut to `window`, grown round trip by round trip.
pub(super) fn grown(growth: &mut Growth, mut window: f64, rtt: f64, seconds: f64) -> f64 {
    let mut now = epoch();
    for _ in 0..(seconds / rtt).round() as u32 {
        window += growth.increase(now, rtt, window, window);
        now += Duration::from_secs_f64(rtt);
    }
    window
}

#[test]
fn the_window_of_cubic_follows_its_curve() {
    // RFC 9438 Eq. 1 with `W_max` = 1000 packets: K = 9.086 s.
    for (seconds, golden) in [
        (2.0, 857.6),
        (4.0, 947.4),
        (6.0, 988.2),
        (13.0, 1024.0),
        (18.0, 1283.2),
    ] {
        let window = grown(&mut growth(1.0, 1000.0), 700.0, 0.2, seconds);
        assert!(
            (window / golden - 1.0).abs() < 0.005,
            "{seconds} s: {window:.1}, not {golden}"
        );
    }
}

#[test]
fn the_window_of_cubic_is_never_below_that_of_reno_and_grows_as_reno_does_from_its_old_height_on() {
    // On the plateau Reno grows faster than the curve: by at most its own growth there.
    let curve = |t: f64| 0.4 * (t - 75_f64.cbrt()).powi(3) + 100.0;
    let mut before = 70.0_f64;
    for tenths in 1..=85 {
        let seconds = f64::from(tenths) / 10.0;
        let cubic = grown(&mut growth(1.0, 100.0), 70.0, 0.1, seconds);
        let reno = grown(&mut growth(0.0, 100.0), 70.0, 0.1, seconds);
        assert!(
            cubic >= reno.max(curve(seconds)) - 1e-6,
            "{seconds} s: {cubic:.1}"
        );
        if before < 100.0 {
            assert!(cubic < 1.16 * curve(seconds), "{seconds} s: {cubic:.1}");
        } else {
            // RFC 9438 §4.3: `alpha` is 1 from `cwnd_prior` on.
            let golden = (before + 1.0).max(curve(seconds));
            assert!((cubic - golden).abs() < 1e-6, "{seconds} s: {cubic:.3}");
        }
        before = cubic;
    }
    assert!(before > 110.0, "{before:.1}");
}

#[test]
fn the_window_of_reno_grows_by_half_a_packet_in_a_round_trip_and_keeps_seven_tenths() {
    // RFC 9438 §4.3: AIMD(3 x 0.3 / 1.7, 0.7) brings the rate of AIMD(1, 0.5).
    for (rtt, seconds, golden) in [
        (0.1, 5.0, 96.471),
        (0.1, 10.0, 122.941),
        (0.02, 2.0, 122.941),
    ] {
        let window = grown(&mut growth(0.0, 100.0), 70.0, rtt, seconds);
        assert!((window - golden).abs() < 0.01, "{seconds} s: {window:.3}");
    }
    assert_eq!(growth(0.0, 0.0).cut(100.0, 0.0), 70.0);
}

#[test]
fn who_has_far_more_than_an_equal_share_grows_slower_than_reno() {
    for (share, golden) in [(0.5, 0.529), (0.6, 0.529), (0.7, 0.265), (0.9, 0.132)] {
        let mut compete = Compete::new(100.0);
        compete.guide(1000.0, 1000.0 * share, 0.5);
        compete.growth.cubic_part = 0.0;
        let grown = compete.growth.increase(epoch(), 0.1, 100.0, 100.0);
        assert!((grown - golden).abs() < 0.001, "{share}: {grown:.3}");
    }
}

#[test]
fn who_has_far_more_than_an_equal_share_keeps_half_after_a_loss() {
    for (share, golden) in [(0.5, 70.0), (0.6, 70.0), (0.7, 56.667), (0.9, 50.0)] {
        let mut compete = Compete::new(100.0);
        compete.guide(1000.0, 1000.0 * share, 0.5);
        let kept = compete.growth.cut(100.0, 0.0);
        assert!((kept - golden).abs() < 0.01, "{share}: {kept:.3}");
    }
}

#[test]
fn a_window_cut_below_an_equal_share_aims_at_it() {
    let mut small = growth(1.0, 60.0);
    assert_eq!(small.cut(50.0, 80.0), 35.0);
    assert_eq!(small.w_max, 80.0);
}

#[test]
fn a_window_that_shrinks_above_an_equal_share_makes_room() {
    let mut shrinking = growth(1.0, 120.0);
    assert_eq!(shrinking.cut(100.0, 80.0), 70.0);
    assert_eq!(shrinking.w_max, 85.0);
    let mut grown = growth(1.0, 90.0);
    grown.cut(100.0, 80.0);
    assert_eq!(grown.w_max, 100.0, "one that has grown keeps its height");
}
