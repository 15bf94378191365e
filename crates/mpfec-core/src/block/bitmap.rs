//! Which symbols of a block are here.

use smallvec::SmallVec;

/// A set of small numbers that grows with its largest member.
#[derive(Debug, Clone, Default)]
pub(super) struct Bitmap {
    words: SmallVec<[u64; 2]>,
}

impl Bitmap {
    /// Adds `index`. Returns whether it was missing.
    pub(super) fn insert(&mut self, index: u32) -> bool {
        let (word, bit) = position(index);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let missing = self.words[word] & bit == 0;
        self.words[word] |= bit;
        missing
    }

    /// Whether `index` was added.
    pub(super) fn contains(&self, index: u32) -> bool {
        let (word, bit) = position(index);
        self.words.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// The smallest number from `index` on that was not added.
    pub(super) fn first_missing_from(&self, index: u32) -> u32 {
        let (mut word, _) = position(index);
        let mut skip = index % 64;
        while let Some(bits) = self.words.get(word) {
            let missing = !bits >> skip << skip;
            if missing != 0 {
                return word as u32 * 64 + missing.trailing_zeros();
            }
            word += 1;
            skip = 0;
        }
        (word as u32 * 64).max(index)
    }
}

fn position(index: u32) -> (usize, u64) {
    (index as usize / 64, 1 << (index % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::Bitmap;

    proptest! {
        #[test]
        fn it_agrees_with_a_set_of_numbers(added in prop::collection::vec(0_u32..300, 0..300), from in 0_u32..400) {
            let mut bitmap = Bitmap::default();
            let mut set = BTreeSet::new();
            for index in added {
                prop_assert_eq!(bitmap.insert(index), set.insert(index));
            }
            prop_assert_eq!(bitmap.contains(from), set.contains(&from));
            let missing = (from..).find(|index| !set.contains(index)).unwrap();
            prop_assert_eq!(bitmap.first_missing_from(from), missing);
        }
    }
}
