//! The data plane: streams as the application sees them, cut into blocks whose symbols
//! schedulers place on paths.
//!
//! [`Streams`] is one value per connection. Commands of the application are in `commands`, what
//! the peer says in `input`, what leaves in `output`, what became of it in `feedback`, and how
//! large symbols are in `sizes`. What all of them need is in this file.

mod blocked;
mod commands;
mod control;
mod count;
mod event;
mod feedback;
mod flow;
mod input;
mod output;
mod ready;
mod recv;
mod send;
mod sizes;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use mpfec_codec::pipeline::PipelineCode;
use mpfec_codec::{CodecKind, SymbolSize};

use crate::block::{MAX_SOURCE_SYMBOLS, SendQueue, max_source_symbols};
use crate::config::TransportConfig;
use crate::id::{Dir, Side, StreamId};

use self::blocked::BlockedWriters;
use self::control::{Control, Pending};
use self::count::{ByDir, LocalStreams, RemoteStreams};
pub(crate) use self::flow::Rounds;
use self::flow::{ReceiveCredit, SendCredit};
use self::recv::RecvStream;
use self::send::{Obstacle, SendState, SendStream};

pub use self::event::{ReadError, StreamEvent, StreamStats, WriteError};

/// Blocks of which something has arrived and that wait for the rest, over all streams of a
/// connection: what we tell the peer, and hold it to.
pub(crate) const MAX_PENDING_BLOCKS: u32 = 4096;

/// All streams of a connection.
#[derive(Debug)]
pub(crate) struct Streams {
    side: Side,
    send: BTreeMap<StreamId, SendStream>,
    recv: BTreeMap<StreamId, RecvStream>,
    sending: send::Shared,
    receiving: recv::Shared,
    local: ByDir<LocalStreams>,
    remote: ByDir<RemoteStreams>,
    /// Initial limits that the peer set on streams, and the window of each that it opens.
    peer: StreamLimits,
    window: Window,
    /// No block has larger symbols.
    largest_symbol: SymbolSize,
    /// Streams whose last block takes more bytes.
    open_blocks: BTreeSet<StreamId>,
    /// When a block is ended that stays open while nothing else is to be sent.
    next_block_close: Option<Instant>,
    writers: BlockedWriters,
    pending: Pending,
    events: VecDeque<StreamEvent>,
    stats: StreamStats,
    /// The peer has got a whole block since that was asked last.
    has_completed: bool,
}

/// What the peer's transport parameters say about streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StreamLimits {
    /// Bytes on all streams.
    pub(crate) max_data: u64,
    /// Bytes on each bidirectional stream that the peer opens.
    pub(crate) bidi_local: u64,
    /// Bytes on each bidirectional stream that we open.
    pub(crate) bidi_remote: u64,
    /// Bytes on each unidirectional stream that we open.
    pub(crate) uni: u64,
    /// Bidirectional streams that we open.
    pub(crate) streams_bidi: u64,
    /// Unidirectional streams that we open.
    pub(crate) streams_uni: u64,
    /// Source symbols in a block.
    pub(crate) max_block_symbols: u16,
    /// Incomplete blocks over all streams.
    pub(crate) max_pending_blocks: u32,
    /// What the coefficients follow from if it codes packets as a pipeline.
    pub(crate) pipeline_seed: Option<u64>,
    /// Bytes to which its windows may grow; 0: they do not.
    pub(crate) max_window: u64,
}

/// The window of each stream that the peer writes: the first one, and the largest.
#[derive(Debug, Clone, Copy)]
struct Window {
    first: u64,
    most: u64,
}

impl Window {
    fn stream(self) -> RecvStream {
        RecvStream::new(self.first, self.most)
    }
}

impl Streams {
    pub(crate) fn new(side: Side, config: &TransportConfig) -> Self {
        Self {
            side,
            send: BTreeMap::new(),
            recv: BTreeMap::new(),
            sending: send::Shared {
                queue: SendQueue::default(),
                credit: SendCredit::default(),
                codec: config.profile.codec,
                pipeline: None,
                group: config.profile.codec.max_group(),
                coded_slots: u8::MAX,
                symbol_size: FIRST_SYMBOL_SIZE,
                max_symbols: u32::from(config.max_block_symbols)
                    .min(config.profile.max_block_symbols())
                    .clamp(1, MAX_SOURCE_SYMBOLS),
                peer_max_symbols: 1,
                buffer: config.send_buffer,
                most_buffer: config.send_buffer,
                lead: u64::MAX,
                waiting: 0,
                live_blocks: 0,
                max_blocks: 1,
                undated: Vec::new(),
            },
            receiving: recv::Shared {
                credit: ReceiveCredit::new(
                    config.first_connection_window(),
                    config.connection_window,
                ),
                ready: 0,
                rounds: Rounds::even(Duration::ZERO),
                pending_blocks: 0,
                pipeline: None,
            },
            local: ByDir::default(),
            remote: ByDir {
                bi: RemoteStreams::new(config.max_streams_bidi),
                uni: RemoteStreams::new(config.max_streams_uni),
            },
            peer: StreamLimits::default(),
            window: Window {
                first: config.first_stream_window(),
                most: config.stream_window,
            },
            largest_symbol: FIRST_SYMBOL_SIZE,
            open_blocks: BTreeSet::new(),
            next_block_close: None,
            writers: BlockedWriters::default(),
            pending: Pending::default(),
            events: VecDeque::new(),
            stats: StreamStats::default(),
            has_completed: false,
        }
    }

    /// Takes the peer's limits; before, no stream can be opened.
    pub(crate) fn set_peer_limits(&mut self, limits: &StreamLimits) {
        self.peer = *limits;
        self.sending.credit.raise(limits.max_data);
        let most = max_source_symbols(self.sending.codec);
        let max_symbols = u32::from(limits.max_block_symbols).clamp(1, most);
        self.receiving.pipeline = limits.pipeline_seed.map(PipelineCode::new);
        self.sending.max_symbols = self.sending.max_symbols.min(max_symbols);
        self.sending.peer_max_symbols = max_symbols;
        self.sending.max_blocks = limits.max_pending_blocks.max(1) as usize;
        self.raise_streams(Dir::Bi, limits.streams_bidi);
        self.raise_streams(Dir::Uni, limits.streams_uni);
    }

    /// Packets are coded as a pipeline before they leave, with the coefficients of `seed`, which
    /// the peer is told.
    pub(crate) fn set_pipeline_seed(&mut self, seed: u64) {
        self.sending.pipeline = Some(PipelineCode::new(seed));
    }

    /// Which paths carry combinations where a batch is coded on some only: a bit for each slot.
    pub(crate) fn set_coded_slots(&mut self, slots: u8) {
        if self.sending.codec == CodecKind::BatchMixed {
            self.sending.coded_slots = slots;
        }
    }

    /// Source symbols of blocks that begin from now on at most, of a code with small groups, and
    /// bytes that writers may be ahead of what leaves: blocks begin when they are written.
    pub(crate) fn set_groups(&mut self, symbols: u32, lead: u64) {
        let Some(most) = self.sending.codec.max_group() else {
            return;
        };
        self.sending.group = Some(symbols.clamp(1, most));
        let size = self.sending.symbol_size.bytes() as u64;
        self.sending.lead = (lead / size).max(2 * u64::from(most));
        if !self.sending.is_full() {
            self.wake_writers();
        }
    }

    /// Bytes that writers may be ahead of what leaves, of a code without small groups.
    pub(crate) fn set_lead(&mut self, bytes: u64) {
        if self.sending.codec.max_group().is_some() {
            return;
        }
        let size = self.sending.symbol_size.bytes() as u64;
        // Writers go on when a block has left: until then there must be another one.
        let lead = (bytes / size).max(2 * u64::from(self.sending.max_symbols));
        let was_full = self.sending.is_full();
        let before = std::mem::replace(&mut self.sending.lead, lead);
        if was_full && before < lead && self.sending.is_low() {
            self.wake_writers();
        }
    }

    /// Bytes that blocks may hold, as far as the configuration lets them.
    pub(crate) fn set_buffer(&mut self, bytes: u64) {
        let buffer = bytes.min(self.sending.most_buffer);
        let before = std::mem::replace(&mut self.sending.buffer, buffer);
        // With less room, writers go on when a block has arrived.
        if before < buffer && self.sending.is_roomy() {
            self.wake_writers();
        }
    }

    /// How long data of the peer take that are not lost: windows follow it.
    pub(crate) fn set_rounds(&mut self, rounds: Rounds) {
        self.receiving.rounds = rounds;
    }

    /// Bytes that the peer may send now beyond what was read, on all streams.
    pub(crate) fn receive_window(&self) -> u64 {
        self.receiving.credit.window()
    }

    /// Bytes that writers may be ahead of what leaves now.
    pub(crate) fn lead(&self) -> u64 {
        let lead = self
            .sending
            .lead
            .saturating_mul(self.sending.symbol_size.bytes() as u64);
        lead.min(self.sending.buffer)
    }

    /// What the application should know next.
    pub(crate) fn poll_event(&mut self) -> Option<StreamEvent> {
        for dir in [Dir::Bi, Dir::Uni] {
            if self.remote.get_mut(dir).take_news() {
                return Some(StreamEvent::Opened { dir });
            }
        }
        self.events.pop_front()
    }

    /// Bytes of a stream that the peer is known to have, while it is written.
    pub(crate) fn acknowledged(&self, id: StreamId) -> Option<u64> {
        self.send.get(&id)?.acknowledged(&self.sending)
    }

    /// Counters since the connection began.
    pub(crate) fn stats(&self) -> StreamStats {
        self.stats
    }

    fn raise_streams(&mut self, dir: Dir, limit: u64) {
        if self.local.get_mut(dir).raise(limit) {
            self.events.push_back(StreamEvent::Available { dir });
        }
    }

    /// Tells writers that can go on, and the peer of those that wait for the connection's window
    /// now. Of a stream's own it tells in time: who reads the stream makes it free.
    fn wake_writers(&mut self) {
        let (sending, send, pending) = (&self.sending, &self.send, &mut self.pending);
        let woken = self.writers.wake(
            |id| sending.obstacle(send.get(&id)?),
            |obstacle| {
                if obstacle == Obstacle::ConnectionWindow {
                    pending.insert(Control::DataBlocked);
                }
            },
        );
        self.sending.waiting = self.writers.waiting();
        self.events.extend(
            woken
                .into_iter()
                .map(|stream| StreamEvent::Writable { stream }),
        );
    }

    /// Tells the reader of a stream, once, that a read would not be blocked.
    fn wake_reader(&mut self, id: StreamId) {
        if let Some(stream) = self.recv.get_mut(&id)
            && stream.notify
            && stream.is_readable()
        {
            stream.notify = false;
            self.events.push_back(StreamEvent::Readable { stream: id });
        }
    }

    fn abandon(&mut self, id: StreamId, code: u64, stopped: bool) {
        let Some(stream) = self.send.get_mut(&id) else {
            return;
        };
        stream.reset(code, stopped, &mut self.sending);
        self.open_blocks.remove(&id);
        self.writers.remove(id);
        self.sending.waiting = self.writers.waiting();
        self.pending.remove(Control::StreamFin { stream: id });
        self.pending.insert(Control::ResetStream { stream: id });
        self.wake_writers();
    }

    fn forget_send(&mut self, id: StreamId) {
        if let Some(mut stream) = self.send.remove(&id) {
            stream.drop_blocks(&mut self.sending);
            self.open_blocks.remove(&id);
            self.writers.remove(id);
            self.sending.waiting = self.writers.waiting();
            self.on_half_closed(id);
        }
    }

    fn forget_recv_if_over(&mut self, id: StreamId) {
        if self.recv.get(&id).is_some_and(RecvStream::is_over) {
            self.forget_recv(id);
        }
    }

    /// Whether a stream of the peer's has begun and not ended.
    pub(crate) fn expects_data(&self) -> bool {
        self.recv.values().any(RecvStream::expects_data)
    }

    fn forget_recv(&mut self, id: StreamId) {
        if self.recv.remove(&id).is_some() {
            self.on_half_closed(id);
        }
    }

    /// Lets the peer open one more stream if both halves of one of its are over.
    fn on_half_closed(&mut self, id: StreamId) {
        if id.initiator() == self.side || self.send.contains_key(&id) || self.recv.contains_key(&id)
        {
            return;
        }
        if self.remote.of(id).close() {
            self.pending.insert(Control::MaxStreams { dir: id.dir() });
        }
    }
}

/// T until paths are known: fits into the smallest datagram.
const FIRST_SYMBOL_SIZE: SymbolSize = SymbolSize::new(1100).expect("1100 is in range");
