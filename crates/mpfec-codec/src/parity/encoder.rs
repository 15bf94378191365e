//! Source symbols as they came, and their sum.

use bytes::Bytes;

use super::append_sum;
use crate::source::SourceBlock;
use crate::{BlockEncoder, EncodeError, EncodingSymbolId, SymbolSize};

/// Makes the parity symbol of one group.
#[derive(Debug)]
pub struct ParityEncoder {
    block: SourceBlock,
}

impl ParityEncoder {
    /// An encoder of an empty group of symbols of `size` bytes.
    #[must_use]
    pub fn new(size: SymbolSize) -> Self {
        Self {
            block: SourceBlock::new(size),
        }
    }
}

impl BlockEncoder for ParityEncoder {
    fn push_source(&mut self, symbol: Bytes) -> Result<(), EncodeError> {
        self.block.push(symbol)
    }

    fn close(&mut self) {
        self.block.close();
    }

    fn source_symbols(&self) -> u32 {
        self.block.len()
    }

    fn encode(&mut self, esi: EncodingSymbolId, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if let Some(symbol) = self.block.get(esi)? {
            out.extend_from_slice(symbol);
            return Ok(());
        }
        let source_symbols = self.block.len();
        if source_symbols == 0 {
            return Err(EncodeError::Empty);
        }
        if esi.value() > source_symbols {
            return Err(EncodeError::NoRepair {
                esi,
                source_symbols,
            });
        }
        let symbols = self.block.symbols().iter().map(|symbol| &symbol[..]);
        append_sum(out, self.block.symbol_size().bytes(), symbols);
        Ok(())
    }
}
