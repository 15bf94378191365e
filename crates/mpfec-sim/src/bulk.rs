//! Applications that move bytes and check every one of them.

use std::time::{Duration, Instant};

use mpfec_core::{CloseReason, Connection, Dir, Event, PathEvent, StreamEvent, StreamId};

use crate::Application;

/// Sends so many bytes on one stream, all at once or as a paced source.
#[derive(Debug, Default)]
pub struct Sender {
    total: u64,
    written: u64,
    stream: Option<StreamId>,
    finished: bool,
    /// When the peer's application had read everything.
    pub delivered_at: Option<Instant>,
    /// When the handshake was complete.
    pub connected_at: Option<Instant>,
    /// Why the connection ended, if it did.
    pub closed: Option<CloseReason>,
    /// What happened to paths, and when.
    pub path_events: Vec<(Instant, PathEvent)>,
}

impl Sender {
    /// Sends `total` bytes and then ends the stream.
    #[must_use]
    pub fn new(total: u64) -> Self {
        Self {
            total,
            ..Self::default()
        }
    }

    /// Sends that many more bytes.
    pub fn add(&mut self, bytes: u64) {
        self.total += bytes;
    }
}

impl Application for Sender {
    fn on_event(&mut self, now: Instant, _: &mut Connection, event: Event) {
        match event {
            Event::Connected => self.connected_at = Some(now),
            Event::Closed(reason) => self.closed = Some(reason),
            Event::Path(event) => self.path_events.push((now, event)),
            Event::Stream(StreamEvent::Delivered { .. }) => self.delivered_at = Some(now),
            _ => {}
        }
    }

    fn poll(&mut self, _: Instant, connection: &mut Connection) {
        if self.connected_at.is_none() || self.finished {
            return;
        }
        if self.stream.is_none() {
            self.stream = connection.open_stream(Dir::Uni);
        }
        let Some(stream) = self.stream else { return };
        let mut chunk = [0; CHUNK];
        while self.written < self.total {
            let size = (self.total - self.written).min(CHUNK as u64) as usize;
            fill(self.written, &mut chunk[..size]);
            match connection.write(stream, &chunk[..size]) {
                Ok(written) => self.written += written as u64,
                Err(_) => return,
            }
        }
        self.finished = connection.finish(stream).is_ok();
    }
}

/// Reads every stream of the peer's and compares it with what [`Sender`] sends.
#[derive(Debug, Default)]
pub struct Receiver {
    stream: Option<StreamId>,
    /// Bytes read so far.
    pub read: u64,
    /// Whether the end of the stream was reached.
    pub ended: bool,
    /// Bytes that differ from what was sent.
    pub wrong: u64,
    /// Bytes read by the end of each 100 ms since the first byte.
    pub progress: Vec<u64>,
    started: Option<Instant>,
    last_read: Option<Instant>,
    /// The longest time between two reads while the stream lasted.
    pub longest_gap: Duration,
    /// Why the connection ended, if it did.
    pub closed: Option<CloseReason>,
    /// While set, nothing is read.
    pub paused: bool,
}

impl Receiver {
    /// When bytes came last.
    #[must_use]
    pub fn last_read(&self) -> Option<Instant> {
        self.last_read
    }

    /// Forgets the longest gap so far: a measurement starts now.
    pub fn reset_gap(&mut self, now: Instant) {
        self.longest_gap = Duration::ZERO;
        self.last_read = Some(now);
    }

    fn note(&mut self, now: Instant, bytes: &[u8]) {
        let mut expected = [0; CHUNK];
        for part in bytes.chunks(CHUNK) {
            fill(self.read, &mut expected[..part.len()]);
            self.wrong += part.iter().zip(&expected).filter(|(a, b)| a != b).count() as u64;
            self.read += part.len() as u64;
        }
        let started = *self.started.get_or_insert(now);
        if let Some(last) = self.last_read.replace(now) {
            self.longest_gap = self.longest_gap.max(now.saturating_duration_since(last));
        }
        let slot = (now.saturating_duration_since(started).as_millis() / SLOT_MS) as usize;
        let before = self.progress.last().copied().unwrap_or(0);
        self.progress
            .resize(self.progress.len().max(slot + 1), before);
        self.progress[slot] = self.read;
    }
}

impl Application for Receiver {
    fn on_event(&mut self, _: Instant, _: &mut Connection, event: Event) {
        if let Event::Closed(reason) = event {
            self.closed = Some(reason);
        }
    }

    fn poll(&mut self, now: Instant, connection: &mut Connection) {
        if self.stream.is_none() {
            self.stream = connection.accept_stream(Dir::Uni);
        }
        let Some(stream) = self.stream.filter(|_| !self.paused && !self.ended) else {
            return;
        };
        loop {
            match connection.read(stream, usize::MAX) {
                Ok(Some(bytes)) => self.note(now, &bytes),
                Ok(None) => {
                    self.ended = true;
                    return;
                }
                Err(_) => return,
            }
        }
    }
}

/// Bytes that depend on their position in the stream.
fn fill(offset: u64, out: &mut [u8]) {
    for (position, byte) in (offset..).zip(out) {
        *byte = (position ^ (position >> 8) ^ (position >> 16)).wrapping_mul(31) as u8;
    }
}

const CHUNK: usize = 4096;
const SLOT_MS: u128 = 100;
