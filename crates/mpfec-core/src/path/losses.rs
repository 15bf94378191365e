//! What the path's losses were taken for, and what spoke for it.

use std::time::Instant;

use mpfec_congestion::{LossEvidence, LossVerdict, LossVerdicts, RateTrend, RttEstimator};

/// Watches the verdicts of congestion control, which may come long after the losses.
#[derive(Debug, Default)]
pub(crate) struct LossWatch {
    seen: LossVerdicts,
    /// Packets lost together the last time.
    burst: u32,
    /// The window then, in packets.
    window: f64,
    trend: RateTrend,
    evidence: Option<LossEvidence>,
    /// The packet number that was lost last.
    last_lost: Option<u64>,
}

impl LossWatch {
    /// So many packets were found lost together while the window held `window` packets.
    pub(crate) fn on_lost(&mut self, packets: u32, window: f64) {
        self.burst = packets;
        self.window = window;
    }

    /// How many runs of consecutive packet numbers are among these, in ascending order; one that
    /// goes on from the call before was counted then.
    pub(crate) fn runs(&mut self, packet_numbers: impl Iterator<Item = u64>) -> u32 {
        let begins = |number: u64| self.last_lost.replace(number) != number.checked_sub(1);
        let runs = packet_numbers.map(begins).filter(|begins| *begins).count();
        u32::try_from(runs).unwrap_or(u32::MAX)
    }

    /// An acknowledgement left `in_flight` bytes on a path of so many bytes per second.
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        rtt: &RttEstimator,
        in_flight: u64,
        delivery_rate: u64,
    ) {
        self.trend
            .on_ack(now, rtt.smoothed(), in_flight, delivery_rate);
    }

    /// Compares what congestion control has counted. Returns the evidence if there is a verdict
    /// that differs from the one before.
    pub(crate) fn check(
        &mut self,
        verdicts: LossVerdicts,
        rtt: &RttEstimator,
    ) -> Option<LossEvidence> {
        if verdicts == self.seen {
            return None;
        }
        let verdict = verdicts.latest(&self.seen);
        self.seen = verdicts;
        let before = self.verdict();
        let plateau = self.trend.is_plateau();
        let evidence = LossEvidence::new(verdict?, self.burst, self.window, rtt, plateau);
        self.evidence = Some(evidence);
        (before != self.verdict()).then_some(evidence)
    }

    /// What spoke for the latest verdict.
    pub(crate) fn evidence(&self) -> Option<LossEvidence> {
        self.evidence
    }

    fn verdict(&self) -> Option<LossVerdict> {
        self.evidence.map(|evidence| evidence.verdict)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_a_verdict_that_differs_is_news() {
        let rtt = RttEstimator::new(Duration::from_millis(50));
        let mut watch = LossWatch::default();
        let mut verdicts = LossVerdicts::default();
        assert_eq!(watch.check(verdicts, &rtt), None);
        watch.on_lost(3, 10.0);
        verdicts.wireless = 3;
        let news = watch.check(verdicts, &rtt).expect("the first is news");
        assert_eq!((news.verdict, news.burst), (LossVerdict::Wireless, 3));
        verdicts.wireless = 4;
        watch.on_lost(1, 10.0);
        assert_eq!(watch.check(verdicts, &rtt), None);
        assert_eq!(watch.evidence().map(|evidence| evidence.burst), Some(1));
        verdicts.congestion = 1;
        assert!(watch.check(verdicts, &rtt).is_some());
    }
}
