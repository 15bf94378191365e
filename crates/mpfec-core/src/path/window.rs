//! What window and pacer let out.

use std::time::{Duration, Instant};

use super::Path;

impl Path {
    /// Whether window and pacer let a full packet out now.
    pub(crate) fn may_send(&self, now: Instant) -> bool {
        let size = u64::from(self.mtu.current());
        if !self.is_usable() || !(self.has_room(now, size) || self.space.bytes_in_flight() == 0) {
            return false;
        }
        self.pacer
            .next_send(now, self.pacing_rate(), size)
            .is_none_or(|at| at <= now)
    }

    /// Bytes per second that the pacer lets out.
    pub(crate) fn pacing_rate(&self) -> u64 {
        self.controller.pacing_rate().unwrap_or_else(|| {
            let srtt = self.srtt().as_secs_f64().max(1e-6);
            (1.25 * self.controller.cwnd() as f64 / srtt) as u64
        })
    }

    /// Time between two full packets at the pacer's rate.
    pub(crate) fn packet_time(&self) -> Duration {
        let bytes = f64::from(self.mtu.current());
        Duration::from_secs_f64(bytes / self.pacing_rate().max(1) as f64)
    }

    /// Packets that the congestion window is for.
    pub(crate) fn window_packets(&self) -> u32 {
        let packets = self.controller.cwnd() / u64::from(self.mtu.current()).max(1);
        u32::try_from(packets).unwrap_or(u32::MAX)
    }

    /// Whether the congestion window has room for so many bytes.
    pub(crate) fn has_room(&self, now: Instant, size: u64) -> bool {
        // Mostly it has, whatever is overdue.
        self.window_unused() >= size || self.window_room(now) >= size
    }

    /// Bytes that the congestion window has room for.
    pub(crate) fn window_room(&self, now: Instant) -> u64 {
        self.controller.cwnd().saturating_sub(self.bytes_held(now))
    }

    /// Bytes of the congestion window that nothing in flight is in, overdue or not.
    pub(crate) fn window_unused(&self) -> u64 {
        self.controller
            .cwnd()
            .saturating_sub(self.space.bytes_in_flight())
    }

    /// Bytes in flight that hold a place in the window.
    pub(crate) fn bytes_held(&self, now: Instant) -> u64 {
        self.space.bytes_in_flight() - self.unheld(now).0
    }

    /// When the next packet in flight holds no place any more, unless it is acknowledged before.
    pub(crate) fn next_unheld(&self, now: Instant) -> Option<Instant> {
        self.unheld(now).1
    }

    /// From when on an answer has been waited for: since the last packet left (RFC 9002 §6.2.1), unless
    /// more leaves in a silence than the window is for.
    pub(crate) fn silent_since(&self, now: Instant) -> Option<Instant> {
        match self.unheld(now) {
            (0, _) => self.space.last_ack_eliciting_sent(),
            _ => self.space.oldest_unacked().max(self.last_answer),
        }
    }

    /// Bytes in flight that hold no place in the window, and when there will be more.
    fn unheld(&self, now: Instant) -> (u64, Option<Instant>) {
        let (Some(overdue), Some(answer)) = (self.controller.overdue(), self.last_answer) else {
            return (0, None);
        };
        let oldest = self.space.oldest_unacked();
        // After a time without answers silence begins when those to what left then are late.
        let from = match oldest.filter(|oldest| *oldest > answer) {
            Some(oldest) => oldest + overdue.age,
            None => answer,
        };
        self.space.overdue(now, &overdue, from + overdue.pause)
    }
}
