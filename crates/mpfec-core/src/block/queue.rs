//! All blocks that the peer does not fully have, in delivery order, as the scheduler sees
//! them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use mpfec_sched::BlockView;

use super::BlockSender;
use super::undecoded::Undecoded;
use crate::id::StreamId;

/// Blocks of all streams: urgent streams first, then fair queueing by source symbol among the
/// streams of one priority. Looking up, sending and acknowledging cost the same however many
/// there are.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    /// Live from `first` on; what lies before left and is cut off now and then, so that
    /// taking blocks from the front moves nothing.
    views: Vec<BlockView>,
    /// Where the block of each view is.
    order: Vec<Slot>,
    first: usize,
    entries: Vec<Option<Entry>>,
    free: Vec<Slot>,
    version: u64,
    /// Source symbols that never left, and those of each stream that has some.
    unsent: u64,
    unsent_of: BTreeMap<StreamId, u64>,
    /// Blocks with lost symbols that can be replaced now.
    deficient: usize,
    buffered: u64,
    next_sequence: u64,
    /// The latest start of a block that began to leave: of each of some priorities, and of all.
    starts: BTreeMap<Reverse<i32>, u64>,
    latest: u64,
    /// Symbols of blocks that went first for having been idle, less those of the others.
    ahead: u32,
    /// Kept if congestion control asks for it.
    undecoded: Option<Undecoded>,
}

/// Names a block while it is in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(pub(super) u32);

/// What became of a block that was added.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) slot: Slot,
    /// Symbols that its stream counts as having had without those of this block.
    pub(crate) had: u64,
    /// It has its turn after others.
    pub(crate) waits: bool,
}

#[derive(Debug)]
struct Entry {
    block: BlockSender,
    key: Key,
    position: usize,
    /// Bytes that count as buffered.
    len: u64,
}

/// Delivery order. `start` is a start time in source symbols (start-time fair queueing): a stream
/// that comes late starts with the block that is being served, not behind all that others have
/// queued. It goes before that block, so that a message does not wait for a block of bulk
/// data of which only a part has left; so does the next one, as soon as the others have had as much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    priority: Reverse<i32>,
    start: u64,
    /// Its stream has had more than the others, or many others went first already.
    waits: bool,
    sequence: u64,
}

impl SendQueue {
    /// The blocks in delivery order.
    pub(crate) fn views(&self) -> &[BlockView] {
        &self.views[self.first..]
    }

    /// The block that `views()[index]` describes.
    pub(crate) fn slot_at(&self, index: usize) -> Option<Slot> {
        self.order.get(self.first + index).copied()
    }

    /// Changes with feedback, loss and new data, not with sending.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Source symbols that never left.
    pub(crate) fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Those of one stream.
    pub(crate) fn unsent_of(&self, stream: StreamId) -> u64 {
        self.unsent_of.get(&stream).copied().unwrap_or(0)
    }

    /// Whether symbols were lost that nothing on its way makes up for.
    pub(crate) fn has_deficits(&self) -> bool {
        self.deficient > 0
    }

    /// Whether a symbol could leave now that the peer needs.
    pub(crate) fn has_work(&self) -> bool {
        self.unsent > 0 || self.deficient > 0
    }

    /// Notes from now on which losses the code has not made up for.
    pub(crate) fn keep_undecoded(&mut self) {
        self.undecoded.get_or_insert_default();
    }

    /// Symbols lost on the path of `path_slot` that the code has not made up for; 0 unless that
    /// is noted.
    pub(crate) fn undecoded(&self, path_slot: usize) -> u32 {
        self.undecoded.as_ref().map_or(0, |undecoded| {
            undecoded.on_path(path_slot, |slot| self.get(slot).1)
        })
    }

    /// A symbol of the block was lost on the path of `path_slot`.
    pub(crate) fn note_lost(&mut self, slot: Slot, path_slot: usize) {
        if let Some(mut undecoded) = self.undecoded.take() {
            undecoded.on_lost(slot, path_slot, self.get(slot).1);
            self.undecoded = Some(undecoded);
        }
    }

    /// A symbol of the block arrived.
    pub(crate) fn note_acked(&mut self, slot: Slot) {
        if let Some(mut undecoded) = self.undecoded.take() {
            undecoded.on_acked(slot, self.get(slot).1);
            self.undecoded = Some(undecoded);
        }
    }

    /// Bytes in all blocks.
    pub(crate) fn buffered(&self) -> u64 {
        self.buffered
    }

    /// Adds an empty block of a stream that has had `had` symbols; one that `hurries` goes before
    /// what others have queued, even if its stream was never idle, and none before `after`, the newest
    /// block of its stream that has not left as a whole.
    pub(crate) fn insert(
        &mut self,
        block: BlockSender,
        priority: i32,
        had: u64,
        hurries: bool,
        after: Option<Slot>,
    ) -> Placed {
        let served = self.served(Reverse(priority));
        let is_due = had <= served.symbols + EARLY;
        let waits = !(is_due || hurries) || self.ahead >= TURN;
        let had = had.max(served.symbols);
        let start = if waits { had } else { served.start };
        let own = after.map(|slot| self.entry(slot).key);
        let (start, waits) = own.map_or((start, waits), |own| {
            (start, waits).max((own.start, own.waits))
        });
        let key = Key {
            priority: Reverse(priority),
            start,
            waits,
            sequence: self.next_sequence,
        };
        self.next_sequence += 1;
        let entry = Entry {
            block,
            key,
            position: 0,
            len: 0,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot.0 as usize] = Some(entry);
                slot
            }
            None => {
                self.entries.push(Some(entry));
                Slot(self.entries.len() as u32 - 1)
            }
        };
        self.place(slot, key, BlockView::default());
        Placed { slot, had, waits }
    }

    /// What is being served: the first block of this priority that has not left as a whole.
    fn served(&self, priority: Reverse<i32>) -> Served {
        let blocks = self.order[self.first..].iter().zip(self.views());
        let first = blocks
            .filter(|(_, view)| view.unsent > 0)
            .map(|(slot, view)| (self.entry(*slot).key, view))
            .skip_while(|(key, _)| key.priority < priority)
            .take_while(|(key, _)| key.priority == priority)
            .next();
        let (start, left) = match first {
            Some((key, view)) => (key.start, view.source_symbols - view.unsent),
            None => (*self.starts.get(&priority).unwrap_or(&self.latest), 0),
        };
        Served {
            start,
            symbols: start + u64::from(left),
        }
    }

    /// Changes a block together with its view.
    pub(crate) fn with<R>(
        &mut self,
        slot: Slot,
        change: impl FnOnce(&mut BlockSender, &mut BlockView) -> R,
    ) -> R {
        self.version += 1;
        self.change(slot, change)
    }

    /// The same for sending, which leaves the version as it is.
    pub(crate) fn send<R>(
        &mut self,
        slot: Slot,
        change: impl FnOnce(&mut BlockSender, &mut BlockView) -> R,
    ) -> R {
        let (before, symbols) = {
            let view = self.get(slot).1;
            (view.unsent, view.source_symbols)
        };
        let key = self.entry(slot).key;
        if before == symbols {
            self.begin(key);
        }
        let result = self.change(slot, change);
        let left = before.saturating_sub(self.get(slot).1.unsent);
        self.ahead = if key.waits {
            self.ahead.saturating_sub(left)
        } else {
            self.ahead.saturating_add(left).min(TURN)
        };
        result
    }

    /// A block begins to leave.
    fn begin(&mut self, key: Key) {
        let is_known = self.starts.contains_key(&key.priority);
        if !is_known && self.starts.len() >= MOST_PRIORITIES {
            self.starts.pop_first();
        }
        let start = self.starts.entry(key.priority).or_default();
        *start = key.start.max(*start);
        self.latest = key.start.max(self.latest);
    }

    fn change<R>(
        &mut self,
        slot: Slot,
        change: impl FnOnce(&mut BlockSender, &mut BlockView) -> R,
    ) -> R {
        let entry = self.entries[slot.0 as usize].as_mut().expect(LIVE);
        let view = &mut self.views[entry.position];
        let has_repair = entry.block.origin().codec.has_repair();
        let (unsent, deficient) = (view.unsent, is_deficient(view, has_repair));
        let result = change(&mut entry.block, view);
        let left = view.unsent;
        self.deficient =
            self.deficient - usize::from(deficient) + usize::from(is_deficient(view, has_repair));
        let len = entry.block.len() as u64;
        self.buffered = self.buffered - entry.len + len;
        entry.len = len;
        let stream = entry.block.origin().stream;
        self.count_unsent(stream, unsent, left);
        result
    }

    /// A block and its view.
    pub(crate) fn get(&self, slot: Slot) -> (&BlockSender, &BlockView) {
        let entry = self.entry(slot);
        (&entry.block, &self.views[entry.position])
    }

    /// Takes a block out.
    pub(crate) fn remove(&mut self, slot: Slot) {
        self.version += 1;
        if let Some(undecoded) = &mut self.undecoded {
            undecoded.forget(slot);
        }
        let view = self.displace(slot);
        let Some(entry) = self.entries[slot.0 as usize].take() else {
            return;
        };
        self.count_unsent(entry.block.origin().stream, view.unsent, 0);
        self.deficient -= usize::from(is_deficient(&view, entry.block.origin().codec.has_repair()));
        self.buffered -= entry.len;
        self.free.push(slot);
    }

    /// Moves the blocks of a stream that has had `had` symbols to where their new priority puts
    /// them. They begin with what is being served there: what streams of two priorities have had
    /// does not compare. Returns what the stream counts as having had from now on.
    pub(crate) fn set_priority(
        &mut self,
        slots: impl Iterator<Item = Slot>,
        priority: i32,
        had: u64,
    ) -> u64 {
        self.version += 1;
        let mut first = had;
        let mut moved = Vec::new();
        for slot in slots {
            let view = self.displace(slot);
            if view.unsent > 0 {
                first = first.min(self.entry(slot).key.start);
            }
            moved.push((slot, view));
        }
        let served = self.served(Reverse(priority)).start;
        let there = |start: u64| (served + start).saturating_sub(first);
        for (slot, view) in moved {
            let entry = self.entries[slot.0 as usize].as_mut().expect(LIVE);
            entry.key.priority = Reverse(priority);
            entry.key.start = there(entry.key.start);
            let key = entry.key;
            self.place(slot, key, view);
        }
        there(had)
    }

    /// Of a block of this stream `now` symbols never left, which were `before`.
    fn count_unsent(&mut self, stream: StreamId, before: u32, now: u32) {
        if before == now {
            return;
        }
        let (before, now) = (u64::from(before), u64::from(now));
        self.unsent = self.unsent - before + now;
        let of_stream = self.unsent_of.entry(stream).or_default();
        *of_stream = *of_stream - before + now;
        if *of_stream == 0 {
            self.unsent_of.remove(&stream);
        }
    }

    fn entry(&self, slot: Slot) -> &Entry {
        self.entries[slot.0 as usize].as_ref().expect(LIVE)
    }

    /// Puts a view where its key belongs.
    fn place(&mut self, slot: Slot, key: Key, view: BlockView) {
        self.version += 1;
        let is_last = self.order[self.first..]
            .last()
            .is_none_or(|last| self.entry(*last).key < key);
        let position = if is_last {
            self.order.len()
        } else {
            self.first
                + self.order[self.first..].partition_point(|slot| self.entry(*slot).key < key)
        };
        self.views.insert(position, view);
        self.order.insert(position, slot);
        self.renumber(position..self.order.len());
    }

    /// Takes a view out, moving what is on its shorter side.
    fn displace(&mut self, slot: Slot) -> BlockView {
        let position = self.entry(slot).position;
        if position - self.first >= self.order.len() - position {
            self.order.remove(position);
            let view = self.views.remove(position);
            self.renumber(position..self.order.len());
            return view;
        }
        self.order[self.first..=position].rotate_right(1);
        self.views[self.first..=position].rotate_right(1);
        let view = self.views[self.first].clone();
        self.first += 1;
        self.renumber(self.first..position + 1);
        if self.first >= 32 && self.first * 2 >= self.order.len() {
            self.order.drain(..self.first);
            self.views.drain(..self.first);
            self.first = 0;
            self.renumber(0..self.order.len());
        }
        view
    }

    fn renumber(&mut self, positions: std::ops::Range<usize>) {
        for position in positions {
            let slot = self.order[position];
            self.entries[slot.0 as usize].as_mut().expect(LIVE).position = position;
        }
    }
}

/// Whether symbols were lost that can be replaced: with a code not before K is known.
fn is_deficient(view: &BlockView, has_repair: bool) -> bool {
    (view.closed || !has_repair) && view.deficit() > 0
}

/// How far the streams of a priority are.
#[derive(Debug, Clone, Copy)]
struct Served {
    /// Where the block starts that is leaving.
    start: u64,
    /// The same, and what of it has left.
    symbols: u64,
}

/// Priorities whose starts are kept. An application that gives each frame one of its own has more,
/// and those count from the latest start of all.
const MOST_PRIORITIES: usize = 16;

/// Symbols that a stream may have had more than the others and not wait for them.
const EARLY: u64 = 8;

/// Symbols that may go first for having come late before others have their turn: about a block.
const TURN: u32 = 64;

const LIVE: &str = "slots of blocks are forgotten when the block leaves the queue";

#[cfg(test)]
mod tests;
