//! What a packet carried, so that its acknowledgement or loss reaches the component
//! that wrote it.

use crate::id::{Dir, StreamId};

/// One frame of a sent packet. Frames that are never repeated have no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// Part of the handshake, of the packet's own space.
    Crypto {
        offset: u64,
        length: u32,
    },
    /// An encoding symbol.
    Symbol {
        stream: StreamId,
        sbn: u64,
        esi: u32,
    },
    /// An acknowledgement that covered packets up to `largest`, of a path in 1-RTT
    /// packets, of the packet's own space in others.
    Ack {
        path: u32,
        largest: u64,
    },
    ResetStream {
        stream: StreamId,
    },
    StopSending {
        stream: StreamId,
    },
    StreamFin {
        stream: StreamId,
    },
    StreamDelivered {
        stream: StreamId,
    },
    MaxData,
    MaxStreamData {
        stream: StreamId,
    },
    MaxStreams {
        dir: Dir,
    },
    DataBlocked,
    StreamDataBlocked {
        stream: StreamId,
    },
    StreamsBlocked {
        dir: Dir,
    },
    BlockAck {
        stream: StreamId,
        sbn: u64,
    },
    PathConnectionId {
        path: u32,
    },
    PathAbandon {
        path: u32,
    },
    PathStatus {
        path: u32,
    },
    PathShare {
        path: u32,
    },
    HandshakeDone,
    AddAddress {
        id: u64,
    },
    RemoveAddress {
        id: u64,
    },
    Authenticate,
    /// A message that may be sent again.
    Datagram {
        number: u64,
    },
    /// Parity over other packets of the path: never sent again.
    Parity,
    /// A packet that measures whether a path carries datagrams of `size` bytes.
    MtuProbe {
        size: u16,
    },
}
