//! The coefficients of some repair symbols, without those of all intermediate symbols.
//!
//! A program is a linear map from source symbols to intermediate symbols, and a repair
//! symbol a sum of some of these: a row of bits times the map. So its coefficients are that
//! row times one step of the map after the other, from the last one to the first: what a
//! step adds to its target is asked of the target by all that comes later, and is passed on
//! to what the step adds up. One byte for each repair symbol suffices, so that all rows of
//! a program are carried through it for [`LANES`] repair symbols at a time, at a twentieth
//! of what encoding a block takes.

use super::program::Program;
use crate::gf256;

/// One octet for each of the repair symbols.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Lanes([u64; LANES / 8]);

/// The coefficients of up to [`LANES`] symbols, `inputs` each: symbol i is the sum of the
/// work rows that `sums` has with i.
pub(super) fn coefficients(
    program: &Program,
    inputs: usize,
    count: usize,
    sums: impl Iterator<Item = (usize, usize)>,
) -> Vec<u8> {
    debug_assert!(count <= LANES, "a lane for each");
    let rows = program.rows();
    // What is asked of each work row, and then of each input.
    let mut asked = vec![Lanes([0; LANES / 8]); rows + inputs];
    for (symbol, row) in sums {
        asked[row].0[symbol / 8] ^= 1 << (8 * (symbol % 8));
    }
    replay(&mut asked, rows, program.backward());
    let (weighted, weights) = weigh(&mut asked, program, count);
    replay(&mut asked, rows, program.forward());

    let mut coefficients = vec![0; count * inputs];
    let asked = &asked[rows..];
    for (group, rows) in coefficients.chunks_mut(8 * inputs).enumerate() {
        for (symbol, row) in rows.chunks_exact_mut(inputs).enumerate() {
            for (coefficient, asked) in row.iter_mut().zip(asked) {
                *coefficient = (asked.0[group] >> (8 * symbol)) as u8;
            }
        }
    }
    let rows = coefficients.chunks_exact_mut(inputs);
    for (row, weights) in rows.zip(weights.chunks_exact(weighted.max(1))) {
        for (&input, weight) in program.weighted_inputs().iter().zip(weights) {
            row[input as usize] ^= weight;
        }
    }
    coefficients
}

/// Passes on what is asked of the targets of steps.
fn replay(asked: &mut [Lanes], rows: usize, steps: &gf256::Steps) {
    for (target, input, sources) in steps.iter_back() {
        let target = target as usize;
        let passed = std::mem::replace(&mut asked[target], Lanes([0; LANES / 8]));
        // The target itself may be among the sources.
        for &source in sources {
            add(&mut asked[source as usize], &passed);
        }
        if let Some(input) = input {
            add(&mut asked[rows + input as usize], &passed);
        }
    }
}

/// Passes on what is asked of the free symbols: to weighted rows; and for each symbol,
/// what that asks of each weighted input, of which it also says how many there are.
fn weigh(asked: &mut [Lanes], program: &Program, count: usize) -> (usize, Vec<u8>) {
    let inputs = program.weighted_inputs().len();
    let rows = program.weighted_rows();
    let stride = inputs + rows.len();
    let free = program.weights().chunks_exact(stride.max(1));
    let mut factors = vec![0; count * free.len()];
    for (at, row) in (rows.end..).take(free.len()).enumerate() {
        let octets = std::mem::replace(&mut asked[row], Lanes([0; LANES / 8]));
        for symbol in 0..count {
            factors[symbol * free.len() + at] = octet(&octets, symbol);
        }
    }
    let mut sums = vec![0; count * stride];
    if stride > 0 {
        let sources: Vec<&[u8]> = free.collect();
        let mut sums: Vec<&mut [u8]> = sums.chunks_exact_mut(stride).collect();
        gf256::dot(&mut sums, &factors, &sources);
    }
    let mut of_inputs = Vec::with_capacity(count * inputs);
    for (symbol, sums) in sums.chunks_exact(stride.max(1)).enumerate() {
        let (to_inputs, to_rows) = sums.split_at(inputs);
        of_inputs.extend_from_slice(to_inputs);
        for (row, &octet) in rows.clone().zip(to_rows) {
            asked[row].0[symbol / 8] ^= u64::from(octet) << (8 * (symbol % 8));
        }
    }
    (inputs, of_inputs)
}

fn octet(lanes: &Lanes, symbol: usize) -> u8 {
    (lanes.0[symbol / 8] >> (8 * (symbol % 8))) as u8
}

fn add(sum: &mut Lanes, lanes: &Lanes) {
    for (sum, lane) in sum.0.iter_mut().zip(lanes.0) {
        *sum ^= lane;
    }
}

/// Repair symbols whose coefficients are computed together: a cache line.
pub(super) const LANES: usize = 64;
