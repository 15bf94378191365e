//! The sending half of a stream: bytes cut into blocks, and which of them the peer has.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mpfec_codec::pipeline::PipelineCode;
use mpfec_codec::{CodecKind, SymbolSize};
use mpfec_sched::BlockView;

use super::event::WriteError;
use super::flow::SendCredit;
use crate::block::{BlockSender, Origin, SendQueue, Slot};
use crate::id::StreamId;

/// What the streams of a connection share on the sending side.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) queue: SendQueue,
    pub(super) credit: SendCredit,
    pub(super) codec: CodecKind,
    /// How packets are coded before they leave, if they are.
    pub(super) pipeline: Option<PipelineCode>,
    /// Source symbols of the next block at most, of a code with small groups.
    pub(super) group: Option<u32>,
    /// Slots of paths that carry combinations where a batch is coded: one bit each.
    pub(super) coded_slots: u8,
    /// T of new blocks.
    pub(super) symbol_size: SymbolSize,
    /// Source symbols in a block at most, as configured and as the peer allows.
    pub(super) max_symbols: u32,
    pub(super) peer_max_symbols: u32,
    /// Bytes that blocks may hold, now and at most.
    pub(super) buffer: u64,
    pub(super) most_buffer: u64,
    /// With so many symbols that never left no block begins: what waits here longer than the paths
    /// need is late, and where blocks are small groups they are to follow what is known of the
    /// paths.
    pub(super) lead: u64,
    /// Writers that have more than there was room for.
    pub(super) waiting: usize,
    /// Numbers of blocks from the first that the peer may lack on, over all streams, and how
    /// many there may be.
    pub(super) live_blocks: usize,
    pub(super) max_blocks: usize,
    /// Blocks of streams with a deadline that nobody has told the time since they began.
    pub(super) undated: Vec<(StreamId, u64)>,
}

/// One stream that we write.
#[derive(Debug)]
pub(super) struct SendStream {
    id: StreamId,
    pub(super) priority: i32,
    /// How soon the peer should be able to read what is written.
    pub(super) deadline: Option<Duration>,
    pub(super) credit: SendCredit,
    pub(super) state: SendState,
    /// Blocks from number `first_sbn` on; `None`: the peer has it.
    blocks: VecDeque<Option<Slot>>,
    first_sbn: u64,
    /// The last block takes more bytes.
    is_open: bool,
    /// The last write ended where flow control does: more data wait.
    awaits_credit: bool,
    /// Blocks of an abandoned stream: the peer holds what it has of them until it hears of it.
    abandoned: usize,
    /// Source symbols that it has had of what streams of its priority share, without those of its
    /// last block.
    had: u64,
    /// Where that begins in the stream, `None` if it has cost nothing.
    charged_from: Option<u64>,
    /// STREAM_FIN is due or under way.
    pub(super) has_fin_frame: bool,
}

/// How far a sending half has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendState {
    /// It takes data.
    Open,
    /// All was written. `known`: the peer knows where it ends.
    Ending { known: bool },
    /// The peer has all of it.
    Finished,
    /// Abandoned with `code`, on the peer's wish if `stopped`.
    Reset { code: u64, stopped: bool },
}

/// Why a write took less than it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Too much is buffered.
    Buffer,
    /// Flow control of the stream.
    StreamWindow,
    /// Flow control of the connection.
    ConnectionWindow,
}

impl Shared {
    /// What stands in the way of writing to a stream.
    pub(super) fn obstacle(&self, stream: &SendStream) -> Option<Obstacle> {
        if stream.credit.left() == 0 {
            Some(Obstacle::StreamWindow)
        } else if self.credit.left() == 0 {
            Some(Obstacle::ConnectionWindow)
        } else if self.buffer_room(stream) == 0
            || self.is_ahead(stream)
            || self.live_blocks >= self.max_blocks
        {
            Some(Obstacle::Buffer)
        } else {
            None
        }
    }

    /// Source symbols in a block at most: so few that there would not be too many if the block
    /// had to be cut anew for a path of the smallest size.
    fn max_symbols_of(&self, size: SymbolSize) -> u32 {
        let least = self.peer_max_symbols as usize * SMALLEST_SYMBOL / size.bytes();
        self.max_symbols.min(least as u32).max(1)
    }

    /// Whether enough waits to leave.
    pub(super) fn is_full(&self) -> bool {
        self.queue.unsent() >= self.lead
    }

    /// Whether so little waits that it is worth to have writers go on: not for each block.
    pub(super) fn is_low(&self) -> bool {
        self.queue.unsent() < self.lead - self.lead / 8
    }

    /// Whether the buffer has so much room that it is worth to have writers go on: not for each
    /// byte.
    pub(super) fn is_roomy(&self) -> bool {
        self.queue.buffered() < self.buffer - self.buffer / 8
    }

    /// Whether enough waits to leave for a stream to begin no block: not where it would be in a
    /// hurry.
    fn is_ahead(&self, stream: &SendStream) -> bool {
        if self.group.is_some() {
            return self.is_full();
        }
        if !self.is_full() {
            // What one of several takes the others cannot have.
            let share = self.lead / self.waiting.clamp(1, MOST_SHARES) as u64;
            return self.waiting > 1 && self.queue.unsent_of(stream.id) >= share;
        }
        let reserve = HURRIED / self.symbol_size.bytes() as u64;
        self.queue.unsent() >= self.lead.saturating_add(reserve)
            || stream.deadline.is_none() && stream.under_way(self) >= MESSAGE
    }

    fn room(&self, stream: &SendStream) -> u64 {
        let buffer = self.buffer_room(stream);
        buffer.min(stream.credit.left()).min(self.credit.left())
    }

    /// Bytes that the buffer takes of a stream. Where little of it is under way there is some
    /// room beyond, for a message, or what has a deadline, must not wait for bulk data to leave the
    /// buffer.
    fn buffer_room(&self, stream: &SendStream) -> u64 {
        let buffered = self.queue.buffered();
        let mut room = self.buffer.saturating_sub(buffered);
        let message = match stream.deadline {
            Some(_) => u64::MAX,
            None => MESSAGE.saturating_sub(stream.under_way(self)),
        };
        if self.is_full() && self.group.is_none() && !stream.is_open {
            room = room.min(message);
        }
        if room >= message {
            return room;
        }
        let reserve = self.buffer + self.buffer / 8;
        room.max(reserve.saturating_sub(buffered).min(message))
    }
}

impl SendStream {
    pub(super) fn new(id: StreamId, limit: u64) -> Self {
        Self {
            id,
            priority: 0,
            deadline: None,
            credit: SendCredit::new(limit),
            state: SendState::Open,
            blocks: VecDeque::new(),
            first_sbn: 0,
            is_open: false,
            awaits_credit: false,
            abandoned: 0,
            had: 0,
            charged_from: None,
            has_fin_frame: false,
        }
    }

    /// Whether a write makes sense.
    pub(super) fn check_writable(&self) -> Result<(), WriteError> {
        match self.state {
            SendState::Open => Ok(()),
            SendState::Reset {
                code,
                stopped: true,
            } => Err(WriteError::Stopped(code)),
            _ => Err(WriteError::Closed),
        }
    }

    /// Copies bytes into blocks as far as buffer and windows allow. Returns how many.
    pub(super) fn write(&mut self, data: &[u8], shared: &mut Shared) -> usize {
        let room = usize::try_from(shared.room(self)).unwrap_or(usize::MAX);
        let offered = data.len();
        let data = &data[..offered.min(room)];
        let mut taken = 0;
        while taken < data.len() {
            let Some(slot) = self.open_block(shared) else {
                break;
            };
            let origin = shared.queue.get(slot).0.origin();
            let max_symbols = shared.max_symbols_of(origin.symbol_size);
            let max_symbols = origin
                .group
                .map_or(max_symbols, |group| group.min(max_symbols));
            let (bytes, is_full) = shared.queue.with(slot, |block, view| {
                let bytes = block.append(&data[taken..], max_symbols, view);
                (bytes, block.is_full(max_symbols))
            });
            taken += bytes;
            self.credit.take(bytes as u64);
            shared.credit.take(bytes as u64);
            if is_full {
                self.close_block(shared);
            }
        }
        let is_out_of_credit = self.credit.left() == 0 || shared.credit.left() == 0;
        self.awaits_credit = taken < offered && is_out_of_credit;
        taken
    }

    /// The open block; a new one if there is none and there may be one.
    fn open_block(&mut self, shared: &mut Shared) -> Option<Slot> {
        if self.is_open {
            return self.blocks.back().copied().flatten();
        }
        if shared.live_blocks >= shared.max_blocks || shared.is_ahead(self) {
            return None;
        }
        let origin = Origin {
            stream: self.id,
            sbn: self.next_sbn(),
            offset: self.credit.used(),
            symbol_size: shared.symbol_size,
            codec: shared.codec,
            group: shared.group,
        };
        let block = BlockSender::new(origin, shared.pipeline.clone());
        if let Some(Some(before)) = self.blocks.back() {
            shared.queue.with(*before, |_, view| view.last = false);
        }
        let hurries = self.deadline.is_some();
        let had = self.had(shared.symbol_size);
        let queue = &mut shared.queue;
        let mut blocks = self.blocks.iter().rev().copied().flatten();
        let after = match queue.unsent_of(self.id) {
            0 => None,
            _ => blocks.find(|slot| queue.get(*slot).1.unsent > 0),
        };
        let placed = queue.insert(block, self.priority, had, hurries, after);
        let slot = placed.slot;
        self.had = placed.had;
        // What may go first for its hurry is not held against its stream.
        let is_charged = placed.waits || !hurries;
        self.charged_from = is_charged.then(|| self.credit.used());
        let is_head = self.blocks.is_empty();
        shared.queue.with(slot, |_, view| {
            view.last = true;
            view.head = is_head;
        });
        if self.deadline.is_some() {
            shared.undated.push((self.id, self.next_sbn()));
        }
        self.blocks.push_back(Some(slot));
        shared.live_blocks += 1;
        self.is_open = true;
        Some(slot)
    }

    /// Source symbols that it has had, its last block included.
    fn had(&self, size: SymbolSize) -> u64 {
        let last = self
            .charged_from
            .map_or(0, |from| self.credit.used() - from);
        self.had + last.div_ceil(size.bytes() as u64)
    }

    /// The number that the next block gets.
    pub(super) fn next_sbn(&self) -> u64 {
        self.first_sbn + self.blocks.len() as u64
    }

    /// Where a block is, unless the peer has it.
    pub(super) fn slot(&self, sbn: u64) -> Option<Slot> {
        let index = usize::try_from(sbn.checked_sub(self.first_sbn)?).ok()?;
        self.blocks.get(index).copied().flatten()
    }

    /// Whether the last block takes more bytes.
    pub(super) fn has_open_block(&self) -> bool {
        self.is_open
    }

    /// The open block closed because its last, short symbol left.
    pub(super) fn on_block_closed(&mut self) {
        self.is_open = false;
    }

    /// The open block, if all of it has left.
    fn idle_block<'a>(&self, shared: &'a Shared) -> Option<&'a BlockView> {
        let slot = self.blocks.back().copied().flatten()?;
        let (_, view) = shared.queue.get(slot);
        (self.is_open && view.unsent == 0).then_some(view)
    }

    /// Whether all of the open block has left.
    pub(super) fn has_idle_block(&self, shared: &Shared) -> bool {
        self.idle_block(shared).is_some()
    }

    /// Until when the open block, of which all has left, is worth keeping open: while the peer's
    /// next credit brings more data for it, which one repair symbol then protects together.
    pub(super) fn keeps_open_until(&self, patience: Duration, shared: &Shared) -> Option<Instant> {
        let view = self.idle_block(shared)?;
        let gains = shared.codec.has_repair() && shared.group.is_none();
        let is_filled_later = gains && self.awaits_credit && self.deadline.is_none();
        let first_sent = view.first_sent.filter(|_| is_filled_later)?;
        Some(first_sent + patience)
    }

    /// Ends the open block. Returns whether there was one.
    pub(super) fn close_block(&mut self, shared: &mut Shared) -> bool {
        if !std::mem::take(&mut self.is_open) {
            return false;
        }
        if let Some(Some(slot)) = self.blocks.back().copied() {
            let is_complete = shared.queue.with(slot, BlockSender::close);
            if is_complete {
                self.complete(self.next_sbn() - 1, shared);
            }
        }
        true
    }

    /// Nothing more will be written. Returns whether a symbol will tell the peer.
    pub(super) fn finish(&mut self, shared: &mut Shared) -> bool {
        self.state = SendState::Ending { known: false };
        self.close_block(shared);
        let last = self.blocks.back().copied().flatten();
        last.is_some_and(|slot| shared.queue.with(slot, BlockSender::set_fin))
    }

    /// Abandons all blocks.
    pub(super) fn reset(&mut self, code: u64, stopped: bool, shared: &mut Shared) {
        let held = self.blocks.len();
        self.drop_blocks(shared);
        self.abandoned = held;
        shared.live_blocks += held;
        self.state = SendState::Reset { code, stopped };
    }

    /// The peer has all blocks.
    pub(super) fn drop_blocks(&mut self, shared: &mut Shared) {
        self.first_sbn = self.next_sbn();
        self.is_open = false;
        shared.live_blocks -= self.blocks.len() + std::mem::take(&mut self.abandoned);
        for slot in self.blocks.drain(..).flatten() {
            shared.queue.remove(slot);
        }
    }

    /// The peer has block `sbn`.
    pub(super) fn complete(&mut self, sbn: u64, shared: &mut Shared) {
        let Some(slot) = self.slot(sbn) else {
            return;
        };
        let index = (sbn - self.first_sbn) as usize;
        self.blocks[index] = None;
        let was_last = shared.queue.get(slot).1.last;
        shared.queue.remove(slot);
        while let Some(None) = self.blocks.front() {
            self.blocks.pop_front();
            self.first_sbn += 1;
            shared.live_blocks -= 1;
        }
        if index == 0
            && let Some(Some(head)) = self.blocks.front()
        {
            shared.queue.with(*head, |_, view| view.head = true);
        }
        if was_last {
            let before = self.blocks.iter().take(index).rev().find_map(|slot| *slot);
            if let Some(before) = before {
                shared.queue.with(before, |_, view| view.last = true);
            }
        }
    }

    /// Bytes from the first that the peer may lack on.
    fn under_way(&self, shared: &Shared) -> u64 {
        let first = self.blocks.front().copied().flatten();
        let start = first.map(|slot| shared.queue.get(slot).0.origin().offset);
        start.map_or(0, |start| self.credit.used().saturating_sub(start))
    }

    /// Bytes that the peer is known to have, `None` if it needs none any more.
    pub(super) fn acknowledged(&self, shared: &Shared) -> Option<u64> {
        if matches!(self.state, SendState::Reset { .. }) {
            return None;
        }
        let blocks = self.blocks.iter().flatten();
        let lacking = blocks.map(|slot| {
            let (block, view) = shared.queue.get(*slot);
            block.lacking(view)
        });
        Some(self.credit.used().saturating_sub(lacking.sum()))
    }

    /// Whether the peer has every block.
    pub(super) fn has_no_blocks(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether so much has left that the peer could have everything.
    pub(super) fn may_be_complete(&self, shared: &Shared) -> bool {
        !self.is_open
            && self.blocks.iter().flatten().all(|slot| {
                let (block, view) = shared.queue.get(*slot);
                block.may_be_decoded(view)
            })
    }

    /// Data go first from now on, or after others.
    pub(super) fn set_priority(&mut self, priority: i32, shared: &mut Shared) {
        if self.priority == priority {
            return;
        }
        self.priority = priority;
        let had = self.had(shared.symbol_size);
        let blocks = self.blocks.iter().flatten().copied();
        self.had = shared.queue.set_priority(blocks, priority, had);
        self.charged_from = self.charged_from.map(|_| self.credit.used());
    }

    /// A block of a stream with a deadline began at `now`.
    pub(super) fn date(&self, sbn: u64, now: Instant, shared: &mut Shared) {
        if let (Some(slot), Some(deadline)) = (self.slot(sbn), self.deadline) {
            let due = now.checked_add(deadline);
            shared.queue.with(slot, |_, view| view.due = due);
        }
    }

    /// Cuts blocks anew whose symbols are larger than `largest`, and those of which nothing
    /// left yet if their symbols are larger than those of new blocks.
    pub(super) fn cut_blocks(&self, largest: SymbolSize, shared: &mut Shared) {
        let (size, max_symbols) = (shared.symbol_size.min(largest), shared.peer_max_symbols);
        for slot in self.blocks.iter().flatten() {
            let block = shared.queue.get(*slot).0;
            if block.is_untouched() || block.origin().symbol_size > largest {
                shared
                    .queue
                    .with(*slot, |block, view| block.cut(size, max_symbols, view));
            }
        }
    }
}

/// Bytes of a message that needs no room in a full buffer.
const MESSAGE: u64 = 16 << 10;

/// Bytes that messages and streams with a deadline may be further ahead of what leaves than
/// bulk data, all together.
const HURRIED: u64 = 1 << 20;

/// Where more streams than this have data, one may take as much of what waits to leave as if
/// there were so many: some of them may not go on.
const MOST_SHARES: usize = 4;

/// Bytes of a symbol for which every path has room.
const SMALLEST_SYMBOL: usize = 1000;
