//! Blocks of a stream on their way: cut into symbols at one end, put together again at the
//! other. State, feedback and memory are per block, never per gap.

mod bitmap;
mod queue;
mod receiver;
mod sender;
mod undecoded;

use mpfec_codec::CodecKind;

pub(crate) use self::queue::{SendQueue, Slot};
pub(crate) use self::receiver::{BlockReceiver, Insertion};
pub(crate) use self::sender::{BlockSender, MIN_SYMBOL_ROOM, Origin};

/// Most source symbols in a block (K), on either side.
pub(crate) const MAX_SOURCE_SYMBOLS: u32 = 1024;
/// Most source symbols in a block whose repair symbols are of the linear code, on either side: to
/// decode K unknowns takes K^3 steps, and all connections of an endpoint wait meanwhile.
pub(crate) const MAX_LINEAR_SYMBOLS: u32 = 256;
/// Most source symbols in a block that is pipeline-coded or has combinations with coefficients,
/// on either side.
pub(crate) const MAX_GROUP_SYMBOLS: u32 = mpfec_codec::batch::MAX_BATCH;
const _: () = assert!(MAX_GROUP_SYMBOLS as usize == mpfec_codec::pipeline::MAX_GROUP);

/// Most source symbols in a block of this code, on either side.
pub(crate) fn max_source_symbols(codec: CodecKind) -> u32 {
    match codec {
        CodecKind::Pipeline | CodecKind::Batch | CodecKind::BatchMixed => MAX_GROUP_SYMBOLS,
        CodecKind::Linear => MAX_LINEAR_SYMBOLS,
        CodecKind::Auto | CodecKind::RaptorQ | CodecKind::Uncoded => MAX_SOURCE_SYMBOLS,
    }
}
