//! Paths whose delay varies without a queue.

use std::time::Duration;

use super::super::Mode;
use super::super::round::Round;
use super::super::steady::Steady;
use super::{Link, MSS, Random};
use crate::CongestionController;

/// A round trip over a path of 10 000 packets per second whose delay is `base` seconds and, at random,
/// up to `more`, in which the application writes at most `written` packets.
fn vary(link: &mut Link, random: &mut Random, base: f64, more: f64, written: f64) {
    let window = (link.control.window_bytes() / u64::from(MSS)) as f64;
    let sent = window.min(link.capacity * (base + more)).min(written);
    for _ in 0..10 {
        link.now += Duration::from_secs_f64(0.1 * (base + 0.5 * more));
        let rtt = Duration::from_secs_f64(base + more * random.next());
        link.ack((0.1 * sent) as u32, rtt, sent, written < window);
    }
}

#[test]
fn start_up_that_such_a_delay_has_ended_is_made_up_for_when_drains_have_shown_it() {
    for seed in 1..9 {
        let mut link = Link::new(10_000.0, 0.05, 1000.0);
        let mut random = Random(seed);
        let mut ended_at = None;
        for _ in 0..60 {
            vary(&mut link, &mut random, 0.05, 0.02, f64::INFINITY);
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

/// No drain is due then, for the path is idle now and then.
#[test]
fn an_application_that_pauses_is_not_held_to_a_rate_that_such_a_delay_has_bounded() {
    for seed in 1..9 {
        let mut link = Link::new(10_000.0, 0.05, 1000.0);
        let mut random = Random(seed);
        for _ in 0..60 {
            if !link.control.has_seen_limit {
                vary(&mut link, &mut random, 0.05, 0.02, f64::INFINITY);
            }
        }
        assert!(link.control.has_seen_limit, "seed {seed}");
        for _ in 0..40 {
            vary(&mut link, &mut random, 0.05, 0.02, 40.0);
        }
        let control = &link.control;
        assert!(!control.has_seen_limit, "seed {seed}: {control:?}");
    }
}

/// In the steady state with 50 packets on a path of 1000 packets per second and 50 ms, of which
/// drains have shown that its delays are `least` seconds above that, and differ by `swing` more.
fn drained(least: f64, swing: f64) -> Link {
    let mut link = Link::new(1000.0, 0.05, 50.0);
    let control = &mut link.control;
    control.set_floor(0.05);
    (control.srtt, control.window) = (0.05, 50.0);
    control.mode = Mode::Steady(Steady::new(50.0));
    (control.rate, control.rate_max) = (1000.0, 1000.0);
    (control.delivered_max, control.delivered_mean) = (1000.0, 1000.0);
    for _ in 0..9 {
        control.noise.show(least, least + swing);
    }
    link
}

#[test]
fn the_queue_is_no_shorter_than_half_of_what_delays_differ_by_or_a_fourth_of_the_path() {
    let target = |swing| drained(0.0, swing).control.target();
    assert!(target(0.0) < 11.0, "{:.1} packets", target(0.0));
    let more = target(0.024);
    assert!((11.5..12.5).contains(&more), "{more:.1} packets in 12 ms");
    let most = target(0.2);
    assert!((12.0..13.0).contains(&most), "{most:.1} packets in 12.5 ms");
}

#[test]
fn a_drain_leaves_what_the_path_itself_holds_on_average() {
    let window = |least: f64| {
        let mut link = drained(least, 0.04);
        let control = &mut link.control;
        control.queue_delay = 0.01;
        if let Mode::Steady(steady) = &mut control.mode {
            steady.make_drain_due();
        }
        control.start_drain();
        assert_eq!(control.state(), "drain");
        control.effective_window()
    };
    // Of 50 packets in 60 or 80 ms those of the last ten go, and one more.
    let (calm, late) = (window(0.0), window(0.02));
    assert!((40.0..41.0).contains(&calm), "{calm:.1} packets");
    assert!((42.0..43.0).contains(&late), "{late:.1} packets");
}

/// On paths whose delays differ by 40 ms without a queue, and by nothing.
#[test]
fn a_queue_that_does_not_show_among_the_delays_may_soon_be_longer() {
    for (swing, least, most) in [(0.0, 2.0, 2.1), (0.04, 2.5, 3.5)] {
        let mut link = drained(0.0, swing);
        link.control.target_cap = 2.0;
        for _ in 0..40 {
            let mut round = Round::new();
            (round.acked, round.bytes) = (50.0, 50.0 * link.control.mss);
            (round.rise_min, round.rise_max) = (0.0, swing);
            round.jump_max = swing;
            link.control.on_round(&round, 0.05);
        }
        let cap = link.control.target_cap;
        assert!((least..=most).contains(&cap), "{cap:.2} packets, {swing} s");
    }
}

/// A queue of 30 ms has just lost `lost` packets of 50 at its full delay, on a path that was taught
/// to lose none itself; what the target is bounded by after it.
fn overflow(link: &mut Link, lost: u32) -> f64 {
    let full = Duration::from_millis(80);
    link.now += full / 2;
    link.lose(lost, link.now - full);
    link.ack(25, full, 50.0, false);
    link.now += full;
    link.ack(25, full, 50.0, false);
    link.control.target_cap
}

#[test]
fn a_verdict_among_delays_that_vary_shortens_the_queue_only_if_another_follows_soon() {
    for swing in [0.0, 0.012] {
        let mut link = drained(0.0, swing);
        link.control.evidence.on_others();
        if let Mode::Steady(steady) = &mut link.control.mode {
            steady.answered_now();
            steady.quiet_rounds = 100;
        }
        let first = overflow(&mut link, 10);
        assert_eq!(first.is_finite(), swing == 0.0, "{first:.1} packets");
        link.rounds(8, f64::INFINITY);
        let second = overflow(&mut link, 10);
        assert!(second.is_finite(), "{second:.1} packets, swing {swing}");
    }
}
