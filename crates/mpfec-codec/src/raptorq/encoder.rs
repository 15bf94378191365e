//! Source symbols as they came, repair symbols by whichever way is cheaper: each as a
//! sum of products of source symbols (`Dense`), or from the intermediate symbols of the
//! whole block (`Intermediate`, RFC 6330 §5.3).

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::code::Code;
use super::cost;
use super::intermediate::Intermediate;
use crate::dense::{self, Rows};
use crate::source::SourceBlock;
use crate::{BlockEncoder, EncodeError, EncodingSymbolId, SourceSymbols, SymbolSize};

/// Encoder of one block. A block that never needs repair never costs more than its
/// source symbols.
pub(crate) struct RaptorQEncoder {
    block: SourceBlock,
    /// Repair symbols that were announced.
    expected: u32,
    repair: Repair,
}

enum Repair {
    /// None was asked for.
    Unasked,
    /// They are made some at a time.
    Dense {
        code: Arc<Code>,
        encoder: dense::Encoder,
    },
    /// The work for the whole block is done.
    Intermediate(Intermediate),
}

impl RaptorQEncoder {
    pub(crate) fn new(size: SymbolSize) -> Self {
        Self {
            block: SourceBlock::new(size),
            expected: 0,
            repair: Repair::Unasked,
        }
    }

    fn encode_repair(&mut self, esi: u32, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let size = self.block.symbol_size().bytes();
        if let Repair::Unasked = self.repair {
            let source_symbols = SourceSymbols::new(self.block.len()).ok_or(EncodeError::Empty)?;
            self.repair = Repair::Dense {
                code: Code::get(source_symbols),
                encoder: dense::Encoder::new(),
            };
        }
        if let Repair::Dense { code, encoder } = &mut self.repair {
            if encoder.append_ready(esi, out) {
                return Ok(());
            }
            encoder.expect(self.expected);
            let altogether = self.expected.max(encoder.made() + 1);
            if altogether <= cost::most_made(self.block.len()) && esi < code.end() {
                encoder.append(&**code, self.block.symbols(), size, esi, out);
                return Ok(());
            }
            let intermediate = Intermediate::new(code, self.block.symbols(), size);
            self.repair = Repair::Intermediate(intermediate);
        }
        if let Repair::Intermediate(intermediate) = &self.repair {
            intermediate.append(esi, out);
        }
        Ok(())
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

    fn expect_repair(&mut self, count: u32) {
        self.expected = self.expected.max(count);
    }

    fn encode(&mut self, esi: EncodingSymbolId, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if let Some(symbol) = self.block.get(esi)? {
            out.extend_from_slice(symbol);
            return Ok(());
        }
        self.encode_repair(esi.value(), out)
    }
}

impl fmt::Debug for RaptorQEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let repair = match self.repair {
            Repair::Unasked => "none",
            Repair::Dense { .. } => "dense",
            Repair::Intermediate(_) => "intermediate",
        };
        let mut debug = f.debug_struct("RaptorQEncoder");
        debug
            .field("block", &self.block)
            .field("repair", &repair)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_repair_symbols_as_are_cheaper_one_by_one_are_made_so() {
        let size = SymbolSize::new(4).expect("a valid size");
        let mut encoder = RaptorQEncoder::new(size);
        for symbol in 0..100 {
            let pushed = encoder.push_source(Bytes::from(vec![symbol; 4]));
            assert_eq!(pushed, Ok(()));
        }
        encoder.close();
        let most = cost::most_made(100);
        encoder.expect_repair(most);
        for (count, way) in [(most, "dense"), (most + 1, "intermediate")] {
            for esi in 100..100 + count {
                let esi = EncodingSymbolId::new(esi).expect("a valid ESI");
                assert_eq!(encoder.encode(esi, &mut Vec::new()), Ok(()));
            }
            assert!(format!("{encoder:?}").contains(way), "{encoder:?}");
        }
    }
}
