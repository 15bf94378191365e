//! Puts a batch together from independent combinations.

use bytes::{Bytes, BytesMut};

use super::MAX_BATCH;
use crate::dense::System;
use crate::uncoded::UncodedDecoder;
use crate::{
    BlockDecoder, DecodeError, EncodingSymbolId, Progress, SourceSymbols, SymbolSize, gf256,
};

/// A decoder of a batch; of one that is too large to be one, only source symbols count.
pub(crate) fn new_decoder(batch: SourceSymbols, size: SymbolSize) -> Box<dyn BlockDecoder> {
    if batch.value() > MAX_BATCH {
        Box::new(UncodedDecoder::new(batch, size))
    } else {
        Box::new(BatchDecoder::new(batch, size))
    }
}

/// Keeps what is independent and eliminates as it comes.
#[derive(Debug)]
struct BatchDecoder {
    count: SourceSymbols,
    size: SymbolSize,
    /// Source symbols that came as they are; empty where none did.
    sources: Vec<Bytes>,
    /// Combinations, with their coefficients in front, as equations in the source symbols.
    combinations: Vec<Bytes>,
    system: System,
    is_complete: bool,
    recovered: Vec<(u32, Bytes)>,
}

impl BatchDecoder {
    fn new(count: SourceSymbols, size: SymbolSize) -> Self {
        let symbols = count.value() as usize;
        let mut system = System::default();
        system.start(symbols);
        Self {
            count,
            size,
            sources: vec![Bytes::new(); symbols],
            combinations: Vec::new(),
            system,
            is_complete: false,
            recovered: Vec::new(),
        }
    }

    /// Computes the source symbols that did not come.
    fn solve(&mut self) {
        self.is_complete = true;
        let symbols = self.sources.len();
        let unknown: Vec<u32> = (0..)
            .zip(&self.sources)
            .filter_map(|(at, symbol)| symbol.is_empty().then_some(at))
            .collect();
        let equations = self.system.equations();
        let mut factors = Vec::with_capacity(unknown.len() * equations);
        self.system.solve(&mut factors);
        // Each is the sum of its factors times the combinations, and of that times their
        // coefficients of the source symbols that are here.
        let width = symbols + equations;
        let rows: Vec<&[u8]> = self.combinations.iter().map(|c| &c[..symbols]).collect();
        let mut coefficients = vec![0; unknown.len() * width];
        for (all, factors) in coefficients
            .chunks_mut(width)
            .zip(factors.chunks(equations.max(1)))
        {
            let (here, combined) = all.split_at_mut(symbols);
            gf256::dot(&mut [here], factors, &rows);
            combined.copy_from_slice(factors);
        }
        let bytes = self.size.bytes();
        let mut memory = BytesMut::with_capacity(unknown.len() * bytes);
        let here = self.sources.iter().map(|symbol| &symbol[..]).enumerate();
        let combined = self.combinations.iter().map(|c| &c[symbols..]);
        let all = here.chain((symbols..).zip(combined));
        let count = unknown.len();
        gf256::append_dot(&mut memory, count, bytes, &coefficients, width, all);
        let mut recovered = memory.freeze();
        let symbols = unknown.into_iter();
        self.recovered = symbols.map(|at| (at, recovered.split_to(bytes))).collect();
        // Taken from the end.
        self.recovered.reverse();
        self.sources.fill(Bytes::new());
        self.combinations.clear();
    }
}

impl BlockDecoder for BatchDecoder {
    fn push(&mut self, esi: EncodingSymbolId, symbol: Bytes) -> Result<Progress, DecodeError> {
        let symbols = self.sources.len();
        let is_source = esi.value() < self.count.value();
        let bytes = self.size.bytes();
        let (got, want) = (
            symbol.len(),
            if is_source { bytes } else { symbols + bytes },
        );
        if got > want || got == 0 || !is_source && got < want {
            return Err(DecodeError::SymbolSize { esi, got, want });
        }
        if self.is_complete {
            return Ok(Progress::Redundant);
        }
        if is_source {
            let at = esi.value() as usize;
            if !self.sources[at].is_empty() {
                return Ok(Progress::Redundant);
            }
            let before = self.system.missing();
            self.system.know(at);
            self.sources[at] = symbol;
            if self.system.missing() == before {
                // It follows from the combinations, but a symbol that is here is one less to compute.
                return Ok(Progress::Redundant);
            }
        } else if self.system.push(symbol[..symbols].iter().copied()) {
            self.combinations.push(symbol);
        } else {
            return Ok(Progress::Redundant);
        }
        match self.system.missing() {
            0 => {
                self.solve();
                Ok(Progress::Complete)
            }
            missing => Ok(Progress::Useful {
                missing: missing as u32,
            }),
        }
    }

    fn poll_recovered(&mut self) -> Option<(u32, Bytes)> {
        self.recovered.pop()
    }

    fn missing(&self) -> u32 {
        if self.is_complete {
            0
        } else {
            self.system.missing() as u32
        }
    }
}
