//! The list of congestion controllers.

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use crate::CongestionController;
use crate::delay::Delay;
use crate::lia_diff::LiaDiff;
use crate::new_reno::NewReno;
use crate::{lia, new_reno};

/// Which congestion controller a path uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ControllerKind {
    /// RFC 9002 §7, each path for itself.
    NewReno,
    /// RFC 6356: coupled increases, every loss is congestion.
    Lia,
    /// [`Self::Lia`], but a loss without queueing delay does not count (PNC Eq. 20, 21).
    LiaDiff,
    /// Keeps a small queue, whatever the loss: the default.
    Delay,
}

impl ControllerKind {
    /// Every kind there is.
    pub const ALL: [Self; 4] = [Self::NewReno, Self::Lia, Self::LiaDiff, Self::Delay];

    /// A controller for a path that carries packets of at most `mss` bytes.
    pub fn build(
        self,
        mss: u16,
        _now: Instant,
        initial_window_packets: u64,
    ) -> Box<dyn CongestionController> {
        match self {
            Self::NewReno => Box::new(NewReno::new(
                mss,
                initial_window_packets,
                new_reno::increase,
            )),
            Self::Delay => Box::new(Delay::new(mss, initial_window_packets)),
            Self::Lia => Box::new(NewReno::new(mss, initial_window_packets, lia::increase)),
            Self::LiaDiff => Box::new(LiaDiff::new(mss, initial_window_packets)),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::NewReno => "newreno",
            Self::Lia => "lia",
            Self::LiaDiff => "lia-diff",
            Self::Delay => "delay",
        }
    }
}

impl fmt::Display for ControllerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ControllerKind {
    type Err = UnknownController;

    fn from_str(name: &str) -> Result<Self, UnknownController> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownController {
                name: name.to_owned(),
            })
    }
}

/// No congestion controller has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no congestion controller is called {name:?}; there are newreno, lia, lia-diff and delay")]
pub struct UnknownController {
    /// The name that was asked for.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_kind() {
        for kind in ControllerKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("cubic".parse::<ControllerKind>().is_err());
    }
}
