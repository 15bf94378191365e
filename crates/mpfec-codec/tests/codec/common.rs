//! Blocks whose bytes follow from a seed, and what the tests do with them.

use bytes::Bytes;
use mpfec_codec::{
    BlockDecoder, BlockEncoder, CodecKind, EncodingSymbolId, SourceSymbols, SymbolSize,
};

pub(crate) fn esi(value: u32) -> EncodingSymbolId {
    EncodingSymbolId::new(value).expect("the test asks for 24 bits")
}

pub(crate) fn symbol_size(bytes: usize) -> SymbolSize {
    SymbolSize::new(bytes as u32).expect("the test asks for 1 to 9000 bytes")
}

/// Source symbols of `length` bytes altogether, cut every `bytes`.
pub(crate) fn source(length: usize, bytes: usize, seed: u64) -> Vec<Bytes> {
    let mut random = Random::new(seed);
    let all: Bytes = (0..length).map(|_| random.next() as u8).collect();
    (0..length)
        .step_by(bytes)
        .map(|start| all.slice(start..length.min(start + bytes)))
        .collect()
}

pub(crate) fn closed_encoder(
    kind: CodecKind,
    bytes: usize,
    source: &[Bytes],
) -> Box<dyn BlockEncoder> {
    let mut encoder = kind.encoder(symbol_size(bytes));
    for symbol in source {
        encoder
            .push_source(symbol.clone())
            .expect("symbols of a valid block");
    }
    encoder.close();
    encoder
}

pub(crate) fn decoder(
    kind: CodecKind,
    source_symbols: usize,
    bytes: usize,
) -> Box<dyn BlockDecoder> {
    let source_symbols =
        SourceSymbols::new(source_symbols as u32).expect("the test asks for 1 to 1024 symbols");
    kind.decoder(source_symbols, symbol_size(bytes))
}

pub(crate) fn encode(encoder: &mut dyn BlockEncoder, value: u32) -> Bytes {
    let mut out = Vec::new();
    encoder
        .encode(esi(value), &mut out)
        .expect("a closed block has the symbol");
    out.into()
}

/// The symbol, filled with zeros to `bytes`.
pub(crate) fn padded(symbol: &Bytes, bytes: usize) -> Bytes {
    let mut symbol = symbol.to_vec();
    symbol.resize(bytes, 0);
    symbol.into()
}

/// SplitMix64: a small generator that is the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for end in (1..values.len()).rev() {
            values.swap(end, self.below(end + 1));
        }
    }
}
