//! Packets and how many of them were lost.

/// Some packets, lost ones among them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) packets: f64,
    pub(super) lost: f64,
}

impl Count {
    /// The share that was lost, of one packet at least.
    pub(super) fn share(&self) -> f64 {
        self.lost / self.packets.max(1.0)
    }

    /// Of more than `memory` packets half is forgotten.
    pub(super) fn add(&mut self, packets: f64, lost: f64, memory: f64) {
        self.packets += packets;
        self.lost += lost;
        if self.packets > memory {
            self.packets *= 0.5;
            self.lost *= 0.5;
        }
    }
}
