//! Erasure codes of the mpfec transport: what the symbols of a source block are
//! (RFC 5052, RFC 6330).
//!
//! A sender cuts a piece of a stream, a **source block**, into K **source symbols**
//! of T bytes and derives as many **repair symbols** from them as it likes. A
//! receiver puts the block together from any K of all these **encoding symbols**
//! (with RaptorQ, in about one block of 256 it takes one more).
//!
//! | word | type | meaning |
//! | --- | --- | --- |
//! | ESI | [`EncodingSymbolId`] | position of a symbol in its block: below K source, from K on repair; 24 bits |
//! | K | [`SourceSymbols`] | source symbols of a block, 1 to 1024 |
//! | T | [`SymbolSize`] | bytes in a symbol, 1 to 9000; only a block's last source symbol may be shorter |
//! | SBN | | which block; none of this crate's business, an encoder or decoder sees one block |
//!
//! [`CodecKind`] names the codes and makes their [`BlockEncoder`]s and
//! [`BlockDecoder`]s. There is no clock, no I/O and no randomness here, and nothing
//! that a peer can send panics.
//!
//! ```
//! use bytes::Bytes;
//! use mpfec_codec::{CodecKind, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let size = SymbolSize::try_from(5)?;
//! let mut encoder = CodecKind::RaptorQ.encoder(size);
//! for symbol in ["three", "sourc", "e"] {
//!     encoder.push_source(Bytes::from(symbol))?;
//! }
//! encoder.close();
//!
//! // Symbol 1 is lost; 7 is one of the repair symbols.
//! let mut decoder = CodecKind::RaptorQ.decoder(SourceSymbols::try_from(3)?, size);
//! let mut progress = Progress::Redundant;
//! for esi in [0, 2, 7] {
//!     let esi = EncodingSymbolId::try_from(esi)?;
//!     let mut symbol = Vec::new();
//!     encoder.encode(esi, &mut symbol)?;
//!     progress = decoder.push(esi, symbol.into())?;
//! }
//! assert_eq!(progress, Progress::Complete);
//! assert_eq!(decoder.poll_recovered(), Some((1, Bytes::from("sourc"))));
//! # Ok(())
//! # }
//! ```

mod block;
mod error;
mod id;
mod kind;
mod raptorq;
mod received;
mod source;
mod uncoded;

pub use self::block::{BlockDecoder, BlockEncoder, Progress};
pub use self::error::{DecodeError, EncodeError};
pub use self::id::{EncodingSymbolId, OutOfRange, SourceSymbols, SymbolSize};
pub use self::kind::{CodecKind, UnknownCodec};
