//! Which numbers, of packets (RFC 9000 §12.3) or messages, were seen before, as a sliding bitmap.

/// The last [`WINDOW`] numbers up to the largest. Anything older counts as seen.
#[derive(Debug)]
pub(crate) struct Duplicates {
    /// The number after the largest one seen.
    end: u64,
    /// Bit `n % WINDOW` stands for number `n`; none is set for numbers from `end` on.
    bits: Vec<u64>,
}

impl Duplicates {
    pub(crate) fn new() -> Self {
        Self {
            end: 0,
            bits: Vec::new(),
        }
    }

    /// Whether a number was seen before, or is too old to tell.
    pub(super) fn contains(&self, number: u64) -> bool {
        let (word, mask) = position(number);
        number < self.end
            && (number + WINDOW < self.end
                || self.bits.get(word).is_some_and(|bits| bits & mask != 0))
    }

    /// Notes a number. Returns false if it was seen before or is too old to tell.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        if number + WINDOW < self.end {
            return false;
        }
        if number >= self.end {
            self.advance(number + 1);
        }
        let (word, mask) = position(number);
        let new = self.bits[word] & mask == 0;
        self.bits[word] |= mask;
        new
    }

    /// Moves the window so that it ends at `end`.
    fn advance(&mut self, end: u64) {
        let words = (WINDOW / 64) as usize;
        if end - self.end >= WINDOW {
            self.bits.clear();
            self.bits.resize(words, 0);
        } else {
            // A handshake of a dozen packets does not need the whole window.
            let needed = ((end.min(WINDOW)).div_ceil(64) as usize).next_power_of_two();
            if self.bits.len() < needed {
                self.bits.resize(needed.min(words), 0);
            }
            for number in self.end..end {
                let (word, mask) = position(number);
                self.bits[word] &= !mask;
            }
        }
        self.end = end;
    }
}

fn position(number: u64) -> (usize, u64) {
    let bit = number % WINDOW;
    ((bit / 64) as usize, 1 << (bit % 64))
}

/// Numbers that are told apart: a window's worth at 4 Gbit/s and 30 ms.
const WINDOW: u64 = 1 << 13;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_left_the_window_counts_as_seen() {
        let mut seen = Duplicates::new();
        assert!(seen.insert(0));
        assert!(seen.insert(WINDOW + 10));
        assert!(!seen.insert(0));
        assert!(!seen.insert(9));
        assert!(seen.insert(11));
    }

    proptest! {
        #[test]
        fn each_number_is_new_once(
            jumps in prop::collection::vec((prop_oneof![0_u64..8, 0_u64..200, 0_u64..3 * WINDOW], 0_u64..300), 1..300),
        ) {
            let (mut seen, mut plain, mut base) = (Duplicates::new(), BTreeSet::new(), 0);
            for (forward, back) in jumps {
                base += forward;
                let number = base - back.min(base);
                let largest = plain.last().copied().unwrap_or(0);
                let too_old = number + WINDOW <= largest;
                prop_assert_eq!(seen.insert(number), plain.insert(number) && !too_old, "{}", number);
            }
        }
    }
}
