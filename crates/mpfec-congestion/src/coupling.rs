//! What coupled controllers add up over the paths of a connection (Couple+ Table I).

use std::time::Duration;

use crate::Group;

/// Sums and maxima over the windows of all paths; a path alone is its own group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coupling {
    /// Paths (`n`), at least 1.
    pub(crate) paths: f64,
    /// Bytes in all windows (`w_total`).
    pub(crate) total: f64,
    /// The largest window, bytes.
    largest: f64,
    /// Largest `w / RTT^2` and the sum of `w / RTT`, in bytes and seconds.
    best: f64,
    rates: f64,
}

impl Coupling {
    /// Adds up `group`; the own window is `cwnd` bytes, which the group may know less well.
    pub(crate) fn of(group: &Group<'_>, cwnd: f64) -> Self {
        let mut sums = Self {
            paths: 0.0,
            total: 0.0,
            largest: 0.0,
            best: 0.0,
            rates: 0.0,
        };
        if group.me >= group.subflows.len() {
            sums.add(cwnd, Duration::from_secs(1));
            return sums;
        }
        for (index, subflow) in group.subflows.iter().enumerate() {
            let window = if index == group.me {
                cwnd
            } else {
                subflow.cwnd as f64
            };
            sums.add(window, subflow.srtt);
        }
        sums
    }

    fn add(&mut self, window: f64, rtt: Duration) {
        let rtt = rtt.max(SHORTEST_RTT).as_secs_f64();
        self.paths += 1.0;
        self.total += window;
        self.largest = self.largest.max(window);
        self.best = self.best.max(window / (rtt * rtt));
        self.rates += window / rtt;
    }

    /// `a = w_total max(w_t / RTT_t^2) / (sum w_t / RTT_t)^2` (RFC 6356 §3, UC Eq. 7.1).
    pub(crate) fn aggressiveness(&self) -> f64 {
        self.total * self.best / (self.rates * self.rates)
    }

    /// The same for equal RTTs, whatever they are: `max(w_t) / w_total`.
    pub(crate) fn aggressiveness_at_equal_rtts(&self) -> f64 {
        self.largest / self.total
    }
}

const SHORTEST_RTT: Duration = Duration::from_micros(1);

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Drains, Subflow};

    /// A path with a window of so many packets of 1000 bytes.
    pub(crate) fn subflow(packets: u64, rtt_ms: u64) -> Subflow {
        Subflow {
            cwnd: packets * 1000,
            srtt: Duration::from_millis(rtt_ms),
            delivery_rate: 1_000_000,
            drains: Drains::No,
        }
    }

    #[test]
    fn the_aggressiveness_is_three_quarters_in_the_example_of_couple_plus() {
        let subflows = [subflow(10, 100), subflow(20, 200)];
        let group = Group {
            subflows: &subflows,
            me: 0,
        };
        let sums = Coupling::of(&group, 10_000.0);
        assert!((sums.aggressiveness() - 0.75).abs() < 1e-9);
        assert!((sums.aggressiveness_at_equal_rtts() - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!((sums.paths, sums.total), (2.0, 30_000.0));
    }

    #[test]
    fn a_path_alone_is_as_aggressive_as_tcp() {
        let sums = Coupling::of(&Group::ALONE, 10_000.0);
        assert!((sums.aggressiveness() - 1.0).abs() < 1e-9);
    }
}
