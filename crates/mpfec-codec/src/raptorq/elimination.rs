//! Inactivation decoding without symbols (RFC 6330 §5.4.2): which sums give the
//! intermediate symbols, from the identifiers of the encoding symbols alone.
//!
//! The RFC changes rows and symbols together. Here the rows stay sparse as they were:
//!
//! 1. [`Peeling`] orders rows and columns, so that each pivot column follows from its
//!    row's symbol, pivots before it and inactive columns.
//! 2. Each pivot is expressed through inactive columns, in bits; so are the rows left
//!    over, which gives equations among inactive columns alone ([`Residual`]).
//! 3. The HDPC rows need no such expressions: going through the pivots backwards
//!    tells what each row's symbol weighs in them (`weights`), and which inactive
//!    columns remain (`octets`), at the price of a few XORs of H bytes per symbol.
//!
//! [`Program`](super::program::Program) turns the result into work on symbols.

use super::matrix::{HdpcColumn, Rows};
use super::peel::{Peeling, Place};
use super::residual::{Residual, Solution, add, ones};
use super::table::Parameters;

/// The state of solving one set of symbols; kept to be used again.
#[derive(Debug, Default)]
pub(super) struct Elimination {
    rows: Rows,
    /// Rows without a symbol, which come first: LDPC and padding.
    constraints: usize,
    peeling: Peeling,
    /// For each pivot, as bits, the inactive columns that it is the sum of (and of symbols).
    expressions: Vec<u64>,
    residual: Residual,
    /// Rows that `residual` kept.
    equations: Vec<u32>,
    /// For each pivot, its row's weight in the HDPC rows.
    weights: Vec<HdpcColumn>,
    /// For each inactive column, what the HDPC rows have there.
    octets: Vec<HdpcColumn>,
    solution: Solution,
    scratch: Vec<u64>,
    is_pivot: Vec<bool>,
}

impl Elimination {
    /// Takes the symbols with identifiers `isis`, at least as many as the block has, of
    /// which those from `padding.start` to `padding.end` are known to be zero.
    ///
    /// False if the symbols are of a kind that would cost too much; no honest sender's are.
    pub(super) fn start(
        &mut self,
        parameters: &Parameters,
        hdpc: &[HdpcColumn],
        padding: std::ops::Range<u32>,
        isis: impl Iterator<Item = u32>,
    ) -> bool {
        self.rows.reset_to_ldpc(parameters);
        for isi in padding {
            self.rows.push_symbol(parameters, isi);
        }
        self.constraints = self.rows.len();
        for isi in isis {
            self.rows.push_symbol(parameters, isi);
        }
        let (lt, all) = (parameters.lt as usize, parameters.intermediate() as usize);
        if !self
            .peeling
            .peel(&self.rows, lt, all, most_inactive(parameters))
        {
            return false;
        }
        self.residual.reset(self.peeling.inactive().len());
        self.express();
        self.weigh(hdpc);
        self.collect();
        true
    }

    /// Takes one more symbol; false if it follows from those that are here, so that it
    /// was not kept. Those kept are no more than there are inactive columns.
    pub(super) fn insert(&mut self, parameters: &Parameters, isi: u32) -> bool {
        self.rows.push_symbol(parameters, isi);
        let row = self.rows.len() - 1;
        let is_new = self.equate(row);
        if !is_new {
            self.rows.pop();
        }
        is_new
    }

    /// Whether what is here gives all intermediate symbols, and how.
    pub(super) fn solve(&mut self, parameters: &Parameters) -> bool {
        let hdpc = parameters.hdpc as usize;
        self.residual.solve(&self.octets, hdpc, &mut self.solution)
    }

    /// How the inactive columns follow, once [`Elimination::solve`] said that they do.
    pub(super) fn solution(&self) -> &Solution {
        &self.solution
    }

    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    pub(super) fn peeling(&self) -> &Peeling {
        &self.peeling
    }

    pub(super) fn residual(&self) -> &Residual {
        &self.residual
    }

    pub(super) fn equations(&self) -> &[u32] {
        &self.equations
    }

    pub(super) fn weights(&self) -> &[HdpcColumn] {
        &self.weights
    }

    pub(super) fn octets(&self) -> &[HdpcColumn] {
        &self.octets
    }

    /// The inactive columns that a pivot is the sum of.
    pub(super) fn expression(&self, pivot: usize) -> impl Iterator<Item = u32> + Clone {
        let words = self.residual.words();
        ones(&self.expressions[pivot * words..][..words])
    }

    /// Which symbol a row has, unless it is zero.
    pub(super) fn input(&self, row: u32) -> Option<u32> {
        row.checked_sub(self.constraints as u32)
    }

    /// Bytes allocated, about.
    pub(super) fn capacity(&self) -> usize {
        // Per row: the peeling's lists, expressions and weights.
        let per_row = 64 + 8 * self.residual.words() + size_of::<HdpcColumn>();
        4 * self.rows.capacity() + self.rows.len() * per_row
    }

    fn express(&mut self) {
        let words = self.residual.words();
        let pivots = self.peeling.pivots();
        self.expressions.clear();
        self.expressions.resize(pivots.len() * words, 0);
        for (at, &(row, own)) in pivots.iter().enumerate() {
            let (before, rest) = self.expressions.split_at_mut(at * words);
            let sum = &mut rest[..words];
            let columns = self.rows.row(row as usize).iter();
            for &column in columns.filter(|&&column| column != own) {
                add_expression(sum, before, self.peeling.place(column));
            }
        }
    }

    fn weigh(&mut self, hdpc: &[HdpcColumn]) {
        let pivots = self.peeling.pivots();
        let column = |&column: &u16| hdpc[usize::from(column)];
        self.weights.clear();
        self.weights
            .extend(pivots.iter().map(|(_, own)| column(own)));
        self.octets.clear();
        self.octets
            .extend(self.peeling.inactive().iter().map(column));
        for (at, &(row, own)) in pivots.iter().enumerate().rev() {
            let weight = self.weights[at];
            let columns = self.rows.row(row as usize).iter();
            for &column in columns.filter(|&&column| column != own) {
                match self.peeling.place(column) {
                    Place::Pivot(pivot) => self.weights[pivot as usize] ^= weight,
                    Place::Inactive(index) => self.octets[index as usize] ^= weight,
                    Place::Active => unreachable!("peeling ends without active columns"),
                }
            }
        }
    }

    /// Turns the rows that are nobody's pivot into equations.
    fn collect(&mut self) {
        self.equations.clear();
        let mut is_pivot = std::mem::take(&mut self.is_pivot);
        is_pivot.clear();
        is_pivot.resize(self.rows.len(), false);
        for &(row, _) in self.peeling.pivots() {
            is_pivot[row as usize] = true;
        }
        for row in (0..self.rows.len()).filter(|&row| !is_pivot[row]) {
            self.equate(row);
        }
        self.is_pivot = is_pivot;
    }

    fn equate(&mut self, row: usize) -> bool {
        let mut sum = std::mem::take(&mut self.scratch);
        sum.clear();
        sum.resize(self.residual.words(), 0);
        for &column in self.rows.row(row) {
            add_expression(&mut sum, &self.expressions, self.peeling.place(column));
        }
        let is_new = self.residual.insert(&sum);
        if is_new {
            self.equations.push(row as u32);
        }
        self.scratch = sum;
        is_new
    }
}

/// Adds what a column is in terms of inactive ones.
fn add_expression(sum: &mut [u64], expressions: &[u64], place: Place) {
    match place {
        Place::Pivot(pivot) => add(sum, &expressions[pivot as usize * sum.len()..]),
        Place::Inactive(index) => sum[index as usize / 64] ^= 1 << (index % 64),
        Place::Active => unreachable!("peeling ends without active columns"),
    }
}

/// Inactive columns that are solved for at most: about twice what symbols with random
/// identifiers need, see the test.
fn most_inactive(parameters: &Parameters) -> usize {
    let inactive = parameters.inactive as usize;
    3 * inactive + 100
}

#[cfg(test)]
mod tests {
    use super::super::matrix::hdpc_columns;
    use super::*;
    use crate::SourceSymbols;

    #[test]
    fn symbols_with_random_identifiers_are_far_from_the_bound() {
        for k in [1, 10, 27, 101, 500, 1024, 4000, 10_000, 56_403] {
            let parameters = Parameters::new(SourceSymbols::new(k).expect("a valid K"));
            let mut hdpc = Vec::new();
            hdpc_columns(&parameters, &mut hdpc);
            let mut elimination = Elimination::default();
            let padding = k..parameters.extended;
            for seed in 1..=3 {
                let isis = (0..k).map(|n| parameters.extended + (n + 1) * 257 * seed % 9_999_991);
                assert!(elimination.start(&parameters, &hdpc, padding.clone(), isis));
                let inactive = elimination.peeling().inactive().len();
                assert!(
                    inactive * 10 < most_inactive(&parameters) * 7,
                    "{inactive}, K = {k}"
                );
            }
        }
    }
}
