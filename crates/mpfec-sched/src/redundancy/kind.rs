//! Redundancy policies by name.

use std::fmt;
use std::str::FromStr;

use super::options::{self, Key, ParseRedundancyError, decimal};
use super::{DeltaHat, Fixed, GroupRedundancy, OnLoss, Planned};
use crate::scheduler::Scheduler;

/// How many repair symbols are sent, and when. Its text form is the name of the kind, or
/// `kind:key=value,...` where it has parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RedundancyKind {
    /// `auto`: as the scheduler decides.
    #[default]
    Auto,
    /// `on-loss`: for what feedback says is missing, nothing ahead of loss.
    OnLoss,
    /// `fixed:percent=25`: so many repair symbols with each block, ahead of loss, rounded up.
    Fixed {
        /// Repair symbols in thousandths of a percent of the source symbols: 1 to 400 000.
        milli_percent: u32,
    },
    /// `delta-hat:percent=5`: until a block fails to decode with this probability at most
    /// (FMTCP Eq. 4), ahead of loss.
    DeltaHat {
        /// The probability in thousandths of a percent: 1 to 50 000.
        milli_percent: u32,
    },
    /// `group:confidence=0.95`: groups of MPTCP-PNC (PNC Eq. 9, 10); for the systems it is
    /// compared with, `group:size=6,repair=1`.
    Group {
        /// Confidence of the loss estimate in thousandths: 700 to 990.
        milli_confidence: u32,
        /// Packets of a group, 2 to 20; as many as Eq. 9 says if not given.
        size: Option<u32>,
        /// Redundant packets behind each group, 0 to 10; as many as Eq. 10 says if not given.
        repair: Option<u32>,
    },
    /// `parity-fixed`: no repair of blocks, but an XOR over the packets of each path, every
    /// quarter of its RTT, whatever its window says (TCP-IR).
    ParityFixed,
    /// `parity-adaptive:tolerance=1,delta=0.33`: the same after so many packets as
    /// [`AdaptiveRatio`](crate::AdaptiveRatio) says, within the window (dFEC Eq. 1 to 3).
    ParityAdaptive {
        /// Target residual loss in thousandths of a percent: 0 to 100 000.
        milli_percent: u32,
        /// Step of the ratio in thousandths: 1 to 999.
        milli_delta: u32,
    },
}

impl RedundancyKind {
    /// Every kind, those with parameters as they are without any being named.
    pub const ALL: [Self; 7] = [
        Self::Auto,
        Self::OnLoss,
        Self::Fixed {
            milli_percent: 25_000,
        },
        Self::DELTA_HAT,
        Self::GROUP,
        Self::ParityFixed,
        Self::ParityAdaptive {
            milli_percent: 1_000,
            milli_delta: 330,
        },
    ];

    /// What FMTCP does: 5 %.
    pub const DELTA_HAT: Self = Self::DeltaHat {
        milli_percent: 5_000,
    };

    /// Groups and redundancy as MPTCP-PNC computes them.
    pub const GROUP: Self = Self::Group {
        milli_confidence: DEFAULT_CONFIDENCE,
        size: None,
        repair: None,
    };

    /// Puts the policy into effect around a scheduler. [`Auto`](Self::Auto) is the scheduler
    /// itself. Parity is none of the scheduler's concern: lost symbols are sent again on
    /// feedback.
    #[must_use]
    pub fn apply(self, scheduler: Box<dyn Scheduler>) -> Box<dyn Scheduler> {
        match self {
            Self::Auto | Self::ParityFixed | Self::ParityAdaptive { .. } => scheduler,
            Self::OnLoss => Box::new(OnLoss::new(scheduler)),
            Self::Fixed { milli_percent } => {
                Box::new(Planned::new(scheduler, Fixed::new(milli_percent)))
            }
            Self::DeltaHat { milli_percent } => {
                Box::new(Planned::new(scheduler, DeltaHat::new(milli_percent)))
            }
            Self::Group { repair, .. } => {
                Box::new(Planned::new(scheduler, GroupRedundancy::new(repair)))
            }
        }
    }

    /// Whether it sends repair symbols that nothing has been lost for, whatever the
    /// scheduler: that takes a code which makes them.
    #[must_use]
    pub fn needs_repair_code(self) -> bool {
        match self {
            Self::Auto | Self::OnLoss | Self::ParityFixed | Self::ParityAdaptive { .. } => false,
            Self::Fixed { .. } | Self::DeltaHat { .. } | Self::Group { .. } => true,
        }
    }

    /// Whether it sends parity over the packets of each path, beneath blocks and their codes.
    #[must_use]
    pub fn is_parity(self) -> bool {
        matches!(self, Self::ParityFixed | Self::ParityAdaptive { .. })
    }

    /// Its name in configuration, without parameters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::OnLoss => "on-loss",
            Self::Fixed { .. } => "fixed",
            Self::DeltaHat { .. } => "delta-hat",
            Self::Group { .. } => "group",
            Self::ParityFixed => "parity-fixed",
            Self::ParityAdaptive { .. } => "parity-adaptive",
        }
    }

    /// The parameters it takes, for people.
    fn keys(self) -> &'static str {
        match self {
            Self::Auto | Self::OnLoss | Self::ParityFixed => "no parameters",
            Self::Fixed { .. } | Self::DeltaHat { .. } => "percent",
            Self::Group { .. } => "confidence, size and repair",
            Self::ParityAdaptive { .. } => "tolerance and delta",
        }
    }
}

/// In thousandths.
const DEFAULT_CONFIDENCE: u32 = 950;

impl fmt::Display for RedundancyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Auto | Self::OnLoss | Self::ParityFixed => f.pad(self.name()),
            Self::Fixed { milli_percent } => {
                f.pad(&format!("fixed:percent={}", decimal(milli_percent)))
            }
            Self::DeltaHat { milli_percent } => {
                f.pad(&format!("delta-hat:percent={}", decimal(milli_percent)))
            }
            Self::Group {
                milli_confidence,
                size,
                repair,
            } => {
                let mut keys = Vec::new();
                if milli_confidence != DEFAULT_CONFIDENCE || size.is_none() || repair.is_none() {
                    keys.push(format!("confidence={}", decimal(milli_confidence)));
                }
                keys.extend(size.map(|size| format!("size={size}")));
                keys.extend(repair.map(|repair| format!("repair={repair}")));
                f.pad(&format!("group:{}", keys.join(",")))
            }
            Self::ParityAdaptive {
                milli_percent,
                milli_delta,
            } => f.pad(&format!(
                "parity-adaptive:tolerance={},delta={}",
                decimal(milli_percent),
                decimal(milli_delta)
            )),
        }
    }
}

impl FromStr for RedundancyKind {
    type Err = ParseRedundancyError;

    fn from_str(text: &str) -> Result<Self, ParseRedundancyError> {
        let (name, parameters) = match text.split_once(':') {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (text, None),
        };
        let Some(mut kind) = Self::ALL.into_iter().find(|kind| kind.name() == name) else {
            return Err(ParseRedundancyError::UnknownKind {
                name: name.to_owned(),
                known: Self::ALL.map(Self::name).join(", "),
            });
        };
        let (name, keys) = (kind.name(), kind.keys());
        let parse = |into: &mut [Key<'_>]| options::parse(name, keys, parameters, into);
        match &mut kind {
            Self::Auto | Self::OnLoss | Self::ParityFixed => parse(&mut [])?,
            Self::Fixed { milli_percent } => parse(&mut [Key {
                name: "percent",
                range: 1..=400_000,
                into: milli_percent,
            }])?,
            Self::DeltaHat { milli_percent } => parse(&mut [Key {
                name: "percent",
                range: 1..=50_000,
                into: milli_percent,
            }])?,
            Self::Group {
                milli_confidence,
                size,
                repair,
            } => {
                // No value is that large.
                let (mut packets, mut redundant) = (u32::MAX, u32::MAX);
                parse(&mut [
                    Key {
                        name: "confidence",
                        range: 700..=990,
                        into: milli_confidence,
                    },
                    Key {
                        name: "size",
                        range: 2000..=20_000,
                        into: &mut packets,
                    },
                    Key {
                        name: "repair",
                        range: 0..=10_000,
                        into: &mut redundant,
                    },
                ])?;
                *size = options::whole(name, "size", packets)?;
                *repair = options::whole(name, "repair", redundant)?;
            }
            Self::ParityAdaptive {
                milli_percent,
                milli_delta,
            } => parse(&mut [
                Key {
                    name: "tolerance",
                    range: 0..=100_000,
                    into: milli_percent,
                },
                Key {
                    name: "delta",
                    range: 1..=999,
                    into: milli_delta,
                },
            ])?,
        }
        Ok(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_the_text_it_shows_and_by_its_bare_name() {
        for kind in RedundancyKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(kind.name().parse(), Ok(kind));
        }
    }

    #[test]
    fn parameters_are_read_and_shown_as_decimals() {
        let kind: RedundancyKind = "fixed:percent=12.5".parse().unwrap();
        assert_eq!(
            kind,
            RedundancyKind::Fixed {
                milli_percent: 12_500
            }
        );
        assert_eq!(kind.to_string(), "fixed:percent=12.5");
        for text in [
            "group:confidence=0.9",
            "group:confidence=0.95,size=6",
            "group:size=4,repair=1",
            "group:confidence=0.8,size=4,repair=0",
        ] {
            let kind: RedundancyKind = text.parse().unwrap();
            assert_eq!(kind.to_string(), text);
        }
        let kind: RedundancyKind = "parity-adaptive:delta=0.25".parse().unwrap();
        assert_eq!(kind.to_string(), "parity-adaptive:tolerance=1,delta=0.25");
    }

    #[test]
    fn what_cannot_be_read_is_told_with_what_could_be_there() {
        for (text, told) in [
            ("none", "auto, on-loss, fixed, delta-hat, group"),
            ("group:size=1", "2 to 20"),
            ("group:size=2.5", "whole number"),
            ("group:confidence=1", "0.7 to 0.99"),
            ("group:repair=11", "0 to 10"),
            ("fixed:", "percent"),
            ("fixed:percent=-1", "0.001 to 400"),
            ("fixed:percent=401", "0.001 to 400"),
            ("fixed:percent=1,percent=2", "twice"),
            ("fixed:share=1", "percent"),
            ("parity-adaptive:delta=1", "0.001 to 0.999"),
            ("parity-adaptive:ratio=9", "tolerance and delta"),
            ("parity-fixed:delta=0.5", "no parameters"),
            ("auto:percent=1", "no parameters"),
        ] {
            let error = text.parse::<RedundancyKind>().unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
