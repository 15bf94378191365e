//! Source symbols as they came, repair symbols as sums of products.

use bytes::Bytes;

use super::MAX_SOURCE_SYMBOLS;
use super::rows::LinearRows;
use crate::dense::Encoder;
use crate::source::SourceBlock;
use crate::{BlockEncoder, EncodeError, EncodingSymbolId, SymbolSize};

/// Encoder of one block.
#[derive(Debug)]
pub(crate) struct LinearEncoder {
    block: SourceBlock,
    /// Made when the first repair symbol is asked for.
    repair: Option<Encoder>,
    expected: u32,
}

impl LinearEncoder {
    pub(crate) fn new(size: SymbolSize) -> Self {
        Self {
            block: SourceBlock::new(size),
            repair: None,
            expected: 0,
        }
    }
}

impl BlockEncoder for LinearEncoder {
    fn push_source(&mut self, symbol: Bytes) -> Result<(), EncodeError> {
        if self.block.len() >= MAX_SOURCE_SYMBOLS {
            return Err(EncodeError::Full {
                source_symbols: MAX_SOURCE_SYMBOLS,
            });
        }
        self.block.push(symbol)
    }

    fn close(&mut self) {
        self.block.close();
    }

    fn expect_repair(&mut self, count: u32) {
        self.expected = self.expected.max(count);
    }

    fn source_symbols(&self) -> u32 {
        self.block.len()
    }

    fn encode(&mut self, esi: EncodingSymbolId, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if let Some(symbol) = self.block.get(esi)? {
            out.extend_from_slice(symbol);
            return Ok(());
        }
        if self.block.len() == 0 {
            return Err(EncodeError::Empty);
        }
        let size = self.block.symbol_size().bytes();
        let repair = self.repair.get_or_insert_with(Encoder::new);
        repair.expect(self.expected);
        repair.append(&LinearRows, self.block.symbols(), size, esi.value(), out);
        Ok(())
    }
}
