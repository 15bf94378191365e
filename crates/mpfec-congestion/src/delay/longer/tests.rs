use super::*;
use crate::delay::tests::Random;

/// A path of 50 ms and 5000 packets per second.
const RATE: f64 = 5000.0;

/// Rounds of a path with so many windows, of which `delay` gives the smallest delay in milliseconds for
/// the number of the round and the window two rounds before: what the first of them shows that does.
fn seen(
    windows: impl IntoIterator<Item = f64>,
    delay: impl FnMut(u32, f64) -> f64,
) -> Option<(u32, Longer)> {
    seen_where_delays_vary(0.0, windows, delay)
}

/// The same on a path whose delays differ by `swing` seconds without a queue.
fn seen_where_delays_vary(
    swing: f64,
    windows: impl IntoIterator<Item = f64>,
    mut delay: impl FnMut(u32, f64) -> f64,
) -> Option<(u32, Longer)> {
    let mut flat = Flat::default();
    let mut sent = [250.0; 2];
    for (number, window) in (0..).zip(windows) {
        let rise = 1e-3 * delay(number, sent[1]);
        sent = [window, sent[0]];
        let shown = flat.on_round(&Seen {
            rise,
            queued: rise,
            window,
            rate: RATE,
            floor: 0.05,
            swing,
        });
        if let Some(longer) = shown {
            return Some((number, longer));
        }
    }
    None
}

impl Flat {
    /// Whether the delays of some rounds are known that those to come are compared with.
    pub(in crate::delay) fn knows_delays(&self) -> bool {
        self.run.is_some()
    }
}

/// 250 packets for ten rounds, and from then on `kept` of what they were a round before.
fn falling(kept: f64) -> impl Iterator<Item = f64> {
    (0..100).map(move |round| 250.0 * kept.powi((round - 10).max(0)))
}

#[test]
fn a_delay_that_comes_at_once_and_stays_while_the_window_falls_is_the_paths() {
    let (number, longer) = seen(falling(0.97), |round, _| if round < 10 { 0.4 } else { 8.0 })
        .expect("the window has fallen far enough");
    assert!((13..=20).contains(&number), "round {number}");
    assert!((longer.by - 0.008).abs() < 1e-9, "{longer:?}");
    assert_eq!(longer.window, Some(250.0));
}

#[test]
fn a_delay_that_nobody_saw_come_is_the_paths_after_twelve_rounds() {
    let (number, longer) = seen(falling(0.97), |_, _| 8.0).expect("it never follows the window");
    assert!((11..=25).contains(&number), "round {number}");
    assert_eq!(longer.window, None);
}

#[test]
fn a_delay_that_stays_while_the_window_grows_is_the_paths_too() {
    let growing = (0..100).map(|round| 100.0 + 2.0 * f64::from(round));
    assert!(seen(growing, |_, _| 8.0).is_some());
}

#[test]
fn a_delay_that_follows_the_window_is_a_queue() {
    let queue = |_, window: f64| 1e3 * (window - 150.0).max(0.0) / RATE;
    assert_eq!(seen(falling(0.97), queue), None);
    assert_eq!(seen(falling(0.8), queue), None);
}

/// Every 20 rounds their cut takes a third of it, and they fill it again.
#[test]
fn a_queue_that_others_cut_and_fill_is_not_the_paths() {
    let others = |round: u32, _| 8.0 * (0.67 + 0.33 * f64::from(round % 20) / 20.0);
    assert_eq!(seen(falling(0.99), others), None);
}

#[test]
fn a_queue_that_grows_while_the_window_falls_is_somebody_elses() {
    assert_eq!(
        seen(falling(0.97), |round, _| 8.0 + 0.4 * f64::from(round)),
        None
    );
}

#[test]
fn a_window_that_stays_the_same_tells_nothing() {
    assert_eq!(seen(falling(1.0), |_, _| 8.0), None);
}

/// Half of the delay goes at once, which is no queue that empties.
#[test]
fn a_delay_of_which_part_was_on_the_way_back_does_not_follow_the_window_by_that() {
    let shown = |forgets: bool| {
        let mut flat = Flat::default();
        let mut random = Random(1);
        (0..30).find_map(|round| {
            let is_known = round >= 4;
            if round == 4 && forgets {
                flat.forget_delays();
            }
            let rise = 1e-3 * (if is_known { 4.0 } else { 8.0 } + 0.6 * random.next());
            flat.on_round(&Seen {
                rise,
                queued: rise,
                window: 250.0 * 0.97_f64.powi(round),
                rate: RATE,
                floor: 0.05,
                swing: 0.005,
            })
        })
    };
    let longer = shown(true).expect("what is left stays");
    assert!((0.0035..0.0047).contains(&longer.by), "{longer:?}");
    assert_eq!(shown(false), None);
}

#[test]
fn delays_that_vary_and_do_not_follow_the_window_are_the_paths() {
    for seed in 1..=10 {
        let mut random = Random(seed);
        let shown = seen_where_delays_vary(0.003, falling(0.97), |_, _| 6.0 + 3.0 * random.next());
        let (_, longer) = shown.unwrap_or_else(|| panic!("seed {seed}"));
        assert!(
            (0.005..0.007).contains(&longer.by),
            "seed {seed}: {longer:?}"
        );
    }
}

/// As beside so many that what one of them sends does not show.
#[test]
fn delays_that_vary_more_than_those_of_the_path_are_no_longer_path() {
    for seed in 1..=10 {
        let shown = |swing| {
            let mut random = Random(seed);
            // Nearly eight packets more or less: as much as is no jump.
            let delay = |_, _| 10.0 + 1.57 * random.next().round();
            seen_where_delays_vary(swing, falling(0.97).take(60), delay)
        };
        assert_eq!(shown(0.0), None, "seed {seed}");
        assert!(shown(0.002).is_some(), "seed {seed}: the path's own");
    }
}

#[test]
fn delays_that_vary_and_follow_the_window_are_a_queue() {
    for seed in 1..=10 {
        let mut random = Random(seed);
        let queue = |_, window: f64| {
            let queued = 1e3 * (window - 100.0).max(0.0) / RATE;
            queued + 3.0 * random.next()
        };
        let windows = falling(0.97).take(35);
        assert_eq!(
            seen_where_delays_vary(0.003, windows, queue),
            None,
            "seed {seed}"
        );
    }
}
