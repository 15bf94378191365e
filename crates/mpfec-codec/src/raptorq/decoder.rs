//! Few losses are decoded as any [`dense`](crate::dense) code's, symbol by symbol as they
//! arrive; many by way of the intermediate symbols ([`Restore`]), once enough are here.

use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::code::{self, Code};
use super::cost;
use super::restore::Restore;
use crate::dense::{self, Rows};
use crate::{BlockDecoder, DecodeError, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};

/// Decoder of one block. A block that arrives whole costs nothing.
pub(crate) struct RaptorQDecoder {
    symbols: dense::Decoder<Coefficients>,
    code: Coefficients,
    size: SymbolSize,
    attempts: Attempts,
}

/// What became of decoding by way of the intermediate symbols.
enum Attempts {
    /// It was too much work; so often.
    Failed(usize),
    /// The symbols did not suffice; it has all that are here.
    Unsolved(Restore),
}

impl RaptorQDecoder {
    pub(crate) fn new(source_symbols: SourceSymbols, size: SymbolSize) -> Self {
        let most_unknowns = cost::most_decoded(source_symbols.value());
        Self {
            symbols: dense::Decoder::new(
                Coefficients::new(source_symbols),
                source_symbols,
                size,
                most_unknowns,
            ),
            code: Coefficients::new(source_symbols),
            size,
            attempts: Attempts::Failed(0),
        }
    }

    /// Tries to decode the whole block. The last symbol that came is `esi`; it is wanted once
    /// more after a failure.
    fn restore(&mut self, esi: u32, symbol: Option<Bytes>) -> bool {
        let (code, size) = (self.code.get(), self.size.bytes());
        match &mut self.attempts {
            Attempts::Unsolved(restore) => {
                let Some(symbol) = symbol else { return false };
                if !restore.insert(code, esi, filled(&symbol, size)) {
                    return false;
                }
            }
            Attempts::Failed(failed) => {
                let held = self.symbols.symbols().count();
                let wanted = FURTHER
                    .get(*failed)
                    .map(|further| code.source_symbols() + further);
                if wanted.is_none_or(|wanted| held < wanted) {
                    return false;
                }
                let symbols = self.symbols.symbols();
                let symbols = symbols.map(|(esi, symbol)| (esi, filled(symbol, size)));
                let Some(restore) = Restore::new(code, symbols) else {
                    *failed += 1;
                    return false;
                };
                self.attempts = Attempts::Unsolved(restore);
            }
        }
        let Attempts::Unsolved(restore) = &mut self.attempts else {
            return false;
        };
        if !restore.is_solvable(code) {
            return false;
        }
        restore.prepare(code, self.symbols.absent());
        let mut decoded = self.symbols.memory_for_absent();
        restore.solve(size, &mut decoded);
        self.symbols.complete(decoded.freeze());
        self.attempts = Attempts::Failed(0);
        true
    }
}

impl BlockDecoder for RaptorQDecoder {
    fn push(&mut self, esi: EncodingSymbolId, symbol: Bytes) -> Result<Progress, DecodeError> {
        // Only those that come after a failure are wanted once more.
        let again = match self.attempts {
            Attempts::Unsolved(_) => Some(symbol.clone()),
            Attempts::Failed(_) => None,
        };
        let progress = self.symbols.push(esi, symbol)?;
        match progress {
            Progress::Redundant => return Ok(progress),
            Progress::Complete => {
                self.attempts = Attempts::Failed(0);
                return Ok(progress);
            }
            Progress::Useful { .. } => {}
        }
        if self.symbols.is_deferred() && self.restore(esi.value(), again) {
            return Ok(Progress::Complete);
        }
        Ok(progress)
    }

    fn poll_recovered(&mut self) -> Option<(u32, Bytes)> {
        self.symbols.poll_recovered()
    }

    fn missing(&self) -> u32 {
        self.symbols.missing()
    }
}

impl fmt::Debug for RaptorQDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RaptorQDecoder");
        debug
            .field("symbols", &self.symbols)
            .finish_non_exhaustive()
    }
}

/// The code, got when it is needed: a block that arrives whole needs none.
#[derive(Debug)]
struct Coefficients {
    source_symbols: SourceSymbols,
    code: OnceCell<Arc<Code>>,
}

impl Coefficients {
    fn new(source_symbols: SourceSymbols) -> Self {
        Self {
            source_symbols,
            code: OnceCell::new(),
        }
    }

    fn get(&self) -> &Code {
        self.code.get_or_init(|| Code::get(self.source_symbols))
    }
}

impl Rows for Coefficients {
    fn coefficients(&self, esi: u32, row: &mut [u8]) {
        self.get().coefficients(esi, row);
    }

    fn end(&self) -> u32 {
        code::end(self.source_symbols.value())
    }
}

/// The symbol, filled up with zeros to `size` bytes.
fn filled(symbol: &Bytes, size: usize) -> Bytes {
    if symbol.len() == size {
        return symbol.clone();
    }
    let mut filled = Vec::with_capacity(size);
    filled.extend_from_slice(symbol);
    filled.resize(size, 0);
    filled.into()
}

/// At how many symbols beyond K to try again when solving would have been too much work.
/// An honest sender's symbols are never so; a peer that chooses identifiers to cost us
/// time finds that attempts get rarer, and end.
const FURTHER: [usize; 7] = [0, 1, 2, 4, 8, 16, 32];
