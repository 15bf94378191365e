//! Vectors of x86-64: `pshufb` looks products of half bytes up (SSSE3, AVX2),
//! `gf2p8affineqb` multiplies with a bit matrix (GFNI).
#![expect(
    unsafe_code,
    reason = "these instructions are there only on some CPUs: Kernel says on which"
)]

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::block::{Block, Coefficients};
use super::simd::{self, Vector};
use super::tables::{MATRICES, NIBBLES, Nibbles};

/// The kernels for one vector, compiled with its instructions.
macro_rules! kernels {
    ($name:ident, $vector:ident, $features:literal) => {
        pub(in crate::gf256) mod $name {
            use std::mem::MaybeUninit;

            use super::$vector;
            use crate::gf256::block::{Block, Coefficients};
            use crate::gf256::simd;
            use crate::gf256::slab::Rows;
            use crate::gf256::steps::{self, Steps};

            #[target_feature(enable = $features)]
            pub(in crate::gf256) fn add(dst: &mut [u8], src: &[u8]) {
                // SAFETY: who calls this has the instructions that it is compiled with.
                unsafe { simd::add::<$vector>(dst, src) }
            }

            #[target_feature(enable = $features)]
            pub(in crate::gf256) fn mul_add(dst: &mut [u8], src: &[u8], c: u8) {
                // SAFETY: as for `add`.
                unsafe { simd::mul_add::<$vector>(dst, src, c) }
            }

            #[target_feature(enable = $features)]
            pub(in crate::gf256) fn scale(dst: &mut [u8], c: u8) {
                // SAFETY: as for `add`.
                unsafe { simd::scale::<$vector>(dst, c) }
            }

            #[target_feature(enable = $features)]
            pub(in crate::gf256) fn add_all(dst: &mut [u8], sources: &[&[u8]]) {
                // SAFETY: as for `add`.
                unsafe { simd::add_all::<$vector>(dst, sources) }
            }

            /// # Safety
            /// As `simd::dot_tiles`.
            #[target_feature(enable = $features)]
            pub(in crate::gf256) unsafe fn dot(
                outputs: &mut [&mut [MaybeUninit<u8>]],
                adds: bool,
                coefficients: Coefficients<'_>,
                block: Block<'_>,
            ) {
                // SAFETY: as for `add`, and the caller vouches for the outputs.
                unsafe { <$vector as simd::Vector>::dot(outputs, adds, coefficients, block) }
            }

            #[target_feature(enable = $features)]
            pub(in crate::gf256) fn spread(rows: Rows<'_>, src: usize, terms: &[(u32, u8)]) {
                // SAFETY: as for `add`.
                unsafe { simd::spread::<$vector>(rows, src, terms) }
            }

            #[target_feature(enable = $features)]
            pub(in crate::gf256) fn accumulate(
                rows: Rows<'_>,
                dst: usize,
                xors: &[u32],
                terms: &[(u32, u8)],
            ) {
                // SAFETY: as for `add`.
                unsafe { simd::accumulate::<$vector>(rows, dst, xors, terms) }
            }

            #[target_feature(enable = $features)]
            pub(in crate::gf256) fn replay<'a>(
                rows: Rows<'_>,
                steps: &Steps,
                input: impl Fn(u32) -> &'a [u8],
            ) {
                // SAFETY: as for `add`.
                unsafe { steps::replay::<$vector>(rows, steps, input) }
            }
        }
    };
}

kernels!(ssse3, Sse, "ssse3");
kernels!(avx2, Avx, "avx2");
kernels!(gfni256, Gfni256, "avx2,gfni");
kernels!(gfni512, Gfni512, "avx512f,avx512bw,gfni");

/// 16 bytes, products by `pshufb`.
#[derive(Clone, Copy)]
pub(super) struct Sse(__m128i);

// SAFETY: only SSE2 and SSSE3 instructions, on the bytes that the trait allows.
unsafe impl Vector for Sse {
    const BYTES: usize = 16;
    const ADDS_THREE: bool = false;
    const PARTS: usize = 2;
    type Table = Nibbles;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(_mm_loadu_si128(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the trait's contract.
        unsafe { _mm_storeu_si128(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(_mm_xor_si128(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(_mm_setzero_si128()) }
    }

    #[inline(always)]
    fn table(c: u8) -> &'static Self::Table {
        &NIBBLES[usize::from(c)]
    }

    #[inline(always)]
    unsafe fn factor(table: &Nibbles, part: usize) -> Self {
        // SAFETY: each half of a table is 16 bytes.
        unsafe { Self(_mm_loadu_si128(table.half(part).as_ptr().cast())) }
    }

    #[inline(always)]
    unsafe fn operand(self, part: usize) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            let shifted = if part == 0 {
                self.0
            } else {
                _mm_srli_epi16::<4>(self.0)
            };
            Self(_mm_and_si128(shifted, _mm_set1_epi8(15)))
        }
    }

    #[inline(always)]
    unsafe fn part_product(operand: Self, factor: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(_mm_shuffle_epi8(factor.0, operand.0)) }
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
        unsafe { simd::dot_tiles::<Self, 4, 2, 4>(outputs, adds, coefficients, block) }
    }
}

/// 32 bytes, products by `pshufb`.
#[derive(Clone, Copy)]
pub(super) struct Avx(__m256i);

// SAFETY: only AVX and AVX2 instructions, on the bytes that the trait allows.
unsafe impl Vector for Avx {
    const BYTES: usize = 32;
    const ADDS_THREE: bool = false;
    const PARTS: usize = 2;
    type Table = Nibbles;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the trait's contract.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(_mm256_xor_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(_mm256_setzero_si256()) }
    }

    #[inline(always)]
    fn table(c: u8) -> &'static Self::Table {
        &NIBBLES[usize::from(c)]
    }

    #[inline(always)]
    unsafe fn factor(table: &Nibbles, part: usize) -> Self {
        // SAFETY: each half of a table is 16 bytes.
        unsafe {
            Self(_mm256_broadcastsi128_si256(_mm_loadu_si128(
                table.half(part).as_ptr().cast(),
            )))
        }
    }

    #[inline(always)]
    unsafe fn operand(self, part: usize) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            let shifted = if part == 0 {
                self.0
            } else {
                _mm256_srli_epi16::<4>(self.0)
            };
            Self(_mm256_and_si256(shifted, _mm256_set1_epi8(15)))
        }
    }

    #[inline(always)]
    unsafe fn part_product(operand: Self, factor: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(_mm256_shuffle_epi8(factor.0, operand.0)) }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const u8, count: usize) -> Self {
        let mut bytes = [0; 32];
        // SAFETY: fewer than 32 bytes, which the caller has.
        unsafe {
            bytes.as_mut_ptr().copy_from_nonoverlapping(from, count);
            Self::load(bytes.as_ptr())
        }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, count: usize) {
        let mut bytes = [0; 32];
        // SAFETY: fewer than 32 bytes, which the caller has.
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
        unsafe { simd::dot_tiles::<Self, 5, 2, 4>(outputs, adds, coefficients, block) }
    }
}

/// 32 bytes, products by `gf2p8affineqb`.
#[derive(Clone, Copy)]
pub(super) struct Gfni256(Avx);

// SAFETY: only AVX, AVX2 and GFNI instructions, on the bytes that the trait allows.
unsafe impl Vector for Gfni256 {
    const BYTES: usize = 32;
    const ADDS_THREE: bool = false;
    const PARTS: usize = 1;
    type Table = u64;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(Avx::load(from)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the trait's contract.
        unsafe { self.0.store(to) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(self.0.add(other.0)) }
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(Avx::zero()) }
    }

    #[inline(always)]
    fn table(c: u8) -> &'static Self::Table {
        &MATRICES[usize::from(c)]
    }

    #[inline(always)]
    unsafe fn factor(table: &u64, _part: usize) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(Avx(_mm256_set1_epi64x(table.cast_signed()))) }
    }

    #[inline(always)]
    unsafe fn operand(self, _part: usize) -> Self {
        self
    }

    #[inline(always)]
    unsafe fn part_product(operand: Self, factor: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe {
            Self(Avx(_mm256_gf2p8affine_epi64_epi8::<0>(
                operand.0.0,
                factor.0.0,
            )))
        }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const u8, count: usize) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(Avx::load_part(from, count)) }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, count: usize) {
        // SAFETY: the trait's contract.
        unsafe { self.0.store_part(to, count) }
    }

    #[inline(always)]
    unsafe fn dot(
        outputs: &mut [&mut [MaybeUninit<u8>]],
        adds: bool,
        coefficients: Coefficients<'_>,
        block: Block<'_>,
    ) {
        // SAFETY: the trait's contract.
        unsafe { simd::dot_tiles::<Self, 6, 2, 8>(outputs, adds, coefficients, block) }
    }
}

/// 64 bytes, products by `gf2p8affineqb`.
#[derive(Clone, Copy)]
pub(super) struct Gfni512(__m512i);

// SAFETY: only AVX-512F, AVX-512BW and GFNI instructions, on the bytes that the trait
// allows; masked ones touch nothing else.
unsafe impl Vector for Gfni512 {
    const BYTES: usize = 64;
    const ADDS_THREE: bool = true;
    const PARTS: usize = 1;
    type Table = u64;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(_mm512_loadu_si512(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the trait's contract.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(_mm512_xor_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(_mm512_setzero_si512()) }
    }

    #[inline(always)]
    fn table(c: u8) -> &'static Self::Table {
        &MATRICES[usize::from(c)]
    }

    #[inline(always)]
    unsafe fn factor(table: &u64, _part: usize) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(_mm512_set1_epi64(table.cast_signed())) }
    }

    #[inline(always)]
    unsafe fn operand(self, _part: usize) -> Self {
        self
    }

    #[inline(always)]
    unsafe fn part_product(operand: Self, factor: Self) -> Self {
        // SAFETY: the trait's contract.
        unsafe { Self(_mm512_gf2p8affine_epi64_epi8::<0>(operand.0, factor.0)) }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const u8, count: usize) -> Self {
        let mask = (1_u64 << count) - 1;
        // SAFETY: fewer than 64 bytes, which the caller has; others are not touched.
        unsafe { Self(_mm512_maskz_loadu_epi8(mask, from.cast())) }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, count: usize) {
        let mask = (1_u64 << count) - 1;
        // SAFETY: fewer than 64 bytes, which the caller has; others are not touched.
        unsafe { _mm512_mask_storeu_epi8(to.cast(), mask, self.0) }
    }

    #[inline(always)]
    unsafe fn dot(
        outputs: &mut [&mut [MaybeUninit<u8>]],
        adds: bool,
        coefficients: Coefficients<'_>,
        block: Block<'_>,
    ) {
        // SAFETY: the trait's contract.
        unsafe { simd::dot_tiles::<Self, 6, 3, 5>(outputs, adds, coefficients, block) }
    }
}
