//! An application that moves bytes and checks every one of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mpfec_core::{
    CloseReason, Connection, Dir, Event, PathEvent, ReadError, Side, StreamEvent, StreamId,
    WriteError,
};

use crate::Application;

/// Writes as many bytes to streams as it is told, and reads and compares whatever the
/// peer, another one of these, writes. It acts on events alone, so that one that is
/// missing stops it.
#[derive(Debug, Default)]
pub struct Peer {
    /// Streams to open as soon as the peer allows, and the bytes to send on each.
    to_open: VecDeque<(Dir, u64)>,
    outgoing: BTreeMap<StreamId, Outgoing>,
    incoming: BTreeMap<StreamId, Incoming>,
    /// In the order in which they were told that they can go on.
    writable: VecDeque<StreamId>,
    readable: BTreeSet<StreamId>,
    /// What a bidirectional stream of the peer's is answered with.
    answer: Option<u64>,
    is_paused: bool,
    read: u64,
    last_read: Option<Instant>,
    longest_gap: Duration,
    connected_at: Option<Instant>,
    closed: Option<(Instant, CloseReason)>,
    path_events: Vec<(Instant, PathEvent)>,
    datagrams: Vec<Bytes>,
}

/// What was sent on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outgoing {
    /// Bytes to write, all in all.
    pub total: u64,
    /// Bytes that the stream took.
    pub written: u64,
    /// Whether the stream ends after `total` bytes.
    pub ends: bool,
    /// Whether it was ended.
    pub is_finished: bool,
    /// When the peer had everything.
    pub received_at: Option<Instant>,
    /// When the peer's application had read everything.
    pub delivered_at: Option<Instant>,
    /// Why the peer wanted no more, if it did not.
    pub stopped: Option<u64>,
    /// With what code it was abandoned, if it was.
    pub reset: Option<u64>,
}

/// What was read from a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Incoming {
    /// Bytes read.
    pub read: u64,
    /// Bytes that differ from what was written.
    pub wrong: u64,
    /// Whether its end was reached.
    pub has_ended: bool,
    /// Why the peer abandoned it, if it did.
    pub reset: Option<u64>,
    /// With what code it was stopped, if it was.
    pub stopped: Option<u64>,
}

impl Peer {
    /// Opens a stream and sends so many bytes on it, and then its end.
    pub fn send(&mut self, dir: Dir, bytes: u64) {
        self.to_open.push_back((dir, bytes));
    }

    /// Has so many more bytes sent on a stream that is open, and then its end if `ends`.
    pub fn write(&mut self, stream: StreamId, bytes: u64, ends: bool) {
        let outgoing = self.outgoing.entry(stream).or_default();
        outgoing.total += bytes;
        outgoing.ends |= ends;
        self.writable.push_back(stream);
    }

    /// Abandons a stream, and what was not written to it.
    pub fn reset(&mut self, connection: &mut Connection, stream: StreamId, code: u64) {
        connection.reset(stream, code);
        self.outgoing.entry(stream).or_default().reset = Some(code);
    }

    /// Reads no more from a stream.
    pub fn stop(&mut self, connection: &mut Connection, stream: StreamId, code: u64) {
        connection.stop(stream, code);
        self.incoming.entry(stream).or_default().stopped = Some(code);
    }

    /// Answers each bidirectional stream that the peer opens from now on with so many bytes
    /// and an end.
    pub fn answer_with(&mut self, bytes: u64) {
        self.answer = Some(bytes);
    }

    /// Reads nothing until [`resume`](Self::resume).
    pub fn pause(&mut self) {
        self.is_paused = true;
    }

    /// Reads again.
    pub fn resume(&mut self) {
        self.is_paused = false;
        let open = self.incoming.iter().filter(|(_, stream)| stream.is_open());
        self.readable.extend(open.map(|(id, _)| *id));
    }

    /// Streams written to, in the order of their numbers.
    #[must_use]
    pub fn outgoing(&self) -> &BTreeMap<StreamId, Outgoing> {
        &self.outgoing
    }

    /// Streams read from, in the order of their numbers.
    #[must_use]
    pub fn incoming(&self) -> &BTreeMap<StreamId, Incoming> {
        &self.incoming
    }

    /// Bytes read so far, of all streams.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Bytes read that differ from what was written.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.incoming.values().map(|stream| stream.wrong).sum()
    }

    /// Whether all it was told to send, but for streams that either end abandoned, has been
    /// read by the peer's application.
    #[must_use]
    pub fn is_delivered(&self) -> bool {
        self.to_open.is_empty() && self.outgoing.values().all(Outgoing::is_settled)
    }

    /// When the handshake was complete.
    #[must_use]
    pub fn connected_at(&self) -> Option<Instant> {
        self.connected_at
    }

    /// When and why the connection ended, if it did.
    #[must_use]
    pub fn closed(&self) -> Option<&(Instant, CloseReason)> {
        self.closed.as_ref()
    }

    /// What happened to paths, and when.
    #[must_use]
    pub fn path_events(&self) -> &[(Instant, PathEvent)] {
        &self.path_events
    }

    /// Unreliable messages, in the order of their arrival.
    #[must_use]
    pub fn datagrams(&self) -> &[Bytes] {
        &self.datagrams
    }

    /// The longest time without anything to read between two reads, and since the last one.
    #[must_use]
    pub fn longest_gap(&self, now: Instant) -> Duration {
        let since = self
            .last_read
            .map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        self.longest_gap.max(since)
    }

    /// Forgets the longest gap so far: a measurement starts now.
    pub fn restart_gap(&mut self, now: Instant) {
        self.longest_gap = Duration::ZERO;
        self.last_read = Some(now);
    }

    fn on_stream_event(&mut self, now: Instant, event: StreamEvent) {
        match event {
            StreamEvent::Readable { stream } => {
                self.readable.insert(stream);
            }
            StreamEvent::Writable { stream } => {
                self.writable.push_back(stream);
            }
            StreamEvent::Finished { stream } => {
                self.outgoing.entry(stream).or_default().received_at = Some(now);
            }
            StreamEvent::Delivered { stream } => {
                self.outgoing.entry(stream).or_default().delivered_at = Some(now);
            }
            StreamEvent::Stopped { stream, code } => {
                self.outgoing.entry(stream).or_default().stopped = Some(code);
            }
            StreamEvent::Opened { .. } | StreamEvent::Available { .. } => {}
        }
    }

    fn open_streams(&mut self, connection: &mut Connection) {
        while let Some((dir, bytes)) = self.to_open.front().copied() {
            let Some(id) = connection.open_stream(dir) else {
                return;
            };
            self.to_open.pop_front();
            self.write(id, bytes, true);
            if dir == Dir::Bi {
                self.incoming.insert(id, Incoming::default());
                self.readable.insert(id);
            }
        }
    }

    fn accept_streams(&mut self, connection: &mut Connection) {
        for dir in [Dir::Bi, Dir::Uni] {
            while let Some(id) = connection.accept_stream(dir) {
                self.incoming.insert(id, Incoming::default());
                self.readable.insert(id);
                if let Some(bytes) = self.answer.filter(|_| dir == Dir::Bi) {
                    self.write(id, bytes, true);
                }
            }
        }
    }

    fn write_to(&mut self, id: StreamId, connection: &mut Connection) {
        let Some(outgoing) = self.outgoing.get_mut(&id) else {
            return;
        };
        let key = key(id, connection.side());
        let mut chunk = [0; CHUNK];
        while outgoing.written < outgoing.total {
            let size = (outgoing.total - outgoing.written).min(CHUNK as u64) as usize;
            fill(key, outgoing.written, &mut chunk[..size]);
            match connection.write(id, &chunk[..size]) {
                Ok(written) => outgoing.written += written as u64,
                Err(WriteError::Stopped(code)) => {
                    outgoing.stopped = Some(code);
                    return;
                }
                Err(_) => return,
            }
        }
        if outgoing.ends && !outgoing.is_finished {
            outgoing.is_finished = connection.finish(id).is_ok();
        }
    }

    fn read_from(&mut self, now: Instant, id: StreamId, connection: &mut Connection) {
        let Some(incoming) = self.incoming.get_mut(&id) else {
            return;
        };
        let key = key(id, connection.side().peer());
        loop {
            match connection.read(id, usize::MAX) {
                Ok(Some(bytes)) => {
                    incoming.compare(key, &bytes);
                    self.read += bytes.len() as u64;
                    if let Some(last) = self.last_read.replace(now) {
                        let gap = now.saturating_duration_since(last);
                        self.longest_gap = self.longest_gap.max(gap);
                    }
                }
                Ok(None) => {
                    incoming.has_ended = true;
                    return;
                }
                Err(ReadError::Reset(code)) => {
                    incoming.reset = Some(code);
                    return;
                }
                Err(_) => return,
            }
        }
    }
}

impl Outgoing {
    /// Whether nothing more will happen to it.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.delivered_at.is_some() || self.stopped.is_some() || self.reset.is_some()
    }
}

impl Incoming {
    /// Whether more may come.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.has_ended && self.reset.is_none() && self.stopped.is_none()
    }

    fn compare(&mut self, key: u64, bytes: &[u8]) {
        let mut expected = [0; CHUNK];
        for part in bytes.chunks(CHUNK) {
            let expected = &mut expected[..part.len()];
            fill(key, self.read, expected);
            if part != expected {
                let differing = part.iter().zip(expected).filter(|(a, b)| **a != **b);
                self.wrong += differing.count() as u64;
            }
            self.read += part.len() as u64;
        }
    }
}

impl Application for Peer {
    fn on_event(&mut self, now: Instant, connection: &mut Connection, event: Event) {
        match event {
            Event::Connected => self.connected_at = Some(now),
            Event::Closed(reason) => self.closed = Some((now, reason)),
            Event::Path(event) => self.path_events.push((now, event)),
            Event::Stream(event) => self.on_stream_event(now, event),
            Event::DatagramReceived => {
                while let Some(datagram) = connection.recv_datagram() {
                    self.datagrams.push(datagram);
                }
            }
            Event::Confirmed | Event::DatagramsUnblocked | Event::PeerAddresses => {}
        }
    }

    fn poll(&mut self, now: Instant, connection: &mut Connection) {
        if self.connected_at.is_none() {
            return;
        }
        self.open_streams(connection);
        self.accept_streams(connection);
        while let Some(id) = self.writable.pop_front() {
            self.write_to(id, connection);
        }
        while let Some(id) = self.readable.pop_first().filter(|_| !self.is_paused) {
            self.read_from(now, id, connection);
        }
    }
}

/// Tells the bytes of one stream and direction from those of the others.
fn key(stream: StreamId, sender: Side) -> u64 {
    2 * stream.value() + u64::from(sender == Side::Server)
}

/// Bytes that depend on the stream and on their position in it.
fn fill(key: u64, offset: u64, out: &mut [u8]) {
    let salt = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for (position, byte) in (offset..).zip(out) {
        let mixed = position ^ (position >> 8) ^ (position >> 16) ^ salt;
        *byte = mixed.wrapping_mul(31) as u8 ^ (salt >> 56) as u8;
    }
}

const CHUNK: usize = 4096;
