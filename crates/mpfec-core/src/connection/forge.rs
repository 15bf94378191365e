//! Packets that no honest end sends: authentic, with any payload. Only fuzz targets and tests
//! have this, to reach what lies behind the protection.

use std::time::Instant;

use super::Connection;
use crate::address::FourTuple;
use crate::component::Tokens;
use crate::recovery::{Eliciting, SentPacket};

impl Connection {
    /// The number that the next packet on the path at `index` takes.
    #[cfg(test)]
    pub(crate) fn next_number(&mut self, index: usize) -> Option<u64> {
        let path = self.paths.at_mut(index)?;
        Some(path.space.next_packet_number(0))
    }

    /// What is kept of paths, open or not, for frames about them.
    #[cfg(test)]
    pub(crate) fn kept_of_paths(&self) -> usize {
        self.control.len()
    }

    /// Appends a 1-RTT packet with `payload` for the path at `index`, counted from the first one
    /// and beginning again behind the last. It takes the next packet number, and counts as sent.
    /// Returns where it goes; `None` without keys or paths.
    pub(crate) fn forge(
        &mut self,
        now: Instant,
        index: usize,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<FourTuple> {
        let index = index.checked_rem(self.paths.len())?;
        let start = out.len();
        let (marks, packet_number) = self.write_header(index, out)?;
        out.extend_from_slice(payload);
        // Header protection samples 16 bytes from 4 behind the packet number.
        out.resize(out.len().max(marks.payload_at + 4), 0);
        let path = self.paths.at_mut(index)?;
        self.keys
            .as_mut()?
            .seal_packet(path.id, packet_number, &marks, out)
            .ok()?;
        let delivery = path.delivery.on_sent(now, path.space.bytes_in_flight());
        path.space.on_sent(
            packet_number,
            SentPacket {
                sent_at: now,
                size: (out.len() - start) as u16,
                eliciting: Eliciting::Soon,
                in_flight: false,
                tokens: Tokens::new(),
                delivery,
            },
        );
        Some(path.tuple)
    }
}
