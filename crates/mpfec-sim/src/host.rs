//! What a network connects.

use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;

/// A UDP datagram between two hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The sender's address; what the receiver sees may be another one, behind a NAT.
    pub from: SocketAddr,
    /// The receiver's address.
    pub to: SocketAddr,
    /// The ECN bits of the IP header, 0..=3 (RFC 3168 §5); the network passes them on.
    pub ecn: u8,
    /// The UDP payload.
    pub payload: Bytes,
}

/// A state machine with addresses of its own, driven by a [`Network`](crate::Network)
/// through the same four calls as by real sockets.
pub trait Host {
    /// A datagram arrived at one of its addresses.
    fn handle_datagram(&mut self, now: Instant, packet: Packet);

    /// Time has passed: every timer that is due by `now` fires.
    fn handle_timeout(&mut self, now: Instant);

    /// The next datagram it wants to send, from one of its addresses.
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet>;

    /// When to call [`handle_timeout`](Self::handle_timeout); a time in the past is now.
    fn poll_timeout(&self) -> Option<Instant>;

    /// What the timer of [`poll_timeout`](Self::poll_timeout) is for, to be read in the
    /// report of a livelock.
    fn next_timer(&self) -> String {
        "its timer".to_owned()
    }
}

impl<H: Host + ?Sized> Host for Box<H> {
    fn handle_datagram(&mut self, now: Instant, packet: Packet) {
        (**self).handle_datagram(now, packet);
    }

    fn handle_timeout(&mut self, now: Instant) {
        (**self).handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        (**self).poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        (**self).poll_timeout()
    }

    fn next_timer(&self) -> String {
        (**self).next_timer()
    }
}
