//! Schedulers over a small simulated network, against what the paths could do at best.

mod network;
mod scene;

use std::time::Duration;

use mpfec_sched::SchedulerKind;

use network::{Line, Load, Network, Report};

fn line(mbit: f64, one_way_ms: u64, loss: f64) -> Line {
    Line {
        mbit,
        one_way_ms,
        loss,
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// 10 Mbit/s each with 20 and 200 ms of round trip, 5 % loss on both.
fn uneven() -> [Line; 2] {
    [line(10.0, 10, 0.05), line(10.0, 100, 0.05)]
}

/// FMTCP Table II with path 2 as named.
fn fmtcp(one_way_ms: u64, loss: f64) -> [Line; 2] {
    [line(10.0, 100, 0.001), line(10.0, one_way_ms, loss)]
}

/// dFEC Table III: B1 with so much loss, B2 with so long a round trip.
fn dfec(loss: f64, rtt_ms: u64) -> [Line; 2] {
    [line(20.0, 12, loss), line(10.0, rtt_ms / 2, 0.0)]
}

fn pnc() -> [Line; 3] {
    [
        line(4.0, 220, 0.015),
        line(10.0, 120, 0.05),
        line(8.0, 70, 0.15),
    ]
}

fn four() -> [Line; 4] {
    [
        line(20.0, 10, 0.02),
        line(20.0, 25, 0.05),
        line(10.0, 50, 0.1),
        line(10.0, 150, 0.01),
    ]
}

/// Symbols per second that arrive at best.
fn capacity(lines: &[Line]) -> f64 {
    lines
        .iter()
        .map(|line| line.mbit * 1e6 / 8.0 / scene::SYMBOL as f64 * (1.0 - line.loss))
        .sum()
}

fn bulk(kind: SchedulerKind, lines: &[Line], symbols: u32, seed: u64) -> Report {
    Network::new(kind, lines, Load::Bulk { symbols }, seed).run()
}

/// Messages of 24 symbols (32 KB) at a share of what the paths carry.
fn paced(kind: SchedulerKind, lines: &[Line], share: f64, seed: u64) -> Report {
    let every = Duration::from_secs_f64(24.0 / (share * capacity(lines)));
    Network::new(
        kind,
        lines,
        Load::Messages {
            symbols: 24,
            every,
            until: Duration::from_secs(20),
        },
        seed,
    )
    .run()
}

/// When the paths, each kept busy from the start, have delivered so many symbols.
fn ideal(lines: &[Line], symbols: u32) -> Duration {
    let late: f64 = lines
        .iter()
        .map(|line| capacity(&[*line]) * line.one_way_ms as f64 / 1e3)
        .sum();
    Duration::from_secs_f64((f64::from(symbols) + late) / capacity(lines))
}

#[test]
fn two_uneven_lossy_paths_are_both_busy_for_bulk() {
    let lines = uneven();
    for seed in 0..5 {
        let report = bulk(SchedulerKind::EarliestArrival, &lines, 20_000, seed);
        let sending = report.last_sent.iter().min().copied().unwrap_or_default();
        for index in 0..2 {
            let busy = report.busy(index, &lines, sending);
            assert!(
                busy > 0.99,
                "path {index} is busy {busy} of {sending:?}, seed {seed}"
            );
        }
    }
}

#[test]
fn the_last_block_of_a_bulk_transfer_does_not_wait_for_the_slow_path() {
    let lines = uneven();
    for seed in 0..5 {
        let report = bulk(SchedulerKind::EarliestArrival, &lines, 20_000, seed);
        let ideal = ideal(&lines, 20_000);
        assert!(
            report.finished < ideal + ms(200),
            "{:?} instead of {ideal:?}, seed {seed}",
            report.finished
        );
        // The slow path's last fresh data leave a difference of delays before the fast one's.
        let earlier = report.last_source[0].saturating_sub(report.last_source[1]);
        assert!(earlier > ms(60), "only {earlier:?}, seed {seed}");
    }
}

#[test]
fn bulk_reaches_what_the_paths_carry() {
    let cases: [(&str, &[Line]); 9] = [
        ("F1", &fmtcp(100, 0.02)),
        ("F3", &fmtcp(100, 0.2)),
        ("F4", &fmtcp(100, 0.5)),
        ("F6", &fmtcp(200, 0.01)),
        ("F8", &fmtcp(500, 0.01)),
        ("D5/25", &dfec(0.05, 25)),
        ("D5/400", &dfec(0.05, 400)),
        ("PNC", &pnc()),
        ("4p", &four()),
    ];
    for (name, lines) in cases {
        let report = bulk(SchedulerKind::EarliestArrival, lines, 30_000, 3);
        let share = ideal(lines, 30_000).as_secs_f64() / report.finished.as_secs_f64();
        assert!(share > 0.975, "{name}: {share:.3}");
    }
}

#[test]
fn bulk_repairs_little_more_than_what_is_lost() {
    for (name, lines, loss) in [
        ("F3", fmtcp(100, 0.2), 0.1116),
        ("D5/100", dfec(0.05, 100), 0.0345),
    ] {
        let report = bulk(SchedulerKind::EarliestArrival, &lines, 30_000, 4);
        let share = report.repair_share();
        assert!(
            share < loss * 1.05 + 0.015,
            "{name}: {share:.4} repairs per source symbol"
        );
    }
}

#[test]
fn paced_messages_arrive_as_on_lossless_paths() {
    // Bounds from the study of scheduling: p99 in ms at 70 % load.
    let cases: [(&str, &[Line], u64); 8] = [
        ("F1", &fmtcp(100, 0.02), 122),
        ("F2", &fmtcp(100, 0.05), 180),
        ("F3", &fmtcp(100, 0.2), 124),
        ("F4", &fmtcp(100, 0.5), 127),
        ("F8", &fmtcp(500, 0.01), 522),
        ("D5/25", &dfec(0.05, 25), 26),
        ("D5/100", &dfec(0.05, 100), 62),
        ("4p", &four(), 90),
    ];
    for (name, lines, bound) in cases {
        let p99 = paced(SchedulerKind::EarliestArrival, lines, 0.7, 5).percentile(0.99);
        assert!(p99 <= ms(bound), "{name}: {p99:?} instead of {bound} ms");
    }
}

#[test]
fn a_message_now_and_then_takes_the_fast_path_and_never_waits_for_a_resend() {
    for (name, lines, bound) in [
        ("F3", fmtcp(100, 0.2), 124),
        ("F8", fmtcp(500, 0.01), 132),
        ("uneven", uneven(), 50),
    ] {
        let load = Load::Messages {
            symbols: 24,
            every: ms(200),
            until: Duration::from_secs(20),
        };
        let report = Network::new(SchedulerKind::EarliestArrival, &lines, load, 6).run();
        let p99 = report.percentile(0.99);
        assert!(p99 <= ms(bound), "{name}: {p99:?} instead of {bound} ms");
    }
}

#[test]
fn an_overload_of_messages_delivers_what_fits_and_does_not_collapse() {
    let lines = dfec(0.05, 100);
    let report = paced(SchedulerKind::EarliestArrival, &lines, 1.1, 7);
    let goodput = report.source as f64 / report.finished.as_secs_f64();
    assert!(
        goodput > 0.97 * capacity(&lines),
        "{goodput} of {}",
        capacity(&lines)
    );
}

#[test]
fn a_path_too_slow_for_a_small_window_is_left_out() {
    let lines = fmtcp(500, 0.01);
    let finished = |kind| {
        let mut network = Network::new(kind, &lines, Load::Bulk { symbols: 3000 }, 8);
        network.window = 180;
        network.run().finished
    };
    let (ours, reference) = (
        finished(SchedulerKind::EarliestArrival),
        finished(SchedulerKind::LowestRtt),
    );
    assert!(ours * 2 < reference, "{ours:?} against {reference:?}");
}

#[test]
fn every_scheduler_delivers_everything() {
    for kind in SchedulerKind::ALL {
        for (lines, seed) in [
            (&uneven()[..], 9),
            (&fmtcp(100, 0.5), 10),
            (&pnc(), 11),
            (&four(), 12),
        ] {
            bulk(kind, lines, 3000, seed);
            paced(kind, lines, 0.5, seed);
        }
    }
}
