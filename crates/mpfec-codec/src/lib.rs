//! Erasure codes of the mpfec transport: what the symbols of a source block are
//! (RFC 5052, RFC 6330).
//!
//! A sender cuts a piece of a stream, a **source block**, into K **source symbols**
//! of T bytes and derives as many **repair symbols** from them as it likes. A
//! receiver puts the block together from any K of all these **encoding symbols**
//! (with RaptorQ, in about one block of 200 it takes one more).
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
//!
//! The examples `encode_file` and `streaming_blocks` are whole programs.
//!
//! # Words
//!
//! | word | type | meaning |
//! | --- | --- | --- |
//! | K | [`SourceSymbols`] | source symbols of a block, 1 to 56403 |
//! | T | [`SymbolSize`] | bytes in a symbol, 1 to 65535; only a block's last source symbol may be shorter |
//! | ESI | [`EncodingSymbolId`] | position of a symbol in its block: below K source, from K on repair; 24 bits |
//! | SBN | | which block; none of this crate's business, an encoder or decoder sees one block |
//! | systematic | | source symbols are sent as they are; all codes here are but the pipeline code |
//! | overhead | | symbols beyond K that a block takes |
//! | MDS | | any K symbols give the block: there is no overhead |
//! | dense | | way of coding: a repair symbol is a sum of products of all source symbols |
//! | replay | | way of coding: the whole block at once, by a schedule that depends on identifiers alone |
//!
//! # Which code
//!
//! | code | K | repair symbols | overhead | for |
//! | --- | --- | --- | --- | --- |
//! | [`RaptorQ`](CodecKind::RaptorQ) | up to 56403 | 2^24 - K | 1 in about 1 of 200 blocks | blocks of any size; RFC 6330 on the wire |
//! | [`Linear`](CodecKind::Linear) | up to 1024 | 2^24 - K | none up to symbol 255, then as RaptorQ | few repairs of small blocks |
//! | [`pipeline`] | up to 32 | 224 | none | packets that must decode in order at once |
//! | [`batch`] | up to 32 | 2^24 - K | 1 in about 256 batches | comparison: coefficients travel with each symbol |
//! | [`parity`] | any | 1 | none | one loss in a group |
//! | [`Uncoded`](CodecKind::Uncoded) | up to 56403 | none | | links where sending again is cheap |
//!
//! [`CodecKind`] names those that a transport uses for its blocks, and
//! [`CodecKind::for_block`] chooses one by K.
//!
//! # What costs what
//!
//! - **Nothing lost costs nothing**: source symbols are passed on as they are. An encoder of
//!   which no repair symbol is asked has computed nothing, and so has a decoder that gets
//!   all source symbols.
//! - **Dense**: a repair symbol costs K products of T bytes, a lost symbol the same and m
//!   more, of m lost. Repair symbols are worked in as they arrive, six at a time, so that
//!   the last one costs little more than the others.
//! - **Replay**: the block costs about the same for any number of repair symbols, and each
//!   of these a few sums of T bytes.
//! - RaptorQ takes the cheaper of the two, which depends on the number of symbols and on the
//!   CPU, and hardly on K: dense for up to 52 repair symbols made and 72 lost symbols with
//!   AVX-512 and GFNI, 26 and 36 with AVX2 alone; 64 and 112, 34 and 58 from K = 2049 on,
//!   where only the first 256 repair symbols are coded that way. To choose before the
//!   first, the encoder has to know how many there will be:
//!   [`expect_repair`](BlockEncoder::expect_repair).
//! - What depends on K alone, coefficients and schedules, is computed with the first
//!   block of a K and kept: for up to 64 different K, up to 32 MiB altogether.
//!
//! docs/benchmarks.md has figures for all of this, and charts.
//!
//! # Memory
//!
//! Symbols go in and out as [`Bytes`](bytes::Bytes). Going in, they are not copied: an
//! encoder keeps its source symbols, a decoder what it received, at most until the block is
//! complete. Going out, those of a block are slices of one buffer. Besides them coding takes,
//! for a moment, what the block occupies once more, and coefficients and schedules.
//! Altogether these are at most 2.2 x K x T bytes, 300 more for each symbol, and 45 symbols
//! (`tests/memory.rs` counts), also when every source symbol is lost.
//!
//! All of that is used again by the next block: after the first few, a block takes two
//! allocations, the encoder or decoder itself and what it hands out, and a symbol none
//! (`tests/allocations.rs` counts). Idle memory is kept up to 32 MiB of a kind.
//!
//! # Hostile input
//!
//! Whatever a peer sends gives [`Progress`] or a [`DecodeError`], and never a panic. Symbols
//! of the wrong length or with identifiers that the code has not are refused, duplicates
//! and what says nothing new is dropped, and more repair symbols are not kept than could be
//! of use. A decoder occupies what arrived, not what was announced, except for one bit per
//! source symbol. Identifiers that were chosen to make decoding expensive make it fail
//! instead, which costs a peer its own block. `fuzz/fuzz_targets` tries all this.
//!
//! **No code can tell wrong bytes from right ones.** A forged symbol makes the block wrong:
//! authenticate symbols before they come here.
//!
//! # Arithmetic
//!
//! [`gf256`] has the sums and products for GFNI with AVX-512 or AVX2, for AVX2, SSSE3 and
//! NEON, and in plain Rust. The best that the CPU has is chosen once, at run time
//! ([`gf256::Kernel::best`]); all give the same bytes. `unsafe` is there and nowhere else.
//!
//! # Without std
//!
//! There is no clock, no I/O, no thread and no randomness here, and most of what is used is
//! in `core` and `alloc`. Three things are not, so the crate needs `std`: asking the CPU what
//! it has (`is_x86_feature_detected!`), `OnceLock` for what is computed once, and `Mutex`
//! around the pools of memory and codes.

pub mod batch;
mod block;
mod dense;
mod error;
pub mod gf256;
mod id;
mod kind;
mod linear;
pub mod parity;
pub mod pipeline;
mod pool;
mod raptorq;
mod received;
mod source;
mod uncoded;

pub use self::block::{BlockDecoder, BlockEncoder, Progress};
pub use self::error::{DecodeError, EncodeError};
pub use self::id::{EncodingSymbolId, OutOfRange, SourceSymbols, SymbolSize};
pub use self::kind::{CodecKind, UnknownCodec};
