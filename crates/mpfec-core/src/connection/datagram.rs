//! Unreliable messages (RFC 9221): without a deadline sent once, with one sent on the path
//! where they arrive first, again if that is needed and in time, and not at all if it is too late.

mod outgoing;

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use crate::error::TransportError;
use crate::recovery::Duplicates;
use crate::wire::frame::DatagramFrame;

pub(crate) use self::outgoing::{NUMBER_ROOM, Outgoing, Way};

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
    /// The connection is over; in module `net`, `Connection::close_reason` tells why.
    #[error("the connection is closed")]
    Closed,
}

/// How an unreliable message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatagramOptions {
    /// Within what time it should be with the peer; later it is of no use, and dropped where it
    /// has not left. `None`: whenever.
    pub deadline: Option<Duration>,
    /// How often it is sent.
    pub redundancy: DatagramRedundancy,
}

/// How often an unreliable message is sent. The peer's application sees it once at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DatagramRedundancy {
    /// Once, whatever happens (RFC 9221).
    #[default]
    Never,
    /// Again when it is lost, as long as it can arrive in time; where the deadline leaves no time
    /// for that, a second time at once, on another path that is in time if there is one. Such
    /// copies take slots that nobody else wants, and an eighth of the others.
    InTime,
    /// As [`InTime`](Self::InTime), but a second time at once in any case.
    Always,
}

/// Both directions' queues, bounded in bytes and in messages.
#[derive(Debug)]
pub(crate) struct Datagrams {
    limit: usize,
    pub(crate) outgoing: Outgoing,
    incoming: VecDeque<Bytes>,
    incoming_bytes: usize,
    /// Numbers of messages that arrived.
    seen: Duplicates,
    pub(crate) dropped: u64,
}

impl Datagrams {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            outgoing: Outgoing::new(limit),
            incoming: VecDeque::new(),
            incoming_bytes: 0,
            seen: Duplicates::new(),
            dropped: 0,
        }
    }

    /// The largest datagram that the queue can ever take.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    pub(crate) fn recv(&mut self) -> Option<Bytes> {
        let data = self.incoming.pop_front()?;
        self.incoming_bytes -= data.len();
        Some(data)
    }

    /// A datagram arrived; the oldest that nobody read give way. Returns whether to tell
    /// the application.
    pub(crate) fn on_frame(&mut self, frame: &DatagramFrame) -> Result<bool, TransportError> {
        let data = &frame.data;
        if data.len() > self.limit {
            return Err(TransportError::protocol_violation(
                "datagram larger than was allowed",
            ));
        }
        if frame.number.is_some_and(|number| !self.seen.insert(number)) {
            return Ok(false);
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
}

/// Messages that wait to leave or to be read, however small they are.
const MAX_WAITING: usize = 4096;
