//! Links that several paths share.

use std::time::Duration;

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
