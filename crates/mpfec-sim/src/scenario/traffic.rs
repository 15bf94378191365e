//! What else uses the links: cross traffic of a scenario.

use std::time::Duration;

use mpfec_core::Profile;

use crate::traffic::{PacketSizes, Times, WindowLaw};

/// Flows that compete with the connection under test, with ends of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// Unique; its metrics are called `traffic.<name>.…`.
    pub name: String,
    /// What it is.
    pub kind: TrafficKind,
    /// Which links it crosses.
    pub route: Route,
    /// From the client's side to the server's, or the other way round.
    pub is_backward: bool,
    /// Since the start of the run.
    pub start: Duration,
    /// Since the start of the run; it goes on to the end if absent.
    pub stop: Option<Duration>,
    /// How many of them there are, each random in its own way; their figures are added up.
    pub flows: u32,
    /// Delay in each direction on top of that of the links.
    pub delay: Duration,
    /// Bytes of its packets on the link.
    pub sizes: PacketSizes,
}

impl Traffic {
    /// Bits per second on the link that each of the flows sends while it is on, unless
    /// something holds it back; `None` if it sends as much as it can.
    #[must_use]
    pub fn rate(&self) -> Option<u64> {
        match self.kind {
            TrafficKind::Tcp { rate, .. } => rate,
            TrafficKind::Udp { rate, .. } => Some(rate),
            TrafficKind::Connection { .. } => None,
        }
    }
}

/// What a flow does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrafficKind {
    /// A TCP connection: slow start, congestion avoidance, recovery (RFC 5681, 6582 or 6675,
    /// 6298).
    Tcp {
        /// How its window grows and shrinks.
        law: WindowLaw,
        /// Selective acknowledgements instead of NewReno's recovery.
        sack: bool,
        /// Bits per second (packets as they are on the link) that its application has to send;
        /// as much as it can if absent.
        rate: Option<u64>,
        /// Bytes that its application has to send; without an end if absent.
        bytes: Option<u64>,
    },
    /// Packets at a rate, at times, whatever gets lost.
    Udp {
        /// Bits per second on the link while it is on.
        rate: u64,
        /// Times on and off; always on if absent.
        times: Option<Times>,
    },
    /// Another connection of this transport, without an end.
    Connection {
        /// Its parts; those of the variant if absent.
        profile: Option<Profile>,
    },
}

/// Where a flow goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Over all links of a path, by its position in [`Setup::paths`](crate::Setup::paths).
    Path(usize),
    /// Over these shared links, in the order from the client's side to the server's.
    Links(Vec<usize>),
}
