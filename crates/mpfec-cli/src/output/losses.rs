//! What the losses of a path were taken for.

use mpfec_core::PathStats;
use serde::{Deserialize, Serialize};

use crate::units::{ms, rounded};

/// Lost packets by what congestion control took them for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LossReport {
    pub(crate) congestion: u64,
    pub(crate) undecided: u64,
    pub(crate) wireless: u64,
    /// What spoke for the latest verdict, if there was one.
    pub(crate) latest: Option<EvidenceReport>,
}

/// The state of a path when a verdict was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EvidenceReport {
    pub(crate) verdict: String,
    /// Packets lost together.
    pub(crate) burst: u32,
    pub(crate) srtt_ms: f64,
    pub(crate) min_rtt_ms: f64,
    pub(crate) queued_packets: f64,
    pub(crate) rate_plateau: bool,
}

impl From<&PathStats> for LossReport {
    fn from(path: &PathStats) -> Self {
        let [congestion, undecided, wireless] = path.loss_verdicts;
        Self {
            congestion,
            undecided,
            wireless,
            latest: path.loss_evidence.map(|evidence| EvidenceReport {
                verdict: evidence.verdict.to_string(),
                burst: evidence.burst,
                srtt_ms: rounded(ms(evidence.srtt)),
                min_rtt_ms: rounded(ms(evidence.min_rtt)),
                queued_packets: rounded(evidence.queued_packets),
                rate_plateau: evidence.rate_plateau,
            }),
        }
    }
}
