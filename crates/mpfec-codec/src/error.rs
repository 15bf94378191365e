//! Why a symbol was not taken or not made.

use crate::{EncodingSymbolId, SourceSymbols};

/// Why a block encoder did not take a source symbol or did not make a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A source symbol was empty or larger than the block's symbols.
    #[error("source symbol of {got} bytes where the block has {want}")]
    SymbolSize {
        /// Bytes it had.
        got: usize,
        /// The block's symbol size.
        want: usize,
    },
    /// The block has as many source symbols as a block may have.
    #[error("the block has {source_symbols} source symbols already")]
    Full {
        /// As many as a block of this code may have.
        source_symbols: u32,
    },
    /// The block takes no more source symbols: it was closed, or a short symbol ended it.
    #[error("the block ended after {source_symbols} source symbols")]
    Ended {
        /// Source symbols it has.
        source_symbols: u32,
    },
    /// The symbol lies beyond the source symbols of a block that is still open:
    /// it may become a source symbol or, once the block is closed, a repair symbol.
    #[error("symbol {esi} of an open block with {source_symbols} source symbols")]
    Open {
        /// The symbol asked for.
        esi: EncodingSymbolId,
        /// Source symbols so far.
        source_symbols: u32,
    },
    /// A repair symbol was asked for of a block that was closed without a source symbol.
    #[error("the block has no source symbols")]
    Empty,
    /// The code has no such repair symbol, or none at all.
    #[error("the code has no symbol {esi} for a block of {source_symbols} source symbols")]
    NoRepair {
        /// The symbol asked for.
        esi: EncodingSymbolId,
        /// The block's source symbols.
        source_symbols: u32,
    },
}

/// Why a block decoder did not take a symbol. The decoder is as it was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A source symbol was empty or larger than the block's symbols, or a repair
    /// symbol had not exactly their size.
    #[error("symbol {esi} of {got} bytes where the block has {want}")]
    SymbolSize {
        /// The symbol.
        esi: EncodingSymbolId,
        /// Bytes it had.
        got: usize,
        /// The block's symbol size.
        want: usize,
    },
    /// The code has no such repair symbol, or none at all.
    #[error("the code has no symbol {esi} for a block of {source_symbols} source symbols")]
    NoRepair {
        /// The symbol.
        esi: EncodingSymbolId,
        /// The block's source symbols.
        source_symbols: SourceSymbols,
    },
}
