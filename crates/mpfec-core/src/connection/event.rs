//! What the application wants to know.

use super::state::CloseReason;
use crate::address::FourTuple;
use crate::path::PathReason;
use crate::stream::StreamEvent;
use crate::wire::{ConnectionId, ResetToken};

/// Something happened on the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete: streams may be used. On a server that asks for a secret,
    /// the client has also proved that it holds it.
    Connected,
    /// Both ends have completed the handshake (RFC 9001 §4.1.2). To a client it says that the
    /// server has accepted it, with the secret that it asks for; streams may be used before.
    Confirmed,
    /// The connection is over.
    Closed(CloseReason),
    /// A stream changed.
    Stream(StreamEvent),
    /// A datagram can be read.
    DatagramReceived,
    /// Datagrams can be sent again after the buffer was full.
    DatagramsUnblocked,
    /// A path changed.
    Path(PathEvent),
    /// The peer can also be reached at, or no longer at, further addresses.
    PeerAddresses,
}

/// A path came, went, or changed its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathEvent {
    /// Its number within the connection. Used again only where a client on which no path works
    /// can get no other: that path goes on from new addresses.
    pub path: u32,
    /// Its addresses.
    pub tuple: FourTuple,
    /// What happened.
    pub change: PathChange,
    /// Why.
    pub reason: PathReason,
}

/// How a path changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathChange {
    /// It carries data from now on.
    Up,
    /// It no longer answers: what it carried moves to the others, and it is probed.
    Suspected,
    /// A suspected path answers again.
    Back,
    /// It is closed. Unless its address had answered by then, there was no [`Up`](Self::Up)
    /// before.
    Down,
}

/// What the endpoint needs to know about one of its connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointEvent {
    /// Packets with this connection ID belong to the connection.
    Issued(ConnectionId),
    /// No longer.
    Retired(ConnectionId),
    /// A packet that ends with this token is the peer's way to say that it has forgotten the
    /// connection (RFC 9000 §10.3).
    Expects(ResetToken),
    /// No longer: the path that this token was given for is closed.
    ExpectsNoMore(ResetToken),
    /// The handshake is complete.
    Established,
    /// The connection is forgotten.
    Drained,
}
