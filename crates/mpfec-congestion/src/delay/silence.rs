//! While nothing comes back: a burst of losses that takes more than the window looks like a dead
//! path.

use std::time::{Duration, Instant};

use super::compete::Test;
use super::floor::Floors;
use super::noise::Noise;
use super::round::Round;
use super::startup::Startup;
use super::steady::Drain;
use super::{Delay, Mode};

/// Probes have been unanswered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Silence {
    since: Instant,
    /// Timeouts in a row.
    timeouts: u32,
}

impl Delay {
    /// The window is kept for the path's return.
    pub(super) fn on_silence(&mut self, now: Instant, timeouts: u32) {
        let since = self.silence.map_or(now, |silence| silence.since);
        self.silence = Some(Silence { since, timeouts });
    }

    /// The first answer after a silence: goes on as before it.
    pub(super) fn on_answer(&mut self, now: Instant) {
        let Some(silence) = self.silence.take() else {
            return;
        };
        self.answered_at = Some(now);
        self.round = Round::new();
        let losses = std::mem::take(&mut self.losses);
        self.evidence.on_unexplained(losses.lost);
        if now.saturating_duration_since(silence.since) > FORGETS {
            self.window = self.window.min(self.initial_window);
            self.floor = Floors::default();
            self.noise = Noise::default();
            self.forget_rates();
            self.mode = Mode::Startup(Startup::new(self.window));
        } else {
            match &mut self.mode {
                Mode::Startup(_) => {}
                Mode::Steady(steady) => steady.drain = Drain::No,
                Mode::Compete(compete) => compete.test = Test::No,
            }
        }
    }

    /// Part of the pace that is left: a burst ends the sooner the more is sent into it, and more
    /// than the path is known to carry never leaves. But it may also be somebody who fills a long
    /// queue at once, so that three timeouts are borne with all of it, five more with half, and
    /// each other one halves that again.
    pub(super) fn kept_in_silence(&self) -> f64 {
        match self.silence.map_or(0, |silence| silence.timeouts) {
            0..=BORNE => 1.0,
            timeouts => {
                let halved = timeouts.saturating_sub(HALVED).clamp(1, MOST_HALVED);
                0.5_f64.powi(halved as i32)
            }
        }
    }
}

/// After a silence this long, what was known of the path is worth nothing.
const FORGETS: Duration = Duration::from_secs(60);
/// Timeouts in a row that a burst is most likely over with.
const BORNE: u32 = 3;
/// Timeouts in a row from the first to the last with half of the pace, less one.
const HALVED: u32 = 7;
const MOST_HALVED: u32 = 8;
