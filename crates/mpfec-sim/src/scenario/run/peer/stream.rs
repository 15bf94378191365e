//! One stream from client to server: bulk, blocks, or frames.

use std::time::{Duration, Instant};

use mpfec_core::{Connection, Dir, ReadError, StreamId};

use super::CONTENT;
use crate::scenario::Application;

/// Writes one stream.
#[derive(Debug)]
pub(super) struct Writer {
    stream: Option<StreamId>,
    written: u64,
    /// Bytes to write, all in all.
    total: Option<u64>,
    /// Of a block or frame; none for bulk.
    block: Option<u64>,
    /// From one block to the next one; none if they are written as fast as it goes.
    interval: Option<Duration>,
    /// When each block began.
    began: Vec<Instant>,
    is_blocked: bool,
    is_finished: bool,
}

impl Writer {
    pub(super) fn new(application: Application) -> Self {
        let (block, interval) = blocks(application);
        Self {
            stream: None,
            written: 0,
            total: match application {
                Application::Bulk { bytes } => bytes,
                Application::Blocks {
                    block_bytes, count, ..
                } => count.map(|count| count.saturating_mul(block_bytes)),
                Application::Video { .. } | Application::Web { .. } => None,
            },
            block,
            interval,
            began: Vec::new(),
            is_blocked: false,
            is_finished: false,
        }
    }

    /// What is sent ends here.
    pub(super) fn halt(&mut self, connection: &mut Connection) {
        self.total = Some(self.written);
        self.interval = None;
        self.is_finished = true;
        if let Some(stream) = self.stream {
            connection.reset(stream, 0);
        }
    }

    pub(super) fn began(&self) -> &[Instant] {
        &self.began
    }

    pub(super) fn unblock(&mut self) {
        self.is_blocked = false;
    }

    pub(super) fn poll(&mut self, now: Instant, start: Instant, connection: &mut Connection) {
        let stream = match self.stream {
            Some(stream) => stream,
            None => {
                let Some(stream) = connection.open_stream(Dir::Uni) else {
                    return;
                };
                *self.stream.insert(stream)
            }
        };
        self.begin_due(now, start);
        self.begin_sent(now, connection);
        let offered = self.offered();
        let mut is_new = false;
        while self.written < offered && !self.is_blocked {
            let size = (offered - self.written).min(CONTENT.len() as u64) as usize;
            match connection.write(stream, &CONTENT[..size]) {
                Ok(taken) => self.written += taken as u64,
                Err(_) => self.is_blocked = true,
            }
            is_new = true;
        }
        if self.total == Some(self.written) && !self.is_finished {
            self.is_finished = connection.finish(stream).is_ok();
        } else if is_new && self.interval.is_some() && self.written == offered {
            // Nothing follows for a while.
            connection.flush(stream);
        }
    }

    /// When the next block begins, of blocks at a rate.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let has_more = self
            .total
            .zip(self.block)
            .is_none_or(|(total, block)| (self.began.len() as u64) * block < total);
        let last = self.began.last().filter(|_| has_more)?;
        Some(*last + self.interval?)
    }

    /// Blocks at a rate begin when they are due, whether the stream takes them or not.
    fn begin_due(&mut self, now: Instant, start: Instant) {
        if self.interval.is_none() {
            return;
        }
        if self.began.is_empty() {
            self.began.push(start);
        }
        while let Some(due) = self.poll_timeout().filter(|due| *due <= now) {
            self.began.push(due);
        }
    }

    /// Blocks that are written as fast as it goes begin when something of them leaves: how long
    /// they waited before is a matter of the send buffer alone.
    fn begin_sent(&mut self, now: Instant, connection: &Connection) {
        let (Some(block), None) = (self.block, self.interval) else {
            return;
        };
        let sent = connection.stream_stats().furthest_sent_byte;
        while self.began.len() as u64 * block < sent {
            self.began.push(now);
        }
    }

    fn offered(&self) -> u64 {
        let total = self.total.unwrap_or(u64::MAX);
        match (self.block, self.interval) {
            (Some(block), Some(_)) => total.min(self.began.len() as u64 * block),
            _ => total,
        }
    }
}

/// Reads one stream.
#[derive(Debug)]
pub(super) struct Reader {
    stream: Option<StreamId>,
    read: u64,
    /// Of a block or frame; none for bulk.
    block: Option<u64>,
    /// When each block was read to its end.
    ended: Vec<Instant>,
    is_blocked: bool,
    done_at: Option<Instant>,
}

impl Reader {
    pub(super) fn new(application: Application) -> Self {
        Self {
            stream: None,
            read: 0,
            block: blocks(application).0,
            ended: Vec::new(),
            is_blocked: false,
            done_at: None,
        }
    }

    pub(super) fn read(&self) -> u64 {
        self.read
    }

    pub(super) fn ended(&self) -> &[Instant] {
        &self.ended
    }

    pub(super) fn done_at(&self) -> Option<Instant> {
        self.done_at
    }

    pub(super) fn unblock(&mut self) {
        self.is_blocked = false;
    }

    pub(super) fn poll(&mut self, now: Instant, connection: &mut Connection) {
        let stream = match self.stream {
            Some(stream) => stream,
            None => {
                let Some(stream) = connection.accept_stream(Dir::Uni) else {
                    return;
                };
                *self.stream.insert(stream)
            }
        };
        while !self.is_blocked {
            match connection.read(stream, usize::MAX) {
                Ok(Some(bytes)) => self.on_read(now, bytes.len() as u64),
                Ok(None) => {
                    self.done_at = self.done_at.or(Some(now));
                    self.is_blocked = true;
                }
                Err(ReadError::Blocked) => self.is_blocked = true,
                Err(_) => return,
            }
        }
    }

    fn on_read(&mut self, now: Instant, bytes: u64) {
        self.read += bytes;
        if let Some(block) = self.block {
            while (self.ended.len() as u64 + 1) * block <= self.read {
                self.ended.push(now);
            }
        }
    }
}

/// Bytes of a block, and from one to the next.
fn blocks(application: Application) -> (Option<u64>, Option<Duration>) {
    match application {
        Application::Blocks {
            block_bytes, rate, ..
        } => {
            let seconds = |rate| block_bytes as f64 * 8.0 / rate as f64;
            let interval = rate.map(|rate| Duration::from_secs_f64(seconds(rate)));
            (Some(block_bytes), interval)
        }
        Application::Video { fps, rate, .. } => {
            let bytes = (rate as f64 / 8.0 / fps).round().max(1.0) as u64;
            (Some(bytes), Some(Duration::from_secs_f64(1.0 / fps)))
        }
        Application::Bulk { .. } | Application::Web { .. } => (None, None),
    }
}
