//! How fast bursts pass that do not fill the path.

use std::collections::VecDeque;
use std::time::Instant;

use super::HOST_NOISE;

/// The rate at which some packets passed that left one behind the other, whether they waited or not:
/// the path carries as much at least.
///
/// An application that pauses shows nothing else of what others could have of the path. Packets never
/// pass faster than they left, so that acknowledgements which come together show no more than that;
/// those of packets that others have overtaken show nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Passed {
    /// The newest packets of the last acknowledgements.
    recent: VecDeque<Sample>,
    /// The most in the present round, and in the last one that showed some: one alone may be chance.
    most: f64,
    last: f64,
    lately: f64,
}

/// When the newest packet of an acknowledgement left, when it came, and how many were acknowledged.
#[derive(Debug, Clone, Copy)]
struct Sample {
    sent_at: Instant,
    at: Instant,
    packets: f64,
}

impl Passed {
    /// An acknowledgement of so many packets, the newest of which left at `sent_at` and came at `at`.
    pub(super) fn on_ack(&mut self, sent_at: Instant, at: Instant, packets: f64) {
        let newest = Sample {
            sent_at,
            at,
            packets,
        };
        match self.recent.back_mut() {
            Some(last) if sent_at < last.sent_at => return,
            Some(last) if sent_at == last.sent_at => {
                (last.at, last.packets) = (at, last.packets + packets);
                return;
            }
            _ => {}
        }
        self.most = self.most.max(self.rate_until(&newest));
        if self.recent.len() >= KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(newest);
    }

    /// Packets per second of the fewest acknowledgements before this one that are for enough packets
    /// and time; 0 if there are none.
    fn rate_until(&self, newest: &Sample) -> f64 {
        let mut packets = newest.packets;
        for earlier in self.recent.iter().rev() {
            let left = newest.sent_at.saturating_duration_since(earlier.sent_at);
            let came = newest.at.saturating_duration_since(earlier.at);
            let span = left.max(came).as_secs_f64();
            if packets >= ENOUGH && span >= HOST_NOISE {
                return packets / span;
            }
            packets += earlier.packets;
        }
        0.0
    }

    /// A round ends: packets per second that have passed in it and in an earlier one, 0 if it showed
    /// none.
    pub(super) fn on_round(&mut self) -> f64 {
        let most = std::mem::take(&mut self.most);
        if most > 0.0 {
            self.lately = most.min(std::mem::replace(&mut self.last, most));
            self.lately
        } else {
            0.0
        }
    }

    /// What the last round that showed some has returned.
    pub(super) fn lately(&self) -> f64 {
        self.lately
    }
}

/// Packets behind the first of those that are looked at.
const ENOUGH: f64 = 3.0;
/// Acknowledgements that are looked back at: one may be for a single packet, and many come at once.
const KEPT: usize = 32;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What two rounds show of a burst of six packets each that leave every `gap_us` and come `stretched`
    /// times as far apart, acknowledged in pairs.
    fn passed(gap_us: u64, stretched: u32) -> f64 {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        let mut passed = Passed::default();
        let [first, second] = [0, 1].map(|burst| {
            let begins = start + burst * Duration::from_millis(100);
            for index in [1, 3, 5] {
                let after = index * Duration::from_micros(gap_us);
                let came = begins + Duration::from_millis(50) + stretched * after;
                passed.on_ack(begins + after, came, 2.0);
            }
            passed.on_round()
        });
        assert_eq!(first, 0.0, "one alone says nothing");
        second
    }

    #[test]
    fn bursts_that_pass_show_the_pace_at_which_they_left() {
        assert_eq!(passed(1000, 1), 1000.0);
    }

    #[test]
    fn bursts_that_the_path_pulls_apart_show_what_it_carries() {
        assert_eq!(passed(500, 4), 500.0);
    }

    #[test]
    fn acknowledgements_that_come_at_once_show_no_more_than_left() {
        assert_eq!(passed(1000, 0), 1000.0);
    }

    #[test]
    fn packets_of_one_call_whose_acknowledgements_come_at_once_show_nothing() {
        assert_eq!(passed(0, 0), 0.0);
        assert_eq!(passed(10, 2), 0.0);
    }

    #[test]
    fn a_packet_that_others_have_overtaken_shows_nothing() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        for overtaking in [2_u32, 4, 8] {
            let mut passed = Passed::default();
            let mut shown: f64 = 0.0;
            for round in 0..5 {
                let begins = start + round * Duration::from_millis(100);
                let at = |index: u32| begins + index * Duration::from_millis(1);
                for index in (0..20).filter(|index| *index != 5) {
                    passed.on_ack(at(index), at(index + 50), 1.0);
                    if index == 5 + overtaking {
                        passed.on_ack(at(5), at(index + 50), 1.0);
                    }
                }
                shown = shown.max(passed.on_round());
            }
            assert!((900.0..1400.0).contains(&shown), "{overtaking}: {shown:.0}");
        }
    }

    #[test]
    fn rounds_without_a_burst_say_nothing_and_take_nothing_back() {
        let mut passed = Passed {
            most: 5.0,
            last: 7.0,
            ..Passed::default()
        };
        assert_eq!((passed.on_round(), passed.on_round()), (5.0, 0.0));
        passed.most = 6.0;
        assert_eq!(passed.on_round(), 5.0);
    }
}
