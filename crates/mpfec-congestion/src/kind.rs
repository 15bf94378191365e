//! The list of congestion controllers.

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use crate::acc::Acc;
use crate::coop::Coop;
use crate::couple_plus::{CouplePlus, Exposure};
use crate::delay::Delay;
use crate::group::{GroupControl, Level};
use crate::lia_diff::LiaDiff;
use crate::new_reno::NewReno;
use crate::{Aimd, CongestionController, coupled, ewtcp, lia, new_reno, semi_coupled};

/// Which congestion controller a path uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ControllerKind {
    /// RFC 9002 §7, each path for itself.
    NewReno,
    /// RFC 6356: coupled increases, every loss is congestion.
    Lia,
    /// [`Self::Lia`], but a loss without queueing delay does not count (PNC Eq. 20, 21).
    LiaDiff,
    /// [`Self::LiaDiff`] that does not see the losses that the code makes up for (PNC §V).
    GroupPacket,
    /// [`Self::Lia`] that does not see them and grows when a group is decoded: the systems PNC is
    /// compared with.
    GroupLevel,
    /// Keeps a small queue, whatever the loss: the default.
    Delay,
    /// Every path a TCP flow of weight `1 / sqrt(n)` (Couple+ Table I).
    Ewtcp,
    /// Growth and losses of all paths together (Couple+ Table I).
    Coupled,
    /// Growth of all paths together (Couple+ Table I).
    SemiCoupled,
    /// [`Self::Lia`] that does not see the losses that the code makes up for: the reference of
    /// Couple+.
    LiaNc,
    /// [`Self::LiaNc`] that finds congestion behind them (Couple+ §IV).
    CouplePlus,
    /// [`Self::Lia`] that holds the slowest path back (UC Algorithm 3).
    Acc,
    /// [`Self::Lia`] that spares the TCP flows of relays (UC §7.2.3).
    MccCoop,
    /// The same for AIMD flows of relays, of this kind (UC §7.2.3).
    GmccCoop(Aimd),
    /// [`Self::GmccCoop`] that does not ask what the relays' flows need (UC §7.3.2).
    MpAimd(Aimd),
}

impl ControllerKind {
    /// Every kind there is, with [`Aimd::GENTLE`] where flows of relays have a kind.
    pub const ALL: [Self; 15] = [
        Self::NewReno,
        Self::Lia,
        Self::LiaDiff,
        Self::GroupPacket,
        Self::GroupLevel,
        Self::Delay,
        Self::Ewtcp,
        Self::Coupled,
        Self::SemiCoupled,
        Self::LiaNc,
        Self::CouplePlus,
        Self::Acc,
        Self::MccCoop,
        Self::GmccCoop(Aimd::GENTLE),
        Self::MpAimd(Aimd::GENTLE),
    ];

    /// A controller for a path that carries packets of at most `mss` bytes.
    pub fn build(
        self,
        mss: u16,
        now: Instant,
        initial_window_packets: u64,
    ) -> Box<dyn CongestionController> {
        let packets = initial_window_packets;
        let new_reno = |increase| NewReno::new(mss, packets, increase);
        match self {
            Self::NewReno => Box::new(new_reno(new_reno::increase)),
            Self::Delay => Box::new(Delay::new(mss, packets)),
            Self::Lia => Box::new(new_reno(lia::increase)),
            Self::LiaDiff => Box::new(LiaDiff::new(mss, packets)),
            Self::GroupPacket => {
                Box::new(GroupControl::new(LiaDiff::new(mss, packets), Level::Packet))
            }
            Self::GroupLevel => Box::new(GroupControl::new(new_reno(lia::increase), Level::Group)),
            Self::Ewtcp => Box::new(new_reno(ewtcp::increase)),
            Self::Coupled => Box::new(new_reno(coupled::increase).with_decrease(coupled::decrease)),
            Self::SemiCoupled => Box::new(new_reno(semi_coupled::increase)),
            Self::LiaNc => Box::new(CouplePlus::new(mss, packets, Exposure::Hidden)),
            Self::CouplePlus => Box::new(CouplePlus::new(mss, packets, Exposure::Full)),
            Self::Acc => Box::new(Acc::new(mss, packets, now)),
            Self::MccCoop => Box::new(Coop::new(mss, packets, Aimd::TCP)),
            Self::GmccCoop(local) => Box::new(Coop::new(mss, packets, local)),
            Self::MpAimd(local) => Box::new(Coop::new(mss, packets, local).heedless()),
        }
    }

    /// Whether it takes losses for nothing that a code makes up for, so that it makes no sense
    /// without one.
    #[must_use]
    pub fn needs_code(self) -> bool {
        matches!(
            self,
            Self::LiaNc | Self::CouplePlus | Self::GroupPacket | Self::GroupLevel
        )
    }

    /// Whether it makes use of [how long acknowledgements come back](crate::Ack::way_back).
    #[must_use]
    pub fn heeds_way_back(self) -> bool {
        self == Self::Delay
    }

    fn name(self) -> &'static str {
        match self {
            Self::NewReno => "newreno",
            Self::Lia => "lia",
            Self::LiaDiff => "lia-diff",
            Self::GroupPacket => "group-packet",
            Self::GroupLevel => "group-level",
            Self::Delay => "delay",
            Self::Ewtcp => "ewtcp",
            Self::Coupled => "coupled",
            Self::SemiCoupled => "semicoupled",
            Self::LiaNc => "lia-nc",
            Self::CouplePlus => "couple-plus",
            Self::Acc => "acc",
            Self::MccCoop => "mcc-coop",
            Self::GmccCoop(_) => "gmcc-coop",
            Self::MpAimd(_) => "mpaimd",
        }
    }

    /// The kind of a relay's flows that it reckons with, where it can be chosen.
    fn local_mut(&mut self) -> Option<&mut Aimd> {
        match self {
            Self::GmccCoop(local) | Self::MpAimd(local) => Some(local),
            _ => None,
        }
    }
}

/// The name, and `:alpha=…,beta=…` where it is not the usual.
impl fmt::Display for ControllerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GmccCoop(local) | Self::MpAimd(local) if *local != Aimd::GENTLE => {
                f.pad(&format!("{}:{local}", self.name()))
            }
            _ => f.pad(self.name()),
        }
    }
}

impl FromStr for ControllerKind {
    type Err = UnknownController;

    fn from_str(text: &str) -> Result<Self, UnknownController> {
        let (name, settings) = match text.split_once(':') {
            Some((name, settings)) => (name, Some(settings)),
            None => (text, None),
        };
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        let mut kind = known.ok_or_else(|| UnknownController::Name {
            name: name.to_owned(),
        })?;
        if let Some(settings) = settings {
            let wrong = |reason: String| UnknownController::Settings {
                name: name.to_owned(),
                reason,
            };
            let local = kind
                .local_mut()
                .ok_or_else(|| wrong("it has none".to_owned()))?;
            *local = settings
                .parse()
                .map_err(|error: crate::AimdError| wrong(error.to_string()))?;
        }
        Ok(kind)
    }
}

/// Text that names no congestion controller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownController {
    /// None has that name.
    #[error("no congestion controller is called {name:?}; there are {}", names())]
    Name {
        /// The name that was asked for.
        name: String,
    },
    /// There is one, but its settings make no sense.
    #[error("settings of {name}: {reason}")]
    Settings {
        /// The name that was asked for.
        name: String,
        /// What is wrong with what follows the colon.
        reason: String,
    },
}

fn names() -> String {
    let names: Vec<_> = ControllerKind::ALL.iter().map(|kind| kind.name()).collect();
    names.join(", ")
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

    #[test]
    fn settings_are_read_where_there_are_any() {
        let half = Aimd::new(0.5, 0.8).expect("in range");
        for kind in [ControllerKind::GmccCoop(half), ControllerKind::MpAimd(half)] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for wrong in [
            "lia:alpha=1",
            "gmcc-coop:",
            "gmcc-coop:alpha=9",
            "mpaimd:x=1",
        ] {
            assert!(wrong.parse::<ControllerKind>().is_err(), "{wrong}");
        }
    }
}
