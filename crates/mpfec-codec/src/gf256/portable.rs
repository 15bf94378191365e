//! The kernels in plain Rust: the fallback, and what every other kernel must equal.
//!
//! Eight bytes at a time, without tables, so that the compiler can use whatever
//! vectors the target is known to have.
#![expect(unsafe_code, reason = "outputs may be memory that was never written")]

use std::mem::MaybeUninit;
use std::slice;

use super::block::{Block, Coefficients};
use super::slab::Rows;
pub(super) use super::steps::portable as replay;
use super::tables::POLYNOMIAL;

pub(super) fn add(dst: &mut [u8], src: &[u8]) {
    words(dst, src, |dst, src| dst ^ src);
}

pub(super) fn mul_add(dst: &mut [u8], src: &[u8], c: u8) {
    words(dst, src, |dst, src| dst ^ product(src, c));
}

pub(super) fn scale(dst: &mut [u8], c: u8) {
    let (chunks, rest) = dst.as_chunks_mut();
    for chunk in chunks {
        *chunk = product(u64::from_le_bytes(*chunk), c).to_le_bytes();
    }
    for byte in rest {
        *byte = product(u64::from(*byte), c) as u8;
    }
}

pub(super) fn add_all(dst: &mut [u8], sources: &[&[u8]]) {
    for source in sources {
        add(dst, source);
    }
}

/// Outputs become, or if `adds` get added, the sum over one block.
///
/// # Safety
/// If `adds`, the first `block.len()` bytes of the outputs must be initialised.
pub(super) unsafe fn dot(
    outputs: &mut [&mut [MaybeUninit<u8>]],
    adds: bool,
    coefficients: Coefficients<'_>,
    block: Block<'_>,
) {
    for (row, output) in outputs.iter_mut().enumerate() {
        let row = coefficients.row(row);
        let output = &mut output[..block.len()];
        if !adds {
            output.fill(MaybeUninit::new(0));
        }
        let start = output.as_mut_ptr().cast();
        // SAFETY: the same bytes, initialised before or just now.
        let output: &mut [u8] = unsafe { slice::from_raw_parts_mut(start, block.len()) };
        for (source, &column) in block.sources().iter().zip(block.columns()) {
            mul_add(output, &source[..block.len()], row[usize::from(column)]);
        }
    }
}

/// Row `dst` gets the sum of the rows `xors` and of each row of `terms` times its number.
pub(super) fn accumulate(rows: Rows<'_>, dst: usize, xors: &[u32], terms: &[(u32, u8)]) {
    let (stride, width) = (rows.stride, rows.width);
    let (before, rest) = rows.bytes.split_at_mut(dst * stride);
    let (target, after) = rest.split_at_mut(stride);
    let row = |index: u32| {
        let index = index as usize;
        let start = if index < dst { index } else { index - dst - 1 } * stride;
        let half: &[u8] = if index < dst { before } else { after };
        &half[start..start + width]
    };
    let target = &mut target[..width];
    for &index in xors {
        add(target, row(index));
    }
    for &(index, c) in terms {
        mul_add(target, row(index), c);
    }
}

/// Each row of `terms` gets row `src` times its number added.
pub(super) fn spread(rows: Rows<'_>, src: usize, terms: &[(u32, u8)]) {
    let (stride, width) = (rows.stride, rows.width);
    for &(dst, c) in terms {
        let [dst, src] = [dst as usize, src].map(|row| row * stride..row * stride + width);
        let rows = rows.bytes.get_disjoint_mut([dst, src]);
        let [dst, src] = rows.expect("Kernel::spread checks that the rows differ");
        mul_add(dst, src, c);
    }
}

/// Combines each eight bytes, and the last few one by one.
#[inline(always)]
fn words(dst: &mut [u8], src: &[u8], combine: impl Fn(u64, u64) -> u64) {
    let (dst_chunks, dst_rest) = dst.as_chunks_mut();
    let (src_chunks, src_rest) = src.as_chunks();
    for (dst, src) in dst_chunks.iter_mut().zip(src_chunks) {
        let word = combine(u64::from_le_bytes(*dst), u64::from_le_bytes(*src));
        *dst = word.to_le_bytes();
    }
    for (dst, src) in dst_rest.iter_mut().zip(src_rest) {
        *dst = combine(u64::from(*dst), u64::from(*src)) as u8;
    }
}

/// Each byte of `x` times `c`: the sum of the doublings that the bits of `c` choose.
#[inline(always)]
fn product(mut x: u64, c: u8) -> u64 {
    const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    const EACH: u64 = 0x0101_0101_0101_0101;
    let mut sum = 0;
    for bit in 0..8 {
        sum ^= x & u64::from(c >> bit & 1).wrapping_neg();
        // 0xff in each byte whose top bit falls out.
        let carry = (x >> 7) & EACH;
        let carry = (carry << 8).wrapping_sub(carry);
        x = ((x & LOW_BITS) << 1) ^ (carry & (EACH * POLYNOMIAL as u64));
    }
    sum
}
