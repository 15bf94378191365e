//! Named combinations of codec, scheduler, congestion controller and redundancy policy.

use std::fmt;
use std::str::FromStr;

use mpfec_codec::CodecKind;
use mpfec_congestion::{Aimd, ControllerKind};
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
    /// [`FMTCP`](Self::FMTCP) without its scheduling (Fig. 14): blocks are protected as far,
    /// but their symbols go in order to the path of lowest RTT.
    pub const FMTCP_NO_SCHEDULING: Self = Self {
        scheduler: SchedulerKind::LowestRtt,
        redundancy: RedundancyKind::DELTA_HAT,
        ..Self::FMTCP
    };
    /// [`FMTCP`](Self::FMTCP) without its code: Algorithm 1 places what was lost as well.
    pub const FMTCP_NO_CODING: Self = Self {
        codec: CodecKind::Uncoded,
        ..Self::FMTCP
    };
    /// The papers' reference IETF-MPTCP: retransmission, lowest RTT with opportunistic
    /// retransmission and penalisation, RTT Compensator (RFC 6356).
    pub const MPTCP: Self = Self {
        codec: CodecKind::Uncoded,
        scheduler: SchedulerKind::Opportunistic,
        congestion: ControllerKind::Lia,
        redundancy: RedundancyKind::Auto,
    };
    /// The papers' reference TCP: retransmission on one path, NewReno.
    pub const TCP: Self = Self {
        codec: CodecKind::Uncoded,
        scheduler: SchedulerKind::Single,
        congestion: ControllerKind::NewReno,
        redundancy: RedundancyKind::Auto,
    };
    /// [`MPTCP`](Self::MPTCP) where every path is a TCP flow of a weight (Couple+ Table I).
    pub const EWTCP: Self = Self {
        scheduler: SchedulerKind::LowestRtt,
        congestion: ControllerKind::Ewtcp,
        ..Self::MPTCP
    };
    /// [`MPTCP`](Self::MPTCP) with the windows of all paths as one (Couple+ Table I).
    pub const COUPLED: Self = Self {
        scheduler: SchedulerKind::LowestRtt,
        congestion: ControllerKind::Coupled,
        ..Self::MPTCP
    };
    /// [`MPTCP`](Self::MPTCP) with growth shared by all paths (Couple+ Table I).
    pub const SEMI_COUPLED: Self = Self {
        scheduler: SchedulerKind::LowestRtt,
        congestion: ControllerKind::SemiCoupled,
        ..Self::MPTCP
    };
    /// Couple+: one repair symbol for ten source symbols ahead of loss, lowest RTT, and
    /// congestion control that tells congestion from what the code makes up for.
    pub const COUPLE_PLUS: Self = Self {
        codec: CodecKind::Auto,
        scheduler: SchedulerKind::LowestRtt,
        congestion: ControllerKind::CouplePlus,
        redundancy: RedundancyKind::Fixed {
            milli_percent: 10_000,
        },
    };
    /// [`MPTCP`](Self::MPTCP) with the slowest path held back (UC Algorithm 3).
    pub const ACC: Self = Self {
        scheduler: SchedulerKind::LowestRtt,
        congestion: ControllerKind::Acc,
        ..Self::MPTCP
    };
    /// [`MPTCP`](Self::MPTCP) that spares the TCP flows of relays (UC §7.2.3).
    pub const MCC_COOP: Self = Self {
        scheduler: SchedulerKind::LowestRtt,
        congestion: ControllerKind::MccCoop,
        ..Self::MPTCP
    };
    /// [`MPTCP`](Self::MPTCP) that spares the AIMD flows of relays (UC §7.2.3).
    pub const GMCC_COOP: Self = Self {
        scheduler: SchedulerKind::LowestRtt,
        congestion: ControllerKind::GmccCoop(Aimd::GENTLE),
        ..Self::MPTCP
    };
    /// The reference of [`GMCC_COOP`](Self::GMCC_COOP), which asks no relay (UC §7.3.2).
    pub const MPAIMD: Self = Self {
        scheduler: SchedulerKind::LowestRtt,
        congestion: ControllerKind::MpAimd(Aimd::GENTLE),
        ..Self::MPTCP
    };
    /// MPTCP-PNC: pipeline network coding, groups and redundancy after the paths, congestion
    /// control that takes queues, not losses, for congestion.
    pub const PNC: Self = Self {
        codec: CodecKind::Pipeline,
        scheduler: SchedulerKind::Quality,
        congestion: ControllerKind::GroupPacket,
        redundancy: RedundancyKind::GROUP,
    };
    /// CMT-NC, which PNC is compared with: batches with coefficients, groups and redundancy as
    /// PNC computes them, on whichever path is free.
    pub const CMT_NC: Self = Self {
        codec: CodecKind::Batch,
        scheduler: SchedulerKind::LowestRtt,
        congestion: ControllerKind::GroupLevel,
        redundancy: RedundancyKind::GROUP,
    };
    /// MPTCP/NC, which PNC is compared with: batches of six with coefficients and one redundant
    /// packet each.
    pub const MPTCP_NC: Self = Self {
        redundancy: RedundancyKind::Group {
            milli_confidence: 950,
            size: Some(6),
            repair: Some(1),
        },
        ..Self::CMT_NC
    };
    /// NC-MPTCP, which PNC is compared with: batches of four, on the path of smallest RTT as they
    /// are, as combinations with coefficients on the others.
    pub const NC_MPTCP: Self = Self {
        codec: CodecKind::BatchMixed,
        redundancy: RedundancyKind::Group {
            milli_confidence: 950,
            size: Some(4),
            repair: Some(1),
        },
        ..Self::CMT_NC
    };
    /// TCP with dynamic FEC: an adaptive XOR parity over the packets of the one path.
    pub const TCP_DFEC: Self = Self {
        redundancy: PARITY_ADAPTIVE,
        ..Self::TCP
    };
    /// TCP Instant Recovery: a parity every quarter of an RTT, whatever the window says.
    pub const TCP_IR: Self = Self {
        redundancy: RedundancyKind::ParityFixed,
        ..Self::TCP
    };
    /// MPTCP with dynamic FEC: [`MPTCP`](Self::MPTCP) with an adaptive XOR parity on each
    /// path.
    pub const DFEC: Self = Self {
        redundancy: PARITY_ADAPTIVE,
        ..Self::MPTCP
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
        ("fmtcp-no-scheduling", Self::FMTCP_NO_SCHEDULING),
        ("fmtcp-no-coding", Self::FMTCP_NO_CODING),
        ("mptcp", Self::MPTCP),
        ("tcp", Self::TCP),
        ("ewtcp", Self::EWTCP),
        ("coupled", Self::COUPLED),
        ("semicoupled", Self::SEMI_COUPLED),
        ("couple-plus", Self::COUPLE_PLUS),
        ("mptcp-nc", Self::MPTCP_NC),
        ("nc-mptcp", Self::NC_MPTCP),
        ("cmt-nc", Self::CMT_NC),
        ("pnc", Self::PNC),
        ("acc", Self::ACC),
        ("mcc-coop", Self::MCC_COOP),
        ("gmcc-coop", Self::GMCC_COOP),
        ("mpaimd", Self::MPAIMD),
        ("tcp-ir", Self::TCP_IR),
        ("tcp-dfec", Self::TCP_DFEC),
        ("dfec", Self::DFEC),
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
        if self.congestion.needs_code() && !self.codec.has_repair() {
            return Err(ImpossibleProfile::new(format!(
                "congestion {} goes by what a code makes up for, and codec {} makes up for nothing",
                self.congestion, self.codec
            )));
        }
        if self.redundancy.is_parity() && self.codec.has_repair() {
            return Err(ImpossibleProfile::new(format!(
                "redundancy {} repairs packets and wants lost symbols sent again, and codec {} \
                 sends repair symbols",
                self.redundancy, self.codec
            )));
        }
        Ok(())
    }

    /// Symbols sent for each source symbol ahead of loss (`r` of Couple+); `None` if that is
    /// not fixed.
    pub(crate) fn fixed_redundancy(&self) -> Option<f64> {
        match self.redundancy {
            RedundancyKind::Fixed { milli_percent } => {
                Some(1.0 + f64::from(milli_percent) / 100_000.0)
            }
            _ => None,
        }
    }

    /// Source symbols in a block at most. Congestion control that watches redundant cycles
    /// wants blocks of one cycle, so that a block is decoded within `r / (r - 1)` packets where
    /// one of them is lost (Couple+ §IV-C).
    pub(crate) fn max_block_symbols(&self) -> u32 {
        match self.redundancy {
            // Rounded down, so that it has one repair symbol, and not two.
            RedundancyKind::Fixed { milli_percent } if self.congestion.needs_code() => {
                (100_000 / milli_percent.max(1)).max(1)
            }
            _ => u32::MAX,
        }
    }
}

/// Tolerance and delta as in the paper (dFEC §III-B).
const PARITY_ADAPTIVE: RedundancyKind = RedundancyKind::ParityAdaptive {
    milli_percent: 1_000,
    milli_delta: 330,
};

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
    fn the_table_of_profiles_says_what_they_are_made_of() {
        let documented = include_str!("../../../docs/profiles.md");
        let rows = documented.lines().filter_map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let name = cells.get(1)?.strip_prefix('`')?.strip_suffix('`')?;
            (cells.len() == 8).then(|| (name.to_owned(), cells[2..6].join(" ")))
        });
        let parts = Profile::ALL.iter().map(|(name, profile)| {
            let redundancy = profile.redundancy.to_string();
            // Parameters that are those of the bare name go without saying.
            let is_plain = profile.redundancy.name().parse() == Ok(profile.redundancy);
            let redundancy = match profile.redundancy {
                RedundancyKind::Fixed { .. } | RedundancyKind::DeltaHat { .. } => redundancy,
                _ if is_plain => profile.redundancy.name().to_owned(),
                _ => redundancy,
            };
            let congestion = profile.congestion.to_string();
            let congestion = congestion.split(':').next().unwrap_or_default();
            let parts = [
                &profile.codec.to_string(),
                &profile.scheduler.to_string(),
                congestion,
                &redundancy,
            ]
            .join(" ");
            ((*name).to_owned(), parts)
        });
        let (rows, parts): (Vec<_>, Vec<_>) = (rows.collect(), parts.collect());
        assert_eq!(rows, parts);
    }

    #[test]
    fn a_profile_without_a_name_shows_its_parts() {
        let profile = Profile {
            redundancy: "fixed:percent=10".parse().unwrap(),
            ..Profile::MPTCP
        };
        assert_eq!(
            profile.to_string(),
            "uncoded+opportunistic+lia+fixed:percent=10"
        );
    }

    #[test]
    fn control_that_asks_the_code_is_refused_without_one_with_the_reason() {
        let profile = Profile {
            congestion: ControllerKind::CouplePlus,
            ..Profile::UNCODED
        };
        let reason = profile.check().unwrap_err().to_string();
        assert!(
            reason.contains("couple-plus") && reason.contains("uncoded"),
            "{reason}"
        );
    }

    #[test]
    fn parity_with_a_repair_code_is_refused_with_the_reason() {
        let profile = Profile {
            redundancy: RedundancyKind::ParityFixed,
            ..Profile::FMTCP
        };
        let reason = profile.check().unwrap_err().to_string();
        assert!(
            reason.contains("parity-fixed") && reason.contains("raptorq"),
            "{reason}"
        );
    }

    #[test]
    fn a_block_of_couple_plus_is_a_redundant_cycle() {
        let with = |redundancy: &str| Profile {
            redundancy: redundancy.parse().unwrap(),
            ..Profile::COUPLE_PLUS
        };
        for (redundancy, symbols) in [
            ("fixed:percent=25", 4),
            ("fixed:percent=5", 20),
            ("fixed:percent=34", 2),
            ("fixed:percent=400", 1),
            ("auto", u32::MAX),
        ] {
            assert_eq!(
                with(redundancy).max_block_symbols(),
                symbols,
                "{redundancy}"
            );
        }
        assert_eq!(Profile::AUTO.max_block_symbols(), u32::MAX);
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
