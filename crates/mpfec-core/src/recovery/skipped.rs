//! Packet numbers that are left out on purpose, so that a peer that acknowledges what it
//! did not receive gives itself away (RFC 9000 §21.4).

use std::collections::VecDeque;
use std::ops::RangeInclusive;

/// Which number is left out next, and which were lately.
#[derive(Debug)]
pub(super) struct SkippedNumbers {
    /// `None` until the first number was asked for.
    next: Option<u64>,
    /// The next gap between skipped numbers is `span..2 * span`.
    span: u64,
    recent: VecDeque<u64>,
}

impl SkippedNumbers {
    pub(super) fn new() -> Self {
        Self {
            next: None,
            span: FIRST_SPAN,
            recent: VecDeque::new(),
        }
    }

    /// Whether `number`, which would be sent next, is to be left out instead. If so the next
    /// one is chosen by means of `random`.
    pub(super) fn skips(&mut self, number: u64, random: u64) -> bool {
        let due = *self
            .next
            .get_or_insert(number + FIRST_SPAN + random % FIRST_SPAN);
        if number < due {
            return false;
        }
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(number);
        // Not just the low bits, which chose the gap before.
        self.next = Some(number + self.span + (random >> 8) % self.span);
        self.span = (2 * self.span).min(LAST_SPAN);
        true
    }

    /// Whether a range contains a number that never left, as far as they are remembered.
    pub(super) fn hit(&self, range: &RangeInclusive<u64>) -> bool {
        self.recent
            .iter()
            .rev()
            .take_while(|number| *number >= range.start())
            .any(|number| range.contains(number))
    }
}

/// The first skipped number is one of 32..64: short handshakes skip none.
const FIRST_SPAN: u64 = 32;
const LAST_SPAN: u64 = 1 << 14;
const REMEMBERED: usize = 8;
