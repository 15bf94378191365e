//! Keeps the symbols of a group until one is missing and the parity is here.

use bytes::Bytes;

use super::append_sum;
use crate::received::Received;
use crate::{BlockDecoder, DecodeError, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};

/// Recovers one lost symbol of one group. A group that arrives whole costs nothing.
#[derive(Debug)]
pub struct ParityDecoder {
    source_symbols: SourceSymbols,
    size: SymbolSize,
    received: Received,
    /// Source symbols and the parity; none once complete.
    symbols: Vec<Bytes>,
    has_parity: bool,
    recovered: Option<(u32, Bytes)>,
}

impl ParityDecoder {
    /// A decoder of one group of `source_symbols` symbols of `size` bytes.
    #[must_use]
    pub fn new(source_symbols: SourceSymbols, size: SymbolSize) -> Self {
        Self {
            source_symbols,
            size,
            received: Received::new(source_symbols),
            symbols: Vec::new(),
            has_parity: false,
            recovered: None,
        }
    }

    fn recover(&mut self) {
        let mut sum = Vec::new();
        let symbols = self.symbols.iter().map(|symbol| &symbol[..]);
        append_sum(&mut sum, self.size.bytes(), symbols);
        let position = self.received.iter_absent().next();
        self.recovered = position.map(|position| (position, sum.into()));
    }
}

impl BlockDecoder for ParityDecoder {
    fn push(&mut self, esi: EncodingSymbolId, symbol: Bytes) -> Result<Progress, DecodeError> {
        let (position, k) = (esi.value(), self.source_symbols.value());
        if position > k {
            return Err(DecodeError::NoRepair {
                esi,
                source_symbols: self.source_symbols,
            });
        }
        let is_parity = position == k;
        let (got, want) = (symbol.len(), self.size.bytes());
        if got == 0 || got > want || is_parity && got < want {
            return Err(DecodeError::SymbolSize { esi, got, want });
        }
        let is_new = self.missing() > 0
            && if is_parity {
                !std::mem::replace(&mut self.has_parity, true)
            } else {
                self.received.insert(position)
            };
        if !is_new {
            return Ok(Progress::Redundant);
        }
        self.symbols.push(symbol);
        match self.missing() {
            0 => {
                if self.received.absent() == 1 {
                    self.recover();
                }
                self.symbols = Vec::new();
                Ok(Progress::Complete)
            }
            missing => Ok(Progress::Useful { missing }),
        }
    }

    fn poll_recovered(&mut self) -> Option<(u32, Bytes)> {
        self.recovered.take()
    }

    fn missing(&self) -> u32 {
        self.received
            .absent()
            .saturating_sub(self.has_parity.into())
    }
}
