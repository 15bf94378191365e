//! Codes whose repair symbols are sums of products of source symbols, made and undone
//! symbol by symbol: fast while little is lost.
//!
//! A code says what its coefficients are ([`Rows`]); the rest is the same for all:
//!
//! - [`Encoder`] makes repair symbols, several at once when several are wanted, so that
//!   the source symbols are read once for all of them.
//! - [`Decoder`] keeps what arrives. With the fourth repair symbol, or when K symbols are
//!   here, it begins to solve: the source symbols that are absent then are the unknowns,
//!   and every symbol from then on is worked in as it arrives ([`System`]). The symbol
//!   that completes the block costs the last few repair symbols and the m unknowns:
//!   O(m^2) bytes of bookkeeping and m^2 products of symbols.
//!
//! How a code that can also decode a block as a whole uses [`Decoder`]: it gives
//! `most_unknowns`, above which it prefers that. [`Decoder::is_deferred`] says when it is
//! its turn: K symbols are here, too many are absent, and nothing was worked in, so that
//! [`Decoder::symbols`] are all that came. It hands its result to [`Decoder::complete`],
//! or leaves it and gets another turn with the next symbol.

mod decoder;
mod encoder;
mod system;
mod workspace;

pub(crate) use self::decoder::Decoder;
pub(crate) use self::encoder::Encoder;
pub(crate) use self::system::System;

/// The coefficients of a code.
pub(crate) trait Rows {
    /// Writes the K coefficients of repair symbol `esi`, at or above K, to `row`, which
    /// has K bytes of no meaning.
    fn coefficients(&self, esi: u32, row: &mut [u8]);

    /// From here on coefficients are so expensive that another way of coding is better.
    fn end(&self) -> u32 {
        u32::MAX
    }
}
