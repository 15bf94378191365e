//! Vectors of AArch64: `tbl` looks products of half bytes up.
#![expect(unsafe_code, reason = "vectors are read and written through pointers")]

use std::arch::aarch64::*;
use std::mem::MaybeUninit;

use super::block::{Block, Coefficients};
use super::simd::{self, Vector};
use super::slab::Rows;
use super::steps::{self, Steps};
use super::tables::{NIBBLES, Nibbles};

#[target_feature(enable = "neon")]
pub(super) fn add(dst: &mut [u8], src: &[u8]) {
    // SAFETY: who calls this has the instructions that it is compiled with.
    unsafe { simd::add::<Neon>(dst, src) }
}

#[target_feature(enable = "neon")]
pub(super) fn mul_add(dst: &mut [u8], src: &[u8], c: u8) {
    // SAFETY: as for `add`.
    unsafe { simd::mul_add::<Neon>(dst, src, c) }
}

#[target_feature(enable = "neon")]
pub(super) fn scale(dst: &mut [u8], c: u8) {
    // SAFETY: as for `add`.
    unsafe { simd::scale::<Neon>(dst, c) }
}

#[target_feature(enable = "neon")]
pub(super) fn add_all(dst: &mut [u8], sources: &[&[u8]]) {
    // SAFETY: as for `add`.
    unsafe { simd::add_all::<Neon>(dst, sources) }
}

#[target_feature(enable = "neon")]
/// # Safety
/// As `simd::dot_tiles`.
pub(super) unsafe fn dot(
    outputs: &mut [&mut [MaybeUninit<u8>]],
    adds: bool,
    coefficients: Coefficients<'_>,
    block: Block<'_>,
) {
    // SAFETY: as for `add`, and the caller vouches for the outputs.
    unsafe { <Neon as simd::Vector>::dot(outputs, adds, coefficients, block) }
}

#[target_feature(enable = "neon")]
pub(super) fn spread(rows: Rows<'_>, src: usize, terms: &[(u32, u8)]) {
    // SAFETY: as for `add`.
    unsafe { simd::spread::<Neon>(rows, src, terms) }
}

#[target_feature(enable = "neon")]
pub(super) fn accumulate(rows: Rows<'_>, dst: usize, xors: &[u32], terms: &[(u32, u8)]) {
    // SAFETY: as for `add`.
    unsafe { simd::accumulate::<Neon>(rows, dst, xors, terms) }
}

#[target_feature(enable = "neon")]
pub(super) fn replay<'a>(rows: Rows<'_>, steps: &Steps, input: impl Fn(u32) -> &'a [u8]) {
    // SAFETY: as for `add`.
    unsafe { steps::replay::<Neon>(rows, steps, input) }
}

/// 16 bytes.
#[derive(Clone, Copy)]
pub(super) struct Neon(uint8x16_t);

// SAFETY: only NEON instructions, on the bytes that the trait allows.
unsafe impl Vector for Neon {
    const BYTES: usize = 16;
    const ADDS_THREE: bool = false;
    const PARTS: usize = 2;
    type Table = Nibbles;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(vld1q_u8(from)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the trait's contract.
        unsafe { vst1q_u8(to, self.0) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(veorq_u8(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(vdupq_n_u8(0)) }
    }

    #[inline(always)]
    fn table(c: u8) -> &'static Self::Table {
        &NIBBLES[usize::from(c)]
    }

    #[inline(always)]
    unsafe fn factor(table: &Nibbles, part: usize) -> Self {
        // SAFETY: each half of a table is 16 bytes.
        unsafe { Self(vld1q_u8(table.half(part).as_ptr())) }
    }

    #[inline(always)]
    unsafe fn operand(self, part: usize) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            Self(match part {
                0 => vandq_u8(self.0, vdupq_n_u8(15)),
                _ => vshrq_n_u8::<4>(self.0),
            })
        }
    }

    #[inline(always)]
    unsafe fn part_product(operand: Self, factor: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(vqtbl1q_u8(factor.0, operand.0)) }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const u8, count: usize) -> Self {
        let mut bytes = [0; 16];
        // SAFETY: fewer than 16 bytes, which the caller has.
        unsafe {
            bytes.as_mut_ptr().copy_from_nonoverlapping(from, count);
            Self::load(bytes.as_ptr())
        }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, count: usize) {
        let mut bytes = [0; 16];
        // SAFETY: fewer than 16 bytes, which the caller has.
        unsafe {
            self.store(bytes.as_mut_ptr());
            bytes.as_ptr().copy_to_nonoverlapping(to, count);
        }
    }

    #[inline(always)]
    unsafe fn dot(
        outputs: &mut [&mut [MaybeUninit<u8>]],
        adds: bool,
        coefficients: Coefficients<'_>,
        block: Block<'_>,
    ) {
        // SAFETY: the trait's contract.
        unsafe { simd::dot_tiles::<Self, 4, 4, 8>(outputs, adds, coefficients, block) }
    }
}
