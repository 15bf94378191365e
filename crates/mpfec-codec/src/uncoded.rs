//! No code: a lost source symbol has to be sent again.

use bytes::Bytes;

use crate::received::Received;
use crate::source::SourceBlock;
use crate::{
    BlockDecoder, BlockEncoder, DecodeError, EncodeError, EncodingSymbolId, Progress,
    SourceSymbols, SymbolSize,
};

/// Hands out source symbols and nothing else.
#[derive(Debug)]
pub(crate) struct UncodedEncoder {
    block: SourceBlock,
}

impl UncodedEncoder {
    pub(crate) fn new(size: SymbolSize) -> Self {
        Self {
            block: SourceBlock::new(size),
        }
    }
}

impl BlockEncoder for UncodedEncoder {
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
        let Some(symbol) = self.block.get(esi)? else {
            return Err(EncodeError::NoRepair {
                esi,
                source_symbols: self.block.len(),
            });
        };
        out.extend_from_slice(symbol);
        Ok(())
    }
}

/// Counts source symbols; keeps none of them.
#[derive(Debug)]
pub(crate) struct UncodedDecoder {
    source_symbols: SourceSymbols,
    size: SymbolSize,
    received: Received,
}

impl UncodedDecoder {
    pub(crate) fn new(source_symbols: SourceSymbols, size: SymbolSize) -> Self {
        Self {
            source_symbols,
            size,
            received: Received::new(source_symbols),
        }
    }
}

impl BlockDecoder for UncodedDecoder {
    fn push(&mut self, esi: EncodingSymbolId, symbol: Bytes) -> Result<Progress, DecodeError> {
        if esi.value() >= self.source_symbols.value() {
            return Err(DecodeError::NoRepair {
                esi,
                source_symbols: self.source_symbols,
            });
        }
        if symbol.is_empty() || symbol.len() > self.size.bytes() {
            return Err(DecodeError::SymbolSize {
                esi,
                got: symbol.len(),
                want: self.size.bytes(),
            });
        }
        if !self.received.insert(esi.value()) {
            return Ok(Progress::Redundant);
        }
        match self.missing() {
            0 => Ok(Progress::Complete),
            missing => Ok(Progress::Useful { missing }),
        }
    }

    fn poll_recovered(&mut self) -> Option<(u32, Bytes)> {
        None
    }

    fn missing(&self) -> u32 {
        self.received.absent()
    }
}
