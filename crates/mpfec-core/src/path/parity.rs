//! What parity changes about a path: when losses count as such, and how large packets are.

use std::time::{Duration, Instant};

use super::Path;
use crate::parity::HEADER_ROOM;
use crate::wire::TAG_LEN;

impl Path {
    /// Whether a parity should leave, as far as the packets since the last one decide that.
    pub(crate) fn is_parity_due(&self, now: Instant) -> bool {
        let parity = self.parity.as_ref().filter(|_| self.is_usable());
        parity.is_some_and(|parity| parity.is_due(now, self.srtt()))
    }

    /// Whether parity waits for room in the window and counts in flight.
    pub(crate) fn parity_respects_window(&self) -> bool {
        let parity = self.parity.as_ref();
        parity.is_none_or(|parity| parity.respects_window())
    }

    /// When a parity is due whatever is sent until then.
    pub(crate) fn parity_due_at(&self) -> Option<Instant> {
        let parity = self.parity.as_ref().filter(|_| self.is_usable())?;
        parity.due_at(self.srtt())
    }

    /// Data packets that may leave before the next parity.
    pub(crate) fn packets_to_parity(&self) -> usize {
        self.parity
            .as_ref()
            .map_or(usize::MAX, |parity| parity.left())
    }

    /// Bytes of UDP payload for packets that carry data: a parity over them must fit as well.
    pub(crate) fn data_mtu(&self) -> u16 {
        if self.parity.is_some() && self.validation.is_validated() {
            self.mtu.current() - HEADER_ROOM
        } else {
            self.mtu.current()
        }
    }

    /// Bytes that a parity may hold in all.
    pub(crate) fn parity_room(&self) -> usize {
        usize::from(self.mtu.current()).saturating_sub(PACKET_OVERHEAD)
    }

    /// A packet so many numbers behind the largest acknowledged one is lost: not before the
    /// parity that may give it back could have arrived (dFEC §III-A).
    pub(crate) fn loss_threshold(&self) -> u64 {
        let threshold = self.reordering.threshold();
        self.parity
            .as_ref()
            .map_or(threshold, |parity| threshold.max(parity.group() as u64 + 1))
    }

    /// How much longer than usual a packet is waited for: as long as it takes to send the rest
    /// of the packets that share its parity, unless sending it again is faster.
    pub(super) fn parity_wait(&self) -> Duration {
        let Some(parity) = &self.parity else {
            return Duration::ZERO;
        };
        let srtt = self.srtt();
        if !parity.respects_window() {
            return parity.interval(srtt);
        }
        let window = self.controller.cwnd().max(1) as f64 / f64::from(self.mtu.current());
        let windows = (parity.group() + 1) as f64 / window;
        if windows > LONGEST_WAIT {
            return Duration::ZERO;
        }
        srtt.mul_f64(windows)
    }

    /// A parity left in a packet of `size` bytes.
    pub(crate) fn on_parity_sent(&mut self, size: usize) {
        if let Some(parity) = &mut self.parity {
            parity.counters.sent_bytes += size as u64;
        }
    }

    /// An acknowledgement came: the ratio may have to change. Round trips are those without
    /// queues: the paper wants three at least, and a full queue would slow adaptation down.
    pub(crate) fn on_parity_time(&mut self, now: Instant) {
        let (id, rtt) = (self.id, self.rtt.min());
        if let Some(parity) = &mut self.parity
            && let Some(packets) = parity.update(now, rtt)
        {
            tracing::info!("path {id}: a parity for every {packets} packets");
        }
    }
}

/// Header, with the longest packet number, and tag.
const PACKET_OVERHEAD: usize = 1 + 8 + 4 + TAG_LEN;
/// In round trips: by then the packet would have been sent again, and once more.
const LONGEST_WAIT: f64 = 4.0;
