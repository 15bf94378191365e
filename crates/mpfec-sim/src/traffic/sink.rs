//! The receiver of cross traffic.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Instant;

use super::Header;
use crate::{Host, Packet};

/// Receives what [`Tcp`](super::Tcp), [`SackTcp`](super::SackTcp) senders and [`Source`](super::Source)s send, puts the
/// packets of the former in order and acknowledges each of them at once. One sink may serve any
/// number of flows.
#[derive(Debug, Default)]
pub struct Sink {
    received: BTreeMap<SocketAddr, Received>,
    acks: VecDeque<Packet>,
}

/// What a sink has from one sender.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Received {
    /// Payload bytes, header included: of a TCP flow in order and once, as its application
    /// gets them.
    pub bytes: u64,
    /// Packets that arrived, each copy counted.
    pub packets: u64,
    /// The number that is next in order.
    next: u64,
    /// Sizes of packets that came before their turn.
    early: BTreeMap<u64, usize>,
}

impl Received {
    /// Takes a packet of a TCP flow; returns the number that is next in order.
    fn take(&mut self, number: u64, size: usize) -> u64 {
        if number == self.next {
            self.bytes += size as u64;
            self.next += 1;
            while let Some(first) = self
                .early
                .first_entry()
                .filter(|entry| *entry.key() == self.next)
            {
                self.bytes += first.remove() as u64;
                self.next += 1;
            }
        } else if number > self.next && self.early.len() < MOST_EARLY {
            self.early.insert(number, size);
        }
        self.next
    }
}

impl Sink {
    /// A sink that has received nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What it has from `sender`.
    #[must_use]
    pub fn from(&self, sender: SocketAddr) -> Received {
        self.received.get(&sender).cloned().unwrap_or_default()
    }

    /// Payload bytes received from `sender`.
    #[must_use]
    pub fn received_from(&self, sender: SocketAddr) -> u64 {
        self.received
            .get(&sender)
            .map_or(0, |received| received.bytes)
    }

    /// Payload bytes received from anyone.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received.values().map(|received| received.bytes).sum()
    }

    /// Packets received from anyone.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.received
            .values()
            .map(|received| received.packets)
            .sum()
    }
}

impl Host for Sink {
    fn handle_datagram(&mut self, _now: Instant, packet: Packet) {
        let header = Header::parse(&packet.payload);
        if !matches!(
            header,
            Some(Header::Plain | Header::Data(_) | Header::Selective(_))
        ) {
            return;
        }
        let size = packet.payload.len();
        let received = self.received.entry(packet.from).or_default();
        received.packets += 1;
        if let Some(Header::Data(number) | Header::Selective(number)) = header {
            let next = received.take(number, size);
            let ack = match header {
                Some(Header::Selective(received)) => Header::SelectiveAck { next, received },
                _ => Header::Ack(next),
            };
            self.acks.push_back(Packet {
                from: packet.to,
                to: packet.from,
                ecn: 0,
                payload: ack.payload(0),
            });
        } else {
            received.bytes += size as u64;
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

/// Packets kept before their turn: a window that no flow reaches.
const MOST_EARLY: usize = 1 << 20;
