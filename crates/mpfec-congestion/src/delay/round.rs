//! What one round trip has shown.

use std::time::{Duration, Instant};

use crate::Ack;

/// A round ends when a packet sent after its start is acknowledged, but not before 10 ms: on
/// paths shorter than the noise of the hosts' schedulers, a round must be long enough to hold
/// some samples without that noise.
#[derive(Debug, Clone)]
pub(super) struct Round {
    start: Option<Instant>,
    pub(super) acked: f64,
    /// Their bytes.
    pub(super) bytes: f64,
    pub(super) lost: f64,
    /// Most packets that one acknowledgement was for.
    pub(super) batch: f64,
    /// Smallest RTT above the least that is known, seconds; infinite before the first sample.
    pub(super) rise_min: f64,
    /// What of it was on the way back, where nothing has been seen to stand.
    pub(super) least_back: f64,
    /// Largest of them.
    pub(super) rise_max: f64,
    /// That of the last acknowledgement, and the most by which one was above that before it.
    rise_last: f64,
    pub(super) jump_max: f64,
    /// What of it is the path's own (see `noise`), seconds.
    noise: f64,
    /// Sum of the delays of the packets acknowledged, seconds.
    pub(super) delay_sum: f64,
    /// Largest number of packets in flight.
    pub(super) in_flight_max: f64,
    /// Whether the application had nothing to send at one of the acknowledgements.
    pub(super) app_limited: bool,
    /// For how many seconds it had nothing, and whether that was a good part of the round.
    idle: f64,
    pub(super) has_paused: bool,
    /// By how many seconds the first and the last acknowledgement were held up.
    held_up: Option<(f64, f64)>,
}

impl Round {
    pub(super) fn new() -> Self {
        Self {
            start: None,
            acked: 0.0,
            bytes: 0.0,
            lost: 0.0,
            batch: 0.0,
            rise_min: f64::INFINITY,
            least_back: 0.0,
            rise_max: 0.0,
            rise_last: f64::INFINITY,
            jump_max: 0.0,
            noise: 0.0,
            delay_sum: 0.0,
            in_flight_max: 0.0,
            app_limited: false,
            idle: 0.0,
            has_paused: false,
            held_up: None,
        }
    }

    /// A round that begins now.
    pub(super) fn starting(now: Instant) -> Self {
        Self {
            start: Some(now),
            ..Self::new()
        }
    }

    #[cfg(test)]
    pub(super) fn started_at(&self) -> Option<Instant> {
        self.start
    }

    /// Whether the application left the path idle, be it only between two acknowledgements.
    pub(super) fn has_paused(&self) -> bool {
        self.app_limited || self.has_paused
    }

    /// Share of packets lost.
    pub(super) fn loss(&self) -> f64 {
        self.lost / (self.acked + self.lost).max(1.0)
    }

    /// Bytes of a packet as a part of `mss`, the mean; 1 of none.
    pub(super) fn fullness(&self, mss: f64) -> f64 {
        if self.acked > 0.0 {
            self.bytes / (mss * self.acked)
        } else {
            1.0
        }
    }

    /// Smallest delay above the floor, seconds; infinite before the first sample.
    pub(super) fn delay_min(&self) -> f64 {
        (self.rise_min - self.noise).max(0.0)
    }

    /// Largest of them.
    pub(super) fn delay_max(&self) -> f64 {
        (self.rise_max - self.noise).max(0.0)
    }

    /// Mean delay above the floor, seconds.
    pub(super) fn delay_mean(&self) -> f64 {
        self.delay_sum / self.acked.max(1.0)
    }

    /// An acknowledgement came, whose RTT is so many seconds above the least that is known, with
    /// which `lost` packets were found.
    pub(super) fn on_ack(
        &mut self,
        ack: &Ack<'_>,
        (rise, back): (f64, f64),
        noise: f64,
        lost: u64,
    ) {
        self.start.get_or_insert(ack.now);
        self.acked += f64::from(ack.packets);
        self.bytes += ack.bytes as f64;
        self.lost += lost as f64;
        self.batch = self.batch.max(f64::from(ack.packets));
        self.noise = noise;
        self.delay_sum += (rise - noise).max(0.0) * f64::from(ack.packets);
        if rise < self.rise_min {
            (self.rise_min, self.least_back) = (rise, back.min(rise));
        }
        self.rise_max = self.rise_max.max(rise);
        let before = std::mem::replace(&mut self.rise_last, rise);
        self.jump_max = self.jump_max.max(rise - before);
        self.app_limited |= ack.app_limited;
        self.idle += ack.idle.as_secs_f64();
    }

    /// An acknowledgement was held up on its way back by so many seconds.
    pub(super) fn on_held_up(&mut self, by: Option<f64>) {
        self.held_up = by.map(|by| (self.held_up.map_or(by, |(first, _)| first), by));
    }

    /// In which what it acknowledges arrived, seconds: it came in `length`, of which a queue that grows
    /// on the way back makes up a half if it is sent to twice as fast as it is emptied.
    fn arrived_in(&self, length: Duration) -> f64 {
        let length = length.as_secs_f64();
        let change = self.held_up.map_or(0.0, |(first, last)| last - first);
        (length - change).max(ARRIVES * length)
    }

    /// The finished round and the seconds in which what it acknowledges arrived, if this
    /// acknowledgement ends it.
    pub(super) fn finish(&mut self, ack: &Ack<'_>) -> Option<(Self, f64)> {
        let start = self.start?;
        let length = ack.now.saturating_duration_since(start);
        if ack.sent_at < start || length < SHORTEST {
            return None;
        }
        let next = Self {
            held_up: self.held_up.map(|(_, last)| (last, last)),
            ..Self::starting(ack.now)
        };
        self.has_paused = self.idle > IDLE * length.as_secs_f64();
        let arrived_in = self.arrived_in(length);
        Some((std::mem::replace(self, next), arrived_in))
    }
}

/// The application left the path idle for this part of a round: more than what it takes to write the
/// next data.
const IDLE: f64 = 0.04;
/// A round lasts for as long at least.
pub(super) const SHORTEST: Duration = Duration::from_millis(10);
/// Part of a round in which what it acknowledges has arrived at least.
const ARRIVES: f64 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived_in_ms(held_up_ms: (f64, f64)) -> f64 {
        let mut round = Round::new();
        for ms in [held_up_ms.0, held_up_ms.1] {
            round.on_held_up(Some(1e-3 * ms));
        }
        (1e3 * round.arrived_in(Duration::from_millis(100))).round()
    }

    #[test]
    fn what_is_held_up_more_and_more_has_arrived_in_less_time_than_it_came_in_but_in_some() {
        assert_eq!(arrived_in_ms((10.0, 10.0)), 100.0);
        assert_eq!(arrived_in_ms((10.0, 50.0)), 60.0);
        assert_eq!(arrived_in_ms((50.0, 10.0)), 140.0);
        assert_eq!(arrived_in_ms((0.0, 500.0)), 25.0);
    }
}
