//! Named combinations of codec, scheduler and congestion controller.

use std::fmt;
use std::str::FromStr;

use mpfec_codec::CodecKind;
use mpfec_congestion::ControllerKind;
use mpfec_sched::SchedulerKind;

/// The parts of the engine that a connection runs with. Two profiles differ in these
/// parts and in nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// What a block's symbols are.
    pub codec: CodecKind,
    /// Which symbol goes on which path.
    pub scheduler: SchedulerKind,
    /// How much may be in flight on a path.
    pub congestion: ControllerKind,
}

impl Profile {
    /// The default: repair symbols of the code that costs least for each block, earliest
    /// arrival, delay-based rate control.
    pub const AUTO: Self = Self {
        codec: CodecKind::Auto,
        scheduler: SchedulerKind::EarliestArrival,
        congestion: ControllerKind::Delay,
    };
    /// FMTCP: RaptorQ, Algorithm 1 with delta-hat completeness, RTT Compensator.
    pub const FMTCP: Self = Self {
        codec: CodecKind::RaptorQ,
        scheduler: SchedulerKind::Fmtcp,
        congestion: ControllerKind::Lia,
    };
    /// The papers' reference: retransmission, lowest RTT, RTT Compensator.
    pub const MPTCP: Self = Self {
        codec: CodecKind::Uncoded,
        scheduler: SchedulerKind::LowestRtt,
        congestion: ControllerKind::Lia,
    };
    /// [`AUTO`](Self::AUTO) with coding switched off: lost symbols are sent again.
    pub const UNCODED: Self = Self {
        codec: CodecKind::Uncoded,
        ..Self::AUTO
    };
    /// [`AUTO`](Self::AUTO) with the RTT Compensator and PNC's loss differentiation.
    pub const LIA_DIFF: Self = Self {
        congestion: ControllerKind::LiaDiff,
        ..Self::AUTO
    };

    /// Every profile with its name.
    pub const ALL: &[(&str, Self)] = &[
        ("auto", Self::AUTO),
        ("fmtcp", Self::FMTCP),
        ("mptcp", Self::MPTCP),
        ("uncoded", Self::UNCODED),
        ("lia-diff", Self::LIA_DIFF),
    ];
}

impl Default for Profile {
    fn default() -> Self {
        Self::AUTO
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::ALL.iter().find(|(_, profile)| profile == self) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}+{}+{}", self.codec, self.scheduler, self.congestion),
        }
    }
}

/// A name that no profile has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no profile is called {name:?}; there are {}", Profile::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))]
pub struct UnknownProfile {
    /// What was asked for.
    pub name: String,
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, profile)| *profile)
            .ok_or_else(|| UnknownProfile {
                name: name.to_owned(),
            })
    }
}
