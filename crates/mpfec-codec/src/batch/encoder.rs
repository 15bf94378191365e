//! Makes random combinations of a batch.

use bytes::Bytes;

use super::MAX_BATCH;
use crate::source::SourceBlock;
use crate::{BlockEncoder, EncodeError, EncodingSymbolId, SymbolSize, gf256};

/// Encoder of one batch. Symbols from K on are the coefficients and the combination, K + T
/// bytes together.
#[derive(Debug)]
pub struct BatchEncoder {
    batch: SourceBlock,
    seed: u64,
}

impl BatchEncoder {
    /// An encoder of an empty batch of symbols of `size` bytes, whose coefficients follow from
    /// `seed`: batches with different seeds do not share their rare dependent combinations.
    #[must_use]
    pub fn new(size: SymbolSize, seed: u64) -> Self {
        Self {
            batch: SourceBlock::new(size),
            seed,
        }
    }

    /// Coefficients of symbol `esi`: bytes of SplitMix64, not all of them 0.
    fn coefficients(&self, esi: EncodingSymbolId) -> [u8; MAX_BATCH as usize] {
        let count = self.batch.len() as usize;
        let mut row = [0; MAX_BATCH as usize];
        let mut state = self.seed.rotate_left(24) ^ u64::from(esi.value());
        while row[..count].iter().all(|&c| c == 0) {
            for part in row[..count].chunks_mut(8) {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut mixed = state;
                mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                mixed ^= mixed >> 31;
                part.copy_from_slice(&mixed.to_le_bytes()[..part.len()]);
            }
        }
        row
    }
}

impl BlockEncoder for BatchEncoder {
    fn push_source(&mut self, symbol: Bytes) -> Result<(), EncodeError> {
        if self.batch.len() == MAX_BATCH {
            return Err(EncodeError::Full {
                source_symbols: MAX_BATCH,
            });
        }
        self.batch.push(symbol)
    }

    fn close(&mut self) {
        self.batch.close();
    }

    fn source_symbols(&self) -> u32 {
        self.batch.len()
    }

    fn encode(&mut self, esi: EncodingSymbolId, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if let Some(symbol) = self.batch.get(esi)? {
            out.extend_from_slice(symbol);
            return Ok(());
        }
        let count = self.batch.len() as usize;
        if count == 0 {
            return Err(EncodeError::Empty);
        }
        let row = self.coefficients(esi);
        let bytes = self.batch.symbol_size().bytes();
        out.reserve(count + bytes);
        out.extend_from_slice(&row[..count]);
        let symbols = self.batch.symbols().iter();
        let sources = symbols.map(|symbol| &symbol[..]).enumerate();
        gf256::append_dot(out, 1, bytes, &row, row.len(), sources);
        Ok(())
    }
}
