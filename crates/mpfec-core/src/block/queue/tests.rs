use mpfec_codec::{CodecKind, SymbolSize};
use proptest::prelude::*;

use super::*;
use crate::block::Origin;
use crate::id::{Dir, Side, StreamId};

fn block(stream: u64, sbn: u64) -> BlockSender {
    let origin = Origin {
        stream: StreamId::new(Side::Client, Dir::Uni, stream),
        sbn,
        offset: 0,
        symbol_size: SymbolSize::new(10).unwrap(),
        codec: CodecKind::RaptorQ,
        group: None,
    };
    BlockSender::new(origin, None)
}

/// Adds a full block of 64 symbols of a stream that has had `had`; returns what it has had then.
fn add(queue: &mut SendQueue, stream: u64, sbn: u64, priority: i32, had: u64) -> (Slot, u64) {
    let placed = queue.insert(block(stream, sbn), priority, had, false, None);
    queue.with(placed.slot, |block, view| {
        block.append(&[0; 640], 64, view);
    });
    (placed.slot, placed.had + 64)
}

/// So many symbols of a block leave.
fn leave(queue: &mut SendQueue, slot: Slot, symbols: u32) {
    queue.send(slot, |_, view| view.unsent -= symbols);
}

fn names(queue: &SendQueue) -> Vec<(u64, u64)> {
    (0..queue.views().len())
        .map(|index| {
            let (block, _) = queue.get(queue.slot_at(index).unwrap());
            (block.origin().stream.index(), block.origin().sbn)
        })
        .collect()
}

#[test]
fn a_stream_that_comes_late_takes_turns_with_one_that_has_much_queued() {
    let mut queue = SendQueue::default();
    let (mut a, mut b) = (0, 0);
    let mut first = Vec::new();
    for sbn in 0..4 {
        let (slot, had) = add(&mut queue, 0, sbn, 0, a);
        a = had;
        first.push(slot);
    }
    leave(&mut queue, first[0], 64);
    leave(&mut queue, first[1], 1);
    for sbn in 0..4 {
        (_, b) = add(&mut queue, 1, sbn, 0, b);
    }
    let order = names(&queue);
    assert_eq!(order[..4], [(0, 0), (1, 0), (0, 1), (0, 2)]);
    assert_eq!(order[4..], [(1, 1), (0, 3), (1, 2), (1, 3)]);
}

#[test]
fn small_messages_in_a_row_do_not_wait_for_a_block_of_others_as_long_as_they_have_less() {
    let mut queue = SendQueue::default();
    let (mut bulk, mut messages) = (0, 0);
    for sbn in 0..40 {
        let (slot, had) = add(&mut queue, 0, sbn, 0, bulk);
        bulk = had;
        if sbn > 0 {
            leave(&mut queue, slot, 1);
        }
        let placed = queue.insert(block(1, sbn), 0, messages, false, None);
        messages = placed.had + 1;
        queue.with(placed.slot, |block, view| {
            block.append(&[0; 10], 64, view);
        });
        assert!(!placed.waits, "message {sbn}");
        leave(&mut queue, placed.slot, 1);
        leave(&mut queue, slot, if sbn > 0 { 63 } else { 64 });
    }
}

#[test]
fn urgent_streams_go_first_from_the_moment_they_are_urgent() {
    let mut queue = SendQueue::default();
    let (low, _) = add(&mut queue, 0, 0, 0, 0);
    add(&mut queue, 1, 0, 1, 0);
    assert_eq!(names(&queue), [(1, 0), (0, 0)]);
    queue.set_priority([low].into_iter(), 2, 64);
    assert_eq!(names(&queue), [(0, 0), (1, 0)]);
}

#[test]
fn a_stream_that_gets_the_priority_of_others_takes_turns_with_them_however_far_they_are() {
    for (others, own) in [(100_000, 200), (200, 100_000)] {
        let mut queue = SendQueue::default();
        let (mut a, mut b, mut moved) = (others, own, Vec::new());
        for sbn in 0..3 {
            (_, a) = add(&mut queue, 0, sbn, 0, a);
            let (slot, had) = add(&mut queue, 1, sbn, -1, b);
            b = had;
            moved.push(slot);
        }
        b = queue.set_priority(moved.into_iter(), 0, b);
        let order = names(&queue);
        assert_eq!(
            order,
            [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)],
            "{order:?}"
        );
        assert_eq!(a, b, "what they write next takes turns as well");
    }
}

#[test]
fn a_block_goes_before_none_of_its_own_stream_however_near_its_turn_or_its_deadline_is() {
    let mut queue = SendQueue::default();
    let (first, had) = add(&mut queue, 0, 0, 0, 0);
    leave(&mut queue, first, 64);
    let placed = queue.insert(block(0, 1), 0, had, false, None);
    queue.with(placed.slot, |block, view| {
        block.append(&[0; 640], 64, view);
    });
    // Four symbols are left: within what a stream may be early.
    leave(&mut queue, placed.slot, 60);
    for (sbn, hurries) in [(2, false), (3, true)] {
        queue.insert(block(0, sbn), 0, 128, hurries, Some(placed.slot));
    }
    assert_eq!(names(&queue)[1..], [(0, 1), (0, 2), (0, 3)]);
}

#[test]
fn a_priority_for_each_frame_is_not_remembered_for_ever() {
    let mut queue = SendQueue::default();
    for priority in 0..1000 {
        let (slot, _) = add(&mut queue, 0, 0, priority, 0);
        leave(&mut queue, slot, 64);
        queue.remove(slot);
    }
    assert!(queue.starts.len() <= 16, "{}", queue.starts.len());
}

proptest! {
    #[test]
    fn every_block_stays_with_its_view(steps in prop::collection::vec((0_u8..4, 0_usize..64, -2_i32..3), 1..400)) {
        let mut queue = SendQueue::default();
        let mut live: Vec<(Slot, u32)> = Vec::new();
        let mut count = 0;
        for (step, pick, priority) in steps {
            match step {
                0 | 1 => {
                    let slot = queue.insert(block(u64::from(count), 0), priority, 0, count % 3 == 0, None).slot;
                    queue.with(slot, |_, view| view.lost_once = count);
                    live.push((slot, count));
                    count += 1;
                }
                2 if !live.is_empty() => {
                    let (slot, _) = live.remove(pick % live.len());
                    queue.remove(slot);
                }
                3 if !live.is_empty() => {
                    let moved = live.iter().skip(pick % live.len()).take(3).map(|(slot, _)| *slot);
                    queue.set_priority(moved, priority, 0);
                }
                _ => {}
            }
            prop_assert_eq!(queue.views().len(), live.len());
            for (slot, number) in &live {
                let (block, view) = queue.get(*slot);
                prop_assert_eq!(block.origin().stream.index(), u64::from(*number));
                prop_assert_eq!(view.lost_once, *number);
            }
            let keys: Vec<Key> = queue.order[queue.first..].iter().map(|slot| queue.entry(*slot).key).collect();
            prop_assert!(keys.is_sorted());
        }
    }

    #[test]
    fn what_never_left_is_counted_for_each_stream(steps in prop::collection::vec((0_u8..5, 0_usize..64, 1_usize..200), 1..400)) {
        let mut queue = SendQueue::default();
        let mut live: Vec<Slot> = Vec::new();
        for (sbn, (step, pick, bytes)) in (0..).zip(steps) {
            let slot = (!live.is_empty()).then(|| pick % live.len());
            match (step, slot) {
                (0, _) => live.push(queue.insert(block(pick as u64 % 3, sbn), 0, 0, false, None).slot),
                (1, Some(at)) => {
                    queue.with(live[at], |block, view| block.append(&vec![0; bytes], 64, view));
                }
                (2 | 3, Some(at)) => {
                    let sent = bytes as u32 % 9;
                    queue.send(live[at], |_, view| view.unsent = view.unsent.saturating_sub(sent));
                }
                (4, Some(at)) => queue.remove(live.remove(at)),
                _ => {}
            }
            let mut all = 0;
            for stream in (0..3).map(|index| StreamId::new(Side::Client, Dir::Uni, index)) {
                let of_stream = live.iter().map(|slot| queue.get(*slot));
                let of_stream = of_stream.filter(|(block, _)| block.origin().stream == stream);
                let unsent = of_stream.map(|(_, view)| u64::from(view.unsent)).sum::<u64>();
                prop_assert_eq!(queue.unsent_of(stream), unsent);
                all += unsent;
            }
            prop_assert_eq!(queue.unsent(), all);
        }
        while let Some(slot) = live.pop() {
            queue.remove(slot);
        }
        prop_assert!(queue.unsent_of.is_empty(), "nothing is kept of streams without data");
    }
}
