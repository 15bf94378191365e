//! What became of the packets handed to a link.

/// Why a link dropped a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// The queue was full, or dropped what had waited too long, or a policer let no more pass.
    Queue,
    /// Lost on the way, by the link's loss model.
    Loss,
    /// The link was cut.
    Cut,
    /// Larger than the link's MTU.
    TooBig,
}

/// Counts of packets, and of payload bytes where the name says so. At any time
/// `submitted + duplicated == delivered + dropped() + ` what the link holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCounters {
    /// Handed to the link.
    pub submitted: u64,
    /// Payload bytes handed to the link.
    pub submitted_bytes: u64,
    /// Came out at the other end, duplicates included.
    pub delivered: u64,
    /// Payload bytes that came out at the other end, duplicates included.
    pub delivered_bytes: u64,
    /// Dropped by the queue or the policer.
    pub dropped_queue: u64,
    /// Lost on the way.
    pub dropped_loss: u64,
    /// Dropped because the link was cut.
    pub dropped_cut: u64,
    /// Dropped because they exceeded the MTU.
    pub dropped_too_big: u64,
    /// Second copies made.
    pub duplicated: u64,
    /// Packets delivered with a flipped bit; copies count once.
    pub corrupted: u64,
    /// Packets held back so that later ones pass.
    pub reordered: u64,
}

impl LinkCounters {
    /// Dropped for whatever reason.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped_queue + self.dropped_loss + self.dropped_cut + self.dropped_too_big
    }

    pub(crate) fn on_dropped(&mut self, reason: DropReason, packets: u64) {
        let counter = match reason {
            DropReason::Queue => &mut self.dropped_queue,
            DropReason::Loss => &mut self.dropped_loss,
            DropReason::Cut => &mut self.dropped_cut,
            DropReason::TooBig => &mut self.dropped_too_big,
        };
        *counter += packets;
    }
}
