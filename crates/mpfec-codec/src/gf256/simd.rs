//! The kernels written once for any vector, to be compiled for each: `x86.rs` and
//! `neon.rs` say what a vector is and with which instructions.
//!
//! Bytes that do not fill a vector are computed with the vector that ends where they
//! end, before anything is stored, and stored last: its other bytes are then computed
//! twice from the same operands.
#![expect(
    unsafe_code,
    reason = "vectors are read and written through pointers, with instructions that not every CPU has"
)]

use std::mem::MaybeUninit;

use super::block::{Block, Coefficients, MAX_SOURCES};
use super::slab::Rows;

/// A vector of bytes, and the instructions for it.
///
/// # Safety
/// Every function, here and below, may be called only on a CPU that has the
/// instructions of the vector. Pointers are to [`Vector::BYTES`] bytes that may be
/// read or written; no alignment is needed.
pub(super) unsafe trait Vector: Copy {
    const BYTES: usize;
    /// Whether one instruction adds three vectors, and products have one part: two products
    /// at a time are then worth the registers, and looking tables up beforehand is not.
    const ADDS_THREE: bool;
    /// A product is the sum of so many, 1 or 2: one for each half of every byte, or one.
    const PARTS: usize;
    /// What multiplies with a number, in memory.
    type Table: Copy + 'static;

    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn zero() -> Self;
    /// What multiplies with `c`.
    fn table(c: u8) -> &'static Self::Table;
    /// What [`Vector::part_product`] multiplies with.
    unsafe fn factor(table: &Self::Table, part: usize) -> Self;
    /// What [`Vector::part_product`] multiplies.
    unsafe fn operand(self, part: usize) -> Self;
    /// One part of a product, of which both arguments are.
    unsafe fn part_product(operand: Self, factor: Self) -> Self;
    /// Reads `count` bytes, fewer than a vector has; the others are 0.
    unsafe fn load_part(from: *const u8, count: usize) -> Self;
    /// Writes the first `count` bytes, fewer than a vector has.
    unsafe fn store_part(self, to: *mut u8, count: usize);
    /// [`dot_tiles`] with as large tiles as fit into the registers.
    unsafe fn dot(
        outputs: &mut [&mut [MaybeUninit<u8>]],
        adds: bool,
        coefficients: Coefficients<'_>,
        block: Block<'_>,
    );
}

/// `dst ^= src`. The slices are equally long.
#[inline(always)]
pub(super) unsafe fn add<V: Vector>(dst: &mut [u8], src: &[u8]) {
    // SAFETY: the caller vouches for the instructions; each_vector asks within the slices.
    unsafe {
        let src = slice(src, dst.len());
        each_vector::<V>(
            dst,
            |at, bytes| bytes.add(V::load(src.add(at))),
            |bytes, count| bytes.add(V::load_part(src, count)),
        );
    }
}

/// `dst ^= c * src`. The slices are equally long.
#[inline(always)]
pub(super) unsafe fn mul_add<V: Vector>(dst: &mut [u8], src: &[u8], c: u8) {
    // SAFETY: as in `add`.
    unsafe {
        let src = slice(src, dst.len());
        let table = V::table(c);
        let product = |bytes: V| product(bytes, table);
        each_vector::<V>(
            dst,
            |at, bytes| bytes.add(product(V::load(src.add(at)))),
            |bytes, count| bytes.add(product(V::load_part(src, count))),
        );
    }
}

/// `dst *= c`.
#[inline(always)]
pub(super) unsafe fn scale<V: Vector>(dst: &mut [u8], c: u8) {
    // SAFETY: the caller vouches for the instructions.
    unsafe {
        let table = V::table(c);
        let product = |bytes: V| product(bytes, table);
        each_vector::<V>(dst, |_, bytes| product(bytes), |bytes, _| product(bytes));
    }
}

/// `dst ^= sum of sources`. The slices are equally long.
#[inline(always)]
pub(super) unsafe fn add_all<V: Vector>(dst: &mut [u8], sources: &[&[u8]]) {
    let len = dst.len();
    for source in sources {
        slice(source, len);
    }
    let dst = dst.as_mut_ptr();
    // SAFETY: every slice has `len` bytes, and strips end at or before them.
    unsafe {
        if len < V::BYTES {
            let mut sum = V::load_part(dst, len);
            for source in sources {
                sum = sum.add(V::load_part(source.as_ptr(), len));
            }
            return sum.store_part(dst, len);
        }
        let tail = len - V::BYTES;
        let [last] = sum_strip::<V, 1>(dst, tail, sources);
        let mut at = 0;
        while at + 8 * V::BYTES <= len {
            let sums = sum_strip::<V, 8>(dst, at, sources);
            store(sums, dst.add(at));
            at += 8 * V::BYTES;
        }
        while at + 2 * V::BYTES <= len {
            let sums = sum_strip::<V, 2>(dst, at, sources);
            store(sums, dst.add(at));
            at += 2 * V::BYTES;
        }
        if at + V::BYTES <= len {
            let sums = sum_strip::<V, 1>(dst, at, sources);
            store(sums, dst.add(at));
        }
        last.store(dst.add(tail));
    }
}

/// Row `dst` gets the sum of the rows `xors` and of each row of `terms` times its number.
#[inline(always)]
pub(super) unsafe fn accumulate<V: Vector>(
    rows: Rows<'_>,
    dst: usize,
    xors: &[u32],
    terms: &[(u32, u8)],
) {
    let Rows {
        bytes,
        stride,
        width,
    } = rows;
    let count = bytes.len() / stride;
    let sources = || xors.iter().chain(terms.iter().map(|(row, _)| row));
    assert!(width <= stride && width.is_multiple_of(V::BYTES) && dst < count);
    assert!(sources().all(|&row| (row as usize) < count));
    let sum = Sum {
        rows: bytes.as_mut_ptr(),
        stride,
        dst,
        xors,
        terms,
    };
    let vectors = width / V::BYTES;
    let strips = vectors.div_ceil(MAX_STRIP);
    let mut at = 0;
    for strip in 0..strips {
        let wanted = vectors * (strip + 1) / strips - at / V::BYTES;
        // SAFETY: rows and strips were checked above; the caller vouches for the
        // instructions.
        unsafe {
            match wanted {
                1 => sum.strip::<V, 1>(at),
                2 => sum.strip::<V, 2>(at),
                3 => sum.strip::<V, 3>(at),
                4 => sum.strip::<V, 4>(at),
                5 => sum.strip::<V, 5>(at),
                6 => sum.strip::<V, 6>(at),
                7 => sum.strip::<V, 7>(at),
                8 => sum.strip::<V, 8>(at),
                9 => sum.strip::<V, 9>(at),
                _ => sum.strip::<V, MAX_STRIP>(at),
            }
        }
        at += wanted * V::BYTES;
    }
}

/// Each row of `terms` gets row `src` times its number added.
#[inline(always)]
pub(super) unsafe fn spread<V: Vector>(rows: Rows<'_>, src: usize, terms: &[(u32, u8)]) {
    let Rows {
        bytes,
        stride,
        width,
    } = rows;
    let count = bytes.len() / stride;
    assert!(width <= stride && width.is_multiple_of(V::BYTES) && src < count);
    assert!(terms.iter().all(|&(row, _)| (row as usize) < count));
    let bytes = bytes.as_mut_ptr();
    let mut at = 0;
    // SAFETY: rows and strips were checked above; the caller vouches for the instructions.
    unsafe {
        while at + 4 * V::BYTES <= width {
            spread_strip::<V, 4>(bytes.add(at), stride, src, terms);
            at += 4 * V::BYTES;
        }
        while at + V::BYTES <= width {
            spread_strip::<V, 1>(bytes.add(at), stride, src, terms);
            at += V::BYTES;
        }
    }
}

/// W vectors of each row, where `column` is at those of row 0.
#[inline(always)]
unsafe fn spread_strip<V: Vector, const W: usize>(
    column: *mut u8,
    stride: usize,
    src: usize,
    terms: &[(u32, u8)],
) {
    // SAFETY: the caller has checked the rows and that they have W vectors there.
    unsafe {
        let source: [V; W] = load(column.add(src * stride));
        for &(row, c) in terms {
            let row = column.add(row as usize * stride);
            let table = V::table(c);
            let mut sums: [V; W] = load(row);
            for (sum, &source) in sums.iter_mut().zip(&source) {
                *sum = sum.add(product(source, table));
            }
            store(sums, row);
        }
    }
}

/// The most vectors of a row that `accumulate` keeps in registers.
const MAX_STRIP: usize = 10;

/// Replaces every vector of `dst` by what `whole` makes of its place and bytes; if
/// `dst` is less than a vector, by what `part` makes of it and its length.
#[inline(always)]
unsafe fn each_vector<V: Vector>(
    dst: &mut [u8],
    whole: impl Fn(usize, V) -> V,
    part: impl Fn(V, usize) -> V,
) {
    let len = dst.len();
    let dst = dst.as_mut_ptr();
    // SAFETY: all is within `dst`; the caller vouches for the instructions.
    unsafe {
        if len < V::BYTES {
            let changed = part(V::load_part(dst, len), len);
            return changed.store_part(dst, len);
        }
        let tail = len - V::BYTES;
        let last = whole(tail, V::load(dst.add(tail)));
        let mut at = 0;
        while at + 4 * V::BYTES <= len {
            for nth in 0..4 {
                let at = at + nth * V::BYTES;
                whole(at, V::load(dst.add(at))).store(dst.add(at));
            }
            at += 4 * V::BYTES;
        }
        while at + V::BYTES <= len {
            whole(at, V::load(dst.add(at))).store(dst.add(at));
            at += V::BYTES;
        }
        last.store(dst.add(tail));
    }
}

/// W vectors at `at` of `dst` and all sources, added up.
#[inline(always)]
unsafe fn sum_strip<V: Vector, const W: usize>(
    dst: *const u8,
    at: usize,
    sources: &[&[u8]],
) -> [V; W] {
    // SAFETY: the caller has W vectors there, and the instructions.
    unsafe {
        let mut sums: [V; W] = load(dst.add(at));
        for source in sources {
            let from = source.as_ptr().add(at);
            for (w, sum) in sums.iter_mut().enumerate() {
                *sum = sum.add(V::load(from.add(w * V::BYTES)));
            }
        }
        sums
    }
}

/// Row `dst` plus rows, of which none is `dst`.
struct Sum<'a> {
    rows: *mut u8,
    stride: usize,
    dst: usize,
    xors: &'a [u32],
    terms: &'a [(u32, u8)],
}

impl Sum<'_> {
    /// Computes W vectors at `at` of each row.
    #[inline(always)]
    unsafe fn strip<V: Vector, const W: usize>(&self, at: usize) {
        // SAFETY: the caller has checked the rows and that they have W vectors there.
        unsafe {
            let column = self.rows.add(at);
            let dst = column.add(self.dst * self.stride);
            let mut sums: [V; W] = load(dst);
            for &row in self.xors {
                let from = column.add(row as usize * self.stride);
                for (w, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.add(V::load(from.add(w * V::BYTES)));
                }
            }
            for &(row, c) in self.terms {
                let from = column.add(row as usize * self.stride);
                let table = V::table(c);
                for (w, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.add(product(V::load(from.add(w * V::BYTES)), table));
                }
            }
            store(sums, dst);
        }
    }
}

/// Outputs become, or if `adds` get added, the sum over one block, in tiles of at most N
/// (4 to 6) outputs by W vectors, or one output by W1.
///
/// # Safety
/// As for every function here; and if `adds`, the first `block.len()` bytes of the outputs
/// must be initialised. They are afterwards.
#[inline(always)]
pub(super) unsafe fn dot_tiles<V: Vector, const N: usize, const W: usize, const W1: usize>(
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

#[inline(always)]
unsafe fn load<V: Vector, const W: usize>(from: *const u8) -> [V; W] {
    // SAFETY: the caller has W vectors there.
    std::array::from_fn(|w| unsafe { V::load(from.add(w * V::BYTES)) })
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

/// The product of each byte with a number.
#[inline(always)]
unsafe fn product<V: Vector>(bytes: V, table: &V::Table) -> V {
    // SAFETY: the caller vouches for the instructions.
    unsafe {
        let product = V::part_product(bytes.operand(0), V::factor(table, 0));
        if V::PARTS == 1 {
            return product;
        }
        product.add(V::part_product(bytes.operand(1), V::factor(table, 1)))
    }
}

#[inline(always)]
unsafe fn operands<V: Vector, const W: usize>(from: *const u8, part: usize) -> [V; W] {
    // SAFETY: the caller has W vectors there.
    std::array::from_fn(|w| unsafe { V::load(from.add(w * V::BYTES)).operand(part) })
}

#[inline(always)]
unsafe fn store<V: Vector, const W: usize>(vectors: [V; W], to: *mut u8) {
    for (w, vector) in vectors.into_iter().enumerate() {
        // SAFETY: the caller has W vectors there.
        unsafe { vector.store(to.add(w * V::BYTES)) };
    }
}

/// The start of `bytes`, of which there are at least `len`.
#[inline(always)]
fn slice(bytes: &[u8], len: usize) -> *const u8 {
    assert!(bytes.len() >= len, "{SHORT}");
    bytes.as_ptr()
}

const SHORT: &str = "operands have different lengths";
