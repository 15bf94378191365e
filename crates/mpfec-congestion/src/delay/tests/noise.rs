//! Paths whose delay varies without a queue.

use std::time::Duration;

use super::super::Mode;
use super::super::steady::Steady;
use super::{Link, MSS, Random};

/// A round trip over a path of 10 000 packets per second whose delay is `base` seconds and, at random,
/// up to `more`.
fn vary(link: &mut Link, random: &mut Random, base: f64, more: f64) {
    let window = (link.control.window_bytes() / u64::from(MSS)) as f64;
    let sent = window.min(link.capacity * (base + more));
    for _ in 0..10 {
        link.now += Duration::from_secs_f64(0.1 * (base + 0.5 * more));
        let rtt = Duration::from_secs_f64(base + more * random.next());
        link.ack((0.1 * sent) as u32, rtt, sent, false);
    }
}

#[test]
fn start_up_that_such_a_delay_has_ended_is_made_up_for_when_drains_have_shown_it() {
    for seed in 1..9 {
        let mut link = Link::new(10_000.0, 0.05, 1000.0);
        let mut random = Random(seed);
        let mut ended_at = None;
        for _ in 0..60 {
            vary(&mut link, &mut random, 0.05, 0.02);
            if !matches!(link.control.mode, Mode::Startup(_)) {
                ended_at.get_or_insert(link.control.window);
            }
        }
        let (ended_at, window) = (ended_at.expect("it ended"), link.control.window);
        assert!(
            window > 300.0,
            "{window:.0} packets of 500, {ended_at:.0} when start-up ended, seed {seed}"
        );
    }
}

#[test]
fn the_queue_is_no_shorter_than_what_the_least_delay_varies_by() {
    let target = |varies_by: f64| {
        let mut link = Link::new(1000.0, 0.05, 50.0);
        let control = &mut link.control;
        control.set_floor(0.05);
        control.window = 50.0;
        control.mode = Mode::Steady(Steady::new(50.0));
        control.delivered_max = 1000.0;
        for round in 0..9 {
            let least = if round % 3 == 0 { varies_by } else { 0.0 };
            control.noise.show(least, least + 0.04);
        }
        control.target()
    };
    assert!(target(0.0) < 11.0, "{:.1} packets", target(0.0));
    let more = target(0.03);
    assert!((29.0..31.0).contains(&more), "{more:.1} packets in 30 ms");
}
