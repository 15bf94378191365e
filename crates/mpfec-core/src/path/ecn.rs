//! Whether explicit congestion notification works on a path (RFC 9000 §13.4.2).

use crate::address::Ecn;

/// Marks what leaves until it shows that marks do not come through.
#[derive(Debug, Default)]
pub(crate) struct EcnValidation {
    failed: bool,
    /// Marked packets that were acknowledged.
    acked: u64,
    /// Marks of congestion that the peer has counted.
    congested: u64,
}

impl EcnValidation {
    /// The mark for packets that leave now.
    pub(crate) fn mark(&self) -> Option<Ecn> {
        (!self.failed).then_some(Ecn::Ect0)
    }

    /// `acked` packets were newly acknowledged, and the peer counted `marked` and of them
    /// `congested` marks so far. Returns whether there is new congestion.
    pub(crate) fn on_ack(&mut self, acked: u64, counts: Option<(u64, u64)>) -> bool {
        if self.failed {
            return false;
        }
        self.acked += acked;
        match counts {
            Some((marked, congested)) if marked >= self.acked.saturating_sub(TOLERATED) => {
                let news = congested > self.congested;
                self.congested = self.congested.max(congested);
                news
            }
            // Before this many packets a count may still be on its way.
            _ if self.acked <= TOLERATED => false,
            _ => {
                self.failed = true;
                false
            }
        }
    }
}

/// Packets of the handshake and of before a change of address are not counted the same way
/// at both ends.
const TOLERATED: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_clears_marks_is_no_longer_marked() {
        let mut ecn = EcnValidation::default();
        for _ in 0..=TOLERATED {
            assert!(!ecn.on_ack(1, None));
        }
        assert_eq!(ecn.mark(), None);
    }

    #[test]
    fn each_new_mark_of_congestion_counts_once() {
        let mut ecn = EcnValidation::default();
        assert!(!ecn.on_ack(10, Some((10, 0))));
        assert!(ecn.on_ack(10, Some((20, 1))));
        assert!(!ecn.on_ack(10, Some((30, 1))));
        assert_eq!(ecn.mark(), Some(Ecn::Ect0));
    }
}
