//! The receiver of cross traffic.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Instant;

use super::Header;
use crate::{Host, Packet};

/// Acknowledges every datagram that wants it, at once, and counts the bytes of each
/// sender. One sink may serve any number of flows.
#[derive(Debug, Default)]
pub struct Sink {
    received: BTreeMap<SocketAddr, u64>,
    acks: VecDeque<Packet>,
}

impl Sink {
    /// A sink that has received nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Payload bytes received from `sender`, header included.
    #[must_use]
    pub fn received_from(&self, sender: SocketAddr) -> u64 {
        self.received.get(&sender).copied().unwrap_or(0)
    }

    /// Payload bytes received from anyone.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received.values().sum()
    }
}

impl Host for Sink {
    fn handle_datagram(&mut self, _now: Instant, packet: Packet) {
        let Some(header) = Header::parse(&packet.payload) else {
            return;
        };
        *self.received.entry(packet.from).or_default() += packet.payload.len() as u64;
        if let Header::Data(number) = header {
            let payload = Header::Ack(number).payload(0);
            self.acks.push_back(Packet {
                from: packet.to,
                to: packet.from,
                ecn: 0,
                payload,
            });
        }
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, _now: Instant) -> Option<Packet> {
        self.acks.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}
