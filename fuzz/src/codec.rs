//! What the targets of the codecs share: all codes behind the same calls, and what must
//! hold after every push, whatever was pushed.

use arbitrary::Arbitrary;
use bytes::Bytes;
use mpfec_codec::batch::MAX_BATCH;
use mpfec_codec::parity::{ParityDecoder, ParityEncoder};
use mpfec_codec::pipeline::{MAX_GROUP, PipelineCode, PipelineDecoder, PipelineEncoder};
use mpfec_codec::{
    BlockDecoder, BlockEncoder, CodecKind, DecodeError, EncodingSymbolId, Progress, SourceSymbols,
    SymbolSize,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Arbitrary)]
pub enum Code {
    RaptorQ,
    Linear,
    Uncoded,
    Parity,
    Pipeline,
    Batch,
}

impl Code {
    /// A K that the code can have, from any number: mostly small, which reaches most states
    /// soonest. Some are so large that RaptorQ decodes the whole block.
    pub fn source_symbols(self, any: u16) -> u32 {
        let any = u32::from(any);
        match self {
            Self::Pipeline => any % MAX_GROUP as u32 + 1,
            Self::Batch => any % MAX_BATCH + 1,
            Self::RaptorQ if any % 4 == 3 => [90, 150, 257, 400][any as usize / 4 % 4],
            Self::Linear if any % 4 == 3 => [100, 200, 256, 300][any as usize / 4 % 4],
            _ => any / 4 % 40 + 1,
        }
    }

    /// Whether any K symbols that it took give the block.
    fn never_fails(self, esi: u32) -> bool {
        match self {
            Self::RaptorQ | Self::Batch => false,
            Self::Linear => esi < 256,
            Self::Uncoded | Self::Parity | Self::Pipeline => true,
        }
    }

    /// Bytes of a symbol of a block of K symbols of `bytes`: combinations have their
    /// coefficients in front.
    pub fn symbol_length(self, k: u32, bytes: usize, esi: u32) -> usize {
        let coefficients = if self == Self::Batch && esi >= k {
            k
        } else {
            0
        };
        coefficients as usize + bytes
    }

    /// Whether a symbol of `length` bytes may belong to a block of K symbols of `bytes`.
    fn fits(self, k: u32, bytes: usize, esi: u32, length: usize) -> bool {
        let exists = match self {
            Self::RaptorQ | Self::Linear | Self::Batch => true,
            Self::Uncoded => esi < k,
            Self::Parity => esi <= k,
            Self::Pipeline => esi < k + 256 - MAX_GROUP as u32,
        };
        let may_be_short = esi < k && self != Self::Pipeline;
        let full = self.symbol_length(k, bytes, esi);
        exists && (length == full || may_be_short && (1..bytes).contains(&length))
    }
}

/// A symbol size from any number: about vectors' and cache lines'.
pub fn symbol_bytes(any: u8) -> usize {
    const SIZES: [usize; 12] = [1, 2, 3, 7, 16, 33, 63, 64, 65, 130, 257, 600];
    SIZES[usize::from(any) % SIZES.len()]
}

/// `length` bytes that follow from a seed.
pub fn noise(seed: u32, length: usize) -> Bytes {
    let mut state = u64::from(seed) * 2 + 1;
    (0..length)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        })
        .collect()
}

/// The sender of a block that has all its source symbols.
pub enum Encoder {
    Block(Box<dyn BlockEncoder>),
    Pipeline(PipelineEncoder),
}

impl Encoder {
    pub fn new(code: Code, bytes: usize, source: &[Bytes]) -> Self {
        let size = size(bytes);
        let mut encoder: Box<dyn BlockEncoder> = match code {
            Code::RaptorQ => CodecKind::RaptorQ.encoder(size),
            Code::Linear => CodecKind::Linear.encoder(size),
            Code::Uncoded => CodecKind::Uncoded.encoder(size),
            Code::Parity => Box::new(ParityEncoder::new(size)),
            Code::Batch => CodecKind::Batch.encoder(size),
            Code::Pipeline => {
                let mut encoder = PipelineEncoder::new(PipelineCode::new(SEED), size);
                for packet in source {
                    encoder.push(packet.clone()).expect("a packet of a group");
                }
                encoder.close();
                return Self::Pipeline(encoder);
            }
        };
        for symbol in source {
            let pushed = encoder.push_source(symbol.clone());
            pushed.expect("a symbol of a valid block");
        }
        encoder.close();
        Self::Block(encoder)
    }

    /// The symbol, in memory that ends where it ends; none if the code has none.
    pub fn encode(&mut self, esi: u32) -> Option<Bytes> {
        let mut out = Vec::new();
        let made = match self {
            Self::Block(encoder) => encoder.encode(id(esi), &mut out),
            Self::Pipeline(encoder) => encoder.encode(esi..esi + 1, &mut out),
        };
        made.is_ok().then(|| Bytes::copy_from_slice(&out))
    }
}

/// A decoder and what is known about it.
pub struct Watched {
    code: Code,
    k: u32,
    bytes: usize,
    decoder: Decoder,
    is_complete: bool,
    /// Source symbols that it took.
    sources: Vec<bool>,
    /// How many symbols it took.
    taken: u32,
    /// Any K of these would have been enough.
    never_fails: bool,
    /// They were what the sender sent.
    is_true: bool,
}

enum Decoder {
    Block(Box<dyn BlockDecoder>),
    Pipeline(Box<PipelineDecoder>),
}

impl Watched {
    pub fn new(code: Code, k: u32, bytes: usize) -> Self {
        let source_symbols = SourceSymbols::new(k).expect("a valid K");
        let size = size(bytes);
        let block: Box<dyn BlockDecoder> = match code {
            Code::RaptorQ => CodecKind::RaptorQ.decoder(source_symbols, size),
            Code::Linear => CodecKind::Linear.decoder(source_symbols, size),
            Code::Uncoded => CodecKind::Uncoded.decoder(source_symbols, size),
            Code::Batch => CodecKind::Batch.decoder(source_symbols, size),
            Code::Parity | Code::Pipeline => Box::new(ParityDecoder::new(source_symbols, size)),
        };
        let decoder = match code {
            Code::Pipeline => {
                let decoder = PipelineDecoder::new(PipelineCode::new(SEED), source_symbols, size);
                Decoder::Pipeline(Box::new(decoder.expect("a group may have so many")))
            }
            _ => Decoder::Block(block),
        };
        Self {
            code,
            k,
            bytes,
            decoder,
            is_complete: false,
            sources: vec![false; k as usize],
            taken: 0,
            never_fails: true,
            is_true: true,
        }
    }

    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Pushes a symbol, which is the sender's or not.
    pub fn push(&mut self, esi: u32, symbol: Bytes, is_true: bool) {
        let before = self.missing();
        let fits = self.code.fits(self.k, self.bytes, esi, symbol.len());
        let result = match &mut self.decoder {
            Decoder::Block(decoder) => decoder.push(id(esi), symbol),
            Decoder::Pipeline(decoder) => decoder.push(id(esi), symbol),
        };
        let after = self.missing();
        if let Some(source) = self.sources.get_mut(esi as usize)
            && self.code == Code::Batch
            && !self.is_complete
            && !*source
            && result == Ok(Progress::Redundant)
        {
            // It follows from combinations, but is kept and need not be computed.
            *source = true;
            self.is_true &= is_true;
        }
        assert_eq!(result.is_ok(), fits, "symbol {esi}: {result:?}");
        match result {
            Ok(Progress::Complete | Progress::Useful { .. }) => self.took(esi, is_true),
            Ok(Progress::Redundant)
            | Err(DecodeError::SymbolSize { .. } | DecodeError::NoRepair { .. }) => {
                assert_eq!(before, after, "nothing changed");
            }
        }
        match result {
            Ok(Progress::Complete) => {
                assert!(!self.is_complete, "completion is said once");
                self.is_complete = true;
            }
            Ok(Progress::Useful { missing }) => assert!(missing == after && missing <= before),
            _ => {}
        }
        assert_eq!(after == 0, self.is_complete);
        if !self.is_complete {
            let at_least = self.k.saturating_sub(self.taken);
            assert!(after >= at_least, "{after} missing of at least {at_least}");
            assert!(!self.never_fails || after == at_least, "{after} missing");
        }
    }

    /// Takes what was decoded, which is the source if nothing else was pushed.
    pub fn finish(mut self, source: &[Bytes]) {
        let mut wanted: Vec<u32> = (0..self.k).collect();
        if self.code != Code::Pipeline {
            wanted.retain(|&position| !self.sources[position as usize] && self.is_complete);
        }
        let mut wanted = wanted.into_iter();
        while let Some((position, symbol)) = match &mut self.decoder {
            Decoder::Block(decoder) => decoder.poll_recovered(),
            Decoder::Pipeline(decoder) => decoder.poll_decoded(),
        } {
            assert_eq!(Some(position), wanted.next());
            assert_eq!(symbol.len(), self.bytes);
            let (start, zeros) = symbol.split_at(source[position as usize].len());
            let is_right =
                start == source[position as usize] && zeros.iter().all(|&byte| byte == 0);
            assert!(
                !self.is_true || is_right,
                "symbol {position} came out wrong"
            );
        }
        assert!(
            !self.is_complete || wanted.len() == 0,
            "some did not come out"
        );
    }

    fn took(&mut self, esi: u32, is_true: bool) {
        self.taken += 1;
        self.is_true &= is_true;
        self.never_fails &= self.code.never_fails(esi);
        if let Some(source) = self.sources.get_mut(esi as usize) {
            assert!(
                !std::mem::replace(source, true),
                "{esi} for the second time"
            );
        }
    }

    fn missing(&self) -> u32 {
        match &self.decoder {
            Decoder::Block(decoder) => decoder.missing(),
            Decoder::Pipeline(decoder) => decoder.missing(),
        }
    }
}

fn size(bytes: usize) -> SymbolSize {
    SymbolSize::new(bytes as u32).expect("a valid size")
}

fn id(esi: u32) -> EncodingSymbolId {
    EncodingSymbolId::new(esi).expect("24 bits")
}

/// What the ends of a pipeline code agree on.
const SEED: u64 = 7;
