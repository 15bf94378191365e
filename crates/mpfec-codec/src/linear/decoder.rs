//! The decoder: [`dense`](crate::dense)'s, with this code's coefficients.

use super::MAX_SOURCE_SYMBOLS;
use super::rows::LinearRows;
use crate::dense::Decoder;
use crate::uncoded::UncodedDecoder;
use crate::{BlockDecoder, SourceSymbols, SymbolSize};

/// A decoder of one block. One with more than [`MAX_SOURCE_SYMBOLS`], which no encoder
/// makes, has no repair symbols.
pub(crate) fn new_decoder(
    source_symbols: SourceSymbols,
    size: SymbolSize,
) -> Box<dyn BlockDecoder> {
    if source_symbols.value() > MAX_SOURCE_SYMBOLS {
        return Box::new(UncodedDecoder::new(source_symbols, size));
    }
    Box::new(Decoder::new(
        LinearRows,
        source_symbols,
        size,
        MAX_SOURCE_SYMBOLS,
    ))
}
