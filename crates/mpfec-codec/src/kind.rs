//! The codes there are: the one place that knows them all.

use std::fmt;
use std::str::FromStr;

use crate::raptorq::{RaptorQDecoder, RaptorQEncoder};
use crate::uncoded::{UncodedDecoder, UncodedEncoder};
use crate::{BlockDecoder, BlockEncoder, SourceSymbols, SymbolSize};

/// Which code a connection uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodecKind {
    /// RaptorQ (RFC 6330): any K symbols, and now and then one more, give the block.
    RaptorQ,
    /// No code: lost source symbols are sent again.
    Uncoded,
}

impl CodecKind {
    /// Every kind, in the order in which help texts list them.
    pub const ALL: [Self; 2] = [Self::RaptorQ, Self::Uncoded];

    /// Whether symbols from K on exist.
    #[must_use]
    pub fn has_repair(self) -> bool {
        match self {
            Self::RaptorQ => true,
            Self::Uncoded => false,
        }
    }

    /// An encoder for one block, still open and empty, of symbols of `size` bytes.
    #[must_use]
    pub fn encoder(self, size: SymbolSize) -> Box<dyn BlockEncoder> {
        match self {
            Self::RaptorQ => Box::new(RaptorQEncoder::new(size)),
            Self::Uncoded => Box::new(UncodedEncoder::new(size)),
        }
    }

    /// A decoder for one block of `source_symbols` symbols of `size` bytes. What it
    /// occupies grows with the symbols that arrive, not with what is announced.
    #[must_use]
    pub fn decoder(self, source_symbols: SourceSymbols, size: SymbolSize) -> Box<dyn BlockDecoder> {
        match self {
            Self::RaptorQ => Box::new(RaptorQDecoder::new(source_symbols, size)),
            Self::Uncoded => Box::new(UncodedDecoder::new(source_symbols, size)),
        }
    }

    /// Its name in configuration and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RaptorQ => "raptorq",
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

/// No code has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown codec {name:?}, known are raptorq and uncoded")]
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
