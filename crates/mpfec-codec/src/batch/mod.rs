//! Batch network coding, as in MPTCP/NC, NC-MPTCP and CMT-NC: every coded symbol is a random
//! linear combination of a batch and carries its own coefficients.
//!
//! A coded symbol of a batch of K source symbols of T bytes is K + T bytes long: the
//! coefficients in GF(2^8), then the sum of products. Its number, from K on, names it and
//! says nothing else. Source symbols may come as they are and count as combinations with one
//! coefficient. Any K independent symbols give the batch; K random ones are dependent in
//! about one case of 256, and one that follows from those here is of no use.
//!
//! It is here as what the [pipeline code](crate::pipeline) is compared with: nothing can leave
//! before the batch is full, nothing can be read before it is decoded, and the coefficients
//! cost K bytes in each symbol.

mod decoder;
mod encoder;

pub(crate) use self::decoder::new_decoder;
pub use self::encoder::BatchEncoder;

/// The most source symbols of a batch: groups of 20, the largest that are formed (PNC §IV-B),
/// stay below when their symbols become smaller by a third.
pub const MAX_BATCH: u32 = 32;

#[cfg(test)]
mod tests;
