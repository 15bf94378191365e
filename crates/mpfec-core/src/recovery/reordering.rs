//! How far packets overtake each other on a path: the packet threshold (RFC 9002 §6.1.1) and the
//! time threshold (§6.1.2), learnt from losses that turned out to be none.

/// The thresholds of a path. A spurious loss raises them at once; they fall again when packets
/// have long kept their order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reordering {
    current: Thresholds,
    /// What they had to be in this period.
    needed: Thresholds,
    /// Acknowledged packets of this period.
    acked: u32,
}

#[derive(Debug, Clone, Copy)]
struct Thresholds {
    packets: u64,
    /// In round trips.
    time: f64,
}

impl Thresholds {
    fn at_least(self, other: Self) -> Self {
        Self {
            packets: self.packets.max(other.packets),
            time: self.time.max(other.time),
        }
    }
}

impl Default for Reordering {
    fn default() -> Self {
        Self {
            current: LEAST,
            needed: LEAST,
            acked: 0,
        }
    }
}

impl Reordering {
    /// A packet so many numbers behind the largest acknowledged one is lost.
    pub(crate) fn threshold(&self) -> u64 {
        self.current.packets
    }

    /// A packet behind an acknowledged one is lost when it left so many round trips ago.
    pub(crate) fn time_threshold(&self) -> f64 {
        self.current.time
    }

    /// A packet was acknowledged, `age` round trips after it left: whether it had been declared
    /// lost, and how far behind the largest acknowledged number it was
    /// ([`Acked::overtaken_by`](super::Acked)).
    pub(crate) fn on_acked(&mut self, was_lost: bool, overtaken_by: u64, age: f64) {
        // A straggler from beyond the bound says nothing: no threshold would have waited.
        if overtaken_by > 0 && age < LONGEST {
            let needed = Thresholds {
                packets: overtaken_by + 1 + overtaken_by / MARGIN,
                time: (age + 1.0 / MARGIN as f64).min(LONGEST),
            };
            self.needed = self.needed.at_least(needed);
            if was_lost {
                self.current = self.current.at_least(self.needed);
            }
        }
        self.acked += 1;
        if self.acked >= PERIOD {
            let (kept, needed) = (self.current, self.needed);
            self.current = LEAST.at_least(Thresholds {
                packets: kept.packets.min(needed.packets.max(kept.packets * 7 / 8)),
                time: kept.time.min(needed.time.max(0.875 * kept.time)),
            });
            self.needed = LEAST;
            self.acked = 0;
        }
    }
}

/// RFC 9002 §6.1.1 and §6.1.2: kPacketThreshold and kTimeThreshold.
const LEAST: Thresholds = Thresholds {
    packets: 3,
    time: 9.0 / 8.0,
};
/// Loss must be found before long even where packets are reordered for ever.
const LONGEST: f64 = 2.0;
/// The part of a round trip, and of the numbers that a packet was behind, that is waited for beyond
/// the latest packet yet: the next may come later.
const MARGIN: u64 = 8;
/// Acknowledged packets without need for the thresholds until they fall.
const PERIOD: u32 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn thresholds(reordering: &Reordering) -> (u64, f64) {
        (reordering.threshold(), reordering.time_threshold())
    }

    #[test]
    fn a_spurious_loss_raises_both_thresholds_an_eighth_above_it() {
        let mut reordering = Reordering::default();
        reordering.on_acked(false, 2, 1.5);
        assert_eq!(thresholds(&reordering), (3, 1.125));
        // The packet that was not lost was later than this one.
        reordering.on_acked(true, 16, 1.25);
        assert_eq!(thresholds(&reordering), (19, 1.625));
        reordering.on_acked(true, 4, 1.0);
        assert_eq!(thresholds(&reordering), (19, 1.625));
    }

    #[test]
    fn packets_in_order_raise_nothing_however_late_they_are() {
        let mut reordering = Reordering::default();
        reordering.on_acked(true, 0, 1.9);
        assert_eq!(thresholds(&reordering), (3, 1.125));
    }

    #[test]
    fn a_packet_that_was_stuck_for_long_does_not_raise_them() {
        let mut reordering = Reordering::default();
        reordering.on_acked(true, 5000, 2.5);
        assert_eq!(thresholds(&reordering), (3, 1.125));
    }

    #[test]
    fn they_fall_back_when_packets_keep_their_order() {
        let mut reordering = Reordering::default();
        reordering.on_acked(true, 63, 1.9);
        for _ in 0..PERIOD {
            reordering.on_acked(false, 40, 1.2);
        }
        assert_eq!(
            thresholds(&reordering),
            (71, 2.0),
            "used in the period before"
        );
        for _ in 0..PERIOD {
            reordering.on_acked(false, 40, 1.2);
        }
        assert_eq!(thresholds(&reordering), (62, 1.75));
        for _ in 0..20 * PERIOD {
            reordering.on_acked(false, 0, 1.0);
        }
        assert_eq!(thresholds(&reordering), (3, 1.125));
    }
}
