//! Where a datagram goes and came from.

use std::net::{IpAddr, SocketAddr};

/// One of the sockets of an endpoint, as its driver numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SocketId(pub u32);

/// The two ends of a subflow, as far as this host knows them (RFC 9000 §9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FourTuple {
    /// The socket that sends and receives.
    pub socket: SocketId,
    /// This host's address, where packets tell it because the socket is bound to none. A server
    /// answers from the one it was asked at; what a client sends has none, and leaves from
    /// where the routing table says, as that may change.
    pub local_ip: Option<IpAddr>,
    /// The peer.
    pub remote: SocketAddr,
}

impl FourTuple {
    /// Whether both take the same way, as far as this host can tell.
    #[must_use]
    pub fn is_same_route(&self, other: &Self) -> bool {
        self.socket == other.socket && self.remote == other.remote
    }
}

/// An explicit congestion notification mark (RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// One UDP payload that arrived.
#[derive(Debug)]
pub struct Datagram {
    /// Where from and where to.
    pub tuple: FourTuple,
    /// Its ECN mark.
    pub ecn: Option<Ecn>,
    /// Its bytes; packets are decrypted in place.
    pub data: bytes::BytesMut,
}

/// One UDP payload, or several of equal size to be sent in one go (GSO), that is to
/// leave. The bytes are in the buffer handed to `poll_transmit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// Where from and where to.
    pub tuple: FourTuple,
    /// ECN mark to set.
    pub ecn: Option<Ecn>,
    /// Bytes written to the buffer.
    pub size: usize,
    /// If set, the bytes are datagrams of this size each, the last one possibly shorter.
    pub segment_size: Option<usize>,
}
