//! A client that only receives has nothing to say, and a server that lost its address has nobody to
//! tell: when packets stop coming, the client asks. A server then follows it to wherever the
//! question came from (RFC 9000 §9.3).

use std::time::{Duration, Instant};

/// When the peer fell silent, and how often such silence meant nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Quiet {
    /// When the last packet with data came, unless it was asked about since.
    heard: Option<Instant>,
    /// Such packets since the last question.
    arrived: u32,
    /// Questions in a row before which little had come: the peer writes now and then.
    in_vain: u32,
}

impl Quiet {
    /// A packet with data of streams arrived.
    pub(crate) fn on_received(&mut self, now: Instant) {
        self.heard = Some(now);
        self.arrived = self.arrived.saturating_add(1);
        if self.arrived >= STEADY {
            self.in_vain = 0;
        }
    }

    /// When to ask: a PTO after the last packet, twice as long for each question in vain.
    pub(crate) fn ask_at(&self, pto: Duration) -> Option<Instant> {
        self.heard?.checked_add(pto * (1 << self.in_vain))
    }

    /// A question leaves.
    pub(crate) fn on_asked(&mut self) {
        *self = Self {
            heard: None,
            arrived: 0,
            in_vain: (self.in_vain + 1).min(MOST_IN_VAIN),
        };
    }
}

/// So many packets since the last question are a stream that should not stop.
const STEADY: u32 = 64;
/// Up to 64 PTOs between two questions.
const MOST_IN_VAIN: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_silence_is_asked_about_once_and_ever_later() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let epoch = Instant::now();
        let pto = Duration::from_millis(100);
        let mut quiet = Quiet::default();
        assert_eq!(quiet.ask_at(pto), None, "nothing came yet");
        let mut waits = Vec::new();
        for _ in 0..8 {
            quiet.on_received(epoch);
            waits.push((quiet.ask_at(pto).expect("silence") - epoch).as_millis());
            quiet.on_asked();
            assert_eq!(quiet.ask_at(pto), None, "asked already");
        }
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 6400, 6400]);
        for _ in 0..STEADY {
            quiet.on_received(epoch);
        }
        assert_eq!(quiet.ask_at(pto), Some(epoch + pto), "a stream that stops");
    }
}
