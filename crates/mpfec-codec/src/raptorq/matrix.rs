//! The constraints on the intermediate symbols (RFC 6330 §5.3.3.3, §5.4.2.1): sparse
//! rows of ones for LDPC and LT, columns of octets for HDPC.

use super::table::Parameters;
use super::tuple::{neighbours, random};

/// Rows of ones, each as the columns where they are; those below W come first.
#[derive(Debug, Default, Clone)]
pub(super) struct Rows {
    /// Where each row starts in `columns`, and where the last one ends.
    starts: Vec<u32>,
    columns: Vec<u16>,
}

impl Rows {
    /// Becomes no rows.
    pub(super) fn clear(&mut self) {
        self.starts.clear();
        self.columns.clear();
        self.starts.push(0);
    }

    /// Becomes the S rows that say what the LDPC symbols are.
    pub(super) fn reset_to_ldpc(&mut self, parameters: &Parameters) {
        let Parameters {
            ldpc, lt, inactive, ..
        } = *parameters;
        let others = lt - ldpc;
        self.clear();
        for row in 0..ldpc {
            // Symbol i of the others is in three rows: i mod S, and twice a = 1 + i / S further.
            for group in 0..others.div_ceil(ldpc) {
                let step = (1 + group) % ldpc;
                debug_assert!(step > 0, "no table row has so few LDPC symbols");
                for times in 0..3 {
                    let residue = (row + 3 * ldpc - times * step) % ldpc;
                    let symbol = group * ldpc + residue;
                    if symbol < others {
                        self.columns.push(symbol as u16);
                    }
                }
            }
            self.columns.push((others + row) as u16);
            self.columns.push((lt + row % inactive) as u16);
            self.columns.push((lt + (row + 1) % inactive) as u16);
            self.finish_row();
        }
    }

    /// Appends the row of an encoding symbol.
    pub(super) fn push_symbol(&mut self, parameters: &Parameters, isi: u32) {
        self.columns.extend(neighbours(parameters, isi));
        self.finish_row();
    }

    /// Removes the last row.
    pub(super) fn pop(&mut self) {
        self.starts.pop();
        self.columns
            .truncate(*self.starts.last().expect("there was a row") as usize);
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn row(&self, row: usize) -> &[u16] {
        &self.columns[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &[u16]> + ExactSizeIterator {
        (0..self.len()).map(|row| self.row(row))
    }

    /// Bytes allocated.
    pub(super) fn capacity(&self) -> usize {
        4 * self.starts.capacity() + 2 * self.columns.capacity()
    }

    fn finish_row(&mut self) {
        self.starts.push(self.columns.len() as u32);
    }
}

/// One column of the HDPC rows: H octets, the first in the lowest byte.
pub(super) type HdpcColumn = u128;

/// Becomes the columns of the HDPC rows, all L (§5.3.3.3: MT x GAMMA, then identity).
///
/// GAMMA makes each column alpha times the next one plus its own two ones of MT.
pub(super) fn hdpc_columns(parameters: &Parameters, columns: &mut Vec<HdpcColumn>) {
    let Parameters {
        extended,
        ldpc,
        hdpc,
        ..
    } = *parameters;
    let coded = (extended + ldpc) as usize;
    columns.clear();
    columns.resize(coded, 0);
    let mut column = powers_of_alpha(hdpc);
    columns[coded - 1] = column;
    for at in (0..coded - 1).rev() {
        let x = at as u32 + 1;
        let first = random(x, 6, hdpc);
        let second = (first + random(x, 7, hdpc - 1) + 1) % hdpc;
        column = times_alpha(column) ^ octet(first) ^ octet(second);
        columns[at] = column;
    }
    columns.extend((0..hdpc).map(octet));
}

/// 1 in row `row`.
fn octet(row: u32) -> HdpcColumn {
    1 << (8 * row)
}

fn powers_of_alpha(count: u32) -> HdpcColumn {
    let mut power = 1;
    (0..count).fold(0, |column, row| {
        let with = column | power << (8 * row);
        power = times_alpha(power);
        with
    })
}

/// Each octet times alpha, the number 2.
fn times_alpha(column: HdpcColumn) -> HdpcColumn {
    const EACH: u128 = u128::MAX / 255;
    let overflows = (column >> 7) & EACH;
    // The polynomial is x^8 + x^4 + x^3 + x^2 + 1 (RFC 6330 §5.7.2).
    ((column & (EACH * 0x7f)) << 1) ^ (overflows * 0x1d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SourceSymbols, gf256};

    fn parameters(k: u32) -> Parameters {
        Parameters::new(SourceSymbols::new(k).expect("a valid K"))
    }

    /// The loops of §5.3.3.3, as they are there.
    #[test]
    fn ldpc_rows_are_those_of_the_rfc() {
        for k in [1, 10, 12, 27, 101, 1024, 5000] {
            let p = parameters(k);
            let mut expected = vec![vec![0_u8; p.intermediate() as usize]; p.ldpc as usize];
            for i in 0..p.lt - p.ldpc {
                let a = 1 + i / p.ldpc;
                let mut b = i % p.ldpc;
                for _ in 0..3 {
                    expected[b as usize][i as usize] ^= 1;
                    b = (b + a) % p.ldpc;
                }
            }
            for i in 0..p.ldpc {
                let row = &mut expected[i as usize];
                row[(p.lt - p.ldpc + i) as usize] ^= 1;
                row[(p.lt + i % p.inactive) as usize] ^= 1;
                row[(p.lt + (i + 1) % p.inactive) as usize] ^= 1;
            }
            let mut rows = Rows::default();
            rows.reset_to_ldpc(&p);
            assert_eq!(rows.len(), p.ldpc as usize);
            for (row, expected) in rows.iter().zip(expected) {
                let mut got = vec![0; expected.len()];
                row.iter().for_each(|&column| got[usize::from(column)] ^= 1);
                assert_eq!(got, expected, "K = {k}");
                assert!(row.is_sorted_by_key(|&column| u32::from(column) >= p.lt));
            }
        }
    }

    /// MT x GAMMA by definition.
    #[test]
    fn hdpc_rows_are_those_of_the_rfc() {
        for k in [1, 10, 27, 101, 300] {
            let p = parameters(k);
            let (rows, coded) = (p.hdpc as usize, (p.extended + p.ldpc) as usize);
            let mut power = vec![1_u8];
            for at in 1..=coded + rows {
                power.push(gf256::mul(power[at - 1], 2));
            }
            let mut mt = vec![vec![0_u8; coded]; rows];
            for x in 1..coded {
                let first = random(x as u32, 6, p.hdpc);
                let second = (first + random(x as u32, 7, p.hdpc - 1) + 1) % p.hdpc;
                mt[first as usize][x - 1] = 1;
                mt[second as usize][x - 1] = 1;
            }
            (0..rows).for_each(|i| mt[i][coded - 1] = power[i]);
            let mut columns = Vec::new();
            hdpc_columns(&p, &mut columns);
            assert_eq!(columns.len(), p.intermediate() as usize);
            for (j, column) in columns[..coded].iter().enumerate() {
                for (i, octet) in column.to_le_bytes().into_iter().enumerate() {
                    let sum = |row: &Vec<u8>| {
                        (j..coded).fold(0, |sum, m| sum ^ gf256::mul(row[m], power[m - j]))
                    };
                    assert_eq!(
                        octet,
                        mt.get(i).map_or(0, sum),
                        "K = {k}, row {i}, column {j}"
                    );
                }
            }
        }
    }
}
