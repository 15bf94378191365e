//! A packet that left, and what became of it.

use std::time::Instant;

use super::Eliciting;
use crate::component::Tokens;

/// A packet that left and whose fate is not known yet. `D` is what the congestion
/// controller wants to know about the moment it left.
#[derive(Debug, Clone)]
pub(crate) struct SentPacket<D> {
    pub(crate) sent_at: Instant,
    /// Bytes of the UDP payload that the packet took.
    pub(crate) size: u16,
    /// Whether the peer must acknowledge it (RFC 9000 §13.2.1), and how soon.
    pub(crate) eliciting: Eliciting,
    /// Whether it counts against cwnd and keeps the PTO armed (RFC 9002 §2).
    pub(crate) in_flight: bool,
    pub(crate) tokens: Tokens,
    pub(crate) delivery: D,
}

/// A packet whose first acknowledgement just arrived.
#[derive(Debug)]
pub(crate) struct Acked<D> {
    pub(crate) packet_number: u64,
    pub(crate) packet: SentPacket<D>,
    /// Why it had been declared lost before, if it had: the loss was spurious.
    pub(crate) was_lost: Option<LossCause>,
    /// How many packet numbers it was behind the largest one acknowledged by earlier ACKs:
    /// the packet threshold must be above that for the packet not to be declared lost.
    pub(crate) overtaken_by: u64,
}

/// An ack-eliciting packet that was just declared lost.
#[derive(Debug)]
pub(crate) struct Lost<D> {
    pub(crate) packet_number: u64,
    pub(crate) packet: SentPacket<D>,
    pub(crate) cause: LossCause,
}

/// Why a packet was declared lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LossCause {
    /// Enough packets sent later were acknowledged (RFC 9002 §6.1.1).
    Reordering,
    /// A packet sent later was acknowledged and this one is too old (RFC 9002 §6.1.2).
    Time,
    /// Nothing at all was heard.
    Silence,
}
