//! Which packets arrived, and what is still to be said about them (RFC 9000 §13.2).

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use super::ack_policy::{AckPolicy, Arrival, Eliciting};
use super::duplicates::Duplicates;
use super::range_set::RangeSet;
use crate::address::Ecn;
use crate::wire::frame::{ArrivalTime, EcnCounts};

/// Received packets of one packet number space. Memory is bounded: what is older than
/// 8192 numbers counts as a duplicate, and at most 256 ranges wait to be acknowledged.
#[derive(Debug)]
pub(crate) struct ReceivedPackets {
    duplicates: Duplicates,
    /// What the peer may not know yet.
    ranges: RangeSet,
    largest: Option<u64>,
    largest_at: Option<Instant>,
    ecn: EcnCounts,
    policy: AckPolicy,
    /// ACKs that were sent, by largest number ascending.
    reports: VecDeque<Report>,
}

/// What an ACK said: all of what is known from `from` to `largest`.
#[derive(Debug)]
struct Report {
    from: u64,
    largest: u64,
}

impl ReceivedPackets {
    /// Acknowledgements wait for `max_ack_delay` at most; zero in Initial and Handshake
    /// packets (RFC 9000 §13.2.1).
    pub(crate) fn new(max_ack_delay: Duration) -> Self {
        Self {
            duplicates: Duplicates::new(),
            ranges: RangeSet::default(),
            largest: None,
            largest_at: None,
            ecn: EcnCounts::default(),
            policy: AckPolicy::new(max_ack_delay),
            reports: VecDeque::new(),
        }
    }

    /// How often to acknowledge depends on the path's round-trip time; without one the
    /// policy assumes eight times the ACK delay.
    pub(crate) fn set_rtt(&mut self, rtt: Duration) {
        self.policy.set_rtt(rtt);
    }

    /// An authenticated packet arrived. Returns false if it is a duplicate, or so old that
    /// it may be one: then it is to be ignored.
    pub(crate) fn on_received(
        &mut self,
        now: Instant,
        packet_number: u64,
        eliciting: Eliciting,
        ecn: Option<Ecn>,
    ) -> bool {
        if !self.duplicates.insert(packet_number) {
            return false;
        }
        let expected = self.largest.map_or(0, |largest| largest + 1);
        self.ranges.insert(packet_number..packet_number + 1);
        if self.ranges.len() > MAX_RANGES {
            self.ranges.pop_first();
        }
        if packet_number >= expected {
            self.largest = Some(packet_number);
            self.largest_at = Some(now);
        } else {
            // ACKs under way do not tell of this one.
            for report in self
                .reports
                .iter_mut()
                .rev()
                .take_while(|report| report.largest > packet_number)
            {
                report.from = report.from.max(packet_number + 1);
            }
        }
        match ecn {
            Some(Ecn::Ect0) => self.ecn.ect0 += 1,
            Some(Ecn::Ect1) => self.ecn.ect1 += 1,
            Some(Ecn::Ce) => self.ecn.ce += 1,
            None => {}
        }
        let arrival = Arrival {
            eliciting,
            congested: ecn == Some(Ecn::Ce),
            out_of_order: packet_number != expected,
        };
        self.policy.on_received(now, arrival);
        true
    }

    /// Whether a packet arrived before, or is too old to tell: then it counts for nothing.
    pub(crate) fn is_known(&self, packet_number: u64) -> bool {
        self.duplicates.contains(packet_number)
    }

    /// Whether an acknowledgement must leave now.
    pub(crate) fn ack_due(&self, now: Instant) -> bool {
        self.policy.is_due(now)
    }

    /// When an acknowledgement becomes due; in the past if it is.
    pub(crate) fn ack_timer(&self) -> Option<Instant> {
        self.policy.deadline()
    }

    /// Whether an ack-eliciting packet arrived since the last acknowledgement: one may be
    /// added to a packet that leaves anyway.
    pub(crate) fn has_unsent(&self) -> bool {
        self.policy.has_pending()
    }

    /// What to acknowledge, in descending order.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u64>> + Clone {
        self.ranges
            .iter()
            .rev()
            .map(|range| range.start..=range.end - 1)
    }

    /// The largest number that arrived: the first of [`ranges`](Self::ranges).
    pub(crate) fn largest(&self) -> Option<u64> {
        self.largest
    }

    /// How long ago the largest number arrived.
    pub(crate) fn ack_delay(&self, now: Instant) -> Duration {
        self.largest_at
            .map_or(Duration::ZERO, |at| now.saturating_duration_since(at))
    }

    /// When the largest number arrived, of a clock that began at `clock`.
    pub(crate) fn largest_at(&self, clock: Instant) -> Option<ArrivalTime> {
        let at = self.largest_at?;
        Some(ArrivalTime::new(at.saturating_duration_since(clock)))
    }

    /// Packets so far by ECN mark.
    pub(crate) fn ecn(&self) -> EcnCounts {
        self.ecn
    }

    /// The path that carries acknowledgements takes so long for a full packet.
    pub(crate) fn set_packet_time(&mut self, packet_time: Duration) {
        self.policy.set_packet_time(packet_time);
    }

    /// An ACK of the first `told` of the [`ranges`](Self::ranges) left: as many as had room in it.
    pub(crate) fn on_ack_sent(&mut self, told: usize) {
        self.policy.on_ack_sent();
        let Some(oldest) = self.ranges().take(told).last() else {
            return;
        };
        let Some(largest) = self.largest else { return };
        let from = *oldest.start();
        match self.reports.back_mut() {
            // Either may be the one that arrives.
            Some(last) if last.largest == largest => last.from = last.from.max(from),
            _ => {
                if self.reports.len() == MAX_REPORTS {
                    self.reports.pop_front();
                }
                self.reports.push_back(Report { from, largest });
            }
        }
    }

    /// The peer has an ACK of numbers up to `largest`: what it said need not be repeated.
    /// The largest number of all stays (RFC 9000 §13.2.3).
    pub(crate) fn on_ack_acked(&mut self, largest: u64) {
        let Ok(index) = self
            .reports
            .binary_search_by_key(&largest, |report| report.largest)
        else {
            return;
        };
        // It stays: another ACK with the same largest number may be under way.
        let report = &self.reports[index];
        let end = self.largest.map_or(0, |newest| newest.min(largest + 1));
        self.ranges.remove(report.from..end.max(report.from));
    }
}

/// Ranges that wait to be acknowledged.
const MAX_RANGES: usize = 256;
/// ACKs under way that are remembered.
const MAX_REPORTS: usize = 64;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::id::StreamId;
    use crate::wire::frame::{BlockAck, Frame};

    const MAX_ACK_DELAY: Duration = Duration::from_millis(5);

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn epoch() -> Instant {
        Instant::now()
    }

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    /// Receives `numbers`, `gap` apart, and counts the ACKs that are due at once.
    fn acks(
        received: &mut ReceivedPackets,
        start: Instant,
        gap: Duration,
        numbers: impl Iterator<Item = u64>,
    ) -> u32 {
        let mut acks = 0;
        for (index, number) in (0_u32..).zip(numbers) {
            let now = start + gap * index;
            assert!(received.on_received(now, number, Eliciting::Soon, None));
            if received.ack_due(now) {
                received.on_ack_sent(MAX_RANGES);
                acks += 1;
            }
        }
        acks
    }

    #[test]
    fn every_second_packet_is_acknowledged_at_the_start() {
        let mut received = ReceivedPackets::new(MAX_ACK_DELAY);
        assert_eq!(acks(&mut received, epoch(), micros(10), 0..100), 50);
    }

    #[test]
    fn a_fast_transfer_costs_an_ack_per_32_packets() {
        let (mut received, epoch) = (ReceivedPackets::new(MAX_ACK_DELAY), epoch());
        received.set_rtt(Duration::from_millis(50));
        acks(&mut received, epoch, micros(10), 0..10_000);
        let late = acks(
            &mut received,
            epoch + Duration::from_millis(100),
            micros(10),
            10_000..42_000,
        );
        assert!((1000..=1010).contains(&late), "{late} for 32000 packets");
    }

    #[test]
    fn a_slow_transfer_is_acknowledged_every_second_packet() {
        let (mut received, epoch) = (ReceivedPackets::new(MAX_ACK_DELAY), epoch());
        received.set_rtt(Duration::from_millis(20));
        assert_eq!(acks(&mut received, epoch, micros(1200), 0..2000), 1000);
    }

    #[test]
    fn a_lone_packet_waits_for_the_ack_delay() {
        let (mut received, epoch) = (ReceivedPackets::new(MAX_ACK_DELAY), epoch());
        assert!(received.on_received(epoch, 0, Eliciting::Soon, None));
        assert!(received.has_unsent() && !received.ack_due(epoch));
        assert_eq!(received.ack_timer(), Some(epoch + MAX_ACK_DELAY));
        assert!(received.ack_due(epoch + MAX_ACK_DELAY));
        received.on_ack_sent(MAX_RANGES);
        assert_eq!((received.ack_timer(), received.has_unsent()), (None, false));
    }

    #[test]
    fn only_what_is_told_again_when_it_is_needed_is_in_no_hurry() {
        let block_ack = |missing| {
            Frame::BlockAck(BlockAck {
                stream: StreamId(0),
                sbn: 0,
                missing,
            })
        };
        assert_eq!(Eliciting::of(&block_ack(0)), Eliciting::Late);
        for frame in [block_ack(1), Frame::Ping, Frame::MaxData(1)] {
            assert_eq!(Eliciting::of(&frame), Eliciting::Soon, "{frame:?}");
        }
        assert_eq!(Eliciting::of(&Frame::Padding), Eliciting::No);
        assert!(Eliciting::No < Eliciting::Late && Eliciting::Late < Eliciting::Soon);
    }

    #[test]
    fn what_only_tells_of_complete_blocks_is_acknowledged_as_late_as_is_allowed() {
        let (mut received, epoch) = (ReceivedPackets::new(MAX_ACK_DELAY), epoch());
        received.set_rtt(Duration::from_millis(20));
        let mut late = |from: u64, gap: u64| {
            let mut acks = 0;
            for number in from..from + 1000 {
                let now = epoch + micros(1000 * from + gap * (number - from));
                assert!(received.on_received(now, number, Eliciting::Late, None));
                if received.ack_due(now) {
                    received.on_ack_sent(MAX_RANGES);
                    acks += 1;
                }
            }
            acks
        };
        assert_eq!(
            late(0, 1000),
            50 + 900 / 6,
            "the first hundred are as others"
        );
        assert_eq!(late(1000, 1000), 1000 / 6);
        assert_eq!(late(2000, 10), 1000 / 32, "some at a time");

        let end = epoch + Duration::from_secs(9);
        assert!(received.on_received(end, 3000, Eliciting::Late, Some(Ecn::Ce)));
        assert!(received.ack_due(end), "marked");
        received.on_ack_sent(MAX_RANGES);
        for number in 3001..3003 {
            assert!(!received.ack_due(end), "{number}");
            assert!(received.on_received(end, number, Eliciting::Soon, None));
        }
        assert!(received.ack_due(end), "every second packet of data");
    }

    /// At 100 full packets a second an acknowledgement of what may wait leaves every 20 ms, and at
    /// one a second every 25.
    #[test]
    fn on_a_slow_path_complete_blocks_are_acknowledged_half_as_often_as_full_packets_leave() {
        for (packet_ms, wait_ms) in [(1, 5), (10, 20), (1000, 25)] {
            let (mut received, epoch) = (ReceivedPackets::new(MAX_ACK_DELAY), epoch());
            received.set_packet_time(Duration::from_millis(packet_ms));
            for number in 0..100 {
                received.on_received(epoch, number, Eliciting::Soon, None);
            }
            received.on_ack_sent(MAX_RANGES);
            let wait = Duration::from_millis(wait_ms);
            assert!(received.on_received(epoch, 100, Eliciting::Late, None));
            assert!(!received.ack_due(epoch + wait - micros(1)));
            assert!(received.ack_due(epoch + wait), "{packet_ms} ms a packet");

            received.on_received(epoch, 101, Eliciting::Soon, None);
            assert!(received.ack_due(epoch + MAX_ACK_DELAY), "data do not wait");
        }
    }

    #[test]
    fn a_handshake_packet_is_acknowledged_at_once() {
        let (mut received, epoch) = (ReceivedPackets::new(Duration::ZERO), epoch());
        assert!(received.on_received(epoch, 0, Eliciting::Soon, None));
        assert!(received.ack_due(epoch));
    }

    #[test]
    fn acknowledgements_are_not_acknowledged() {
        let (mut received, epoch) = (ReceivedPackets::new(MAX_ACK_DELAY), epoch());
        for number in 0..10 {
            assert!(received.on_received(epoch, number, Eliciting::No, None));
        }
        assert_eq!((received.ack_timer(), received.has_unsent()), (None, false));
    }

    #[test]
    fn the_first_gap_and_the_first_congestion_mark_are_reported_at_once() {
        let (mut received, epoch) = (ReceivedPackets::new(MAX_ACK_DELAY), epoch());
        assert!(received.on_received(epoch, 1, Eliciting::Soon, None));
        assert!(received.ack_due(epoch), "0 is missing");
        received.on_ack_sent(MAX_RANGES);
        assert!(received.on_received(epoch, 2, Eliciting::Soon, Some(Ecn::Ce)));
        assert!(received.ack_due(epoch), "marked");
        received.on_ack_sent(MAX_RANGES);
        assert!(received.on_received(epoch, 3, Eliciting::Soon, Some(Ecn::Ce)));
        assert!(!received.ack_due(epoch), "still marked");
    }

    #[test]
    fn heavy_random_loss_does_not_cause_an_ack_per_packet() {
        let (mut received, epoch) = (ReceivedPackets::new(MAX_ACK_DELAY), epoch());
        received.set_rtt(Duration::from_millis(50));
        // Two of three packets are lost; the others come 20 µs apart.
        let count = acks(
            &mut received,
            epoch,
            micros(20),
            (0..30_000).map(|index| 3 * index),
        );
        let expected = 30_000 / 32 + 600_000 / 5000;
        assert!(count < expected + 300, "{count} for 30000 packets");
    }

    #[test]
    fn what_the_peer_knows_is_not_said_again_but_the_largest_number_stays() {
        let (mut received, epoch) = (ReceivedPackets::new(MAX_ACK_DELAY), epoch());
        for number in [0, 1, 2, 4, 5, 9] {
            received.on_received(epoch, number, Eliciting::Soon, None);
        }
        assert_eq!(received.ranges().collect::<Vec<_>>(), [9..=9, 4..=5, 0..=2]);
        received.on_ack_sent(MAX_RANGES);
        received.on_ack_acked(9);
        assert_eq!(received.ranges().collect::<Vec<_>>(), [9..=9]);
        assert!(
            !received.on_received(epoch, 1, Eliciting::Soon, None),
            "still known as a duplicate"
        );
    }

    #[test]
    fn a_packet_that_arrives_behind_an_ack_under_way_is_still_reported() {
        let (mut received, epoch) = (ReceivedPackets::new(MAX_ACK_DELAY), epoch());
        for number in [0, 1, 5] {
            received.on_received(epoch, number, Eliciting::Soon, None);
        }
        received.on_ack_sent(MAX_RANGES);
        assert!(received.on_received(epoch, 3, Eliciting::Soon, None));
        received.on_ack_acked(5);
        assert!(received.ranges().any(|range| range.contains(&3)));
    }

    #[test]
    fn memory_stays_bounded_when_every_other_packet_is_missing() {
        let (mut received, epoch) = (ReceivedPackets::new(MAX_ACK_DELAY), epoch());
        for number in (0..100_000).step_by(2) {
            received.on_received(epoch, number, Eliciting::Soon, None);
            received.on_ack_sent(MAX_RANGES);
        }
        assert_eq!(
            (received.ranges.len(), received.reports.len()),
            (MAX_RANGES, MAX_REPORTS)
        );
    }

    #[test]
    fn marks_are_counted_once_per_packet() {
        let (mut received, epoch) = (ReceivedPackets::new(MAX_ACK_DELAY), epoch());
        for (number, mark) in [
            (0, Ecn::Ect0),
            (1, Ecn::Ect0),
            (1, Ecn::Ce),
            (2, Ecn::Ce),
            (3, Ecn::Ect1),
        ] {
            received.on_received(epoch, number, Eliciting::Soon, Some(mark));
        }
        assert_eq!(
            received.ecn(),
            EcnCounts {
                ect0: 2,
                ect1: 1,
                ce: 1
            }
        );
        assert!(received.ecn().any() && !EcnCounts::default().any());
    }

    proptest! {
        /// The peer learns of every packet, whichever ACKs get through and however few ranges had
        /// room in them, as long as the last one tells all that it was not told of.
        #[test]
        fn every_packet_is_reported_until_the_peer_knows(
            arrivals in prop::collection::vec(0_u64..60, 1..80),
            told in 1_usize..6,
            delivered in prop::collection::vec(any::<bool>(), 80),
        ) {
            let (mut received, epoch) = (ReceivedPackets::new(Duration::ZERO), epoch());
            let (mut known, mut arrived) = (BTreeSet::new(), BTreeSet::new());
            let mut under_way: VecDeque<(u64, bool, Vec<u64>)> = VecDeque::new();
            for (number, delivered) in arrivals.into_iter().zip(delivered.into_iter().chain([true])) {
                if received.on_received(epoch, number, Eliciting::Soon, None) {
                    arrived.insert(number);
                    let largest = received.largest().unwrap();
                    prop_assert_eq!(received.ranges().next().map(|range| *range.end()), Some(largest));
                    let said = received.ranges().take(told).flatten().collect();
                    under_way.push_back((largest, delivered, said));
                    received.on_ack_sent(told);
                }
                if under_way.len() > 3 {
                    let (largest, delivered, said) = under_way.pop_front().unwrap();
                    if delivered {
                        known.extend(said);
                        received.on_ack_acked(largest);
                    }
                }
            }
            known.extend(received.ranges().flatten());
            prop_assert_eq!(known, arrived);
        }
    }
}
