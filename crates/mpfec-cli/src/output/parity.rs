//! What the parity of a path was good for.

use mpfec_core::PathStats;
use serde::{Deserialize, Serialize};

use crate::units::rounded;

/// Parity packets of a path, where there were any.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ParityCounts {
    /// Data packets per parity packet now, where that is adapted.
    pub(crate) ratio: Option<f64>,
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) useful: u64,
    pub(crate) useless: u64,
    pub(crate) lost: u64,
    /// Packets of the peer's that were rebuilt here.
    pub(crate) rebuilt: u64,
}

impl ParityCounts {
    /// Those of a path; `None` if neither end sent any.
    pub(crate) fn of(path: &PathStats) -> Option<Self> {
        let parity = &path.parity;
        (parity.sent > 0 || parity.rebuilt > 0).then(|| Self {
            ratio: parity.ratio.map(rounded),
            sent: parity.sent,
            sent_bytes: parity.sent_bytes,
            useful: parity.useful,
            useless: parity.useless,
            lost: parity.lost,
            rebuilt: parity.rebuilt,
        })
    }

    /// What was sent, in words; nothing if none was.
    pub(crate) fn line(&self) -> Option<String> {
        let ratio = self
            .ratio
            .map(|ratio| format!(", now one for {ratio:.0} packets"));
        (self.sent > 0).then(|| {
            format!(
                "parity {}: {} useful, {} useless, {} lost{}",
                self.sent,
                self.useful,
                self.useless,
                self.lost,
                ratio.unwrap_or_default()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_is_told_where_it_was_sent() {
        let mut counts = ParityCounts {
            rebuilt: 3,
            ..ParityCounts::default()
        };
        assert_eq!(counts.line(), None);
        counts.sent = 12;
        counts.useful = 4;
        counts.useless = 7;
        counts.lost = 1;
        assert_eq!(
            counts.line().as_deref(),
            Some("parity 12: 4 useful, 7 useless, 1 lost")
        );
        counts.ratio = Some(15.92);
        let line = counts.line().unwrap_or_default();
        assert!(line.ends_with("1 lost, now one for 16 packets"), "{line}");
    }
}
