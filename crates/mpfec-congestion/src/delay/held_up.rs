//! What holds up acknowledgements is no queue of ours: the control goes by the round trip without it,
//! and more is in flight by what waits to be acknowledged.

use super::round::SHORTEST;
use super::steady::{ONE_PACKET, Steady};
use super::{Delay, MAX_WINDOW, Mode};

impl Delay {
    /// A sample of the round trip was held up by so many seconds, or by nothing that stands.
    pub(super) fn follow_way_back(&mut self, by: Option<f64>) {
        self.held_up += GAIN * (by.unwrap_or(0.0) - self.held_up);
        if let Some(by) = self.floor.begins_to_hold_up() {
            self.reconsider_queue(by);
        }
    }

    /// What has passed for a queue so far was on the way back.
    fn reconsider_queue(&mut self, by: f64) {
        self.held_up = by;
        self.evidence.forget_delays();
        self.flat.forget_delays();
        let has_fallen = self.window < FALLEN * self.rate_max * self.floor_seconds();
        match self.mode {
            Mode::Startup(_) => {}
            Mode::Steady(_) => {
                if has_fallen {
                    self.begin_anew();
                }
            }
            Mode::Compete(_) => {
                self.mode = Mode::Steady(Steady::after_competing(self.window));
                self.evidence.forget_recent();
            }
        }
    }

    /// How many round trips without what is held up a round lasts for.
    pub(super) fn trips_in_a_round(&self) -> u32 {
        let rtt = self.floor_seconds() + self.queue_delay;
        let shortest = SHORTEST.as_secs_f64();
        ((rtt + self.held_up).max(shortest) / rtt.max(shortest)).round() as u32
    }

    /// Packets that have arrived and whose acknowledgements are held up.
    pub(super) fn unheard(&self) -> f64 {
        if self.held_up < LEAST {
            return 0.0;
        }
        let rtt = self.floor_seconds() + self.queue_delay;
        let paced = self.window / rtt.max(LEAST);
        let arrive = match self.mode {
            Mode::Startup(_) => paced,
            _ if self.queue_delay * self.rate < ONE_PACKET => paced.min(GROWS * self.rate),
            _ => self.rate,
        };
        let most = (MAX_WINDOW - self.window).max(0.0);
        (self.held_up * arrive).min(most)
    }

    /// Times as many packets are in flight as the window has.
    pub(super) fn stretched(&self) -> f64 {
        1.0 + self.unheard() / self.window.max(1.0)
    }
}

/// Seconds that are none.
const LEAST: f64 = 1e-6;
/// Of a sample in the mean, as in the smoothed RTT (RFC 6298).
const GAIN: f64 = 0.125;
/// Part of what the path has carried that a window holds which has given way.
const FALLEN: f64 = 0.9;
/// Times as many packets as before may arrive in a round trip in which no queue shows.
const GROWS: f64 = 1.1;
