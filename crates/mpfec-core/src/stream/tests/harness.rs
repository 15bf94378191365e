//! Two `Streams` and a network between them, without packets' protection, paths or time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mpfec_codec::CodecKind;
use mpfec_sched::SymbolKind;

use crate::component::{FrameWriter, Tokens};
use crate::config::TransportConfig;
use crate::id::{Side, StreamId};
use crate::rng::Rng;
use crate::stream::{
    MAX_PENDING_BLOCKS, ReadError, StreamEvent, StreamLimits, Streams, WriteError,
};
use crate::wire::frame::Frames;

/// What the network does to packets, each in percent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    pub(super) loss: u64,
    /// Packets that are given up although they arrive.
    pub(super) spurious: u64,
    pub(super) duplicate: u64,
    /// How many packets may overtake one.
    pub(super) reordering: u64,
}

/// A packet under way.
#[derive(Debug, Clone)]
struct Packet {
    number: usize,
    to: Side,
    payload: Bytes,
}

/// What the sender of a packet knows of it.
#[derive(Debug)]
struct Sent {
    from: Side,
    tokens: Tokens,
    slot: usize,
    /// Step at which it is given up.
    patience: u64,
    lost: bool,
    done: bool,
}

/// Two ends and what is between them.
pub(super) struct Net {
    pub(super) client: Streams,
    pub(super) server: Streams,
    pub(super) events: Vec<(Side, StreamEvent)>,
    faults: Faults,
    rng: Rng,
    now: Instant,
    packets: Vec<Packet>,
    sent: Vec<Sent>,
    /// Packets neither acknowledged nor given up, oldest first.
    open: VecDeque<usize>,
    step: u64,
    pub(super) room: usize,
}

impl Net {
    pub(super) fn new(config: &TransportConfig, faults: Faults, seed: u64) -> Self {
        let mut client = Streams::new(Side::Client, config);
        let mut server = Streams::new(Side::Server, config);
        if config.profile.codec == CodecKind::Pipeline {
            client.set_pipeline_seed(SEED);
            server.set_pipeline_seed(SEED);
        }
        client.set_peer_limits(&limits(config));
        server.set_peer_limits(&limits(config));
        Self {
            client,
            server,
            events: Vec::new(),
            faults,
            rng: Rng::seeded(seed),
            now: now(),
            packets: Vec::new(),
            sent: Vec::new(),
            open: VecDeque::new(),
            step: 0,
            room: 1400,
        }
    }

    pub(super) fn end(&mut self, side: Side) -> &mut Streams {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.rng.next_u64() % 100 < percent
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.rng.next_u64() % bound.max(1) as u64) as usize
    }

    /// Both ends send what they can, the network delivers about as much, losses are noticed.
    pub(super) fn step(&mut self) {
        self.step += 1;
        for side in [Side::Client, Side::Server] {
            self.transmit(side);
        }
        let count = self.packets.len().div_ceil(2);
        for _ in 0..count {
            let window = (self.faults.reordering as usize + 1).min(self.packets.len());
            let index = self.below(window);
            let packet = self.packets.remove(index);
            if self.chance(self.faults.duplicate) {
                self.packets.push(packet.clone());
            }
            self.deliver(&packet);
        }
        self.give_up();
        for side in [Side::Client, Side::Server] {
            while let Some(event) = self.end(side).poll_event() {
                self.events.push((side, event));
            }
        }
    }

    /// Nothing is under way and nobody has anything to say.
    pub(super) fn is_quiet(&self) -> bool {
        self.packets.is_empty()
            && self.open.is_empty()
            && !self.client.has_control()
            && !self.server.has_control()
    }

    fn transmit(&mut self, side: Side) {
        for _ in 0..MAX_BURST {
            let slot = self.below(3);
            let mut payload = Vec::new();
            let (room, now) = (self.room, self.now);
            let mut writer = FrameWriter::new(&mut payload, room);
            let streams = match side {
                Side::Client => &mut self.client,
                Side::Server => &mut self.server,
            };
            streams.write_control(&mut writer);
            let has_symbol = write_data(streams, now, slot, &mut writer);
            let (tokens, _) = writer.finish();
            if payload.is_empty() {
                return;
            }
            let number = self.sent.len();
            let is_lost = self.chance(self.faults.loss);
            let is_spurious = self.chance(self.faults.spurious);
            if !is_lost {
                self.packets.push(Packet {
                    number,
                    to: side.peer(),
                    payload: payload.into(),
                });
            }
            let patience = if is_spurious { 0 } else { PATIENCE };
            let patience = self.step + patience;
            self.sent.push(Sent {
                from: side,
                tokens,
                slot,
                patience,
                lost: false,
                done: false,
            });
            self.open.push_back(number);
            if !has_symbol {
                return;
            }
        }
    }

    fn deliver(&mut self, packet: &Packet) {
        let now = self.now;
        for frame in Frames::new(packet.payload.clone()) {
            let frame = frame.expect("frames are written correctly");
            if let Err(error) = self.end(packet.to).on_frame(now, frame.clone()) {
                panic!("{error} at {frame:?}");
            }
        }
        let sent = &mut self.sent[packet.number];
        if std::mem::replace(&mut sent.done, true) {
            return;
        }
        let streams = match sent.from {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        for token in &sent.tokens {
            streams.on_acked(now, token, sent.slot, sent.lost);
        }
    }

    fn give_up(&mut self) {
        let mut still_open = VecDeque::new();
        for number in std::mem::take(&mut self.open) {
            let sent = &mut self.sent[number];
            if sent.done {
                continue;
            }
            if sent.patience > self.step {
                still_open.push_back(number);
                continue;
            }
            sent.lost = true;
            let streams = match sent.from {
                Side::Client => &mut self.client,
                Side::Server => &mut self.server,
            };
            for token in &sent.tokens {
                streams.on_lost(self.now, token, sent.slot);
            }
        }
        self.open = still_open;
    }
}

/// The simplest scheduler: lost symbols of the first block first, then unsent ones.
pub(super) fn write_data(
    streams: &mut Streams,
    now: Instant,
    slot: usize,
    writer: &mut FrameWriter<'_>,
) -> bool {
    loop {
        let has_repair = streams.sending.codec.has_repair();
        let chosen = streams
            .blocks()
            .iter()
            .enumerate()
            .find_map(|(index, view)| {
                if view.deficit() > 0 && view.is_repairable(has_repair) {
                    return Some((index, SymbolKind::Repair));
                }
                (view.unsent > 0).then_some((index, SymbolKind::Source))
            });
        assert_eq!(chosen.is_some(), streams.has_work());
        assert!(!streams.has_unsent() || chosen.is_some());
        if let Some((index, kind)) = chosen {
            return streams
                .write_symbol(now, index, kind, slot, writer)
                .is_some();
        }
        if !streams.close_idle_blocks(now, Duration::ZERO) {
            return false;
        }
    }
}

/// One stream's worth of bytes on their way through a [`Net`].
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) id: StreamId,
    pub(super) from: Side,
    pub(super) data: Vec<u8>,
    pub(super) written: usize,
    finished: bool,
    pub(super) received: Vec<u8>,
    pub(super) ended: bool,
}

impl Flow {
    pub(super) fn new(id: StreamId, from: Side, len: usize) -> Self {
        let data = (0..len)
            .map(|at| (at as u64 * 31 + id.value() * 7 + at as u64 / 251) as u8)
            .collect();
        Self {
            id,
            from,
            data,
            written: 0,
            finished: false,
            received: Vec::new(),
            ended: false,
        }
    }

    /// Writes and reads some.
    pub(super) fn work(&mut self, net: &mut Net) {
        let (from, id) = (self.from, self.id);
        let piece = 1 + net.below(20_000);
        let flushes = net.chance(10);
        if self.written < self.data.len() {
            let end = self.data.len().min(self.written + piece);
            match net.end(from).write(id, &self.data[self.written..end]) {
                Ok(taken) => self.written += taken,
                Err(WriteError::Blocked) => {}
                Err(error) => panic!("{error}"),
            }
            if flushes {
                net.end(from).flush(id);
            }
        } else if !self.finished {
            net.end(from).finish(id).expect("it is not finished yet");
            self.finished = true;
        }
        let max = 1 + net.below(30_000);
        for _ in 0..3 {
            if self.ended {
                break;
            }
            match net.end(from.peer()).read(id, max) {
                Ok(Some(chunk)) => self.received.extend_from_slice(&chunk),
                Ok(None) => self.ended = true,
                Err(ReadError::Blocked | ReadError::UnknownStream) => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

pub(super) fn config(codec: CodecKind) -> TransportConfig {
    let mut config = TransportConfig::default();
    config.profile.codec = codec;
    config
}

pub(super) fn limits(config: &TransportConfig) -> StreamLimits {
    StreamLimits {
        max_data: config.first_connection_window(),
        bidi_local: config.first_stream_window(),
        bidi_remote: config.first_stream_window(),
        uni: config.first_stream_window(),
        streams_bidi: config.max_streams_bidi,
        streams_uni: config.max_streams_uni,
        max_block_symbols: 1024,
        max_pending_blocks: MAX_PENDING_BLOCKS,
        pipeline_seed: (config.profile.codec == CodecKind::Pipeline).then_some(SEED),
        max_window: config.stream_window,
    }
}

/// Everything that grows with use is gone.
pub(super) fn assert_empty(streams: &Streams) {
    assert!(streams.send.is_empty(), "{:?}", streams.send);
    assert!(streams.recv.is_empty(), "{:?}", streams.recv);
    assert!(streams.blocks().is_empty());
    assert_eq!(streams.sending.queue.buffered(), 0);
    assert_eq!(streams.sending.live_blocks, 0);
    assert_eq!(streams.receiving.pending_blocks, 0);
    assert!(streams.open_blocks.is_empty());
    assert!(!streams.has_work() && !streams.writer_blocked() && !streams.window_closed());
}

#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// What pipeline-coded packets are coded with.
const SEED: u64 = 99;
/// Packets that one end sends in a step.
const MAX_BURST: usize = 16;
/// Steps until a packet is given up.
const PATIENCE: u64 = 6;
