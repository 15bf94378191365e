//! What the references do: one path, and what multipath TCP does against slow paths.

mod scene;

use std::time::Duration;

use mpfec_sched::{BlockView, PathView, Scheduler, SchedulerKind, SymbolKind, View};

use scene::{epoch, path};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn view<'a>(
    now: Duration,
    version: u64,
    paths: &'a [PathView],
    blocks: &'a [BlockView],
) -> View<'a> {
    View {
        now: epoch() + now,
        paths,
        blocks,
        has_repair: false,
        may_protect: true,
        version,
        writer_blocked: true,
        window_closed: false,
        window: 1000,
    }
}

fn fast_and_slow() -> [PathView; 2] {
    [path(0, 10.0, ms(20), 0.0), path(1, 10.0, ms(200), 0.0)]
}

/// A block of which ten symbols are on the way on the slow path.
fn held_up() -> BlockView {
    let mut block = BlockView {
        source_symbols: 24,
        closed: true,
        held: 14,
        first_sent: Some(epoch()),
        head: true,
        ..BlockView::default()
    };
    block.in_flight[1] = 10;
    block
}

#[test]
fn one_path_is_used_until_it_is_closed_and_another_stands_in_while_it_is_silent() {
    let mut single = SchedulerKind::Single.build();
    let mut paths = fast_and_slow();
    paths.swap(0, 1);
    let blocks = [BlockView {
        source_symbols: 24,
        closed: true,
        unsent: 24,
        ..BlockView::default()
    }];
    let carries = |single: &mut Box<dyn Scheduler>, paths: &[PathView]| {
        [0, 1].map(|index| {
            single
                .select(index, 16, &view(ms(100), 1, paths, &blocks))
                .is_some()
        })
    };
    assert_eq!(
        carries(&mut single, &paths),
        [true, false],
        "the first, not the fastest"
    );
    paths[0].suspected = true;
    assert_eq!(carries(&mut single, &paths), [false, true]);
    paths[0].suspected = false;
    assert_eq!(carries(&mut single, &paths), [true, false], "back again");
    // Closed paths leave the list, and the others move up.
    assert!(carries(&mut single, &paths[1..])[0]);
}

#[test]
fn a_closed_receive_window_sends_the_oldest_data_of_the_slow_path_again() {
    let (paths, blocks) = (fast_and_slow(), [held_up()]);
    let mut scheduler = SchedulerKind::Opportunistic.build();
    let open = view(ms(100), 1, &paths, &blocks);
    assert_eq!(scheduler.select(0, 16, &open), None);
    let closed = View {
        window_closed: true,
        ..open
    };
    assert_eq!(
        scheduler.select(1, 16, &closed),
        None,
        "not on the slow path itself"
    );
    let chosen = scheduler.select(0, 16, &closed).expect("data again");
    assert_eq!(
        (chosen.block, chosen.symbol, chosen.count),
        (0, SymbolKind::Reinjection { of: 1 }, 1)
    );
    scheduler.on_sent(0, &chosen, &closed);
    assert_eq!(
        scheduler.select(0, 16, &closed),
        None,
        "once until feedback comes"
    );
    let later = View {
        version: 2,
        ..closed
    };
    assert!(scheduler.select(0, 16, &later).is_some());
}

#[test]
fn a_slow_path_is_penalised_once_in_its_round_trip() {
    let (paths, blocks) = (fast_and_slow(), [held_up()]);
    let mut scheduler = SchedulerKind::Opportunistic.build();
    let mut penalties = Vec::new();
    for (version, time) in (0..).zip([100, 110, 200, 299, 300, 400, 499, 501]) {
        let closed = View {
            window_closed: true,
            ..view(ms(time), version, &paths, &blocks)
        };
        let chosen = scheduler.select(0, 16, &closed).expect("data again");
        assert_eq!(scheduler.poll_penalty(), None, "only for what was sent");
        scheduler.on_sent(0, &chosen, &closed);
        if let Some(slow) = scheduler.poll_penalty() {
            penalties.push((slow, time));
        }
        assert_eq!(scheduler.poll_penalty(), None);
    }
    assert_eq!(penalties, [(1, 100), (1, 300), (1, 501)]);
}

#[test]
fn what_the_fast_path_holds_up_itself_penalises_nobody() {
    let paths = fast_and_slow();
    let mut block = held_up();
    block.in_flight = [10, 0, 0, 0, 0, 0, 0, 0];
    let mut scheduler = SchedulerKind::Opportunistic.build();
    let blocks = [block];
    let closed = View {
        window_closed: true,
        ..view(ms(100), 1, &paths, &blocks)
    };
    assert_eq!(scheduler.select(0, 16, &closed), None);
}

#[test]
fn a_subflow_sends_again_what_it_lost_until_it_falls_silent() {
    let mut paths = fast_and_slow();
    let mut block = held_up();
    (block.in_flight[1], block.lost_on[1], block.lost_once) = (7, 3, 3);
    let blocks = [block];
    let again = Some((SymbolKind::Retransmission { of: 1 }, 3));
    for kind in [SchedulerKind::RtxSame, SchedulerKind::Opportunistic] {
        let ask = |paths: &[PathView], index| {
            let mut scheduler = kind.build();
            let chosen = scheduler.select(index, 16, &view(ms(100), 1, paths, &blocks));
            chosen.map(|chosen| (chosen.symbol, chosen.count))
        };
        paths[1].suspected = false;
        assert_eq!(ask(&paths, 0), None);
        assert_eq!(ask(&paths, 1), again, "even while a faster path is free");
        paths[1].suspected = true;
        assert_eq!(ask(&paths, 0), again);
        assert_eq!(ask(&paths[..1], 0), again, "or is gone");
    }
}

#[test]
fn subflows_on_their_own_wait_for_the_slow_one_when_the_receive_window_closes() {
    let paths = fast_and_slow();
    let mut block = held_up();
    (block.in_flight[1], block.lost_on[1]) = (7, 3);
    let blocks = [block];
    let closed = View {
        window_closed: true,
        ..view(ms(100), 1, &paths, &blocks)
    };
    let mut scheduler = SchedulerKind::RtxSame.build();
    assert_eq!(scheduler.select(0, 16, &closed), None);
    assert!(scheduler.select(1, 16, &closed).is_some(), "what it lost");
}

#[test]
fn lost_data_that_closes_the_window_goes_to_the_fast_path() {
    let paths = fast_and_slow();
    let mut block = held_up();
    (block.in_flight[1], block.lost_on[1]) = (7, 3);
    let blocks = [block];
    let closed = View {
        window_closed: true,
        ..view(ms(100), 1, &paths, &blocks)
    };
    let mut scheduler = SchedulerKind::Opportunistic.build();
    let chosen = scheduler.select(0, 16, &closed).expect("data again");
    assert_eq!(
        (chosen.symbol, chosen.count),
        (SymbolKind::Retransmission { of: 1 }, 1)
    );
    scheduler.on_sent(0, &chosen, &closed);
    assert_eq!(scheduler.poll_penalty(), Some(1));
}
