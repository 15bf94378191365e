//! What applications are told about streams.

use crate::id::{Dir, StreamId};

/// Something happened on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEvent {
    /// The peer opened streams of this direction: accept until there are none.
    Opened {
        /// Which kind of streams.
        dir: Dir,
    },
    /// A stream can be read after a read was blocked.
    Readable {
        /// Which one.
        stream: StreamId,
    },
    /// A stream takes data after a write was blocked or cut short.
    Writable {
        /// Which one.
        stream: StreamId,
    },
    /// The peer has everything up to the end of a finished stream.
    Finished {
        /// Which one.
        stream: StreamId,
    },
    /// The peer's application has read everything up to the end of a finished stream.
    Delivered {
        /// Which one.
        stream: StreamId,
    },
    /// The peer no longer wants a stream; what was written and not yet read is lost.
    Stopped {
        /// Which one.
        stream: StreamId,
        /// The peer's application says why.
        code: u64,
    },
    /// Further streams of this direction can be opened after one could not.
    Available {
        /// Which kind of streams.
        dir: Dir,
    },
}

/// Why nothing was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Nothing is there now; `Readable` follows.
    #[error("nothing to read yet")]
    Blocked,
    /// The peer abandoned the stream with this code.
    #[error("stream reset by the peer with code {0}")]
    Reset(u64),
    /// There is no such stream to read, or no longer.
    #[error("no such stream to read")]
    UnknownStream,
    /// This end said that it reads no more.
    #[error("stream stopped")]
    Closed,
}

/// Why nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// Buffer or window are full; `Writable` follows.
    #[error("no room to write yet")]
    Blocked,
    /// The peer reads no more and gave this code.
    #[error("stream stopped by the peer with code {0}")]
    Stopped(u64),
    /// There is no such stream to write, or no longer.
    #[error("no such stream to write")]
    UnknownStream,
    /// The stream was finished or reset before, or the connection is over.
    #[error("stream closed")]
    Closed,
}

/// What the data plane has done since the connection began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamStats {
    /// Bytes of streams that left for the first time.
    pub sent_stream_bytes: u64,
    /// Up to which byte of its stream something has left, of the stream that has come furthest.
    /// With several paths, something before it may not have left yet.
    pub furthest_sent_byte: u64,
    /// Bytes of streams that the application has read.
    pub delivered_bytes: u64,
    /// Payload bytes of symbols that arrived, useful or not.
    pub received_bytes: u64,
    /// Blocks of which a symbol left.
    pub blocks_sent: u64,
    /// Source symbols that left for the first time.
    pub sent_source_symbols: u64,
    /// Repair symbols that left.
    pub sent_repair_symbols: u64,
    /// Coefficients of combinations that left, in bytes: what a code costs in headers.
    pub sent_coefficient_bytes: u64,
    /// Source symbols that left once more.
    pub resent_symbols: u64,
    /// Symbols, source or repair, that left because others were lost and nothing on its way
    /// made up for them: retransmissions, whatever the code.
    pub late_symbols: u64,
    /// Symbols that arrived.
    pub received_symbols: u64,
    /// Those that told nothing new.
    pub redundant_symbols: u64,
    /// Their payload bytes.
    pub redundant_bytes: u64,
    /// Blocks that were completed by decoding.
    pub decoded_blocks: u64,
}
