//! Which way is cheaper: sums of products symbol by symbol, or the whole block at once.
//!
//! One by one, each repair symbol costs a product for every source symbol, and decoding
//! the square of the losses besides. The whole block costs a fixed number of sums for
//! each source symbol. So what decides is the number of repair symbols, nearly whatever K
//! is, and how fast products are: a block larger than the second-level cache makes sums
//! slower, and products hardly. The numbers were measured with T = 1280.

use crate::gf256::Kernel;

/// How many repair symbols of a block of `source_symbols` are cheaper made one by one.
pub(super) fn most_made(source_symbols: u32) -> u32 {
    let ways = if keeps_all(source_symbols) {
        [52, 44, 26, 21, 12]
    } else {
        [64, 50, 34, 25, 12]
    };
    most(ways)
}

/// How many lost symbols are cheaper decoded one by one.
pub(super) fn most_decoded(source_symbols: u32) -> u32 {
    let ways = if keeps_all(source_symbols) {
        [72, 57, 36, 26, 13]
    } else {
        [112, 100, 58, 44, 13]
    };
    most(ways)
}

/// Whether coefficients of all source symbols in all intermediate symbols are kept.
pub(super) fn keeps_all(source_symbols: u32) -> bool {
    source_symbols <= MAX_DENSE
}

/// Of numbers of symbols, the one for the way in which products are computed: with AVX-512
/// and GFNI, with AVX2 and GFNI, by looking up half bytes in vectors of 32 bytes, of 16
/// bytes, or byte by byte.
fn most([gfni512, gfni256, avx2, short, portable]: [u32; 5]) -> u32 {
    match Kernel::best().name() {
        "avx512+gfni" => gfni512,
        "avx2+gfni" => gfni256,
        "avx2" => avx2,
        "portable" => portable,
        _ => short,
    }
}

/// The largest K for which they are: K x (K + about 100) bytes.
const MAX_DENSE: u32 = 2048;
