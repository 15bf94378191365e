//! How far packets overtake each other on a path: the packet threshold (RFC 9002 §6.1.1)
//! learnt from losses that turned out to be none.

/// The packet threshold of a path. A spurious loss raises it at once; it falls again when
/// packets have long kept their order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reordering {
    threshold: u64,
    /// What the threshold had to be in this period.
    needed: u64,
    /// Acknowledged packets of this period.
    acked: u32,
}

impl Default for Reordering {
    fn default() -> Self {
        Self {
            threshold: MIN_THRESHOLD,
            needed: MIN_THRESHOLD,
            acked: 0,
        }
    }
}

impl Reordering {
    /// A packet so many numbers behind the largest acknowledged one is lost.
    pub(crate) fn threshold(&self) -> u64 {
        self.threshold
    }

    /// A packet was acknowledged: whether it had been declared lost, and how far behind the
    /// largest acknowledged number it was ([`Acked::overtaken_by`](super::Acked)).
    pub(crate) fn on_acked(&mut self, was_lost: bool, overtaken_by: u64) {
        // A straggler from beyond the bound says nothing: no threshold would have waited.
        if overtaken_by < MAX_THRESHOLD {
            self.needed = self.needed.max(overtaken_by + 1);
            if was_lost {
                self.threshold = self.threshold.max(self.needed);
            }
        }
        self.acked += 1;
        if self.acked >= PERIOD {
            self.threshold = self
                .threshold
                .min(self.needed.max(self.threshold * 3 / 4))
                .max(MIN_THRESHOLD);
            self.needed = MIN_THRESHOLD;
            self.acked = 0;
        }
    }
}

/// RFC 9002 §6.1.1: kPacketThreshold.
const MIN_THRESHOLD: u64 = 3;
/// Loss must be found before long even where packets are reordered for ever; the time
/// threshold finds it on slow paths.
const MAX_THRESHOLD: u64 = 128;
/// Acknowledged packets without need for the threshold until it falls.
const PERIOD: u32 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spurious_loss_raises_the_threshold_just_above_it() {
        let mut reordering = Reordering::default();
        reordering.on_acked(false, 2);
        assert_eq!(reordering.threshold(), 3);
        reordering.on_acked(true, 9);
        assert_eq!(reordering.threshold(), 10);
        reordering.on_acked(true, 4);
        assert_eq!(reordering.threshold(), 10);
    }

    #[test]
    fn a_packet_that_was_stuck_for_long_does_not_raise_the_threshold() {
        let mut reordering = Reordering::default();
        reordering.on_acked(true, 5000);
        assert_eq!(reordering.threshold(), 3);
    }

    #[test]
    fn the_threshold_falls_back_when_packets_keep_their_order() {
        let mut reordering = Reordering::default();
        reordering.on_acked(true, 63);
        for _ in 0..PERIOD {
            reordering.on_acked(false, 40);
        }
        assert_eq!(reordering.threshold(), 64, "used in the period just over");
        for _ in 0..PERIOD {
            reordering.on_acked(false, 40);
        }
        assert_eq!(reordering.threshold(), 48);
        for _ in 0..20 * PERIOD {
            reordering.on_acked(false, 0);
        }
        assert_eq!(reordering.threshold(), 3);
    }
}
