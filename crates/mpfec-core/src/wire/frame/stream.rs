//! How a stream ends, and what its receiver says about blocks.

use super::field::plain_frame;
use super::{BLOCK_ACK, RESET_STREAM, STOP_SENDING, STREAM_DELIVERED, STREAM_FIN};
use crate::id::StreamId;
use crate::wire::reader::Malformed;

plain_frame! {
    /// The sender abandons a stream (RFC 9000 §19.4).
    ResetStream = RESET_STREAM => {
        stream: StreamId,
        /// The application's code.
        code: u64,
        /// Bytes that the sender has counted for the stream: without it the two ends would
        /// disagree about how much of the connection's limit is used.
        final_size: u64,
    }
}

plain_frame! {
    /// The receiver no longer wants a stream (RFC 9000 §19.5).
    StopSending = STOP_SENDING => {
        stream: StreamId,
        /// The application's code.
        code: u64,
    }
}

plain_frame! {
    /// Where a stream ends, for ends that no SYMBOL frame could tell.
    StreamFin = STREAM_FIN => {
        stream: StreamId,
        /// Bytes of the whole stream.
        final_size: u64,
    }
}

plain_frame! {
    /// The peer's application has read a stream to its end.
    StreamDelivered = STREAM_DELIVERED => {
        stream: StreamId,
    }
}

plain_frame! {
    /// What the receiver needs of a block.
    BlockAck = BLOCK_ACK => {
        stream: StreamId,
        /// Number of the block within the stream, from 0.
        sbn: u64,
        /// 0 if the block is complete; otherwise how many distinct symbols beyond K it takes
        /// at least, because K of them did not decode: up to 1024.
        missing: u32,
    }
}

impl BlockAck {
    pub(super) fn checked(self) -> Result<Self, Malformed> {
        if self.missing > MAX_MISSING {
            return Err(Malformed("more symbols missing than a block has"));
        }
        Ok(self)
    }
}

/// Largest K.
const MAX_MISSING: u32 = 1024;
