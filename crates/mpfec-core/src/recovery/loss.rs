//! When an unacknowledged packet counts as lost (RFC 9002 §6.1, §7.6).

use std::time::{Duration, Instant};

use super::sent::{LossCause, Lost, SentPacket};
use super::space::{LostRecord, PacketSpace};

/// Packets that a burst took, if they did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Burst {
    /// Given up at this time or later.
    pub(crate) given_up_from: Instant,
    /// Sent before this.
    pub(crate) sent_before: Instant,
}

impl<D: Clone> PacketSpace<D> {
    /// Declares lost what is `threshold` numbers behind the largest acknowledged one, or
    /// behind it and `loss_delay` old. Packets that are not ack-eliciting are forgotten
    /// without a report. Sets [`loss_time`](Self::loss_time).
    pub(crate) fn detect_lost(
        &mut self,
        now: Instant,
        threshold: u64,
        loss_delay: Duration,
        lost: &mut Vec<Lost<D>>,
    ) {
        self.loss_time = None;
        let stuck = self.is_stuck();
        while let Some(Some(packet)) = self.slots.front() {
            let behind = self
                .largest_acked
                .map_or(0, |largest| largest.saturating_sub(self.first));
            let cause = if behind >= threshold.max(1) {
                LossCause::Reordering
            } else if behind == 0 && !stuck {
                break;
            } else if packet.sent_at + loss_delay <= now {
                LossCause::Time
            } else {
                self.loss_time = Some(packet.sent_at + loss_delay);
                break;
            };
            self.declare_lost(now, self.first, cause, lost);
            self.settle();
        }
    }

    /// Declares lost all that is unacknowledged: the path is silent.
    pub(crate) fn declare_all_lost(&mut self, now: Instant, lost: &mut Vec<Lost<D>>) {
        self.declare_silent(now, now, lost);
        self.loss_time = None;
    }

    /// Declares lost what left by `sent_by` and is unacknowledged.
    pub(crate) fn declare_silent(
        &mut self,
        now: Instant,
        sent_by: Instant,
        lost: &mut Vec<Lost<D>>,
    ) {
        while let Some(Some(packet)) = self.slots.front()
            && packet.sent_at <= sent_by
        {
            self.declare_lost(now, self.first, LossCause::Silence, lost);
            self.settle();
        }
    }

    /// How many packets, and in how many runs of consecutive ones, that were given up in a silence
    /// a `burst` took: those below the number `overtaken`, if they have not arrived. Each is told of
    /// once.
    pub(crate) fn take_lost_in_silence(&mut self, burst: Burst, overtaken: u64) -> (u64, u32) {
        let first = self.overtaken_in_silence;
        let before = |number| move |record: &LostRecord<D>| record.packet_number < number;
        let begin = self.lost.partition_point(before(first));
        let end = self.lost.partition_point(before(overtaken)).max(begin);
        self.overtaken_in_silence = first.max(overtaken);
        let (mut packets, mut runs, mut next) = (0, 0, None);
        for record in self.lost.range(begin..end) {
            let is_silent = record.cause == LossCause::Silence;
            let is_burst = is_silent && record.declared_at >= burst.given_up_from;
            let is_lost = record
                .packet
                .as_ref()
                .is_some_and(|packet| packet.in_flight && packet.sent_at < burst.sent_before);
            if is_burst && is_lost {
                packets += 1;
                runs += u32::from(next != Some(record.packet_number));
                next = Some(record.packet_number + 1);
            }
        }
        (packets, runs)
    }

    /// When the oldest packet behind an acknowledged one will be old enough to be lost:
    /// [`detect_lost`](Self::detect_lost) is due then.
    pub(crate) fn loss_time(&self) -> Option<Instant> {
        self.loss_time
    }

    fn declare_lost(
        &mut self,
        now: Instant,
        packet_number: u64,
        cause: LossCause,
        lost: &mut Vec<Lost<D>>,
    ) {
        let Some(packet) = self
            .take(packet_number)
            .filter(|packet| packet.eliciting.is_eliciting())
        else {
            return;
        };
        if self.lost.len() == MAX_LOST {
            self.lost.pop_front();
        }
        self.lost.push_back(LostRecord {
            packet_number,
            declared_at: now,
            cause,
            packet: Some(packet.clone()),
        });
        lost.push(Lost {
            packet_number,
            packet,
            cause,
        });
    }
}

/// Whether losses of one batch, ascending, span `duration` or more without a packet between
/// them that was acknowledged (RFC 9002 §7.6.2). Packets from before the first RTT sample
/// do not count, nor do those whose loss may be the path's size limit. Numbers that are
/// missing for other reasons end a span as well, which errs towards no.
pub(crate) fn is_persistent_congestion<D>(
    lost: &[Lost<D>],
    first_rtt_sample: Option<Instant>,
    duration: Duration,
) -> bool {
    let Some(first_rtt_sample) = first_rtt_sample else {
        return false;
    };
    let counts = |packet: &SentPacket<D>| packet.in_flight && packet.sent_at > first_rtt_sample;
    let mut span: Option<(Instant, u64)> = None;
    lost.iter().filter(|lost| counts(&lost.packet)).any(|lost| {
        let start = match span {
            Some((start, last)) if last + 1 == lost.packet_number => start,
            _ => lost.packet.sent_at,
        };
        span = Some((start, lost.packet_number));
        lost.packet.sent_at.saturating_duration_since(start) >= duration
    })
}

/// Losses that are remembered for a late acknowledgement.
const MAX_LOST: usize = 1 << 14;
