//! A systematic block code over GF(2^8) with coefficients given by formulas.
//!
//! **Cauchy rows**, for the first 256 symbols: repair symbol `esi` < 256 has the
//! coefficient 1 / (esi + j) (`+` is XOR) of source symbol j. Every square part of such a
//! matrix is regular (Blömer et al., *An XOR-Based Erasure-Resilient Coding Scheme*,
//! ICSI TR-95-048), so any K symbols give the block: it never fails.
//!
//! **Random rows** from 256 on: the bytes of SplitMix64 (Steele, Lea and Flood, *Fast
//! splittable pseudorandom number generators*, OOPSLA 2014), seeded with K and `esi`. About
//! one block of 256 then takes one symbol more than K.

mod decoder;
mod encoder;
mod rows;

pub(crate) use self::decoder::new_decoder;
pub(crate) use self::encoder::LinearEncoder;

/// The largest K. Coefficients of a block take up to 3 K^2 bytes, and a symbol up to K^2
/// steps, so a peer must not choose more.
pub(crate) const MAX_SOURCE_SYMBOLS: u32 = 1024;
