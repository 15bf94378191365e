//! Links that several paths share, and links that relays lend.

use std::time::Duration;

use super::Traffic;
use crate::{Change, Direction, LinkConfig};

/// A link that several paths cross, such as a bottleneck: a queue of its own in each direction.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedLink {
    /// Unique among the shared links.
    pub name: String,
    /// From the client to the server.
    pub forward: LinkConfig,
    /// From the server to the client.
    pub backward: LinkConfig,
}

/// A change to a shared link at a certain time.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkChange {
    /// Time since the start of the run.
    pub at: Duration,
    /// Position in [`Plan::links`](super::Plan::links).
    pub link: usize,
    /// Which directions.
    pub direction: Direction,
    /// What changes.
    pub change: Change,
}

/// What the server tells the client about a path through a relay that has traffic of its own
/// (`rho_r`, UC Eq. 7.3), again and again.
#[derive(Debug, Clone, PartialEq)]
pub struct Lent {
    /// Position in [`Setup::paths`](crate::Setup::paths).
    pub path: usize,
    /// What the relay's link carries, in bits per second.
    pub rate: u64,
    /// The relay's own flows, as positions in [`Plan::traffic`](super::Plan::traffic). Each has
    /// a rate, which counts while it runs.
    pub flows: Vec<usize>,
    /// Time from one announcement to the next.
    pub interval: Duration,
    /// Whether what the path really takes corrects the share
    /// ([`MeasuredShare`](mpfec_core::MeasuredShare)), or Eq. 7.3 is all.
    pub measured: bool,
}

impl Lent {
    /// What the relay's own flows send at `elapsed` since the start of the run, each in bits
    /// per second.
    #[must_use]
    pub fn rates_at(&self, elapsed: Duration, traffic: &[Traffic]) -> Vec<f64> {
        let running = self.flows.iter().map(|&flow| &traffic[flow]);
        let running = running
            .filter(|flow| flow.start <= elapsed && flow.stop.is_none_or(|stop| elapsed < stop));
        running
            .flat_map(|flow| {
                let rate = flow.rate().unwrap_or(self.rate) as f64;
                std::iter::repeat_n(rate, flow.flows as usize)
            })
            .collect()
    }
}
