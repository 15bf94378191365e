//! Which repairs are protected, and which path they take, while bulk data fill every slot.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::*;
use crate::view::PathView;

const RTT: Duration = Duration::from_millis(200);

fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    *EPOCH.get_or_init(Instant::now)
}

fn path(slot: usize, loss: f64) -> PathView {
    PathView::example(slot, loss, RTT, epoch())
}

/// A block of ten symbols that all left, of which the peer `lacks` some and some fly on path 0.
fn sent(lacks: u32, flying: u16, repairs_lost: u32) -> BlockView {
    let mut block = BlockView {
        source_symbols: 10,
        closed: true,
        held: 10 - lacks,
        lost_once: lacks + repairs_lost,
        repairs_lost,
        first_sent: Some(epoch()),
        ..BlockView::default()
    };
    block.in_flight[0] = flying;
    block
}

fn unsent() -> BlockView {
    BlockView {
        source_symbols: 10,
        closed: true,
        unsent: 10,
        ..BlockView::default()
    }
}

fn view<'a>(paths: &'a [PathView], blocks: &'a [BlockView]) -> View<'a> {
    View {
        now: epoch() + RTT,
        paths,
        blocks,
        has_repair: true,
        may_protect: true,
        version: 1,
        writer_blocked: true,
        window_closed: false,
        window: 1000,
    }
}

/// One that has no idle slots left to protect with.
fn busy() -> EarliestArrival {
    let mut scheduler = EarliestArrival::new();
    scheduler.ledger.on_ahead(0, 1000);
    for _ in 0..1000 {
        scheduler.ledger.on_source(1);
    }
    scheduler
}

fn chosen(scheduler: &mut EarliestArrival, path: usize, view: &View<'_>) -> (usize, SymbolKind) {
    let assignment = scheduler.select(path, 1, view).expect("there is bulk data");
    scheduler.on_sent(path, &assignment, view);
    (assignment.block, assignment.symbol)
}

#[test]
fn a_second_repair_goes_with_the_one_that_replaces_a_lost_repair() {
    let paths = [path(0, 0.03)];
    let after = |repairs_lost| {
        let blocks = [sent(1, 1, 0), sent(1, 1, repairs_lost), unsent()];
        chosen(&mut busy(), 0, &view(&paths, &blocks))
    };
    assert_eq!(after(0), (2, SymbolKind::Source), "its first repair flies");
    assert_eq!(after(1), (1, SymbolKind::Repair));
    let blocks = [sent(1, 1, 0), sent(1, 2, 1), unsent()];
    let enough = chosen(&mut busy(), 0, &view(&paths, &blocks));
    assert_eq!(
        enough,
        (2, SymbolKind::Source),
        "two suffice where 3 % are lost"
    );
}

#[test]
fn what_is_protected_after_a_lost_repair_does_not_hide_what_others_lack() {
    let paths = [path(0, 0.03)];
    let mut scheduler = busy();
    let blocks = [sent(1, 1, 1), sent(1, 0, 0), unsent()];
    let first = chosen(&mut scheduler, 0, &view(&paths, &blocks));
    assert_eq!(first, (0, SymbolKind::Repair));
    let blocks = [sent(1, 2, 1), sent(1, 0, 0), unsent()];
    let second = chosen(&mut scheduler, 0, &view(&paths, &blocks));
    assert_eq!(second, (1, SymbolKind::Repair));
}

#[test]
fn a_repair_is_left_to_the_path_that_is_less_likely_to_lose_it() {
    let paths = [path(0, 0.1), path(1, 0.001)];
    let blocks = [sent(1, 0, 0), unsent()];
    let view = view(&paths, &blocks);
    assert_eq!(chosen(&mut busy(), 0, &view), (1, SymbolKind::Source));
    assert_eq!(chosen(&mut busy(), 1, &view), (0, SymbolKind::Repair));
}

#[test]
fn a_repair_takes_the_lossy_path_if_the_other_is_not_free_for_long() {
    let mut paths = [path(0, 0.1), path(1, 0.001)];
    paths[1].next_send = epoch() + 2 * RTT;
    let blocks = [sent(1, 0, 0), unsent()];
    let choice = chosen(&mut busy(), 0, &view(&paths, &blocks));
    assert_eq!(choice, (0, SymbolKind::Repair));
}

#[test]
fn what_the_clean_path_cannot_repair_in_time_takes_the_lossy_one() {
    let paths = [path(0, 0.1), path(1, 0.001)];
    let mut blocks = vec![sent(10, 0, 0); 5];
    blocks.push(unsent());
    // The clean path delivers 23 in the mean wait for a repair of a repair.
    let choice = chosen(&mut busy(), 0, &view(&paths, &blocks));
    assert_eq!(choice, (2, SymbolKind::Repair));
}

/// Whether a block of 200 symbols that holds back delivery, and lacks one after its first repair,
/// is taken for one that stops the reader so long after its first symbol left.
fn stops_after(millis: u64, is_paced: bool) -> bool {
    let paths = [path(0, 0.03)];
    let block = BlockView {
        source_symbols: 200,
        held: 199,
        head: true,
        ..sent(1, 1, 0)
    };
    let mut view = view(&paths, &[]);
    view.now = epoch() + Duration::from_millis(millis);
    attempts::stops_reader(&block, is_paced, &view)
}

#[test]
fn a_bulk_block_stops_the_reader_once_its_last_symbols_first_repair_is_answered() {
    // Twice 9/8 of 200 ms, and in bulk the time in which a path of 1000 per second sends 200.
    assert!(!stops_after(445, true));
    assert!(stops_after(455, true));
    assert!(!stops_after(645, false));
    assert!(stops_after(655, false));
}

#[test]
fn blocks_that_are_gone_although_the_version_is_the_same_do_no_harm() {
    let paths = [path(0, 0.03)];
    let mut scheduler = busy();
    let blocks = [sent(1, 2, 0), sent(1, 2, 0), sent(1, 3, 1), unsent()];
    for _ in 0..2 {
        let choice = chosen(&mut scheduler, 0, &view(&paths, &blocks));
        assert_eq!(choice, (3, SymbolKind::Source));
    }
    let left = view(&paths, &blocks[..2]);
    assert_eq!(scheduler.select(0, 1, &left), None);
}

/// Repairs that a block of ten symbols gets if its source symbols fly and nothing else waits.
fn protection_of(scheduler: &mut EarliestArrival, paths: &[PathView]) -> u32 {
    let mut blocks = [sent(10, 10, 0)];
    blocks[0].lost_once = 0;
    for repairs in 0.. {
        let now = View {
            writer_blocked: false,
            version: 2 + u64::from(repairs),
            ..view(paths, &blocks)
        };
        if scheduler.select(0, 1, &now).is_none() {
            return repairs;
        }
        blocks[0].in_flight[0] += 1;
    }
    unreachable!("a block needs no end of repairs")
}

#[test]
fn a_block_is_protected_better_where_the_next_ones_would_wait_for_it() {
    let paths = [path(0, 0.1)];
    let alone = protection_of(&mut EarliestArrival::new(), &paths);
    assert_eq!(alone, 6, "below 1 in 1024");
    let mut paced = EarliestArrival::new();
    paced.load.add(epoch() + RTT, 250);
    let with_others = protection_of(&mut paced, &paths);
    assert_eq!(with_others, 7, "some twelve blocks come during a stall");
    paced.load.hold_back(epoch());
    let held_back = protection_of(&mut paced, &paths);
    assert_eq!(held_back, 6, "a full buffer sets the pace");
}

#[test]
fn a_path_that_lost_little_of_late_is_not_trusted_to_stay_so() {
    let lucky = [PathView {
        loss_long: 0.1,
        ..path(0, 0.005)
    }];
    let protection = protection_of(&mut EarliestArrival::new(), &lucky);
    assert_eq!(protection, 6, "as for one in ten");
}

#[test]
fn bursts_are_made_up_for_with_more_repairs_where_the_application_sets_the_pace() {
    let bursts = [PathView {
        loss_burst: 4.0,
        ..path(0, 0.1)
    }];
    let mut paced = EarliestArrival::new();
    let in_bursts = protection_of(&mut paced, &bursts);
    assert!((12..=30).contains(&in_bursts), "{in_bursts}, six if single");
    paced.load.hold_back(epoch());
    assert_eq!(protection_of(&mut paced, &bursts), 6, "bulk as ever");
}

/// Whether a path of 112 ms one way makes up for what a paced block may lose of its symbols on
/// `fast`, of 100 ms, which delivers twelve more until one sent here arrives. `sources` of them
/// it carried itself.
fn slow_path_protects(fast: PathView, sources: u16) -> bool {
    let slow = PathView {
        srtt: Duration::from_millis(224),
        one_way: Duration::from_millis(112),
        ..path(1, 0.001)
    };
    let paths = [fast, slow];
    let mut blocks = [sent(10, 10, 0)];
    blocks[0].lost_once = 0;
    blocks[0].sources_on[1] = sources;
    let now = View {
        writer_blocked: false,
        ..view(&paths, &blocks)
    };
    EarliestArrival::new().select(1, 1, &now).is_some()
}

#[test]
fn what_a_paced_block_is_known_to_lack_comes_from_where_it_is_soonest_bursts_or_not() {
    let fast = PathView {
        loss_burst: 8.0,
        ..path(0, 0.1)
    };
    let slow = PathView {
        srtt: Duration::from_millis(224),
        one_way: Duration::from_millis(112),
        ..path(1, 0.001)
    };
    let paths = [fast, slow];
    let blocks = [sent(1, 0, 0)];
    let now = View {
        writer_blocked: false,
        ..view(&paths, &blocks)
    };
    assert_eq!(EarliestArrival::new().select(1, 1, &now), None);
    assert!(EarliestArrival::new().select(0, 1, &now).is_some());
}

#[test]
fn repairs_that_a_burst_would_take_along_are_not_waited_for() {
    assert!(!slow_path_protects(path(0, 0.1), 2), "the other is sooner");
    let bursts = PathView {
        loss_burst: 4.0,
        ..path(0, 0.1)
    };
    assert!(slow_path_protects(bursts.clone(), 2));
    assert!(!slow_path_protects(bursts, 0), "it is not in use");
}

/// Whether 600 symbols a second take a path of 150 ms one way beside one of 20 ms, `fast`.
fn takes_the_slow_path(fast: PathView) -> bool {
    let fast = PathView {
        srtt: Duration::from_millis(40),
        one_way: Duration::from_millis(20),
        ..fast
    };
    let slow = PathView {
        srtt: Duration::from_millis(300),
        one_way: Duration::from_millis(150),
        ..path(1, 0.0)
    };
    let paths = [fast, slow];
    let blocks = [unsent()];
    let mut scheduler = EarliestArrival::new();
    scheduler.load.add(epoch() + RTT, 300);
    let now = View {
        writer_blocked: false,
        ..view(&paths, &blocks)
    };
    scheduler.select(1, 1, &now).is_some()
}

#[test]
fn paced_data_leave_a_slow_path_out_while_the_fast_one_has_room_for_more() {
    // Paced at 500, with room for 1000.
    let fast = |in_flight| PathView {
        cwnd: 40_000,
        in_flight,
        pacing_rate: 500_000,
        ..path(0, 0.0)
    };
    assert!(!takes_the_slow_path(fast(20_000)));
    assert!(takes_the_slow_path(fast(36_000)), "the fast one is full");
}

#[test]
fn a_drain_of_the_fast_path_moves_nothing_to_the_slow_one() {
    // Nothing leaves for 10 ms, and little in the 80 after.
    let draining = PathView {
        cwnd: 4_000,
        in_flight: 4_000,
        pacing_rate: 50_000,
        next_send: epoch() + RTT + Duration::from_millis(10),
        ..path(0, 0.0)
    };
    assert!(takes_the_slow_path(draining.clone()), "it is slow for good");
    assert!(!takes_the_slow_path(PathView {
        lasting_rate: 1_000_000,
        ..draining
    }));
}

/// Whether a path of 300 ms one way is taken beside one of 25 ms which is known to carry 1000 symbols
/// a second and to lose `loss`, if `load` are written in a second and `waiting` of them have not left yet.
fn is_taken(load: u64, waiting: usize, loss: f64) -> bool {
    let [fast, slow] = [(0, 25), (1, 300)].map(|(slot, ms)| PathView {
        srtt: Duration::from_millis(2 * ms),
        one_way: Duration::from_millis(ms),
        // Nearly all of a window of 50 symbols.
        cwnd: 50_000,
        in_flight: 40_000,
        ..path(slot, loss)
    });
    let paths = [fast, slow];
    let blocks = vec![unsent(); waiting / 10];
    let mut scheduler = EarliestArrival::new();
    let now = View {
        writer_blocked: false,
        window: 10_000,
        ..view(&paths, &blocks)
    };
    // The mean is over half a second.
    scheduler.load.add(now.now, load / 2);
    scheduler.seen.unsent = waiting as u64;
    scheduler.select(1, 1, &now).is_some()
}

#[test]
fn a_slow_path_is_taken_once_more_waits_for_the_fast_one_than_was_written_at_once() {
    assert!(!is_taken(1100, 20, 0.0), "two blocks");
    assert!(is_taken(1100, 30, 0.0));
    assert!(!is_taken(800, 30, 0.0), "the fast one carries that");
}

#[test]
fn a_slow_path_is_taken_at_once_where_the_fast_one_loses_packets() {
    assert!(is_taken(1100, 20, 0.03));
}

/// Symbols per second of a paced stream, and repairs that `paths[1]` sends of a block whose ten
/// symbols fly on `paths[0]` unless `unsent`, before it is left alone.
fn backed_up(load: u64, unsent: u32, paths: &[PathView]) -> u32 {
    let mut blocks = [sent(10, 10 - unsent as u16, 0)];
    (blocks[0].lost_once, blocks[0].unsent) = (0, unsent);
    let mut scheduler = EarliestArrival::new();
    scheduler.load.add(epoch() + RTT, load / 2);
    for repairs in 0..100 {
        let now = View {
            writer_blocked: false,
            version: 2 + u64::from(repairs),
            ..view(paths, &blocks)
        };
        scheduler.refresh(&now);
        match scheduler.back_up(1, 1, &now) {
            Some(assignment) => assert_eq!(assignment.symbol, SymbolKind::Repair),
            None => return repairs,
        }
        blocks[0].in_flight[1] += 1;
    }
    unreachable!("a block needs no end of repairs")
}

#[test]
fn what_others_have_on_their_way_may_all_get_lost_if_one_path_could_carry_everything() {
    let slow = PathView {
        one_way: Duration::from_millis(150),
        ..path(1, 0.0)
    };
    let weak = PathView {
        cwnd: 100_000,
        pacing_rate: 500_000,
        ..path(0, 0.1)
    };
    let paths = [weak.clone(), slow.clone()];
    assert_eq!(backed_up(700, 0, &paths), 10, "all of the block");
    assert_eq!(backed_up(700, 4, &paths), 10, "before all of it has left");
    assert_eq!(backed_up(1400, 0, &paths), 0, "it could not carry that");
    assert_eq!(
        backed_up(300, 0, &paths),
        0,
        "the other is sooner and could"
    );
    let lossy = PathView {
        one_way: Duration::from_millis(150),
        ..path(1, 0.1)
    };
    let losing = backed_up(700, 0, &[weak, lossy]);
    assert!(
        (11..=14).contains(&losing),
        "{losing} where a tenth is lost"
    );
}

#[test]
fn bulk_data_and_a_path_without_others_have_nothing_to_fall_back_to() {
    let one = [path(0, 0.1)];
    let two = [path(0, 0.1), path(1, 0.0)];
    let blocks = [sent(10, 10, 0)];
    let mut scheduler = EarliestArrival::new();
    scheduler.load.add(epoch() + RTT, 100);
    assert_eq!(scheduler.back_up(0, 1, &view(&one, &blocks)), None);
    let two = view(&two, &blocks);
    assert!(scheduler.back_up(1, 1, &two).is_some());
    scheduler.load.hold_back(epoch() + RTT);
    assert_eq!(scheduler.back_up(1, 1, &two), None);
}

/// Whether a slot that would be idle goes to a block that is all on its way, on two paths of 200 ms that
/// have lost none of `punctual` packets, where 600 symbols are written per second.
fn protects_on_its_way(punctual: [u64; 2]) -> bool {
    let known = |slot: usize| PathView {
        punctual: punctual[slot],
        ..path(slot, 0.001)
    };
    let paths = [known(0), known(1)];
    let mut blocks = [sent(10, 6, 0)];
    blocks[0].lost_once = 0;
    blocks[0].in_flight[1] = 4;
    let now = View {
        writer_blocked: false,
        ..view(&paths, &blocks)
    };
    let mut scheduler = EarliestArrival::new();
    scheduler.load.add(epoch() + RTT, 300);
    let mut slots = [0, 1].into_iter();
    slots.any(|slot| scheduler.select(slot, 1, &now).is_some())
}

#[test]
fn what_paths_carry_on_which_none_of_very_many_packets_was_lost_or_late_is_not_protected() {
    // A block, and what is written in a round trip, make 130 symbols.
    assert!(protects_on_its_way([1_000, 1_000]));
    assert!(protects_on_its_way([12_000, 12_000]));
    assert!(!protects_on_its_way([14_000, 14_000]));
    assert!(protects_on_its_way([14_000, 1_000]), "one of them may lose");
}
