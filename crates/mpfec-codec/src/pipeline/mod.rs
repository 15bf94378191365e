//! The pipeline code of MPTCP-PNC: packets of a group are coded as they come, and decode
//! as they arrive in order.
//!
//! Coded packet m of a group of N is `C_m = P_m + sum_{j<m} e_{m,j} P_j` (PNC Eq. 1), so
//! the coefficients of all coded packets are a lower triangular matrix L with ones on the
//! diagonal (the paper's CPCM). From N on there are redundant packets, with the rows of
//! the paper's RPCM. Any N packets give the group.
//!
//! **How that is so.** The redundant packets are the coded packets times a Cauchy matrix:
//! RPCM = Cauchy L. Any N rows of `[L; Cauchy L] = [I; Cauchy] L` are then regular, as any
//! N rows of `[I; Cauchy]` and L are: no check is needed when a packet arrives. It also
//! makes decoding two small steps: missing coded packets from redundant ones, then the
//! packets by the inverse of L, which is computed once.
//!
//! **What both ends must agree on**: the field (0x11D, see [`gf256`](crate::gf256)), and a
//! seed, from which [`PipelineCode`] takes L; coefficients are never sent. The group's size,
//! at most [`MAX_GROUP`], is known to the receiver before its packets.

mod code;
mod decoder;
mod encoder;

pub use self::code::{MAX_GROUP, PipelineCode};
pub use self::decoder::PipelineDecoder;
pub use self::encoder::PipelineEncoder;
