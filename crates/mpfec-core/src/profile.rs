//! Named combinations of codec, scheduler, congestion controller and redundancy policy.

use std::fmt;
use std::str::FromStr;

use mpfec_codec::CodecKind;
use mpfec_congestion::ControllerKind;
use mpfec_sched::{RedundancyKind, SchedulerKind};

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
    /// How many repair symbols, and when.
    pub redundancy: RedundancyKind,
}

impl Profile {
    /// The default: repair symbols of the code that costs least for each block, earliest
    /// arrival, delay-based rate control.
    pub const AUTO: Self = Self {
        codec: CodecKind::Auto,
        scheduler: SchedulerKind::EarliestArrival,
        congestion: ControllerKind::Delay,
        redundancy: RedundancyKind::Auto,
    };
    /// FMTCP: RaptorQ, Algorithm 1 with delta-hat completeness, RTT Compensator.
    pub const FMTCP: Self = Self {
        codec: CodecKind::RaptorQ,
        scheduler: SchedulerKind::Fmtcp,
        congestion: ControllerKind::Lia,
        redundancy: RedundancyKind::Auto,
    };
    /// The papers' reference: retransmission, lowest RTT, RTT Compensator.
    pub const MPTCP: Self = Self {
        codec: CodecKind::Uncoded,
        scheduler: SchedulerKind::LowestRtt,
        congestion: ControllerKind::Lia,
        redundancy: RedundancyKind::Auto,
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

    /// Whether its parts work together.
    ///
    /// # Errors
    /// If one of them needs what another does not have: no connection starts with such a
    /// profile.
    pub fn check(&self) -> Result<(), ImpossibleProfile> {
        if self.redundancy.needs_repair_code() && !self.codec.has_repair() {
            return Err(ImpossibleProfile::new(format!(
                "redundancy {} sends repair symbols, and codec {} makes none",
                self.redundancy, self.codec
            )));
        }
        Ok(())
    }
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
            None => write!(
                f,
                "{}+{}+{}+{}",
                self.codec, self.scheduler, self.congestion, self.redundancy
            ),
        }
    }
}

/// Parts that do not work together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("impossible profile: {reason}")]
pub struct ImpossibleProfile {
    /// Which parts, and why not.
    pub reason: String,
}

impl ImpossibleProfile {
    fn new(reason: String) -> Self {
        Self { reason }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_profile_is_possible_and_found_by_the_name_it_shows() {
        for (name, profile) in Profile::ALL {
            assert_eq!(profile.check(), Ok(()), "{name}");
            assert_eq!(name.parse(), Ok(*profile));
            assert_eq!(profile.to_string(), *name);
        }
    }

    #[test]
    fn a_profile_without_a_name_shows_its_parts() {
        let profile = Profile {
            redundancy: "fixed:percent=10".parse().unwrap(),
            ..Profile::MPTCP
        };
        assert_eq!(
            profile.to_string(),
            "uncoded+lowest-rtt+lia+fixed:percent=10"
        );
    }

    #[test]
    fn repair_ahead_of_loss_without_a_code_is_refused_with_the_reason() {
        let profile = Profile {
            redundancy: "fixed".parse().unwrap(),
            ..Profile::UNCODED
        };
        let reason = profile.check().unwrap_err().to_string();
        assert!(
            reason.contains("fixed") && reason.contains("uncoded"),
            "{reason}"
        );
    }
}
