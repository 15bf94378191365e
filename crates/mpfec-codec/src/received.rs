//! Which source symbols of a block have arrived, the same for every code.

use std::fmt;

use crate::SourceSymbols;

/// A set of source symbol positions, one bit each.
#[derive(Default)]
pub(crate) struct Received {
    words: Vec<u64>,
    source_symbols: u32,
    count: u32,
}

impl Received {
    pub(crate) fn new(source_symbols: SourceSymbols) -> Self {
        let mut received = Self::default();
        received.reset(source_symbols);
        received
    }

    /// None has arrived of a new block.
    pub(crate) fn reset(&mut self, source_symbols: SourceSymbols) {
        self.source_symbols = source_symbols.value();
        self.count = 0;
        self.words.clear();
        let words = self.source_symbols.div_ceil(64);
        self.words.resize(words as usize, 0);
    }

    /// Adds a position below K; false if it is there already.
    pub(crate) fn insert(&mut self, position: u32) -> bool {
        debug_assert!(position < self.source_symbols, "a position is below K");
        let (word, bit) = (position as usize / 64, 1 << (position % 64));
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.count += u32::from(is_new);
        is_new
    }

    /// How many source symbols have not arrived.
    pub(crate) fn absent(&self) -> u32 {
        self.source_symbols - self.count
    }

    /// Positions of those that have not, ascending.
    pub(crate) fn iter_absent(&self) -> impl Iterator<Item = u32> {
        let words = (0_u32..).step_by(64).zip(&self.words);
        let absent = words.flat_map(|(first, word)| Ones(!word).map(move |bit| first + bit));
        absent.take_while(|&position| position < self.source_symbols)
    }
}

/// Positions of the ones of a word, ascending.
struct Ones(u64);

impl Iterator for Ones {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let next = (self.0 != 0).then(|| self.0.trailing_zeros());
        self.0 &= self.0.wrapping_sub(1);
        next
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.count, self.source_symbols)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_inserted_is_absent() {
        let mut received = Received::new(SourceSymbols::new(130).expect("a valid K"));
        for position in (0..130).filter(|position| ![0, 63, 64, 129].contains(position)) {
            assert!(received.insert(position));
            assert!(!received.insert(position), "the second time is no news");
        }
        assert_eq!(received.iter_absent().collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert_eq!(received.absent(), 4);
    }
}
