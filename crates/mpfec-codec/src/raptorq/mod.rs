//! RaptorQ (RFC 6330), with one block, one sub-block and no alignment (Z = N = Al = 1).
//!
//! The RFC says which sums of source symbols the repair symbols are, not how to come by
//! them. There are two ways here, and `cost` knows which is cheaper:
//!
//! - **Symbol by symbol**, for few: every repair symbol is a sum of products of source
//!   symbols. `code` keeps the coefficients for K, and the rest is [`dense`](crate::dense).
//! - **The whole block**, for many: the intermediate symbols (§5.3.3), of which every
//!   encoding symbol is a short sum. `elimination` finds out how they follow from the
//!   symbols that are here, from identifiers alone (`table`, `tuple`, `matrix`, `peel`,
//!   `residual`); `program` is the work on symbols that results, done strip by strip
//!   (`strips`). For encoding it depends on K alone and is kept (`code`, `intermediate`);
//!   for decoding it is made for each block (`restore`).
//!
//! Symbols that a peer chose to cost us time cost no more than others, see
//! `elimination::most_inactive`, and those that tell nothing are not kept.

mod code;
mod cost;
mod decoder;
mod elimination;
mod encoder;
mod intermediate;
mod matrix;
mod peel;
mod program;
mod residual;
mod restore;
mod strips;
mod table;
mod transposed;
mod tuple;

pub(crate) use self::decoder::RaptorQDecoder;
pub(crate) use self::encoder::RaptorQEncoder;

#[cfg(test)]
mod tests;
