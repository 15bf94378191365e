//! What travels: packets, frames and transport parameters as bytes (docs/protocol.md).

pub(crate) mod frame;
pub(crate) mod header;
mod id;
pub(crate) mod packet_number;
pub(crate) mod parameters;
mod reader;
pub(crate) mod varint;

pub(crate) use self::id::{ConnectionId, IssuedId, ResetToken};
pub(crate) use self::parameters::TransportParameters;

/// Version of the protocol: "mpf" and a count.
pub(crate) const VERSION: u32 = 0x6d70_6601;
/// Bytes of UDP payload that every path must carry (RFC 9000 §14).
pub(crate) const MIN_DATAGRAM: usize = 1200;
/// Bytes of UDP payload that are ever sent in one datagram.
pub(crate) const MAX_DATAGRAM: usize = 9000;
/// Bytes that the AEAD adds to a packet.
pub(crate) const TAG_LEN: usize = 16;
/// Bytes of each connection ID that this implementation hands out.
pub(crate) const LOCAL_CID_LEN: usize = 8;

/// A packet number space of its own keys. 1-RTT packets have one number space per path,
/// but the same keys and frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 1-RTT packets.
    Data,
}
