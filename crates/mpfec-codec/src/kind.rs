//! The codes there are: the one place that knows them all.

use std::fmt;
use std::str::FromStr;

use crate::batch::{self, BatchEncoder};
use crate::linear::{self, LinearEncoder};
use crate::raptorq::{RaptorQDecoder, RaptorQEncoder};
use crate::uncoded::{UncodedDecoder, UncodedEncoder};
use crate::{BlockDecoder, BlockEncoder, SourceSymbols, SymbolSize};

/// Which code a connection uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodecKind {
    /// For each block the one that costs least: see [`for_block`](Self::for_block).
    Auto,
    /// RaptorQ (RFC 6330): any K symbols, and now and then one more, give the block.
    RaptorQ,
    /// Linear over GF(2^8), up to 1024 source symbols: any K symbols give the block, always
    /// among the first 256, with rare exceptions beyond.
    Linear,
    /// The pipeline code of MPTCP-PNC: packets are coded with those before them in their
    /// group of at most 20 and decode in order at once; see [`pipeline`](crate::pipeline).
    Pipeline,
    /// Batch network coding, for comparison: every symbol is a random combination of its
    /// batch with the coefficients in front; see [`batch`](crate::batch).
    Batch,
    /// [`Batch`](Self::Batch) on some paths only: on the others source symbols leave as they
    /// are (NC-MPTCP).
    BatchMixed,
    /// No code: lost source symbols are sent again.
    Uncoded,
}

impl CodecKind {
    /// Every kind, in the order in which help texts list them.
    pub const ALL: [Self; 7] = [
        Self::Auto,
        Self::RaptorQ,
        Self::Linear,
        Self::Pipeline,
        Self::Batch,
        Self::BatchMixed,
        Self::Uncoded,
    ];

    /// Whether symbols from K on exist.
    #[must_use]
    pub fn has_repair(self) -> bool {
        self != Self::Uncoded
    }

    /// Whether every coded symbol brings its coefficients along.
    #[must_use]
    pub fn is_batch(self) -> bool {
        matches!(self, Self::Batch | Self::BatchMixed)
    }

    /// Source symbols in a block at most, for codes of small groups: 20, as many as the
    /// paper's matrices have rows (PNC §IV-B).
    #[must_use]
    pub fn max_group(self) -> Option<u32> {
        let has_groups = self == Self::Pipeline || self.is_batch();
        has_groups.then_some(MAX_GROUP)
    }

    /// The code of a block of `source_symbols` symbols, for whichever of these is configured.
    ///
    /// This is the one place where the choice is made. Up to 128 source symbols it is the
    /// linear code: as long as at most as many repair symbols are made, any K symbols give
    /// the block, where RaptorQ needs one more in about one block of 180, and both cost the
    /// same, a product for each source symbol. For larger blocks RaptorQ needs no more than
    /// the other and has a way to make and use many repair symbols at once.
    #[must_use]
    pub fn for_block(self, source_symbols: u32) -> Self {
        match self {
            Self::Auto if source_symbols <= MAX_AUTO_LINEAR => Self::Linear,
            Self::Auto => Self::RaptorQ,
            // Redundant packets are sums of coded packets with the linear code's coefficients.
            Self::Pipeline => Self::Linear,
            kind => kind,
        }
    }

    /// An encoder for one block, still open and empty, of symbols of `size` bytes. How large
    /// the block will be is not known yet: for [`Auto`](Self::Auto) it is RaptorQ's. For
    /// [`Pipeline`](Self::Pipeline) it is that of the redundant packets, whose source symbols
    /// are the coded packets.
    #[must_use]
    pub fn encoder(self, size: SymbolSize) -> Box<dyn BlockEncoder> {
        match self {
            Self::Auto | Self::RaptorQ => Box::new(RaptorQEncoder::new(size)),
            Self::Linear | Self::Pipeline => Box::new(LinearEncoder::new(size)),
            Self::Batch | Self::BatchMixed => Box::new(BatchEncoder::new(size, 0)),
            Self::Uncoded => Box::new(UncodedEncoder::new(size)),
        }
    }

    /// A decoder for one block of `source_symbols` symbols of `size` bytes. What it
    /// occupies grows with the symbols that arrive, not with what is announced.
    #[must_use]
    pub fn decoder(self, source_symbols: SourceSymbols, size: SymbolSize) -> Box<dyn BlockDecoder> {
        match self {
            Self::Auto | Self::RaptorQ => Box::new(RaptorQDecoder::new(source_symbols, size)),
            Self::Linear | Self::Pipeline => linear::new_decoder(source_symbols, size),
            Self::Batch | Self::BatchMixed => batch::new_decoder(source_symbols, size),
            Self::Uncoded => Box::new(UncodedDecoder::new(source_symbols, size)),
        }
    }

    /// Its name in configuration and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::RaptorQ => "raptorq",
            Self::Linear => "linear",
            Self::Pipeline => "pipeline",
            Self::Batch => "batch",
            Self::BatchMixed => "batch-mixed",
            Self::Uncoded => "uncoded",
        }
    }
}

impl fmt::Display for CodecKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for CodecKind {
    type Err = UnknownCodec;

    fn from_str(name: &str) -> Result<Self, UnknownCodec> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownCodec {
                name: name.to_owned(),
            })
    }
}

/// Source symbols of the largest block that [`CodecKind::Auto`] gives to the linear code: half
/// of the symbols of which any K suffice.
const MAX_AUTO_LINEAR: u32 = 128;

/// The largest group that is formed (PNC §IV-B).
const MAX_GROUP: u32 = 20;

/// No code has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown codec {name:?}, known are auto, raptorq, linear, pipeline, batch, batch-mixed and uncoded"
)]
pub struct UnknownCodec {
    /// The name asked for.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in CodecKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
    }

    #[test]
    fn an_unknown_name_is_told_the_known_ones() {
        let message = "fountain".parse::<CodecKind>().unwrap_err().to_string();
        assert!(
            CodecKind::ALL
                .iter()
                .all(|kind| message.contains(kind.name())),
            "{message}"
        );
    }
}
