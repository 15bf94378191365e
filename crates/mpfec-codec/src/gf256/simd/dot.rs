//! Dot products: several outputs at a time, each a sum of all sources times a number each, in
//! tiles that fit into the registers.

use std::mem::MaybeUninit;

use super::{SHORT, Vector, load, operands, product, store};
use crate::gf256::block::{Block, Coefficients, MAX_SOURCES};

/// Outputs become, or if `adds` get added, the sum over one block, in tiles of at most N
/// (4 to 6) outputs by W vectors, or one output by W1.
///
/// # Safety
/// As for every function here; and if `adds`, the first `block.len()` bytes of the outputs
/// must be initialised. They are afterwards.
#[inline(always)]
pub(in crate::gf256) unsafe fn dot_tiles<
    V: Vector,
    const N: usize,
    const W: usize,
    const W1: usize,
>(
    outputs: &mut [&mut [MaybeUninit<u8>]],
    adds: bool,
    coefficients: Coefficients<'_>,
    block: Block<'_>,
) {
    for output in outputs.iter() {
        assert!(output.len() >= block.len(), "{SHORT}");
    }
    let mut coefficients = coefficients;
    for outputs in outputs.chunks_mut(N) {
        let row = coefficients.row(outputs.len() - 1);
        assert!(block.last_column() < row.len(), "coefficients are missing");
        // SAFETY: outputs have the block's length and every row has the columns, as just
        // checked; a block's sources have its length; the caller vouches for the rest.
        unsafe {
            let is_lower = V::ADDS_THREE && block.triangle() == outputs.len();
            match (outputs.len(), is_lower) {
                (1, _) => Dot::<1>::new(outputs, adds, coefficients, block).run::<V, W1, false>(),
                (2, _) => Dot::<2>::new(outputs, adds, coefficients, block).run::<V, W, false>(),
                (3, false) => {
                    Dot::<3>::new(outputs, adds, coefficients, block).run::<V, W, false>()
                }
                (4, false) => {
                    Dot::<4>::new(outputs, adds, coefficients, block).run::<V, W, false>()
                }
                (5, false) => {
                    Dot::<5>::new(outputs, adds, coefficients, block).run::<V, W, false>()
                }
                (_, false) => {
                    Dot::<N>::new(outputs, adds, coefficients, block).run::<V, W, false>()
                }
                (3, true) => Dot::<3>::new(outputs, adds, coefficients, block).run::<V, W, true>(),
                (4, true) => Dot::<4>::new(outputs, adds, coefficients, block).run::<V, W, true>(),
                (5, true) => Dot::<5>::new(outputs, adds, coefficients, block).run::<V, W, true>(),
                (_, true) => Dot::<N>::new(outputs, adds, coefficients, block).run::<V, W, true>(),
            }
        }
        coefficients = coefficients.skip(outputs.len());
    }
}

/// N outputs of a dot product over one block.
struct Dot<'a, const N: usize> {
    outputs: [*mut u8; N],
    /// Whether the outputs count.
    adds: bool,
    rows: [*const u8; N],
    block: Block<'a>,
}

impl<'a, const N: usize> Dot<'a, N> {
    #[inline(always)]
    fn new(
        outputs: &mut [&mut [MaybeUninit<u8>]],
        adds: bool,
        coefficients: Coefficients<'_>,
        block: Block<'a>,
    ) -> Self {
        Self {
            outputs: std::array::from_fn(|n| outputs[n].as_mut_ptr().cast()),
            adds,
            rows: std::array::from_fn(|n| coefficients.row(n).as_ptr()),
            block,
        }
    }

    #[inline(always)]
    unsafe fn run<V: Vector, const W: usize, const LOWER: bool>(&self) {
        // SAFETY: `dot_tiles` checked that everything is as long as is said here.
        unsafe {
            if self.block.len() < V::BYTES {
                return self.part::<V>();
            }
            let mut room = [const { [const { MaybeUninit::uninit() }; N] }; MAX_SOURCES];
            let tables = if V::ADDS_THREE {
                &[]
            } else {
                self.gather::<V>(&mut room)
            };
            let tail = self.block.len() - V::BYTES;
            let last = (!self.block.len().is_multiple_of(V::BYTES))
                .then(|| self.strip::<V, 1, LOWER>(tail, tables));
            let mut at = 0;
            while at + W * V::BYTES <= self.block.len() {
                self.store(self.strip::<V, W, LOWER>(at, tables), at);
                at += W * V::BYTES;
            }
            while at + 2 * V::BYTES <= self.block.len() {
                self.store(self.strip::<V, 2, LOWER>(at, tables), at);
                at += 2 * V::BYTES;
            }
            if at + V::BYTES <= self.block.len() {
                self.store(self.strip::<V, 1, LOWER>(at, tables), at);
            }
            if let Some(last) = last {
                self.store(last, tail);
            }
        }
    }

    /// What multiplies each source for each output.
    #[inline(always)]
    unsafe fn gather<'r, V: Vector>(
        &self,
        room: &'r mut [[MaybeUninit<V::Table>; N]; MAX_SOURCES],
    ) -> &'r [[V::Table; N]] {
        let columns = self.block.columns();
        for (tables, &column) in room[..columns.len()].iter_mut().zip(columns) {
            for (table, row) in tables.iter_mut().zip(&self.rows) {
                // SAFETY: `dot_tiles` checked that every row has the columns.
                table.write(*V::table(unsafe { *row.add(usize::from(column)) }));
            }
        }
        // SAFETY: so many were written.
        unsafe { std::slice::from_raw_parts(room.as_ptr().cast(), columns.len()) }
    }

    /// W vectors of each output, at `at`, where `tables` are those of the sources, if
    /// gathered. If `LOWER`, the last N sources have a triangle of coefficients.
    #[inline(always)]
    unsafe fn strip<V: Vector, const W: usize, const LOWER: bool>(
        &self,
        at: usize,
        tables: &[[V::Table; N]],
    ) -> [[V; W]; N] {
        // SAFETY: `run` has W vectors there.
        unsafe {
            let mut sums: [[V; W]; N] = [[V::zero(); W]; N];
            if self.adds {
                for (sums, output) in sums.iter_mut().zip(&self.outputs) {
                    *sums = load(output.add(at));
                }
            }
            if !V::ADDS_THREE {
                for (source, tables) in self.block.sources().iter().zip(tables) {
                    add_products(&mut sums, source.as_ptr().add(at), tables);
                }
                return sums;
            }
            let all = self.block.sources().len();
            let full = if LOWER { all - N } else { all };
            let (sources, triangle) = self.block.sources().split_at(full);
            let (columns, triangle_columns) = self.block.columns().split_at(full);
            let (pairs, single) = sources.as_chunks::<2>();
            let (column_pairs, single_column) = columns.as_chunks::<2>();
            for (pair, columns) in pairs.iter().zip(column_pairs) {
                let first: [V; W] = operands(pair[0].as_ptr().add(at), 0);
                let second: [V; W] = operands(pair[1].as_ptr().add(at), 0);
                for (sums, row) in sums.iter_mut().zip(&self.rows) {
                    let factors =
                        columns.map(|column| V::factor(V::table(*row.add(usize::from(column))), 0));
                    for (w, sum) in sums.iter_mut().enumerate() {
                        *sum = sum
                            .add(V::part_product(first[w], factors[0]))
                            .add(V::part_product(second[w], factors[1]));
                    }
                }
            }
            for (source, &column) in single.iter().zip(single_column) {
                let source: [V; W] = operands(source.as_ptr().add(at), 0);
                for (sums, row) in sums.iter_mut().zip(&self.rows) {
                    let factor = V::factor(V::table(*row.add(usize::from(column))), 0);
                    for (w, sum) in sums.iter_mut().enumerate() {
                        *sum = sum.add(V::part_product(source[w], factor));
                    }
                }
            }
            if LOWER {
                self.add_triangle(&mut sums, at, triangle, triangle_columns);
            }
            sums
        }
    }

    /// Adds N sources of which output n has one time the n-th and nothing of later ones.
    #[inline(always)]
    unsafe fn add_triangle<V: Vector, const W: usize>(
        &self,
        sums: &mut [[V; W]; N],
        at: usize,
        sources: &[&[u8]],
        columns: &[u16],
    ) {
        // With a number that the compiler knows, it leaves neither loops nor conditions.
        let sources: &[&[u8]; N] = sources.try_into().expect("as many as outputs");
        let columns: &[u16; N] = columns.try_into().expect("as many as outputs");
        // SAFETY: `run` has W vectors there.
        unsafe {
            for (j, (source, &column)) in sources.iter().zip(columns).enumerate() {
                let vectors: [V; W] = load(source.as_ptr().add(at));
                for (n, (sums, row)) in sums.iter_mut().zip(&self.rows).enumerate() {
                    if n < j {
                        continue;
                    }
                    let factor = V::factor(V::table(*row.add(usize::from(column))), 0);
                    for (sum, vector) in sums.iter_mut().zip(vectors) {
                        *sum = if n == j {
                            sum.add(vector)
                        } else {
                            sum.add(V::part_product(vector.operand(0), factor))
                        };
                    }
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn store<V: Vector, const W: usize>(&self, sums: [[V; W]; N], at: usize) {
        for (sums, output) in sums.into_iter().zip(&self.outputs) {
            // SAFETY: `run` has W vectors there.
            unsafe { store(sums, output.add(at)) };
        }
    }

    /// Outputs of less than a vector.
    #[inline(always)]
    unsafe fn part<V: Vector>(&self) {
        // SAFETY: everything has `len` bytes.
        unsafe {
            for (&output, &row) in self.outputs.iter().zip(&self.rows) {
                let mut sum = V::zero();
                if self.adds {
                    sum = V::load_part(output, self.block.len());
                }
                for (source, &column) in self.block.sources().iter().zip(self.block.columns()) {
                    let source = V::load_part(source.as_ptr(), self.block.len());
                    sum = sum.add(product(source, V::table(*row.add(usize::from(column)))));
                }
                sum.store_part(output, self.block.len());
            }
        }
    }
}

/// Adds to each of N sums W vectors of a source, times a number each.
#[inline(always)]
unsafe fn add_products<V: Vector, const W: usize, const N: usize>(
    sums: &mut [[V; W]; N],
    source: *const u8,
    tables: &[V::Table; N],
) {
    // One part of all products after the other takes fewer registers.
    for part in 0..V::PARTS {
        // SAFETY: the caller has W vectors there.
        unsafe {
            let source: [V; W] = operands(source, part);
            for (sums, table) in sums.iter_mut().zip(tables) {
                let factor = V::factor(table, part);
                for (w, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.add(V::part_product(source[w], factor));
                }
            }
        }
    }
}
