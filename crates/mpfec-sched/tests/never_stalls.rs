//! Whatever the paths and blocks are like, somebody sends.

mod scene;

use std::time::Duration;

use mpfec_sched::{BlockView, MAX_PATHS, PathView, SchedulerKind, SymbolKind, View};
use proptest::prelude::*;

use scene::{epoch, path};

fn paths() -> impl Strategy<Value = Vec<PathView>> {
    let one = (
        prop_oneof![Just(10.0), 0.1f64..1000.0],
        prop_oneof![Just(100_000u64), 500u64..2_000_000],
        prop_oneof![Just(0.0), 0.0f64..0.9],
        0u64..40,
        0u64..200_000,
        0u64..3_000_000,
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
    );
    prop::collection::vec(one, 1..5).prop_map(|all| {
        let build = |(slot, (mbit, rtt, loss, cwnd, next_send, oldest, suspected, backup))| {
            let mut view: PathView = path(slot, mbit, Duration::from_micros(rtt), loss);
            view.cwnd = cwnd * view.symbol_bytes;
            view.in_flight = view.cwnd / 2;
            view.next_send = epoch() + Duration::from_micros(next_send);
            view.since_oldest = Duration::from_micros(oldest);
            view.suspected = suspected;
            view.backup = backup;
            if mbit < 1.0 {
                view.pacing_rate = 0;
            }
            view
        };
        all.into_iter().enumerate().map(build).collect()
    })
}

fn blocks() -> impl Strategy<Value = Vec<BlockView>> {
    let one = (
        1u32..100,
        any::<bool>(),
        0u32..100,
        0u32..40,
        [0u16..30, 0u16..30],
        0u32..10,
        any::<bool>(),
    );
    prop::collection::vec(one, 0..12).prop_map(|all| {
        let build = |(symbols, closed, unsent, held, flying, lost_once, head): (
            u32,
            bool,
            u32,
            u32,
            [u16; 2],
            u32,
            bool,
        )| {
            let mut block = BlockView {
                source_symbols: symbols,
                closed,
                unsent: if unsent > 50 { 0 } else { unsent.min(symbols) },
                lost_once,
                first_sent: Some(epoch()),
                head,
                ..BlockView::default()
            };
            block.held = held.min(symbols - block.unsent);
            block.in_flight[..2].copy_from_slice(&flying);
            block
        };
        all.into_iter().map(build).collect()
    })
}

/// Whether symbols of the block can and must leave.
fn waits(block: &BlockView, view: &View<'_>) -> bool {
    let can_repair = block.closed || !view.has_repair;
    (block.unsent > 0 && !view.window_closed) || (block.deficit() > 0 && can_repair)
}

fn still<'a>(
    paths: &'a [PathView],
    blocks: &'a [BlockView],
    has_repair: bool,
    writer_blocked: bool,
) -> View<'a> {
    View {
        now: epoch(),
        paths,
        blocks,
        has_repair,
        may_protect: true,
        version: 0,
        writer_blocked,
        window_closed: false,
        window: 1000,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn somebody_sends_while_anything_waits_and_a_path_works(
        mut paths in paths(),
        blocks in blocks(),
        has_repair in any::<bool>(),
        writer_blocked in any::<bool>(),
        window_closed in prop::bool::weighted(0.2),
        window in 1u64..10_000,
    ) {
        for kind in SchedulerKind::ALL {
            // The reference leaves its data to a better path only if that can send now.
            if matches!(
                kind,
                SchedulerKind::LowestRtt | SchedulerKind::RtxSame | SchedulerKind::Opportunistic
            ) {
                for path in &mut paths {
                    path.next_send = epoch();
                }
            }
            let view = View {
                now: epoch(), paths: &paths, blocks: &blocks, has_repair, may_protect: true, version: 1, writer_blocked, window_closed, window,
            };
            let mut scheduler = kind.build();
            let answers: Vec<_> = (0..paths.len()).map(|index| scheduler.select(index, 8, &view)).collect();
            let works = paths.iter().any(|path| !path.suspected);
            let waits = blocks.iter().any(|block| waits(block, &view));
            prop_assert!(!works || !waits || answers.iter().any(Option::is_some), "{kind} leaves all idle");
            for (index, answer) in answers.iter().enumerate() {
                let Some(answer) = answer else { continue };
                prop_assert!(view.is_usable(index));
                prop_assert!((1..=8).contains(&answer.count));
                let block = &blocks[answer.block];
                match answer.symbol {
                    SymbolKind::Source => {
                        prop_assert!(answer.count <= block.unsent);
                        prop_assert!(!window_closed);
                    }
                    SymbolKind::Repair if has_repair => prop_assert!(block.closed),
                    SymbolKind::Repair => prop_assert!(answer.count <= block.deficit()),
                    SymbolKind::Retransmission { of } => prop_assert!(block.lost_on[of] > 0),
                    SymbolKind::Reinjection { of } => {
                        prop_assert!(window_closed && block.in_flight[of] > 0);
                    }
                }
            }
        }
    }

    /// With time standing still and nothing coming back, all that waits leaves in the end.
    #[test]
    fn everything_leaves_without_further_feedback(
        paths in paths(),
        mut blocks in blocks(),
        has_repair in any::<bool>(),
        writer_blocked in any::<bool>(),
    ) {
        prop_assume!(paths.iter().any(|path| !path.suspected));
        let start = blocks.clone();
        for kind in SchedulerKind::ALL {
            blocks.clone_from(&start);
            let mut paths = paths.clone();
            let mut scheduler = kind.build();
            loop {
                let mut any = false;
                for index in 0..paths.len() {
                    let chosen = scheduler.select(index, 8, &still(&paths, &blocks, has_repair, writer_blocked));
                    let Some(chosen) = chosen else { continue };
                    any = true;
                    let block = &mut blocks[chosen.block];
                    block.in_flight[index] += chosen.count as u16;
                    if chosen.symbol == SymbolKind::Source {
                        block.unsent -= chosen.count;
                    }
                    let path = &mut paths[index];
                    path.next_send += path.symbol_time() * chosen.count;
                    scheduler.on_sent(index, &chosen, &still(&paths, &blocks, has_repair, writer_blocked));
                }
                if !any {
                    break;
                }
            }
            for block in &blocks {
                prop_assert_eq!(block.unsent, 0, "{} keeps source symbols", kind);
                prop_assert!(block.deficit() == 0 || (has_repair && !block.closed), "{} keeps a loss", kind);
            }
        }
    }
}

const _: () = assert!(MAX_PATHS <= 8, "a path's bit fits a byte");
