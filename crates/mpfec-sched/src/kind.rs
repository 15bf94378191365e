//! Schedulers by name.

use std::fmt;
use std::str::FromStr;

use crate::earliest::EarliestArrival;
use crate::fmtcp::Fmtcp;
use crate::lowest_rtt::LowestRtt;
use crate::opportunistic::Opportunistic;
use crate::quality::Quality;
use crate::rtx_same::RtxSame;
use crate::scheduler::Scheduler;
use crate::single::Single;

/// Which scheduler a connection uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SchedulerKind {
    /// Symbols go where they arrive when they are needed.
    #[default]
    EarliestArrival,
    /// FMTCP Algorithm 1.
    Fmtcp,
    /// Lowest RTT first, as a reference.
    LowestRtt,
    /// Lowest RTT first, with opportunistic retransmission and penalisation (Raiciu et al.,
    /// NSDI 2012).
    Opportunistic,
    /// By the quality of paths (PNC Algorithm 4).
    Quality,
    /// Lowest RTT first, where each path sends again itself what it has lost (FMTCP §III).
    RtxSame,
    /// One path only.
    Single,
}

impl SchedulerKind {
    /// All of them, the default first.
    pub const ALL: [Self; 7] = [
        Self::EarliestArrival,
        Self::Fmtcp,
        Self::LowestRtt,
        Self::Opportunistic,
        Self::Quality,
        Self::RtxSame,
        Self::Single,
    ];

    /// A scheduler of this kind without history.
    #[must_use]
    pub fn build(self) -> Box<dyn Scheduler> {
        match self {
            Self::EarliestArrival => Box::new(EarliestArrival::new()),
            Self::Fmtcp => Box::new(Fmtcp::new()),
            Self::LowestRtt => Box::new(LowestRtt::new()),
            Self::Opportunistic => Box::new(Opportunistic::new()),
            Self::Quality => Box::new(Quality::new()),
            Self::RtxSame => Box::new(RtxSame::new()),
            Self::Single => Box::new(Single::new()),
        }
    }

    /// Its name in configuration and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EarliestArrival => "earliest-arrival",
            Self::Fmtcp => "fmtcp",
            Self::LowestRtt => "lowest-rtt",
            Self::Opportunistic => "opportunistic",
            Self::Quality => "quality",
            Self::RtxSame => "rtx-same",
            Self::Single => "single",
        }
    }
}

impl fmt::Display for SchedulerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SchedulerKind {
    type Err = ParseSchedulerError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| ParseSchedulerError {
                name: name.to_owned(),
            })
    }
}

/// No scheduler has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no scheduler is called {name:?}; there are {}", SchedulerKind::ALL.map(SchedulerKind::name).join(", "))]
pub struct ParseSchedulerError {
    /// What was asked for.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_the_name_it_shows() {
        for kind in SchedulerKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("round-robin".parse::<SchedulerKind>().is_err());
    }
}
