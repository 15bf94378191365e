//! A set of numbers kept as disjoint ranges: packet numbers or byte offsets.

use std::collections::VecDeque;
use std::ops::Range;

/// Ranges in ascending order with gaps between them. Appending at the upper end is
/// constant-time; anything else is a search plus a shift of the ranges on one side.
#[derive(Debug, Clone, Default)]
pub(super) struct RangeSet(VecDeque<Range<u64>>);

impl RangeSet {
    /// Adds a range, merging what touches or overlaps.
    pub(super) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        match self.0.back_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            Some(last) if last.end > range.start => self.insert_inside(range),
            _ => self.0.push_back(range),
        }
    }

    /// Removes a range, splitting what it cuts through.
    pub(super) fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let from = self.0.partition_point(|known| known.end <= range.start);
        let to = self.0.partition_point(|known| known.start < range.end);
        if from >= to {
            return;
        }
        let (below, above) = (
            self.0[from].start..range.start,
            range.end..self.0[to - 1].end,
        );
        self.0.drain(from..to);
        if !above.is_empty() {
            self.0.insert(from, above);
        }
        if !below.is_empty() {
            self.0.insert(from, below);
        }
    }

    /// The ranges in ascending order.
    pub(super) fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = Range<u64>> + ExactSizeIterator + Clone {
        self.0.iter().cloned()
    }

    /// The lowest range.
    pub(super) fn first(&self) -> Option<Range<u64>> {
        self.0.front().cloned()
    }

    /// Takes the lowest range out.
    pub(super) fn pop_first(&mut self) -> Option<Range<u64>> {
        self.0.pop_front()
    }

    /// Number of ranges.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn insert_inside(&mut self, range: Range<u64>) {
        let from = self.0.partition_point(|known| known.end < range.start);
        let to = self.0.partition_point(|known| known.start <= range.end);
        if from == to {
            self.0.insert(from, range);
            return;
        }
        self.0[from] = self.0[from].start.min(range.start)..self.0[to - 1].end.max(range.end);
        self.0.drain(from + 1..to);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_holds_what_a_plain_set_holds(
            steps in prop::collection::vec((any::<bool>(), 0_u64..200, 0_u64..40), 0..100),
        ) {
            let (mut ranges, mut plain) = (RangeSet::default(), BTreeSet::new());
            for (insert, start, length) in steps {
                let range = start..start + length;
                if insert {
                    ranges.insert(range.clone());
                    plain.extend(range);
                } else {
                    ranges.remove(range.clone());
                    plain.retain(|number| !range.contains(number));
                }
                let flat: Vec<u64> = ranges.iter().flatten().collect();
                prop_assert_eq!(&flat, &plain.iter().copied().collect::<Vec<_>>());
                let list: Vec<_> = ranges.iter().collect();
                prop_assert!(list.windows(2).all(|pair| pair[0].end < pair[1].start), "{list:?}");
                prop_assert!(list.iter().all(|range| !range.is_empty()));
            }
        }
    }
}
