//! Arithmetic in GF(2^8) on byte strings: what every code here is made of.
//!
//! The field is RFC 6330's (§5.7): polynomials over GF(2) modulo
//! x^8 + x^4 + x^3 + x^2 + 1 (0x11D). Addition is XOR.
//!
//! | function | computes | for |
//! | --- | --- | --- |
//! | [`add`], [`add_all`] | sums | parity |
//! | [`scale`], [`mul_add`] | one product | bookkeeping in small matrices |
//! | [`dot`] | many sums of products of the same sources | coding |
//! | [`Slab::accumulate`] | one sum of products of rows | schedules of row operations |
//!
//! Sums of many products should never be written as a loop of [`mul_add`]: every
//! product is then written to memory and read again. [`dot`] keeps the sums of several
//! outputs in registers and is 3 to 8 times as fast.
//!
//! The instructions are chosen once, at run time ([`Kernel::best`]). Each [`Kernel`]
//! computes the same. Nothing here takes data-dependent time other than through lengths.
//!
//! ```
//! use mpfec_codec::gf256;
//!
//! let (mut sum, mut weighted) = ([0; 4], [0; 4]);
//! let rows = [1, 1, 1, 2];
//! gf256::dot(&mut [&mut sum[..], &mut weighted[..]], &rows, &[b"abcd", b"efgh"]);
//! assert_eq!(sum[0], b'a' ^ b'e');
//! assert_eq!(weighted[0], b'a' ^ gf256::mul(2, b'e'));
//! ```

mod block;
mod kernel;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod simd;
mod slab;
mod steps;
mod tables;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::Range;

use bytes::BufMut;

pub use self::kernel::Kernel;
pub use self::slab::Slab;
pub(crate) use self::steps::Steps;

/// a * b.
#[must_use]
#[inline]
pub fn mul(a: u8, b: u8) -> u8 {
    let products = &tables::NIBBLES[usize::from(a)];
    products.low[usize::from(b & 15)] ^ products.high[usize::from(b >> 4)]
}

/// The number that gives 1 when multiplied with `a`; `None` for 0.
#[must_use]
#[inline]
pub fn inverse(a: u8) -> Option<u8> {
    (a != 0).then(|| tables::INVERSES[usize::from(a)])
}

/// `dst ^= src`.
///
/// # Panics
/// If their lengths differ.
pub fn add(dst: &mut [u8], src: &[u8]) {
    Kernel::best().add(dst, src);
}

/// `dst *= c`.
pub fn scale(dst: &mut [u8], c: u8) {
    Kernel::best().scale(dst, c);
}

/// `dst ^= c * src`.
///
/// # Panics
/// If their lengths differ.
pub fn mul_add(dst: &mut [u8], src: &[u8], c: u8) {
    Kernel::best().mul_add(dst, src, c);
}

/// `dst ^= sum of sources`, in one pass.
///
/// # Panics
/// If the lengths differ.
pub fn add_all(dst: &mut [u8], sources: &[&[u8]]) {
    Kernel::best().add_all(dst, sources);
}

/// `outputs[i] ^= sum over j of coefficients[i * sources.len() + j] * sources[j]`.
///
/// Sources may be shorter than the outputs and then count as filled with zeros; a
/// short one costs a pass of its own, an empty one nothing.
///
/// # Panics
/// If the outputs have different lengths, a source is longer, coefficients are missing
/// or there are more than 65536 sources.
pub fn dot<O: AsMut<[u8]>, S: AsRef<[u8]>>(outputs: &mut [O], coefficients: &[u8], sources: &[S]) {
    Kernel::best().dot(outputs, coefficients, sources);
}

/// As [`dot`], of `count` outputs of `len` bytes, which it appends to `out`, one behind the
/// other; `out` has room for them. Sources come with the columns of their coefficients, of
/// which rows are `stride` apart.
///
/// # Panics
/// If it has not, a source is longer than `len` or coefficients are missing.
pub(crate) fn append_dot<'a>(
    out: &mut impl BufMut,
    count: usize,
    len: usize,
    coefficients: &[u8],
    stride: usize,
    sources: impl Iterator<Item = (usize, &'a [u8])>,
) {
    let coefficients = block::Coefficients::new(coefficients, stride, count, 0);
    Kernel::best().append_dot(out, count, len, coefficients, sources, None);
}

/// As [`append_dot`], of rows of a lower triangular matrix with ones on the diagonal: `rows`,
/// whose first coefficient is that of `coefficients`. Sources come by ascending column.
///
/// # Panics
/// As [`append_dot`].
pub(crate) fn append_lower<'a>(
    out: &mut impl BufMut,
    rows: Range<usize>,
    len: usize,
    coefficients: &[u8],
    stride: usize,
    sources: impl Iterator<Item = (usize, &'a [u8])>,
) {
    let count = rows.len();
    let coefficients = block::Coefficients::new(coefficients, stride, count, 0);
    Kernel::best().append_dot(out, count, len, coefficients, sources, Some(rows.start));
}

#[cfg(test)]
mod tests;
