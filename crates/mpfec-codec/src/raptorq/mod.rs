//! RaptorQ (RFC 6330) on the `raptorq` crate, with one block, one sub-block and no
//! alignment (Z = N = Al = 1).
//!
//! That crate asserts what it is given and keeps whatever it gets, so everything is
//! checked and counted here first.

mod decoder;
mod encoder;
mod plan;

use ::raptorq::ObjectTransmissionInformation;

pub(crate) use self::decoder::RaptorQDecoder;
pub(crate) use self::encoder::RaptorQEncoder;
use crate::SymbolSize;

/// What the `raptorq` crate wants to know of a block of `bytes`, a multiple of T.
fn transmission_information(bytes: usize, size: SymbolSize) -> ObjectTransmissionInformation {
    let (source_blocks, sub_blocks, alignment) = (1, 1, 1);
    ObjectTransmissionInformation::new(
        bytes as u64,
        size.value(),
        source_blocks,
        sub_blocks,
        alignment,
    )
}

/// Its number for the only block.
const SOURCE_BLOCK: u8 = 0;
