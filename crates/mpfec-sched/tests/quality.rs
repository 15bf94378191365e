//! What Algorithm 4 of MPTCP-PNC gives to whom.

mod scene;

use std::time::Duration;

use mpfec_sched::{Assignment, BlockView, PathView, SchedulerKind, SymbolKind, View};

use scene::{SYMBOL, epoch, path};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The paper's example: windows of five packets, A of 200 ms, B of 20 ms.
fn a_and_b() -> [PathView; 2] {
    [path(0, 1.0, ms(200), 0.0), path(1, 1.0, ms(20), 0.0)].map(|path| PathView {
        cwnd: 5 * SYMBOL,
        pacing_rate: 0,
        lasting_rate: 0,
        bandwidth: 5 * SYMBOL * 1000 / path.srtt.as_millis() as u64,
        ..path
    })
}

/// A closed block of which so many symbols were not sent yet.
fn waiting(symbols: u32) -> [BlockView; 1] {
    [BlockView {
        source_symbols: symbols,
        closed: true,
        unsent: symbols,
        head: true,
        ..BlockView::default()
    }]
}

fn ask(path: usize, paths: &[PathView], blocks: &[BlockView]) -> Option<Assignment> {
    let view = view(ms(100), paths, blocks);
    SchedulerKind::Quality.build().select(path, 64, &view)
}

fn view<'a>(at: Duration, paths: &'a [PathView], blocks: &'a [BlockView]) -> View<'a> {
    View {
        now: epoch() + at,
        paths,
        blocks,
        has_repair: true,
        may_protect: false,
        version: 1,
        writer_blocked: false,
        window_closed: false,
        window: 1000,
    }
}

#[test]
fn the_sixth_packet_waits_for_b_whose_window_is_full_instead_of_leaving_on_a() {
    let mut paths = a_and_b();
    paths[1].in_flight = paths[1].cwnd;
    assert_eq!(ask(0, &paths, &waiting(1)), None, "A takes 100 ms");
    // When B has room again it is B's.
    paths[1].in_flight -= SYMBOL;
    let sixth = ask(1, &paths, &waiting(1)).expect("B takes 30 ms at most");
    assert_eq!((sixth.symbol, sixth.count), (SymbolKind::Source, 1));
}

#[test]
fn a_carries_what_b_could_only_deliver_later() {
    // B is as late as A, 100 ms, with 4.5 windows waiting: 22 packets and the five in flight.
    let mut paths = a_and_b();
    paths[1].in_flight = paths[1].cwnd;
    for (symbols, leaves) in [(20, false), (23, true)] {
        let chosen = ask(0, &paths, &waiting(symbols));
        assert_eq!(chosen.is_some(), leaves, "{symbols} waiting");
    }
    let chosen = ask(0, &paths, &waiting(100)).expect("there is enough for both");
    assert_eq!(chosen.count, 5, "no more than its window");
}

#[test]
fn loss_makes_a_path_worse_than_its_round_trip_time() {
    // With everything waiting behind a full window, half of the packets lost.
    let mut paths = [path(0, 8.0, ms(100), 0.5), path(1, 8.0, ms(140), 0.0)];
    for path in &mut paths {
        path.cwnd = 10 * SYMBOL;
        path.pacing_rate = 0;
    }
    paths[0].in_flight = paths[0].cwnd;
    assert!(ask(1, &paths, &waiting(4)).is_some());
    paths[0].loss_estimate.rate = 0.0;
    assert_eq!(ask(1, &paths, &waiting(2)), None);
}

#[test]
fn paths_of_one_quality_share_what_waits() {
    let paths = [path(0, 8.0, ms(100), 0.0), path(1, 8.0, ms(100), 0.0)];
    for index in [0, 1] {
        let chosen = ask(index, &paths, &waiting(1000)).expect("enough for both");
        assert!(chosen.count >= 8, "{chosen:?}");
    }
}

/// An acknowledgement that is about no block may change which path is the best.
#[test]
fn what_waits_always_falls_to_one_of_the_paths_that_may_send() {
    let blocks = waiting(1);
    let mut paths = a_and_b();
    let mut scheduler = SchedulerKind::Quality.build();
    let mut ask = |path, at, paths: &[PathView]| {
        let view = view(at, paths, &blocks);
        scheduler.select(path, 64, &view)
    };
    assert_eq!(ask(0, ms(100), &paths), None, "B is better");
    paths[0].srtt = ms(10);
    assert_eq!(ask(1, ms(120), &paths), None, "A has become better");
    let chosen = ask(0, ms(120), &paths).expect("both have been asked in vain");
    assert_eq!(chosen.count, 1);
}
