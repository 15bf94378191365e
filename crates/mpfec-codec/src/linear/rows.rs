//! The coefficients.

use super::MAX_SOURCE_SYMBOLS;
use crate::dense::Rows;
use crate::gf256;

/// The code of blocks of K source symbols; K is the length of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinearRows;

impl Rows for LinearRows {
    fn coefficients(&self, esi: u32, row: &mut [u8]) {
        match u8::try_from(esi) {
            Ok(esi) => cauchy(esi, row),
            Err(_) => random(esi, row),
        }
    }
}

/// `esi` is at or above K, so never equal to a j.
fn cauchy(esi: u8, row: &mut [u8]) {
    for (j, coefficient) in row.iter_mut().enumerate() {
        // Of K below 256, j has 8 bits.
        *coefficient = gf256::inverse(esi ^ j as u8).unwrap_or_default();
    }
}

fn random(esi: u32, row: &mut [u8]) {
    let mut state = (row.len() as u64) << 32 | u64::from(esi);
    for coefficients in row.chunks_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        coefficients.copy_from_slice(&mixed.to_le_bytes()[..coefficients.len()]);
    }
}

const _: () = assert!(MAX_SOURCE_SYMBOLS <= 1 << 24);

#[cfg(test)]
mod tests {
    use super::*;

    fn row(k: usize, esi: u32) -> Vec<u8> {
        let mut row = vec![0xa5; k];
        LinearRows.coefficients(esi, &mut row);
        row
    }

    #[test]
    fn cauchy_rows_are_inverses_of_sums() {
        assert_eq!(row(3, 3), [3, 2, 1].map(|sum| gf256::inverse(sum).unwrap()));
        for k in [1, 2, 100, 255] {
            for esi in k..256 {
                assert!(row(k as usize, esi).iter().all(|&c| c != 0), "{esi} of {k}");
            }
        }
    }

    /// Both ends must compute the same, today and in the next version.
    #[test]
    fn random_rows_do_not_change() {
        assert_eq!(
            row(10, 256),
            [176, 63, 171, 244, 120, 146, 5, 202, 194, 102]
        );
        let end = [240, 16, 151, 81, 165, 25, 217, 73, 221, 52];
        assert_eq!(row(1000, 1 << 23)[990..], end);
    }
}
