//! How fast a flow grows and shrinks: AIMD(alpha, beta).

use std::fmt;
use std::str::FromStr;

/// Additive increase and multiplicative decrease of a flow: `alpha` packets more per round
/// trip, `beta` of the window left after a loss. Kept in thousandths, so that it can be
/// compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Aimd {
    alpha_thousandths: u16,
    beta_thousandths: u16,
}

impl Aimd {
    /// TCP: one packet more, half the window.
    pub const TCP: Self = Self {
        alpha_thousandths: 1000,
        beta_thousandths: 500,
    };
    /// The local flows of the thesis: AIMD(0.7, 0.625) (UC §7.1).
    pub const GENTLE: Self = Self {
        alpha_thousandths: 700,
        beta_thousandths: 625,
    };

    /// `alpha` from 0.001 to below 3 packets, `beta` from 0.001 to 0.999, as UC Eq. 7.2 has
    /// them; `None` for anything else.
    #[must_use]
    pub fn new(alpha: f64, beta: f64) -> Option<Self> {
        let thousandths = |value: f64, below: f64| {
            let value = (value * 1000.0).round();
            (value >= 1.0 && value < below * 1000.0).then_some(value as u16)
        };
        Some(Self {
            alpha_thousandths: thousandths(alpha, 3.0)?,
            beta_thousandths: thousandths(beta, 1.0)?,
        })
    }

    /// Packets by which the window grows in a round trip without loss.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        f64::from(self.alpha_thousandths) / 1000.0
    }

    /// What remains of the window after a loss, 0..1.
    #[must_use]
    pub fn beta(&self) -> f64 {
        f64::from(self.beta_thousandths) / 1000.0
    }
}

/// The `alpha` with which a flow that keeps `beta` of its window after a loss is as fast as
/// TCP: `alpha = 3 (1 - beta) / (1 + beta)` (UC Eq. 7.2).
#[must_use]
pub fn tcp_friendly_alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

impl fmt::Display for Aimd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "alpha={},beta={}", self.alpha(), self.beta())
    }
}

impl FromStr for Aimd {
    type Err = AimdError;

    /// Reads `alpha=0.7,beta=0.625`, in either order; what is not given is
    /// [`GENTLE`](Self::GENTLE)'s, and alpha follows beta (UC Eq. 7.2) if that alone is given.
    fn from_str(text: &str) -> Result<Self, AimdError> {
        let (mut alpha, mut beta) = (None, None);
        for part in text.split(',') {
            let number = |value: &str| {
                value.parse::<f64>().map_err(|_| AimdError {
                    what: format!("{value:?} is not a number"),
                })
            };
            let (key, place, value) = match part.split_once('=') {
                Some((key @ "alpha", value)) => (key, &mut alpha, value),
                Some((key @ "beta", value)) => (key, &mut beta, value),
                _ => {
                    return Err(AimdError {
                        what: format!("{part:?} is neither alpha=… nor beta=…"),
                    });
                }
            };
            if place.replace(number(value)?).is_some() {
                return Err(AimdError {
                    what: format!("{key} is given twice"),
                });
            }
        }
        let alpha = alpha
            .or_else(|| beta.map(tcp_friendly_alpha))
            .unwrap_or(Self::GENTLE.alpha());
        let beta = beta.unwrap_or(Self::GENTLE.beta());
        Self::new(alpha, beta).ok_or_else(|| AimdError {
            what: format!(
                "alpha={alpha},beta={beta} is out of range: alpha is from 0.001 to below 3, beta from 0.001 to 0.999"
            ),
        })
    }
}

/// Why text says nothing about how a flow grows and shrinks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct AimdError {
    what: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_fast_as_tcp_with_less_decrease_takes_less_increase() {
        assert!((tcp_friendly_alpha(0.5) - 1.0).abs() < 1e-12);
        assert!((tcp_friendly_alpha(0.625) - 0.692_3).abs() < 1e-4);
    }

    #[test]
    fn text_leads_back_to_its_value() {
        for aimd in [Aimd::TCP, Aimd::GENTLE] {
            assert_eq!(aimd.to_string().parse(), Ok(aimd));
        }
        assert_eq!("beta=0.625".parse(), Ok(Aimd::new(0.692, 0.625).unwrap()));
        for wrong in [
            "",
            "alpha",
            "alpha=x",
            "alpha=3",
            "beta=1",
            "beta=nan",
            "gamma=1",
            "beta=0.5,beta=0.6",
        ] {
            assert!(wrong.parse::<Aimd>().is_err(), "{wrong:?}");
        }
    }
}
