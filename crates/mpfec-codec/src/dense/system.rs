//! Linear equations, solved as they come.

use crate::gf256::{self, Slab};

/// Equations in a fixed number of unknowns, kept fully reduced: every equation has an
/// unknown, its pivot, with coefficient 1 that no other equation contains. It also says
/// of which of the original equations it is the sum, and with which factors.
///
/// Unknowns may become known, whereupon they count no more. An equation or such a
/// discovery costs at most as many row operations as there are equations.
#[derive(Debug, Default)]
pub(crate) struct System {
    /// One row for each equation: coefficients of the unknowns, then the factors.
    rows: Slab,
    /// What each unknown is.
    unknowns: Vec<Unknown>,
    /// The pivot of each equation, in its first `unknowns`; none if it says nothing
    /// since its unknowns became known.
    pivots: Vec<Option<u32>>,
    /// Unknowns that are not known.
    open: usize,
    /// Equations that have a pivot.
    rank: usize,
    terms: Vec<(u32, u8)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Known,
    Free,
    PivotOf(u32),
}

impl System {
    /// No equations in `unknowns` unknowns.
    pub(crate) fn start(&mut self, unknowns: usize) {
        self.unknowns.clear();
        self.unknowns.resize(unknowns, Unknown::Free);
        self.pivots.clear();
        self.open = unknowns;
        self.rank = 0;
        // Room for as many as it takes.
        self.rows.reset(unknowns, unknowns + unknowns + SPARE);
        self.rows.resize(0);
    }

    /// Adds an equation; false, and nothing changes, if it follows from those here.
    pub(crate) fn push(&mut self, coefficients: impl Iterator<Item = u8>) -> bool {
        let new = self.pivots.len();
        let columns = self.unknowns.len();
        if new == columns + SPARE {
            // Equations that lost all their unknowns one by one: hardly by chance.
            return false;
        }
        self.rows.resize(new + 1);
        self.rows.zero_row(new);
        let row = self.rows.row_mut(new);
        for (place, coefficient) in row.iter_mut().zip(coefficients) {
            *place = coefficient;
        }
        row[columns + new] = 1;
        let pivots = (0_u32..).zip(&self.pivots);
        let terms = pivots.filter_map(|(equation, pivot)| {
            let factor = row[(*pivot)? as usize];
            (factor != 0).then_some((equation, factor))
        });
        self.terms.clear();
        self.terms.extend(terms);
        self.rows.accumulate(new, &[], &self.terms);
        self.pivots.push(None);
        if self.choose_pivot(new) {
            return true;
        }
        self.pivots.pop();
        self.rows.resize(new);
        false
    }

    /// The unknown does not count any more: its terms are on the other side.
    pub(crate) fn know(&mut self, unknown: usize) {
        let before = std::mem::replace(&mut self.unknowns[unknown], Unknown::Known);
        if before != Unknown::Known {
            self.open -= 1;
        }
        if let Unknown::PivotOf(equation) = before {
            self.rank -= 1;
            self.pivots[equation as usize] = None;
            self.choose_pivot(equation as usize);
        }
    }

    /// Independent equations that are wanted to solve it.
    pub(crate) fn missing(&self) -> usize {
        self.open - self.rank
    }

    /// Equations pushed, also those that say nothing any more.
    pub(crate) fn equations(&self) -> usize {
        self.pivots.len()
    }

    /// Appends for each unknown that is still one, in order, the factors with which the
    /// equations add up to it, [`System::equations`] each. None may be missing.
    pub(crate) fn solve(&self, factors: &mut Vec<u8>) {
        let columns = self.unknowns.len();
        for unknown in &self.unknowns {
            if let Unknown::PivotOf(equation) = unknown {
                let row = &self.rows.row(*equation as usize)[columns..];
                factors.extend_from_slice(&row[..self.equations()]);
            }
        }
    }

    /// Bytes allocated.
    pub(crate) fn capacity(&self) -> usize {
        self.rows.capacity()
            + self.unknowns.capacity() * size_of::<Unknown>()
            + self.pivots.capacity() * size_of::<Option<u32>>()
            + self.terms.capacity() * size_of::<(u32, u8)>()
    }

    /// Gives a reduced equation without a pivot one, and takes it out of all others;
    /// false if it contains no unknown.
    fn choose_pivot(&mut self, equation: usize) -> bool {
        let row = self.rows.row(equation);
        let mut places = self.unknowns.iter().zip(row);
        // The last: symbols that are late rather than lost are the next to come.
        let pivot = places.rposition(|(unknown, &c)| *unknown == Unknown::Free && c != 0);
        let Some(pivot) = pivot else { return false };
        let inverse = gf256::inverse(row[pivot]).expect("a pivot is not 0");
        self.rows.scale_row(equation, inverse);
        self.terms.clear();
        for (other, other_pivot) in (0_u32..).zip(&self.pivots) {
            let factor = self.rows.row(other as usize)[pivot];
            if other_pivot.is_some() && factor != 0 {
                self.terms.push((other, factor));
            }
        }
        self.rows.spread(equation, &self.terms);
        self.unknowns[pivot] = Unknown::PivotOf(equation as u32);
        self.pivots[equation] = Some(pivot as u32);
        self.rank += 1;
        true
    }
}

/// Equations beyond the number of unknowns that have a place.
const SPARE: usize = 8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Few coefficients are not 0, so that equations often follow from others.
        #[test]
        fn solutions_solve(
            values in prop::collection::vec(any::<u8>(), 1..12),
            rows in prop::collection::vec(prop::collection::vec(prop_oneof![2 => Just(0_u8), 1 => any::<u8>()], 12), 0..30),
            known in prop::collection::vec((0_usize..30, 0_usize..12), 0..8),
        ) {
            let mut system = System::default();
            system.start(values.len());
            let mut is_known = vec![false; values.len()];
            let mut kept = Vec::new();
            for (at, row) in rows.iter().enumerate() {
                let row = &row[..values.len()];
                let before = system.missing();
                if system.push(row.iter().copied()) {
                    kept.push(row);
                    prop_assert_eq!(system.missing(), before - 1);
                } else {
                    prop_assert_eq!(system.missing(), before);
                }
                for &(_, unknown) in known.iter().filter(|known| known.0 == at) {
                    if let Some(known) = is_known.get_mut(unknown) {
                        *known = true;
                        system.know(unknown);
                    }
                }
            }
            prop_assert_eq!(system.equations(), kept.len());
            let open: Vec<usize> = (0..values.len()).filter(|&at| !is_known[at]).collect();
            prop_assert_eq!(system.missing(), open.len() - rank(&kept, &open));
            if system.missing() == 0 {
                let syndromes: Vec<u8> = kept.iter().map(|row| {
                    open.iter().fold(0, |sum, &at| sum ^ gf256::mul(row[at], values[at]))
                }).collect();
                let mut factors = Vec::new();
                system.solve(&mut factors);
                prop_assert_eq!(factors.len(), open.len() * kept.len());
                for (&at, factors) in open.iter().zip(factors.chunks(kept.len().max(1))) {
                    let terms = factors.iter().zip(&syndromes);
                    let value = terms.fold(0, |sum, (&f, &s)| sum ^ gf256::mul(f, s));
                    prop_assert_eq!(value, values[at]);
                }
            }
        }
    }

    fn rank(rows: &[&[u8]], columns: &[usize]) -> usize {
        let mut rows: Vec<Vec<u8>> = rows
            .iter()
            .map(|row| columns.iter().map(|&at| row[at]).collect())
            .collect();
        let mut rank = 0;
        for column in 0..columns.len() {
            let Some(pivot) = (rank..rows.len()).find(|&row| rows[row][column] != 0) else {
                continue;
            };
            rows.swap(rank, pivot);
            let pivot = rows[rank].clone();
            let inverse = gf256::inverse(pivot[column]).expect("a pivot is not 0");
            for row in &mut rows[rank + 1..] {
                let factor = gf256::mul(row[column], inverse);
                gf256::mul_add(row, &pivot, factor);
            }
            rank += 1;
        }
        rank
    }
}
