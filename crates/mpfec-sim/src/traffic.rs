//! Cross traffic: what else uses the links.
//!
//! A [`Tcp`] sender probes for rate as NewReno does, or with other factors, a [`SackTcp`] sender
//! with selective acknowledgements and perhaps as CUBIC does; a [`Source`] does
//! not care what gets lost; a [`Sink`] receives both. They fill datagrams of sizes of their
//! choice with a small header and zeros.

mod cubic;
mod feed;
mod pattern;
mod round_trip;
mod sack_tcp;
mod sink;
mod source;
mod spread;
mod tcp;

pub use self::pattern::{PacketSizes, Pattern};
pub use self::sack_tcp::SackTcp;
pub use self::sink::{Received, Sink};
pub use self::source::{Source, SourceConfig, Times};
pub use self::spread::Spread;
pub use self::tcp::{Aimd, Tcp, TcpConfig, WindowLaw};

use std::time::Instant;

use bytes::Bytes;

use crate::{Host, Packet};

/// Either a host under test or cross traffic, for a network that has both.
#[derive(Debug)]
pub enum Node<H> {
    /// What the simulation is about.
    Subject(H),
    /// Sends as TCP does.
    Tcp(Tcp),
    /// The same with selective acknowledgements.
    SackTcp(SackTcp),
    /// Sends as it likes.
    Source(Source),
    /// Receives from either.
    Sink(Sink),
}

impl<H> Node<H> {
    /// The host under test, if it is one.
    pub fn subject(&self) -> Option<&H> {
        match self {
            Self::Subject(host) => Some(host),
            _ => None,
        }
    }

    /// The host under test, if it is one.
    pub fn subject_mut(&mut self) -> Option<&mut H> {
        match self {
            Self::Subject(host) => Some(host),
            _ => None,
        }
    }
}

impl<H: Host> Host for Node<H> {
    fn handle_datagram(&mut self, now: Instant, packet: Packet) {
        match self {
            Self::Subject(host) => host.handle_datagram(now, packet),
            Self::Tcp(host) => host.handle_datagram(now, packet),
            Self::SackTcp(host) => host.handle_datagram(now, packet),
            Self::Source(host) => host.handle_datagram(now, packet),
            Self::Sink(host) => host.handle_datagram(now, packet),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Subject(host) => host.handle_timeout(now),
            Self::Tcp(host) => host.handle_timeout(now),
            Self::SackTcp(host) => host.handle_timeout(now),
            Self::Source(host) => host.handle_timeout(now),
            Self::Sink(host) => host.handle_timeout(now),
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        match self {
            Self::Subject(host) => host.poll_transmit(now),
            Self::Tcp(host) => host.poll_transmit(now),
            Self::SackTcp(host) => host.poll_transmit(now),
            Self::Source(host) => host.poll_transmit(now),
            Self::Sink(host) => host.poll_transmit(now),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Subject(host) => host.poll_timeout(),
            Self::Tcp(host) => host.poll_timeout(),
            Self::SackTcp(host) => host.poll_timeout(),
            Self::Source(host) => host.poll_timeout(),
            Self::Sink(host) => host.poll_timeout(),
        }
    }

    fn next_timer(&self) -> String {
        match self {
            Self::Subject(host) => host.next_timer(),
            Self::Tcp(host) => host.next_timer(),
            Self::SackTcp(host) => host.next_timer(),
            Self::Source(host) => host.next_timer(),
            Self::Sink(host) => host.next_timer(),
        }
    }
}

/// The header of a datagram of cross traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Header {
    /// Wants no answer.
    Plain,
    /// Wants its number back.
    Data(u64),
    /// The number that is next in order.
    Ack(u64),
    /// Wants its number back, and the number that is next in order.
    Selective(u64),
    /// The number that is next in order, and the one that has just arrived.
    SelectiveAck { next: u64, received: u64 },
}

impl Header {
    /// A payload of `size` bytes, or as many as the header needs.
    fn payload(self, size: usize) -> Bytes {
        let (kind, number, second) = match self {
            Self::Plain => (0, 0, None),
            Self::Data(number) => (1, number, None),
            Self::Ack(number) => (2, number, None),
            Self::Selective(number) => (3, number, None),
            Self::SelectiveAck { next, received } => (4, next, Some(received)),
        };
        let least = HEADER_SIZE + second.map_or(0, |_| NUMBER_SIZE);
        let mut payload = vec![0; size.max(least)];
        payload[0] = kind;
        payload[1..HEADER_SIZE].copy_from_slice(&number.to_be_bytes());
        if let Some(second) = second {
            payload[HEADER_SIZE..least].copy_from_slice(&second.to_be_bytes());
        }
        payload.into()
    }

    /// `None` for what is no cross traffic, or has been corrupted.
    fn parse(payload: &[u8]) -> Option<Self> {
        let (&kind, rest) = payload.split_first()?;
        let (number, rest) = rest.split_first_chunk()?;
        let number = u64::from_be_bytes(*number);
        match kind {
            0 => Some(Self::Plain),
            1 => Some(Self::Data(number)),
            2 => Some(Self::Ack(number)),
            3 => Some(Self::Selective(number)),
            4 => Some(Self::SelectiveAck {
                next: number,
                received: u64::from_be_bytes(*rest.first_chunk()?),
            }),
            _ => None,
        }
    }
}

const NUMBER_SIZE: usize = 8;
const HEADER_SIZE: usize = 9;

#[cfg(test)]
mod tests;
