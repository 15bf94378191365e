//! Unreliable messages (RFC 9221): sent once, never repeated.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::component::FrameWriter;
use crate::error::TransportError;
use crate::wire::frame::DatagramFrame;

/// Why a datagram cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendDatagramError {
    /// The peer does not take datagrams.
    #[error("the peer does not take datagrams")]
    Unsupported,
    /// It does not fit into one packet.
    #[error("a datagram of {size} bytes where at most {max} fit")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The largest possible now.
        max: usize,
    },
    /// The buffer is full; an event tells when there is room.
    #[error("the datagram buffer is full")]
    Blocked,
    /// The connection is over.
    #[error("the connection is closed")]
    Closed,
}

/// Both directions' queues, bounded in bytes.
#[derive(Debug)]
pub(crate) struct Datagrams {
    limit: usize,
    outgoing: VecDeque<Bytes>,
    outgoing_bytes: usize,
    incoming: VecDeque<Bytes>,
    incoming_bytes: usize,
    blocked: bool,
    pub(crate) dropped: u64,
}

impl Datagrams {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            outgoing: VecDeque::new(),
            outgoing_bytes: 0,
            incoming: VecDeque::new(),
            incoming_bytes: 0,
            blocked: false,
            dropped: 0,
        }
    }

    /// The largest datagram that the queue can ever take.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Queues a datagram that fits into a packet and into the queue.
    pub(crate) fn send(&mut self, data: Bytes) -> Result<(), SendDatagramError> {
        if self.outgoing_bytes + data.len() > self.limit {
            self.blocked = true;
            return Err(SendDatagramError::Blocked);
        }
        self.outgoing_bytes += data.len();
        self.outgoing.push_back(data);
        Ok(())
    }

    pub(crate) fn recv(&mut self) -> Option<Bytes> {
        let data = self.incoming.pop_front()?;
        self.incoming_bytes -= data.len();
        Some(data)
    }

    /// A datagram arrived; the oldest that nobody read give way. Returns whether to tell
    /// the application.
    pub(crate) fn on_frame(&mut self, data: &Bytes) -> Result<bool, TransportError> {
        if data.len() > self.limit {
            return Err(TransportError::protocol_violation(
                "datagram larger than was allowed",
            ));
        }
        let was_empty = self.incoming.is_empty();
        self.incoming_bytes += data.len();
        // Copied: a few small messages must not keep a whole receive batch alive.
        self.incoming.push_back(Bytes::copy_from_slice(data));
        while self.incoming_bytes > self.limit || self.incoming.len() > MAX_WAITING {
            self.recv();
            self.dropped += 1;
        }
        Ok(was_empty)
    }

    pub(crate) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Writes what fits; drops what would not fit into an empty packet either, because paths
    /// carry less than when it was queued. Returns whether a blocked sender should hear of it.
    pub(crate) fn write(&mut self, writer: &mut FrameWriter<'_>, max: usize) -> bool {
        while let Some(data) = self.outgoing.front() {
            if data.len() > max {
                self.outgoing_bytes -= data.len();
                self.outgoing.pop_front();
                self.dropped += 1;
                continue;
            }
            if DatagramFrame::header_size(data.len()) + data.len() > writer.room() {
                break;
            }
            DatagramFrame::encode_header(data.len(), writer.buf());
            writer.buf().extend_from_slice(data);
            writer.wrote(None);
            self.outgoing_bytes -= data.len();
            self.outgoing.pop_front();
        }
        let unblocked = self.blocked && self.outgoing_bytes * 2 <= self.limit;
        self.blocked &= !unblocked;
        unblocked
    }
}

/// Messages that wait to be read, however small they are.
const MAX_WAITING: usize = 4096;
