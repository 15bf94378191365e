//! Hosts that stand still for a while: what comes meanwhile is looked at late, and seems to have met
//! a queue.

use std::time::Instant;

/// The last time without an acknowledgement that was longer than others' packets make it, as far as
/// it was.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stall {
    last_ack: Option<Instant>,
    /// How much longer it was, in seconds, and when it ended.
    length: f64,
    ended: Option<Instant>,
}

impl Stall {
    /// An acknowledgement has come over a path whose bottleneck takes `packet_time` seconds for a
    /// packet. Returns by how many seconds one of the hosts may have made it late by standing still:
    /// what had waited longest came first, and all of it comes at once.
    pub(super) fn on_ack(&mut self, now: Instant, packet_time: f64) -> f64 {
        let since = |at: Option<Instant>| {
            at.map_or(0.0, |at| now.saturating_duration_since(at).as_secs_f64())
        };
        let gap = since(self.last_ack.replace(now));
        let longer = gap - FEW * packet_time;
        if longer > 0.0 {
            (self.length, self.ended) = (longer, Some(now));
        }
        (self.length - since(self.ended)).max(0.0)
    }
}

/// Packets that others may send between two of ours.
const FEW: f64 = 4.0;

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
mod tests {
    use std::time::Duration;

    use super::*;

    /// How late acknowledgements may be that come at these milliseconds, where a packet takes one.
    fn late_ms(at: &[u64]) -> Vec<u64> {
        let (mut stall, epoch) = (Stall::default(), Instant::now());
        let late = at.iter().map(|&ms| {
            let seconds = stall.on_ack(epoch + Duration::from_millis(ms), 1e-3);
            (1e3 * seconds).round() as u64
        });
        late.collect()
    }

    #[test]
    fn what_comes_packet_by_packet_is_not_late() {
        assert_eq!(late_ms(&[0, 2, 4, 5, 9, 11, 15]), [0; 7]);
    }

    #[test]
    fn what_comes_at_once_after_a_long_time_may_have_waited_for_as_long_and_what_follows_for_less()
    {
        let late = late_ms(&[0, 2, 62, 62, 63, 66, 82, 121, 123]);
        assert_eq!(late, [0, 0, 56, 56, 55, 52, 12, 35, 33]);
        // Hosts that stand still are soon forgotten.
        assert_eq!(late_ms(&[0, 30, 33, 36, 40, 44, 48, 52, 56, 60])[9], 0);
    }
}
