//! Collects symbols until they can give the block, then solves (RFC 6330 §5.4).

use std::collections::{BTreeSet, VecDeque};
use std::{fmt, mem};

use ::raptorq::{EncodingPacket, PayloadId, SourceBlockDecoder};
use bytes::Bytes;

use super::{SOURCE_BLOCK, transmission_information};
use crate::received::Received;
use crate::{BlockDecoder, DecodeError, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};

/// Decoder of one block. Until K symbols are here it only keeps them; a block that
/// arrives whole is never solved.
pub(crate) struct RaptorQDecoder {
    source_symbols: SourceSymbols,
    size: SymbolSize,
    received: Received,
    repairs: BTreeSet<EncodingSymbolId>,
    state: State,
    recovered: VecDeque<(u32, Bytes)>,
}

enum State {
    /// Repair symbols help.
    Collecting {
        /// Symbols that the solver has not seen yet.
        symbols: Vec<(EncodingSymbolId, Bytes)>,
        /// Made at the first attempt, then has all symbols of that and later attempts.
        solver: Option<Box<SourceBlockDecoder>>,
        /// Attempts that failed, below `ATTEMPTS.len()`.
        failed: usize,
    },
    /// Every attempt failed, which symbols of an honest sender do not do: only source
    /// symbols help.
    Unsolvable,
    /// Nothing is needed any more.
    Complete,
}

impl RaptorQDecoder {
    pub(crate) fn new(source_symbols: SourceSymbols, size: SymbolSize) -> Self {
        Self {
            source_symbols,
            size,
            received: Received::new(source_symbols),
            repairs: BTreeSet::new(),
            state: State::Collecting {
                symbols: Vec::new(),
                solver: None,
                failed: 0,
            },
            recovered: VecDeque::new(),
        }
    }

    fn is_source(&self, esi: EncodingSymbolId) -> bool {
        esi.value() < self.source_symbols.value()
    }

    fn check_size(&self, esi: EncodingSymbolId, got: usize) -> Result<(), DecodeError> {
        let want = self.size.bytes();
        let fits = if self.is_source(esi) {
            1 <= got && got <= want
        } else {
            got == want
        };
        if fits {
            Ok(())
        } else {
            Err(DecodeError::SymbolSize { esi, got, want })
        }
    }

    /// Notes that a symbol is here; false if it brings nothing.
    fn note(&mut self, esi: EncodingSymbolId) -> bool {
        match self.state {
            State::Complete => false,
            _ if self.is_source(esi) => self.received.insert(esi.value()),
            State::Collecting { .. } => self.repairs.insert(esi),
            State::Unsolvable => false,
        }
    }

    /// Distinct symbols here.
    fn held(&self) -> u32 {
        // There are at most K + the last of ATTEMPTS of them.
        self.received.count() + self.repairs.len() as u32
    }

    /// Solves if the symbols suffice for another attempt.
    fn attempt(&mut self) {
        let enough = self.missing_to_attempt() == Some(0);
        let State::Collecting {
            symbols,
            solver,
            failed,
        } = &mut self.state
        else {
            return;
        };
        if !enough {
            return;
        }
        let bytes = self.size.bytes();
        let length = self.source_symbols.value() as usize * bytes;
        let solver = solver.get_or_insert_with(|| {
            let information = transmission_information(length, self.size);
            Box::new(SourceBlockDecoder::new(
                SOURCE_BLOCK,
                &information,
                length as u64,
            ))
        });
        let packets = mem::take(symbols)
            .into_iter()
            .map(|(esi, symbol)| to_packet(esi, &symbol, bytes));
        if let Some(block) = solver.decode(packets) {
            self.recover(&block);
            self.complete();
            return;
        }
        *failed += 1;
        if *failed == ATTEMPTS.len() {
            self.state = State::Unsolvable;
            self.repairs = BTreeSet::new();
        }
    }

    /// Copies what was absent out of the block, so that it does not hold the rest in memory.
    fn recover(&mut self, block: &[u8]) {
        let bytes = self.size.bytes();
        let absent = self.received.iter_absent();
        let mut copy = Vec::with_capacity(self.received.absent() as usize * bytes);
        let positions: Vec<u32> = absent
            .inspect(|&position| {
                copy.extend_from_slice(&block[position as usize * bytes..][..bytes])
            })
            .collect();
        let mut copy = Bytes::from(copy);
        self.recovered = positions
            .into_iter()
            .map(|position| (position, copy.split_to(bytes)))
            .collect();
    }

    fn complete(&mut self) {
        self.state = State::Complete;
        self.repairs = BTreeSet::new();
    }

    /// Symbols until the next attempt to solve, or `None` when there will be none.
    fn missing_to_attempt(&self) -> Option<u32> {
        let State::Collecting { failed, .. } = self.state else {
            return None;
        };
        let wanted = self.source_symbols.value() + ATTEMPTS[failed];
        Some(wanted.saturating_sub(self.held()))
    }
}

impl BlockDecoder for RaptorQDecoder {
    fn push(&mut self, esi: EncodingSymbolId, symbol: Bytes) -> Result<Progress, DecodeError> {
        self.check_size(esi, symbol.len())?;
        if !self.note(esi) {
            return Ok(Progress::Redundant);
        }
        if self.received.absent() == 0 {
            self.complete();
            return Ok(Progress::Complete);
        }
        if let State::Collecting { symbols, .. } = &mut self.state {
            symbols.push((esi, symbol));
        }
        self.attempt();
        match self.missing() {
            0 => Ok(Progress::Complete),
            missing => Ok(Progress::Useful { missing }),
        }
    }

    fn poll_recovered(&mut self) -> Option<(u32, Bytes)> {
        self.recovered.pop_front()
    }

    fn missing(&self) -> u32 {
        match self.state {
            State::Complete => 0,
            _ => self
                .missing_to_attempt()
                .unwrap_or(u32::MAX)
                .min(self.received.absent()),
        }
    }
}

impl fmt::Debug for RaptorQDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Collecting { .. } => "collecting",
            State::Unsolvable => "unsolvable",
            State::Complete => "complete",
        };
        let mut debug = f.debug_struct("RaptorQDecoder");
        debug
            .field("received", &self.received)
            .field("repairs", &self.repairs.len());
        debug.field("state", &state).finish_non_exhaustive()
    }
}

fn to_packet(esi: EncodingSymbolId, symbol: &[u8], bytes: usize) -> EncodingPacket {
    let mut padded = Vec::with_capacity(bytes);
    padded.extend_from_slice(symbol);
    padded.resize(bytes, 0);
    EncodingPacket::new(PayloadId::new(SOURCE_BLOCK, esi.value()), padded)
}

/// At how many symbols beyond K to solve. Symbols of an honest sender fail with a
/// probability of about 1/256 at K and 256 times less with each further one. A peer
/// can choose identifiers that always fail, and an attempt costs milliseconds: so
/// attempts get rarer, and end.
const ATTEMPTS: [u32; 8] = [0, 1, 2, 4, 8, 16, 32, 64];
