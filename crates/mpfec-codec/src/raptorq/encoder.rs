//! Source symbols as they came, repair symbols from the intermediate symbols
//! (RFC 6330 §5.3).

use std::fmt;

use ::raptorq::SourceBlockEncoder;
use bytes::Bytes;

use super::{SOURCE_BLOCK, plan, transmission_information};
use crate::source::SourceBlock;
use crate::{BlockEncoder, EncodeError, EncodingSymbolId, SourceSymbols, SymbolSize};

/// Encoder of one block. A block that never needs repair never costs more than its
/// source symbols.
pub(crate) struct RaptorQEncoder {
    block: SourceBlock,
    /// Holds the intermediate symbols, from the first repair symbol on.
    repair: Option<SourceBlockEncoder>,
}

impl RaptorQEncoder {
    pub(crate) fn new(size: SymbolSize) -> Self {
        Self {
            block: SourceBlock::new(size),
            repair: None,
        }
    }

    fn prepare_repair(block: &SourceBlock) -> Result<SourceBlockEncoder, EncodeError> {
        let source_symbols = SourceSymbols::new(block.len()).ok_or(EncodeError::Empty)?;
        let source = block.to_padded_vec();
        let information = transmission_information(source.len(), block.symbol_size());
        let plan = plan::plan(source_symbols.into());
        Ok(SourceBlockEncoder::with_encoding_plan(
            SOURCE_BLOCK,
            &information,
            &source,
            &plan,
        ))
    }
}

impl BlockEncoder for RaptorQEncoder {
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
        let repair = match &mut self.repair {
            Some(repair) => repair,
            none => none.insert(Self::prepare_repair(&self.block)?),
        };
        // `get` said that it is not a source symbol, so it is at or above K.
        let first = esi.value() - self.block.len();
        for packet in repair.repair_packets(first, 1) {
            out.extend_from_slice(packet.data());
        }
        Ok(())
    }
}

impl fmt::Debug for RaptorQEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RaptorQEncoder");
        debug
            .field("block", &self.block)
            .field("has_repair", &self.repair.is_some())
            .finish()
    }
}
