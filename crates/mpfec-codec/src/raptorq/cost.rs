//! Which way is cheaper: sums of products symbol by symbol, or the whole block at once.
//!
//! One by one, each repair symbol costs a product for every source symbol, and decoding
//! the square of the losses besides. The whole block costs a fixed number of sums for
//! each source symbol. So what decides is the number of repair symbols, nearly whatever K
//! is, and how fast products are. The numbers were measured with T = 1280.

use crate::gf256::Kernel;

/// How many repair symbols of a block of `source_symbols` are cheaper made one by one.
pub(super) fn most_made(source_symbols: u32) -> u32 {
    most(
        source_symbols,
        Ways {
            fast: 52,
            medium: 30,
            slow: 18,
            portable: 6,
        },
    )
}

/// How many lost symbols are cheaper decoded one by one.
pub(super) fn most_decoded(source_symbols: u32) -> u32 {
    most(
        source_symbols,
        Ways {
            fast: 72,
            medium: 45,
            slow: 28,
            portable: 10,
        },
    )
}

/// Numbers of symbols, by how products are computed.
struct Ways {
    /// With AVX-512 and GFNI.
    fast: u32,
    /// With AVX2 and GFNI.
    medium: u32,
    /// By looking up half bytes in vectors.
    slow: u32,
    portable: u32,
}

fn most(source_symbols: u32, ways: Ways) -> u32 {
    if source_symbols > MAX_DENSE {
        return 0;
    }
    match Kernel::best().name() {
        "avx512+gfni" => ways.fast,
        "avx2+gfni" => ways.medium,
        "portable" => ways.portable,
        _ => ways.slow,
    }
}

/// The largest K whose coefficients are kept: K x (K + about 100) bytes.
const MAX_DENSE: u32 = 2048;
