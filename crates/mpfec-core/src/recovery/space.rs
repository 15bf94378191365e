//! The packets of one packet number space that have left: the records of RFC 9002 §A.1.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use mpfec_congestion::Overdue;

use super::Eliciting;
use super::sent::{Acked, LossCause, SentPacket};
use super::skipped::SkippedNumbers;
use crate::error::TransportError;

/// Sent packets by number, until they are acknowledged or have been lost for a while.
///
/// `slots` starts with the oldest packet whose fate is open, so that work is constant per
/// packet: acknowledgements of earlier numbers are cut off, and losses are found at the
/// front.
#[derive(Debug)]
pub(crate) struct PacketSpace<D> {
    /// Number of `slots[0]`.
    pub(super) first: u64,
    /// Empty where the number was skipped, acknowledged or declared lost.
    pub(super) slots: VecDeque<Option<SentPacket<D>>>,
    /// Declared lost, ascending by number, all below `first`: kept for a late
    /// acknowledgement.
    pub(super) lost: VecDeque<LostRecord<D>>,
    /// What was given up in silence is told of below this number.
    pub(super) overtaken_in_silence: u64,
    pub(super) loss_time: Option<Instant>,
    pub(super) largest_acked: Option<u64>,
    skipped: SkippedNumbers,
    bytes_in_flight: u64,
    /// Packets that are both ack-eliciting and in flight.
    awaited: u64,
    /// Packets that are not ack-eliciting and whose fate is open.
    pub(super) quiet: usize,
    last_ack_eliciting_sent: Option<Instant>,
    /// No packet below this number is awaited; exact while any is.
    oldest_awaited: u64,
}

/// A packet declared lost.
#[derive(Debug)]
pub(super) struct LostRecord<D> {
    pub(super) packet_number: u64,
    pub(super) declared_at: Instant,
    pub(super) cause: LossCause,
    /// Taken by the first late acknowledgement.
    pub(super) packet: Option<SentPacket<D>>,
}

impl<D> PacketSpace<D> {
    /// A space in which nothing has left yet.
    pub(crate) fn new() -> Self {
        Self {
            first: 0,
            slots: VecDeque::new(),
            lost: VecDeque::new(),
            overtaken_in_silence: 0,
            loss_time: None,
            largest_acked: None,
            skipped: SkippedNumbers::new(),
            bytes_in_flight: 0,
            awaited: 0,
            quiet: 0,
            last_ack_eliciting_sent: None,
            oldest_awaited: 0,
        }
    }

    /// The number of the next packet; the same again until [`on_sent`](Self::on_sent).
    /// `random` decides which numbers are skipped.
    pub(crate) fn next_packet_number(&mut self, random: u64) -> u64 {
        if self.skipped.skips(self.end(), random) {
            self.slots.push_back(None);
            self.settle();
        }
        self.end()
    }

    /// The largest number that the peer has acknowledged.
    pub(crate) fn largest_acked(&self) -> Option<u64> {
        self.largest_acked
    }

    /// The packet with the number last given out leaves. Times must not go backwards.
    pub(crate) fn on_sent(&mut self, packet_number: u64, packet: SentPacket<D>) {
        debug_assert_eq!(packet_number, self.end(), "numbers are used in order");
        self.bytes_in_flight += if packet.in_flight {
            u64::from(packet.size)
        } else {
            0
        };
        if is_awaited(&packet) {
            self.awaited += 1;
            self.last_ack_eliciting_sent = Some(packet.sent_at);
        }
        let sent_at = packet.sent_at;
        self.quiet += usize::from(!packet.eliciting.is_eliciting());
        self.slots.push_back(Some(packet));
        self.settle();
        self.shed_quiet(sent_at);
    }

    /// The ACK ranges of one frame, in any order, the largest number of all being `largest`.
    /// Adds what was not acknowledged before to `acked`, in no particular order.
    ///
    /// # Errors
    /// The peer acknowledges a number that was never sent.
    pub(crate) fn on_ack(
        &mut self,
        ranges: impl Iterator<Item = RangeInclusive<u64>>,
        largest: u64,
        acked: &mut Vec<Acked<D>>,
    ) -> Result<(), TransportError> {
        let largest_before = self.largest_acked;
        let overtaken_by =
            |number: u64| largest_before.map_or(0, |before| before.saturating_sub(number));
        for range in ranges.chain([largest..=largest]) {
            if *range.end() >= self.end() || self.skipped.hit(&range) {
                return Err(TransportError::protocol_violation(
                    "ACK of a packet that was never sent",
                ));
            }
            let late = self
                .lost
                .partition_point(|record| record.packet_number < *range.start());
            let late = self
                .lost
                .iter_mut()
                .skip(late)
                .take_while(|record| record.packet_number <= *range.end());
            for record in late {
                let (packet_number, cause) = (record.packet_number, record.cause);
                let Some(packet) = record.packet.take() else {
                    continue;
                };
                acked.push(Acked {
                    packet_number,
                    packet,
                    was_lost: Some(cause),
                    overtaken_by: overtaken_by(packet_number),
                });
            }
            for packet_number in self.first.max(*range.start())..=*range.end() {
                let Some(packet) = self.take(packet_number) else {
                    continue;
                };
                acked.push(Acked {
                    packet_number,
                    packet,
                    was_lost: None,
                    overtaken_by: overtaken_by(packet_number),
                });
            }
        }
        self.largest_acked = largest_before.max(Some(largest));
        self.settle();
        Ok(())
    }

    /// Bytes of packets that are in flight.
    pub(crate) fn bytes_in_flight(&self) -> u64 {
        self.bytes_in_flight
    }

    /// Whether a packet that is ack-eliciting and in flight waits for its acknowledgement.
    pub(crate) fn ack_eliciting_in_flight(&self) -> bool {
        self.awaited > 0
    }

    /// When the last packet left that was ack-eliciting and in flight.
    pub(crate) fn last_ack_eliciting_sent(&self) -> Option<Instant> {
        self.last_ack_eliciting_sent
    }

    /// When the oldest packet left that is ack-eliciting, in flight and unacknowledged.
    pub(crate) fn oldest_unacked(&self) -> Option<Instant> {
        self.oldest().map(|packet| packet.sent_at)
    }

    /// How soon the peer must acknowledge that packet.
    pub(crate) fn oldest_eliciting(&self) -> Eliciting {
        self.oldest()
            .map_or(Eliciting::No, |packet| packet.eliciting)
    }

    fn oldest(&self) -> Option<&SentPacket<D>> {
        self.get(self.oldest_awaited).filter(|_| self.awaited > 0)
    }

    /// Bytes of the oldest awaited packets that are overdue now, and when there will be more;
    /// none are before `from`.
    pub(crate) fn overdue(
        &self,
        now: Instant,
        overdue: &Overdue,
        from: Instant,
    ) -> (u64, Option<Instant>) {
        let mut bytes = 0;
        let settled = self.oldest_awaited.saturating_sub(self.first) as usize;
        let open = self.slots.range(settled.min(self.slots.len())..);
        for packet in open.flatten().filter(|packet| is_awaited(packet)) {
            let sum = bytes + u64::from(packet.size);
            if sum > overdue.bytes {
                return (bytes, None);
            }
            let at = from.max(packet.sent_at + overdue.age);
            if at > now {
                return (bytes, Some(at));
            }
            bytes = sum;
        }
        (bytes, None)
    }

    /// When a packet left whose fate is still open.
    pub(crate) fn sent_at(&self, packet_number: u64) -> Option<Instant> {
        self.get(packet_number).map(|packet| packet.sent_at)
    }

    /// Forgets packets declared lost `after` or longer ago: later acknowledgements of them
    /// go unnoticed.
    pub(crate) fn forget_lost(&mut self, now: Instant, after: Duration) {
        while self
            .lost
            .front()
            .is_some_and(|record| record.packet.is_none() || record.declared_at + after <= now)
        {
            self.lost.pop_front();
        }
    }

    /// The number after the last one used or skipped.
    pub(super) fn end(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    fn get(&self, packet_number: u64) -> Option<&SentPacket<D>> {
        let index = usize::try_from(packet_number.checked_sub(self.first)?).ok()?;
        self.slots.get(index)?.as_ref()
    }

    /// Removes a packet whose fate is now known. [`settle`](Self::settle) must follow.
    pub(super) fn take(&mut self, packet_number: u64) -> Option<SentPacket<D>> {
        let index = usize::try_from(packet_number.checked_sub(self.first)?).ok()?;
        let packet = self.slots.get_mut(index)?.take()?;
        if packet.in_flight {
            self.bytes_in_flight -= u64::from(packet.size);
        }
        self.awaited -= u64::from(is_awaited(&packet));
        self.quiet -= usize::from(!packet.eliciting.is_eliciting());
        Some(packet)
    }

    /// Drops what is settled from the front, and finds the oldest awaited packet.
    pub(super) fn settle(&mut self) {
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
        }
        self.oldest_awaited = self.oldest_awaited.max(self.first);
        while self.oldest_awaited < self.end()
            && !self.get(self.oldest_awaited).is_some_and(is_awaited)
        {
            self.oldest_awaited += 1;
        }
    }

    /// A host that only acknowledges gets no acknowledgements: its records must not grow.
    fn shed_quiet(&mut self, now: Instant) {
        while self.quiet > MAX_QUIET
            && self
                .slots
                .front()
                .is_some_and(|slot| slot.as_ref().is_some_and(is_quiet))
        {
            self.take(self.first);
            self.settle();
        }
        if self.is_stuck() {
            self.loss_time = Some(self.loss_time.map_or(now, |at| at.min(now)));
        }
    }

    /// Whether so many packets are remembered that some must be given up.
    pub(crate) fn is_full(&self) -> bool {
        self.slots.len() >= MAX_PACKETS
    }

    /// Whether an unacknowledged probe that is not in flight, for which no PTO runs, keeps
    /// everything behind it from being forgotten.
    pub(super) fn is_stuck(&self) -> bool {
        self.quiet > MAX_QUIET && self.awaited == 0
    }
}

fn is_awaited<D>(packet: &SentPacket<D>) -> bool {
    packet.eliciting.is_eliciting() && packet.in_flight
}

fn is_quiet<D>(packet: &SentPacket<D>) -> bool {
    !packet.eliciting.is_eliciting()
}

/// Packets that need no acknowledgement are remembered up to this many: more than a peer
/// that acknowledges at all leaves open.
const MAX_QUIET: usize = 1024;
/// Packets are remembered up to this many, some 20 MB of records: in flight that is more
/// than 10 Gbit/s need over 100 ms.
const MAX_PACKETS: usize = 1 << 17;

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
