//! Whether the peer receives at an address: challenges and responses (RFC 9000 §8.2), and
//! how much may be sent before that is known (RFC 9000 §8.1).

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// One path's challenges: ours to the peer, and the peer's that wait for an answer.
#[derive(Debug)]
pub(crate) struct Validation {
    state: State,
    /// The peer's challenges that we have not answered yet; bounded (quiche CVE-2023-6193).
    responses: VecDeque<[u8; 8]>,
    received: u64,
    sent: u64,
    /// How often it went on beyond its time.
    extended: u32,
}

#[derive(Debug)]
enum State {
    Validated,
    Challenging {
        data: [u8; 8],
        sent: u32,
        next: Instant,
        give_up: Instant,
    },
    Failed,
}

impl Validation {
    /// An address that the handshake has proved.
    pub(crate) fn validated() -> Self {
        Self {
            state: State::Validated,
            responses: VecDeque::new(),
            received: 0,
            sent: 0,
            extended: 0,
        }
    }

    /// An address that must first answer the challenge `data`.
    pub(crate) fn challenge(data: [u8; 8], now: Instant, patience: Duration) -> Self {
        let state = State::Challenging {
            data,
            sent: 0,
            next: now,
            give_up: now + patience,
        };
        Self {
            state,
            responses: VecDeque::new(),
            received: 0,
            sent: 0,
            extended: 0,
        }
    }

    /// The peer's address changed: the new one must answer `data`, and what arrived from the
    /// old one allows nothing. It has three of the path's `pto`, or three seconds if that is more
    /// (RFC 9000 §8.2.4).
    pub(crate) fn challenge_again(&mut self, data: [u8; 8], now: Instant, pto: Duration) {
        let responses = std::mem::take(&mut self.responses);
        *self = Self::challenge(data, now, PATIENCE_AFTER_MOVE.max(3 * pto));
        self.responses = responses;
    }

    pub(crate) fn is_validated(&self) -> bool {
        matches!(self.state, State::Validated)
    }

    /// Bytes arrived from the address.
    pub(crate) fn on_received(&mut self, bytes: usize) {
        self.received = self.received.saturating_add(bytes as u64);
    }

    /// Bytes left for the address.
    pub(crate) fn on_sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes as u64);
    }

    /// Bytes that may still be sent: three times what arrived until the address is validated
    /// (RFC 9000 §8.1). The client knows that it asked and is not limited.
    pub(crate) fn allowance(&self) -> usize {
        if self.is_validated() {
            return usize::MAX;
        }
        let left = self.received.saturating_mul(3).saturating_sub(self.sent);
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// A PATH_CHALLENGE arrived: answer it once. The oldest gives way beyond three.
    pub(crate) fn on_challenge(&mut self, data: [u8; 8]) {
        if self.responses.contains(&data) {
            return;
        }
        if self.responses.len() >= MAX_RESPONSES {
            self.responses.pop_front();
        }
        self.responses.push_back(data);
    }

    /// A PATH_RESPONSE arrived. Returns whether it validated the address just now.
    pub(crate) fn on_response(&mut self, answer: [u8; 8]) -> bool {
        match self.state {
            State::Challenging { data, sent, .. } if sent > 0 && data == answer => {
                self.state = State::Validated;
                true
            }
            _ => false,
        }
    }

    /// Something that only the holder of the address can have sent arrived.
    pub(crate) fn confirm(&mut self) {
        self.state = State::Validated;
    }

    /// The next response to send.
    pub(crate) fn pop_response(&mut self) -> Option<[u8; 8]> {
        self.responses.pop_front()
    }

    /// The challenge to send now, if one is due; notes that it was sent. The first four wait
    /// for `interval`, later ones twice as long each time, up to eight times or [`MAX_INTERVAL`],
    /// whichever is more.
    pub(crate) fn take_challenge(&mut self, now: Instant, interval: Duration) -> Option<[u8; 8]> {
        match &mut self.state {
            State::Challenging {
                data, sent, next, ..
            } if now >= *next => {
                let interval = interval.max(MIN_INTERVAL);
                let longest = (8 * interval).max(MAX_INTERVAL);
                *next = now + (interval * (1 << sent.saturating_sub(3).min(6))).min(longest);
                *sent += 1;
                Some(*data)
            }
            _ => None,
        }
    }

    /// Challenges of the current address, or those it is tried with.
    pub(crate) fn challenges_sent(&self) -> u32 {
        match self.state {
            State::Challenging { sent, .. } => sent,
            _ => 0,
        }
    }

    /// Whether a frame of validation is waiting to leave.
    pub(crate) fn has_frames(&self, now: Instant) -> bool {
        !self.responses.is_empty()
            || matches!(self.state, State::Challenging { next, .. } if now >= next)
    }

    /// When to look again. Unless a challenge `may_leave`, only time to give up matters.
    pub(crate) fn next_timeout(&self, may_leave: bool) -> Option<Instant> {
        match self.state {
            State::Challenging { next, give_up, .. } if may_leave => Some(next.min(give_up)),
            State::Challenging { give_up, .. } => Some(give_up),
            _ => None,
        }
    }

    /// Gives up when nothing answered for too long. Returns whether it did just now.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> bool {
        let overdue = self.is_overdue(now);
        if overdue {
            self.state = State::Failed;
        }
        overdue
    }

    /// Whether nothing has answered for too long.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        matches!(self.state, State::Challenging { give_up, .. } if now >= give_up)
    }

    /// Nothing answered for too long, but there is nobody else to ask: the challenges go on for
    /// `patience`, twice as long each time.
    pub(crate) fn go_on(&mut self, now: Instant, patience: Duration) {
        if let State::Challenging { give_up, .. } = &mut self.state {
            self.extended = (self.extended + 1).min(MOST_EXTENDED);
            *give_up = now + patience * (1 << self.extended);
        }
    }

    /// Whether its time passed without the challenges that belong to it, because the clock jumped
    /// or they might not leave: one has been due for long.
    pub(crate) fn is_untried(&self) -> bool {
        let State::Challenging { next, give_up, .. } = self.state else {
            return false;
        };
        self.extended == 0 && next + LONG_DUE <= give_up
    }

    /// Whether the address has not answered within its time.
    pub(crate) fn is_late(&self) -> bool {
        self.extended > 0 && !self.is_validated()
    }
}

const MAX_RESPONSES: usize = 3;
/// Between a challenge that is due and the end of an address's time.
const LONG_DUE: Duration = Duration::from_secs(1);
/// Doublings of the patience: two hours of it.
const MOST_EXTENDED: u32 = 10;
const PATIENCE_AFTER_MOVE: Duration = Duration::from_secs(3);
/// Between two challenges, however short the round trip is: an address in the same machine
/// that went silent must not get thousands of them.
const MIN_INTERVAL: Duration = Duration::from_millis(5);
/// The round trip of an address that never answered is a guess: it may be a thousand times that of
/// the others.
const MAX_INTERVAL: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn epoch() -> Instant {
        Instant::now()
    }

    #[test]
    fn an_address_that_never_answers_gets_few_challenges_however_near_it_is() {
        let (mut now, patience) = (epoch(), Duration::from_secs(10));
        for (round_trip, bound) in [(2, 60), (50_000, 30)] {
            let mut validation = Validation::challenge([7; 8], now, patience);
            let mut challenges = 0;
            while !validation.on_timeout(now) {
                let challenge = validation.take_challenge(now, Duration::from_micros(round_trip));
                challenges += u32::from(challenge.is_some());
                now = validation.next_timeout(true).expect("not given up yet");
            }
            assert!(challenges <= bound, "{challenges} challenges");
        }
    }
}
