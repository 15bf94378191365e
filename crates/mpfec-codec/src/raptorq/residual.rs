//! The equations among inactive columns that are left when all others are expressed
//! through them (RFC 6330 §5.4.2.3): rows of bits, eliminated as they come, and the H
//! rows of octets, which are looked at only when the bits nearly suffice.

use super::matrix::HdpcColumn;
use crate::gf256;

/// Reduced rows of bits, each with the column that it gives and where it came from.
#[derive(Debug, Default)]
pub(super) struct Residual {
    columns: usize,
    /// Words of 64 bits for that many columns.
    words: usize,
    /// Two times `words` for each row: which columns it has, and which of the rows that
    /// were kept it is the sum of.
    bits: Vec<u64>,
    /// The column that only this row has, for each row.
    leads: Vec<u32>,
    scratch: Vec<u64>,
}

/// How the inactive columns follow.
#[derive(Debug, Default)]
pub(super) struct Solution {
    /// Columns that follow from octet rows, ascending.
    pub(super) free: Vec<u32>,
    /// For each of these, H octets: what to multiply the octet rows with, whose columns
    /// with a bit row each were replaced.
    pub(super) inverse: [[u8; MAX_HDPC]; MAX_HDPC],
    /// Which columns are not free.
    is_lead: Vec<bool>,
}

impl Residual {
    /// No equations among `columns` columns.
    pub(super) fn reset(&mut self, columns: usize) {
        self.columns = columns;
        self.words = columns.div_ceil(64);
        self.bits.clear();
        self.leads.clear();
    }

    /// Words that a row of bits has.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// Rows kept; no more than there are columns.
    pub(super) fn rank(&self) -> usize {
        self.leads.len()
    }

    /// Takes the equation with these columns; false if it follows from others.
    pub(super) fn insert(&mut self, row: &[u64]) -> bool {
        let (words, stride, rank) = (self.words, 2 * self.words, self.rank());
        let mut new = std::mem::take(&mut self.scratch);
        new.clear();
        new.extend_from_slice(row);
        new.resize(stride, 0);
        for (kept, &lead) in self.bits.chunks_exact(stride).zip(&self.leads) {
            if has(&new, lead) {
                add(&mut new, kept);
            }
        }
        let lead = ones(&new[..words]).next();
        if let Some(lead) = lead {
            new[words + rank / 64] |= 1 << (rank % 64);
            for kept in self.bits.chunks_exact_mut(stride) {
                if has(kept, lead) {
                    add(kept, &new);
                }
            }
            self.bits.extend_from_slice(&new);
            self.leads.push(lead);
        }
        self.scratch = new;
        lead.is_some()
    }

    /// The column that each row gives.
    pub(super) fn leads(&self) -> &[u32] {
        &self.leads
    }

    /// Which other columns row `row` has: free ones only.
    pub(super) fn columns(&self, row: usize) -> impl Iterator<Item = u32> {
        let lead = self.leads[row];
        ones(&self.bits[2 * row * self.words..][..self.words]).filter(move |&column| column != lead)
    }

    /// The rows kept, in the order they came, that row `row` is the sum of.
    pub(super) fn origins(&self, row: usize) -> impl Iterator<Item = u32> {
        ones(&self.bits[(2 * row + 1) * self.words..][..self.words])
    }

    /// Solves for the columns that the bits leave free with the `hdpc` octet rows, given
    /// by columns. False if they do not suffice.
    pub(super) fn solve(
        &self,
        octets: &[HdpcColumn],
        hdpc: usize,
        solution: &mut Solution,
    ) -> bool {
        let count = self.columns - self.rank();
        if count > hdpc {
            return false;
        }
        let Solution {
            free,
            inverse,
            is_lead,
        } = solution;
        is_lead.clear();
        is_lead.resize(self.columns, false);
        self.leads
            .iter()
            .for_each(|&lead| is_lead[lead as usize] = true);
        free.clear();
        free.extend((0..self.columns as u32).filter(|&column| !is_lead[column as usize]));
        let mut columns = [0; MAX_HDPC];
        for (sum, &column) in columns.iter_mut().zip(&*free) {
            *sum = octets[column as usize];
        }
        for (row, &lead) in self.leads.iter().enumerate() {
            for column in self.columns(row) {
                let at = free
                    .binary_search(&column)
                    .expect("a column without a row is free");
                columns[at] ^= octets[lead as usize];
            }
        }
        match invert(&columns[..count], hdpc) {
            Some(rows) => *inverse = rows,
            None => return false,
        }
        true
    }
}

/// For the octet rows whose columns these are: what to multiply the rows with to get
/// each column alone. `None` if the columns depend on each other.
fn invert(columns: &[HdpcColumn], rows: usize) -> Option<[[u8; MAX_HDPC]; MAX_HDPC]> {
    let mut left = [[0; MAX_HDPC]; MAX_HDPC];
    for (at, column) in columns.iter().enumerate() {
        for (row, octet) in left.iter_mut().zip(column.to_le_bytes()) {
            row[at] = octet;
        }
    }
    let mut right = [[0; MAX_HDPC]; MAX_HDPC];
    right
        .iter_mut()
        .enumerate()
        .for_each(|(at, row)| row[at] = 1);
    for at in 0..columns.len() {
        let pivot = (at..rows).find(|&row| left[row][at] != 0)?;
        left.swap(at, pivot);
        right.swap(at, pivot);
        let factor = gf256::inverse(left[at][at]).expect("the pivot is not zero");
        gf256::scale(&mut left[at], factor);
        gf256::scale(&mut right[at], factor);
        let (left_pivot, right_pivot) = (left[at], right[at]);
        for row in (0..rows).filter(|&row| row != at) {
            let factor = left[row][at];
            gf256::mul_add(&mut left[row], &left_pivot, factor);
            gf256::mul_add(&mut right[row], &right_pivot, factor);
        }
    }
    Some(right)
}

/// H at most.
pub(super) const MAX_HDPC: usize = 16;

/// Positions of the ones.
pub(super) fn ones(words: &[u64]) -> impl Iterator<Item = u32> + Clone {
    (0..).zip(words).flat_map(|(at, &word): (u32, &u64)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(64 * at + bit)
        })
    })
}

pub(super) fn has(words: &[u64], at: u32) -> bool {
    words[at as usize / 64] >> (at % 64) & 1 != 0
}

pub(super) fn add(sum: &mut [u64], words: &[u64]) {
    sum.iter_mut()
        .zip(words)
        .for_each(|(sum, word)| *sum ^= word);
}
