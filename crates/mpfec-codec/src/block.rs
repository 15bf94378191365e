//! The two ends of a block: one makes its symbols, the other puts it together again.

use std::fmt;

use bytes::Bytes;

use crate::{DecodeError, EncodeError, EncodingSymbolId};

/// Makes the symbols of one source block, also while it still grows.
pub trait BlockEncoder: fmt::Debug + Send {
    /// Takes the next source symbol; its identifier is its position.
    ///
    /// Every symbol has exactly T bytes, except that the last one may be shorter:
    /// nothing can follow it. For coding it counts as filled with zeros.
    ///
    /// # Errors
    /// If the symbol is empty or too large, or the block is full or has ended.
    fn push_source(&mut self, symbol: Bytes) -> Result<(), EncodeError>;

    /// Fixes K; repair symbols exist from here on. Closing again changes nothing.
    fn close(&mut self);

    /// Says that about so many repair symbols will be asked for altogether, most likely
    /// one after the other. Changes nothing but what they cost: whether it pays to
    /// prepare the whole block, and how many to make at once. Without a word, the encoder
    /// expects as many more as there were.
    fn expect_repair(&mut self, _count: u32) {}

    /// Source symbols pushed so far; K once closed.
    fn source_symbols(&self) -> u32;

    /// Appends symbol `esi` to `out`: below K the source symbol as it was pushed
    /// (so the last one may be shorter than T), from K on a repair symbol of T bytes.
    ///
    /// # Errors
    /// If the symbol does not exist (yet); `out` is as it was then.
    fn encode(&mut self, esi: EncodingSymbolId, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}

/// Puts one source block together again from any of its symbols, in any order.
pub trait BlockDecoder: fmt::Debug + Send {
    /// Takes one symbol from the network. Any bytes are allowed; none panics.
    ///
    /// Source symbols may be shorter than T and count as filled with zeros; repair
    /// symbols have T bytes. A code cannot tell wrong bytes from right ones: they
    /// must have been authenticated. Keeps `symbol` (and so the buffer that it is
    /// a slice of) at most until the block is complete.
    ///
    /// # Errors
    /// If the symbol cannot belong to the block; the decoder is as it was then.
    fn push(&mut self, esi: EncodingSymbolId, symbol: Bytes) -> Result<Progress, DecodeError>;

    /// Next source symbol that was not received but decoded: its identifier and its
    /// T bytes, in ascending order, each once. There are none before the block is complete.
    fn poll_recovered(&mut self) -> Option<(u32, Bytes)>;

    /// How many distinct further symbols the block needs at least; 0 once complete.
    fn missing(&self) -> u32;
}

/// What a symbol did for its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing: the symbol is here already, or follows from those here, or the block is
    /// complete without it.
    Redundant,
    /// The block is nearer to completion but needs more.
    Useful {
        /// Distinct further symbols needed at least.
        missing: u32,
    },
    /// With this symbol every source symbol was received or can be had from
    /// [`BlockDecoder::poll_recovered`]. Said once.
    Complete,
}
