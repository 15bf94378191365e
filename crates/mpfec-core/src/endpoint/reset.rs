//! Telling a peer that its connection is not known here: stateless reset (RFC 9000 §10.3).

use std::time::{Duration, Instant};

use crate::rng::Rng;

/// Resets are cheap to ask for: no more than so many in a second.
#[derive(Debug)]
pub(super) struct ResetLimit {
    since: Instant,
    sent: u32,
}

impl ResetLimit {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            since: now,
            sent: 0,
        }
    }

    /// Whether one more may leave; counts it.
    pub(super) fn allows(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.since) >= Duration::from_secs(1) {
            *self = Self::new(now);
        }
        self.sent += 1;
        self.sent <= RESETS_PER_SECOND
    }
}

/// Writes a reset that is smaller than the packet it answers, so that two endpoints cannot
/// answer each other for ever. Returns whether there is room for one.
pub(super) fn encode(rng: &mut Rng, trigger: usize, token: [u8; 16], out: &mut Vec<u8>) -> bool {
    let size = trigger.saturating_sub(1).min(MAX_RESET);
    if size < MIN_RESET {
        return false;
    }
    let start = out.len();
    out.resize(start + size - token.len(), 0);
    rng.fill(&mut out[start..]);
    out[start] = 0x40 | out[start] & 0x3f;
    out.extend_from_slice(&token);
    true
}

const RESETS_PER_SECOND: u32 = 100;
/// RFC 9000 §10.3: at least 21 bytes, to look like any other packet.
const MIN_RESET: usize = 21;
const MAX_RESET: usize = 43;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_is_smaller_than_what_it_answers_and_ends_with_the_token() {
        let mut rng = Rng::seeded(1);
        for trigger in 0..100 {
            let mut out = Vec::new();
            if encode(&mut rng, trigger, [9; 16], &mut out) {
                assert!(out.len() < trigger && out.len() >= MIN_RESET);
                assert_eq!(out.last_chunk(), Some(&[9; 16]));
                assert_eq!(out[0] >> 6, 1, "it looks like a short header");
            } else {
                assert!(trigger <= MIN_RESET);
            }
        }
    }
}
