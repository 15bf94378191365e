//! The numbers that name a symbol and size a block, checked where they are made
//! (RFC 6330 §3.2, §3.3). A codec sees one block, so there is no source block
//! number here.

use std::fmt;

/// Position of an encoding symbol in its block (RFC 6330 §3.2): below K a source
/// symbol, from K on a repair symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EncodingSymbolId(u32);

impl EncodingSymbolId {
    /// The largest identifier: it has 24 bits (RFC 6330 §3.2).
    pub const MAX: Self = Self((1 << 24) - 1);

    /// The symbol at position `value`; `None` from 2^24 on.
    #[must_use]
    pub const fn new(value: u32) -> Option<Self> {
        if value <= Self::MAX.0 {
            Some(Self(value))
        } else {
            None
        }
    }

    /// The position, from 0.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for EncodingSymbolId {
    type Error = OutOfRange;

    fn try_from(value: u32) -> Result<Self, OutOfRange> {
        let error = OutOfRange {
            quantity: "encoding symbol id",
            got: value,
            min: 0,
            max: Self::MAX.0,
        };
        Self::new(value).ok_or(error)
    }
}

impl fmt::Display for EncodingSymbolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many source symbols a block has (K of RFC 6330): 1 to 56403 (§5.1.2).
///
/// A transport wants its blocks repaired within a round trip, and the memory a peer may
/// ask for bounded: it will set a lower limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceSymbols(u16);

impl SourceSymbols {
    /// The largest K.
    pub const MAX: Self = Self(56_403);

    /// A block of `value` source symbols; `None` outside 1..=56403.
    #[must_use]
    pub const fn new(value: u32) -> Option<Self> {
        if value >= 1 && value <= Self::MAX.0 as u32 {
            Some(Self(value as u16))
        } else {
            None
        }
    }

    /// The number of source symbols.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0 as u32
    }
}

impl From<SourceSymbols> for u16 {
    fn from(source_symbols: SourceSymbols) -> Self {
        source_symbols.0
    }
}

impl TryFrom<u32> for SourceSymbols {
    type Error = OutOfRange;

    fn try_from(value: u32) -> Result<Self, OutOfRange> {
        let error = OutOfRange {
            quantity: "number of source symbols",
            got: value,
            min: 1,
            max: Self::MAX.value(),
        };
        Self::new(value).ok_or(error)
    }
}

impl fmt::Display for SourceSymbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Bytes in a symbol (T of RFC 6330): 1 to 65535.
/// Any size will do; there is no alignment (Al of RFC 6330 is 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolSize(u16);

impl SymbolSize {
    /// The largest T.
    pub const MAX: Self = Self(u16::MAX);

    /// Symbols of `value` bytes; `None` outside 1..=65535.
    #[must_use]
    pub const fn new(value: u32) -> Option<Self> {
        if value >= 1 && value <= Self::MAX.0 as u32 {
            Some(Self(value as u16))
        } else {
            None
        }
    }

    /// The number of bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.0 as usize
    }

    /// The number on the wire.
    #[must_use]
    pub const fn value(self) -> u16 {
        self.0
    }
}

impl TryFrom<u32> for SymbolSize {
    type Error = OutOfRange;

    fn try_from(value: u32) -> Result<Self, OutOfRange> {
        let error = OutOfRange {
            quantity: "symbol size",
            got: value,
            min: 1,
            max: u32::from(Self::MAX.0),
        };
        Self::new(value).ok_or(error)
    }
}

impl fmt::Display for SymbolSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number that cannot name a symbol or size a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{quantity} {got} is not in {min}..={max}")]
pub struct OutOfRange {
    /// What the number was meant to be.
    pub quantity: &'static str,
    /// The number.
    pub got: u32,
    /// The smallest that is allowed.
    pub min: u32,
    /// The largest that is allowed.
    pub max: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_symbol_id_has_24_bits() {
        assert_eq!(
            EncodingSymbolId::new(0).map(EncodingSymbolId::value),
            Some(0)
        );
        assert_eq!(
            EncodingSymbolId::new(0xff_ffff),
            Some(EncodingSymbolId::MAX)
        );
        assert_eq!(EncodingSymbolId::new(0x100_0000), None);
        let error = EncodingSymbolId::try_from(u32::MAX).unwrap_err();
        assert_eq!(
            error.to_string(),
            "encoding symbol id 4294967295 is not in 0..=16777215"
        );
    }

    #[test]
    fn a_block_has_1_to_56403_source_symbols() {
        assert_eq!(SourceSymbols::new(0), None);
        assert_eq!(SourceSymbols::new(1).map(SourceSymbols::value), Some(1));
        assert_eq!(SourceSymbols::new(56_403), Some(SourceSymbols::MAX));
        assert_eq!(
            SourceSymbols::try_from(56_404).map_err(|error| error.max),
            Err(56_403)
        );
        assert_eq!(
            SourceSymbols::new(65_536 + 5),
            None,
            "no bits may be cut off"
        );
    }

    #[test]
    fn a_symbol_has_1_to_65535_bytes() {
        assert_eq!(SymbolSize::new(0), None);
        assert_eq!(SymbolSize::new(1).map(SymbolSize::bytes), Some(1));
        assert_eq!(SymbolSize::new(65_535), Some(SymbolSize::MAX));
        assert_eq!(
            SymbolSize::try_from(65_536).map_err(|error| error.got),
            Err(65_536)
        );
    }
}
