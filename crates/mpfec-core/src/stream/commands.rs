//! Commands of the application: open, write, read, end and abandon streams.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::control::Control;
use super::send::{Obstacle, SendState, SendStream};
use super::{ReadError, Streams, WriteError};
use crate::id::{Dir, StreamId};

impl Streams {
    /// Opens a stream, unless the peer's limit is reached; then `Available` follows.
    pub(crate) fn open(&mut self, dir: Dir) -> Option<StreamId> {
        let local = self.local.get_mut(dir);
        let Some(index) = local.open() else {
            if local.block() {
                self.pending.insert(Control::StreamsBlocked { dir });
            }
            return None;
        };
        let id = StreamId::new(self.side, dir, index);
        let limit = if dir == Dir::Bi {
            self.peer.bidi_remote
        } else {
            self.peer.uni
        };
        self.send.insert(id, SendStream::new(id, limit));
        if dir == Dir::Bi {
            self.recv.insert(id, self.window.stream());
        }
        Some(id)
    }

    /// Takes the next stream that the peer opened.
    pub(crate) fn accept(&mut self, dir: Dir) -> Option<StreamId> {
        let index = self.remote.get_mut(dir).accept()?;
        Some(StreamId::new(self.side.peer(), dir, index))
    }

    /// Whether the application has a stream: it opened or took it.
    pub(crate) fn is_taken(&self, id: StreamId) -> bool {
        let remote = match id.dir() {
            Dir::Bi => &self.remote.bi,
            Dir::Uni => &self.remote.uni,
        };
        id.initiator() == self.side || remote.was_accepted(id.index())
    }

    /// Copies bytes into blocks. Returns how many fitted.
    pub(crate) fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, WriteError> {
        let stream = self.send.get_mut(&id).ok_or(WriteError::UnknownStream)?;
        stream.check_writable()?;
        if data.is_empty() {
            // It says nothing of what waits.
            return Ok(0);
        }
        let taken = stream.write(data, &mut self.sending);
        if taken == data.len() {
            self.writers.remove(id);
        } else {
            let obstacle = self.sending.obstacle(stream).unwrap_or(Obstacle::Buffer);
            let is_news = self.writers.insert(id, obstacle, taken > 0);
            match obstacle {
                _ if !is_news => {}
                Obstacle::Buffer => {}
                Obstacle::StreamWindow => self
                    .pending
                    .insert(Control::StreamDataBlocked { stream: id }),
                Obstacle::ConnectionWindow => self.pending.insert(Control::DataBlocked),
            }
        }
        self.sending.waiting = self.writers.waiting();
        if stream.has_open_block() {
            self.open_blocks.insert(id);
        } else {
            self.open_blocks.remove(&id);
        }
        if taken == 0 {
            Err(WriteError::Blocked)
        } else {
            Ok(taken)
        }
    }

    /// Takes the next bytes, at most `max`; `None` at the end.
    pub(crate) fn read(&mut self, id: StreamId, max: usize) -> Result<Option<Bytes>, ReadError> {
        let stream = self.recv.get_mut(&id).ok_or(ReadError::UnknownStream)?;
        let was_delivered = stream.is_delivered();
        let result = stream.read(max, &mut self.receiving);
        if let Ok(Some(chunk)) = &result {
            let bytes = chunk.len() as u64;
            self.stats.delivered_bytes += bytes;
            if self.receiving.credit.consume(bytes) {
                self.pending.insert(Control::MaxData);
            }
            if stream.credit().is_some_and(|credit| credit.is_update_due()) {
                self.pending.insert(Control::MaxStreamData { stream: id });
            }
        } else if self.receiving.credit.owes_rest() {
            self.pending.insert(Control::MaxData);
        }
        if stream.is_delivered() && !was_delivered {
            self.pending.insert(Control::StreamDelivered { stream: id });
        }
        self.forget_recv_if_over(id);
        result
    }

    /// Ends the open block: what was written can be repaired without waiting for more.
    pub(crate) fn flush(&mut self, id: StreamId) {
        let Some(stream) = self.send.get_mut(&id) else {
            return;
        };
        stream.close_block(&mut self.sending);
        self.open_blocks.remove(&id);
        self.wake_writers();
    }

    /// Says that all was written.
    pub(crate) fn finish(&mut self, id: StreamId) -> Result<(), WriteError> {
        let stream = self.send.get_mut(&id).ok_or(WriteError::UnknownStream)?;
        stream.check_writable()?;
        self.open_blocks.remove(&id);
        self.writers.remove(id);
        self.sending.waiting = self.writers.waiting();
        if !stream.finish(&mut self.sending) {
            stream.has_fin_frame = true;
            self.pending.insert(Control::StreamFin { stream: id });
        }
        self.wake_writers();
        Ok(())
    }

    /// Abandons what was written and is not yet there.
    pub(crate) fn reset(&mut self, id: StreamId, code: u64) {
        match self.send.get(&id).map(|stream| stream.state) {
            // Also if the peer has all of it: its application may say that it wants no more,
            // and waits for an answer then.
            Some(SendState::Open | SendState::Ending { .. } | SendState::Finished) => {
                self.abandon(id, code, false);
            }
            Some(SendState::Reset { .. }) | None => {}
        }
    }

    /// Says that nothing more will be read.
    pub(crate) fn stop(&mut self, id: StreamId, code: u64) {
        let Some(stream) = self.recv.get_mut(&id) else {
            return;
        };
        if stream.stop(code, &mut self.receiving) {
            self.pending.insert(Control::StopSending { stream: id });
            if self.receiving.credit.has_more() {
                self.pending.insert(Control::MaxData);
            }
        } else {
            // Nobody is left to be told of the stream, but what was not read of it is free now.
            self.tell_credit();
        }
        self.forget_recv_if_over(id);
    }

    /// Blocks of streams with a higher priority go first; 0 from the start.
    pub(crate) fn set_priority(&mut self, id: StreamId, priority: i32) {
        if let Some(stream) = self.send.get_mut(&id) {
            stream.set_priority(priority, &mut self.sending);
        }
    }

    /// What is written from now on should be read within `deadline`, if there is one.
    pub(crate) fn set_deadline(&mut self, id: StreamId, deadline: Option<Duration>) {
        let Some(stream) = self.send.get_mut(&id) else {
            return;
        };
        if stream.deadline != deadline {
            stream.deadline = deadline;
            // What was written before is not held to it.
            self.flush(id);
        }
    }

    /// Notes that blocks of streams with a deadline began by `now`.
    pub(crate) fn date_blocks(&mut self, now: Instant) {
        for (id, sbn) in std::mem::take(&mut self.sending.undated) {
            if let Some(stream) = self.send.get(&id) {
                stream.date(sbn, now, &mut self.sending);
            }
        }
    }
}
