//! What FMTCP's Algorithm 1 and its theorems say, on the paper's kind of paths; and what the
//! default does in the same place.

mod scene;

use std::time::Duration;

use mpfec_sched::{Assignment, BlockView, PathView, SchedulerKind, SymbolKind, View, group_size};

use scene::{SYMBOL, epoch, path};

const FMTCP_AND_DEFAULT: [SchedulerKind; 2] =
    [SchedulerKind::Fmtcp, SchedulerKind::EarliestArrival];

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A closed block of which nothing was sent.
fn fresh(source_symbols: u32) -> BlockView {
    BlockView {
        source_symbols,
        closed: true,
        unsent: source_symbols,
        ..BlockView::default()
    }
}

/// A closed block all sent on the path of `slot`, of which `lost` symbols got lost.
fn flying(source_symbols: u32, slot: usize, lost: u16) -> BlockView {
    let mut block = BlockView {
        source_symbols,
        closed: true,
        lost_once: u32::from(lost),
        first_sent: Some(epoch()),
        head: true,
        ..BlockView::default()
    };
    block.in_flight[slot] = source_symbols as u16 - lost;
    block
}

fn view<'a>(paths: &'a [PathView], blocks: &'a [BlockView]) -> View<'a> {
    View {
        now: epoch() + ms(100),
        paths,
        blocks,
        has_repair: true,
        may_protect: true,
        version: 1,
        writer_blocked: false,
        window_closed: false,
        window: 1000,
    }
}

#[test]
fn groups_of_pnc_grow_with_the_difference_of_round_trips() {
    let pair = |slower: u64| [path(0, 1.0, ms(40), 0.0), path(1, 0.5, ms(slower), 0.0)];
    // Equal round trips give 0, and a group of one codes nothing.
    assert_eq!(group_size(&pair(40)), 2);
    // 1 Mbit/s are 87.5 packets/s; half of 160 ms lets 7.0 of them pass.
    assert_eq!(group_size(&pair(199)), 7);
    assert_eq!(group_size(&pair(2000)), 20);
    let unknown = pair(2000).map(|path| PathView {
        bandwidth: 0,
        ..path
    });
    assert_eq!(group_size(&unknown), 10);
    let mut gone = pair(2000);
    gone[1].suspected = true;
    assert_eq!(
        group_size(&gone),
        2,
        "a silent path is waited for by nobody"
    );
}

fn ask(kind: SchedulerKind, path: usize, view: &View<'_>) -> Option<Assignment> {
    kind.build().select(path, 16, view)
}

#[test]
fn a_loss_on_the_better_path_is_not_repaired_on_the_worse_one() {
    // FMTCP Theorem 2: EDT of path 0 is 50 ms and a little, of path 1 100 ms and more.
    let paths = [path(0, 10.0, ms(100), 0.02), path(1, 10.0, ms(200), 0.02)];
    let blocks = [flying(24, 0, 3)];
    for kind in FMTCP_AND_DEFAULT {
        assert_eq!(ask(kind, 1, &view(&paths, &blocks)), None, "{kind}");
        let repair = ask(kind, 0, &view(&paths, &blocks)).expect("the better path repairs");
        assert_eq!(
            (repair.block, repair.symbol),
            (0, SymbolKind::Repair),
            "{kind}"
        );
        assert!(
            repair.count >= 3,
            "{kind} sends {} for 3 lost",
            repair.count
        );
    }
}

#[test]
fn a_loss_on_the_worse_path_is_repaired_on_the_better_one() {
    let paths = [path(0, 10.0, ms(100), 0.02), path(1, 10.0, ms(200), 0.02)];
    let blocks = [flying(24, 1, 3)];
    for kind in FMTCP_AND_DEFAULT {
        assert_eq!(ask(kind, 1, &view(&paths, &blocks)), None, "{kind}");
        assert!(ask(kind, 0, &view(&paths, &blocks)).is_some(), "{kind}");
    }
}

#[test]
fn loss_makes_a_path_worse_than_its_round_trip_time() {
    // EDT of path 0 is 0.5 / 0.5 * 200 + 50 = 250 ms, of path 1 90 ms.
    let paths = [path(0, 10.0, ms(100), 0.5), path(1, 10.0, ms(180), 0.0)];
    let blocks = [flying(8, 0, 2)];
    assert_eq!(ask(SchedulerKind::Fmtcp, 0, &view(&paths, &blocks)), None);
    assert!(ask(SchedulerKind::Fmtcp, 1, &view(&paths, &blocks)).is_some());
    assert!(
        ask(SchedulerKind::LowestRtt, 0, &view(&paths, &blocks)).is_some(),
        "the reference sees no loss"
    );
}

#[test]
fn a_path_with_a_full_window_yields_to_one_that_arrives_before_it_opens() {
    // Path 0: EDT 10 ms, RT 20 ms, all in flight since 1 ms: EAT 29 ms. Path 1: EDT 20 ms.
    let mut paths = [path(0, 10.0, ms(20), 0.0), path(1, 10.0, ms(40), 0.0)];
    paths[0].in_flight = paths[0].cwnd;
    paths[0].since_oldest = ms(1);
    paths[0].next_send = epoch() + ms(119);
    let blocks = [fresh(2)];
    for kind in FMTCP_AND_DEFAULT {
        assert!(ask(kind, 1, &view(&paths, &blocks)).is_some(), "{kind}");
    }
    // Sent 12 ms ago, it is expected to open soon enough: EAT 18 ms.
    paths[0].since_oldest = ms(12);
    paths[0].next_send = epoch() + ms(108);
    for kind in FMTCP_AND_DEFAULT {
        assert_eq!(ask(kind, 1, &view(&paths, &blocks)), None, "{kind}");
    }
}

#[test]
fn a_slow_path_carries_the_block_that_is_due_when_its_symbols_arrive() {
    // 90 ms more one-way delay at 10 Mbit/s: 79 symbols of the fast path come first.
    let mut paths = [path(0, 10.0, ms(20), 0.0), path(1, 10.0, ms(200), 0.0)];
    paths[0].cwnd = 40 * SYMBOL;
    let blocks: Vec<BlockView> = (0..40).map(|_| fresh(24)).collect();
    let chosen = ask(SchedulerKind::EarliestArrival, 1, &view(&paths, &blocks))
        .expect("there is enough data");
    assert_eq!(
        (chosen.block, chosen.symbol),
        (3, SymbolKind::Source),
        "block 3 holds symbols 72 to 95"
    );
    let first = ask(SchedulerKind::EarliestArrival, 0, &view(&paths, &blocks))
        .expect("the fast path is first");
    assert_eq!(first.block, 0);
    // FMTCP counts windows: 40 symbols at once, then 40 in each 20 ms from 30 to 100 ms.
    let chosen =
        ask(SchedulerKind::Fmtcp, 1, &view(&paths, &blocks)).expect("there is enough data");
    assert_eq!(
        (chosen.block, chosen.symbol),
        (180 / 24, SymbolKind::Source)
    );
}

#[test]
fn fmtcp_protects_a_block_up_to_five_per_cent_and_then_goes_on() {
    // Eq. 4: six packets at 10 % need two more.
    let paths = [path(0, 10.0, ms(100), 0.1)];
    let mut blocks = [fresh(6), fresh(6)];
    let mut scheduler = SchedulerKind::Fmtcp.build();
    let mut sent = Vec::new();
    while sent.len() < 10 {
        let chosen = scheduler
            .select(0, 1, &view(&paths, &blocks))
            .expect("the window is open");
        if chosen.symbol == SymbolKind::Source {
            blocks[chosen.block].unsent -= 1;
        }
        blocks[chosen.block].in_flight[0] += 1;
        scheduler.on_sent(0, &chosen, &view(&paths, &blocks));
        sent.push(chosen.block);
    }
    assert_eq!(sent, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
}

#[test]
fn without_a_repair_code_only_what_is_known_to_be_lost_is_sent_again() {
    let paths = [path(0, 10.0, ms(100), 0.2)];
    for kind in SchedulerKind::ALL {
        for lost in [0, 2] {
            let blocks = [flying(8, 0, lost)];
            let uncoded = View {
                has_repair: false,
                may_protect: true,
                ..view(&paths, &blocks)
            };
            let again = ask(kind, 0, &uncoded).map_or(0, |assignment| assignment.count);
            assert_eq!(again, u32::from(lost), "{kind}");
        }
    }
}

#[test]
fn a_backup_waits_until_no_other_path_works() {
    let mut paths = [path(0, 10.0, ms(100), 0.0), path(1, 10.0, ms(20), 0.0)];
    paths[1].backup = true;
    let blocks = [fresh(64)];
    for kind in SchedulerKind::ALL {
        assert_eq!(ask(kind, 1, &view(&paths, &blocks)), None, "{kind}");
        assert!(ask(kind, 0, &view(&paths, &blocks)).is_some(), "{kind}");
    }
    paths[0].suspected = true;
    for kind in SchedulerKind::ALL {
        assert!(ask(kind, 1, &view(&paths, &blocks)).is_some(), "{kind}");
        assert_eq!(
            ask(kind, 0, &view(&paths, &blocks)),
            None,
            "{kind} uses a suspected path"
        );
    }
}

#[test]
fn what_a_suspected_path_has_in_flight_is_repaired_elsewhere_at_once() {
    let mut paths = [path(0, 10.0, ms(20), 0.0), path(1, 10.0, ms(100), 0.0)];
    paths[0].suspected = true;
    let blocks = [flying(8, 0, 0)];
    let repair = ask(SchedulerKind::EarliestArrival, 1, &view(&paths, &blocks))
        .expect("the other path takes over");
    assert_eq!((repair.symbol, repair.count), (SymbolKind::Repair, 8));
}
