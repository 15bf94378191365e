use super::*;
use crate::delay::tests::epoch;

fn sample(start: Instant, at_ms: u64, route: u32, rtt_ms: u64) -> Sample {
    Sample {
        now: start + Duration::from_millis(at_ms),
        route,
        way_back: None,
        rtt: Duration::from_millis(rtt_ms),
        whole: Duration::from_millis(rtt_ms),
        smoothed: Duration::from_millis(rtt_ms),
        queue: 0.0,
        is_filled: false,
    }
}

/// The same beside somebody who fills the queue.
fn filled(queue: f64, sample: Sample) -> Sample {
    Sample {
        queue,
        is_filled: true,
        ..sample
    }
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn a_longer_way_back_is_no_queue() {
    let start = epoch();
    let mut floors = Floors::default();
    close(floors.on_sample(&sample(start, 0, 1, 40)), 0.0);
    assert!(floors.is_new_route(2));
    close(floors.on_sample(&sample(start, 10, 2, 60)), 0.0);
    assert!(!floors.is_new_route(2));
    close(floors.on_sample(&sample(start, 20, 1, 43)), 0.003);
    close(floors.on_sample(&sample(start, 30, 2, 63)), 0.003);
}

#[test]
fn a_new_way_seen_first_with_a_queue_is_corrected_when_that_is_gone() {
    let start = epoch();
    let mut floors = Floors::default();
    floors.on_sample(&sample(start, 0, 1, 40));
    close(floors.on_sample(&sample(start, 10, 2, 100)), 0.0);
    close(floors.on_sample(&sample(start, 20, 2, 60)), 0.0);
    close(floors.on_sample(&sample(start, 30, 2, 70)), 0.01);
}

#[test]
fn a_new_way_beside_somebody_who_fills_the_queue_is_taken_for_one_with_that_queue() {
    let start = epoch();
    let mut floors = Floors::default();
    floors.on_sample(&filled(0.0, sample(start, 0, 1, 40)));
    let longer = filled(0.03, sample(start, 10, 2, 90));
    close(floors.on_sample(&longer), 0.03);
}

#[test]
fn a_new_way_in_a_queue_that_others_show_is_taken_for_one_with_it_but_for_no_shorter_one() {
    let start = epoch();
    for (rtt_ms, queue) in [(90, 0.03), (65, 0.025), (40, 0.0)] {
        let mut floors = Floors::default();
        floors.on_sample(&sample(start, 0, 1, 40));
        let second = Sample {
            queue: 0.03,
            ..sample(start, 10, 2, rtt_ms)
        };
        close(floors.on_sample(&second), queue);
    }
}

#[test]
fn a_new_way_that_was_never_seen_to_be_as_short_as_assumed_is_none_after_forty_round_trips() {
    let start = epoch();
    for is_filled in [false, true] {
        let mut floors = Floors::default();
        floors.on_sample(&sample(start, 0, 1, 40));
        let first = Sample {
            queue: 0.03,
            ..sample(start, 10, 2, 72)
        };
        close(floors.on_sample(&first), 0.03);
        // It is 60 ms without a queue, as drains show, and was 42 of the 72 by the assumption.
        let rtt_ms = |at: u64| if at.is_multiple_of(400) { 60 } else { 65 };
        let mut last = 0.0;
        for at in (50..3000).step_by(50) {
            last = floors.on_sample(&Sample {
                is_filled,
                smoothed: Duration::from_millis(65),
                ..sample(start, at, 2, rtt_ms(at))
            });
        }
        close(last, if is_filled { 0.023 } else { 0.005 });
    }
}

#[test]
fn the_floor_is_that_of_the_ways_taken_of_late() {
    let start = epoch();
    let mut floors = Floors::default();
    assert_eq!(floors.get(), None);
    for at in 0..100 {
        floors.on_sample(&sample(start, at, 1, 40));
    }
    close(floors.get().unwrap(), 0.04);
    for at in 100..400 {
        let (route, rtt) = if at % 2 == 0 { (1, 40) } else { (2, 60) };
        floors.on_sample(&sample(start, at, route, rtt));
    }
    let mixed = floors.get().unwrap();
    assert!((mixed - 0.05).abs() < 0.001, "{mixed}");
    for at in 400..700 {
        floors.on_sample(&sample(start, at, 2, 60));
    }
    let later = floors.get().unwrap();
    assert!((later - 0.06).abs() < 1e-6, "{later}");
}

#[test]
fn a_floor_rises_by_a_tenth_in_an_epoch_but_not_beside_somebody_who_fills_the_queue() {
    let start = epoch();
    for (is_filled, expected) in [(false, 0.044), (true, 0.04)] {
        let mut floors = Floors::default();
        for second in 0..=20 {
            let rtt_ms = if second == 0 { 40 } else { 60 };
            floors.on_sample(&Sample {
                is_filled,
                ..sample(start, 1000 * second, 1, rtt_ms)
            });
        }
        close(floors.get().unwrap(), expected);
    }
}

#[test]
fn ways_beyond_the_most_that_are_kept_replace_the_one_used_least() {
    let start = epoch();
    let mut floors = Floors::default();
    for at in 0..1000 {
        floors.on_sample(&sample(start, at, at as u32, 40));
    }
    assert_eq!(floors.routes.len(), MOST_ROUTES);
    assert!(!floors.is_new_route(999));
    assert!(floors.is_new_route(0));
}

/// The peer waited for 5 ms, of which the link would have waited as well.
#[test]
fn what_the_peer_waited_is_taken_off_no_further_than_to_the_least_of_its_way() {
    let start = epoch();
    let mut floors = Floors::default();
    floors.on_sample(&sample(start, 0, 1, 130));
    for at_ms in [10, 20] {
        close(floors.on_sample(&sample(start, at_ms, 2, 140)), 0.0);
    }
    let waited = |whole_ms| Sample {
        whole: Duration::from_millis(whole_ms),
        ..sample(start, 30, 2, whole_ms - 5)
    };
    close(floors.on_sample(&waited(140)), 0.0);
    close(floors.on_sample(&sample(start, 40, 2, 140)), 0.0);
    close(floors.on_sample(&waited(147)), 0.002);
    close(floors.on_sample(&waited(138)), 0.0);
    close(floors.on_sample(&sample(start, 50, 2, 140)), 0.002);
}

/// The way has become 3 ms longer. Held back for 5 ms, an acknowledgement now and then is no sign of the
/// least before.
#[test]
fn a_way_that_became_longer_is_known_though_the_peer_holds_some_acknowledgements_back() {
    let start = epoch();
    let mut floors = Floors::default();
    floors.on_sample(&sample(start, 0, 1, 130));
    floors.on_sample(&sample(start, 10, 2, 140));
    let mut rise = 0.0;
    for at_ms in (100..40_000).step_by(100) {
        let whole = sample(start, at_ms, 2, 143);
        let rtt = Duration::from_millis(if at_ms % 1000 == 0 { 138 } else { 143 });
        rise = floors.on_sample(&Sample { rtt, ..whole });
    }
    close(rise, 0.0);
}
