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

mod dot;

use std::mem::MaybeUninit;

pub(super) use dot::dot_tiles;

use super::block::{Block, Coefficients};
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

#[inline(always)]
unsafe fn load<V: Vector, const W: usize>(from: *const u8) -> [V; W] {
    // SAFETY: the caller has W vectors there.
    std::array::from_fn(|w| unsafe { V::load(from.add(w * V::BYTES)) })
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
