//! The source symbols of a block on the sending side, the same for every code.

use std::cell::Cell;
use std::fmt;
use std::thread::LocalKey;

use bytes::Bytes;

use crate::pool::{Own, Pool, Poolable, Pooled};
use crate::{EncodeError, EncodingSymbolId, SourceSymbols, SymbolSize};

/// Source symbols in order, and whether more may follow.
pub(crate) struct SourceBlock {
    size: SymbolSize,
    symbols: Pooled<Symbols>,
    closed: bool,
}

#[derive(Debug, Default)]
struct Symbols(Vec<Bytes>);

impl Poolable for Symbols {
    fn pool() -> &'static Pool<Self> {
        static POOL: Pool<Symbols> = Pool::new();
        &POOL
    }

    fn own() -> &'static LocalKey<Own<Self>> {
        thread_local! { static OWN: Own<Symbols> = const { Cell::new(None) } }
        &OWN
    }

    fn capacity(&self) -> usize {
        self.0.capacity() * size_of::<Bytes>()
    }
}

impl Drop for SourceBlock {
    fn drop(&mut self) {
        self.symbols.0.clear();
    }
}

impl SourceBlock {
    pub(crate) fn new(size: SymbolSize) -> Self {
        Self {
            size,
            symbols: Pooled::default(),
            closed: false,
        }
    }

    pub(crate) fn push(&mut self, symbol: Bytes) -> Result<(), EncodeError> {
        if symbol.is_empty() || symbol.len() > self.size.bytes() {
            return Err(EncodeError::SymbolSize {
                got: symbol.len(),
                want: self.size.bytes(),
            });
        }
        let symbols = &mut self.symbols.0;
        let is_short = |last: &Bytes| last.len() < self.size.bytes();
        let ends_short = symbols.last().is_some_and(is_short);
        if self.closed || ends_short {
            return Err(EncodeError::Ended {
                source_symbols: symbols.len() as u32,
            });
        }
        if symbols.len() as u32 >= SourceSymbols::MAX.value() {
            return Err(EncodeError::Full {
                source_symbols: symbols.len() as u32,
            });
        }
        // `push` would copy pairs of its four words, which were just written one by one: the
        // CPU then waits until they are in the cache, which takes longer than all the rest.
        symbols.extend(Some(symbol));
        Ok(())
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn len(&self) -> u32 {
        // push keeps it at or below SourceSymbols::MAX.
        self.symbols.0.len() as u32
    }

    /// The source symbol `esi`, or `None` for what can only be a repair symbol.
    pub(crate) fn get(&self, esi: EncodingSymbolId) -> Result<Option<&Bytes>, EncodeError> {
        match self.symbols.0.get(esi.value() as usize) {
            Some(symbol) => Ok(Some(symbol)),
            None if self.closed => Ok(None),
            None => Err(EncodeError::Open {
                esi,
                source_symbols: self.len(),
            }),
        }
    }

    pub(crate) fn symbol_size(&self) -> SymbolSize {
        self.size
    }

    /// The source symbols, as they were pushed.
    pub(crate) fn symbols(&self) -> &[Bytes] {
        &self.symbols.0
    }
}

impl fmt::Debug for SourceBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {} bytes", self.symbols.0.len(), self.size)?;
        if self.closed {
            f.write_str(", closed")
        } else {
            f.write_str(", open")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(size: u32) -> SourceBlock {
        SourceBlock::new(SymbolSize::new(size).expect("a valid size"))
    }

    fn esi(value: u32) -> EncodingSymbolId {
        EncodingSymbolId::new(value).expect("a valid identifier")
    }

    #[test]
    fn a_short_symbol_is_the_last() {
        let mut block = block(4);
        block.push(Bytes::from_static(b"full")).unwrap();
        block.push(Bytes::from_static(b"s")).unwrap();
        let refused = block.push(Bytes::from_static(b"more"));
        assert_eq!(refused, Err(EncodeError::Ended { source_symbols: 2 }));
        assert_eq!(block.symbols(), ["full", "s"]);
    }

    #[test]
    fn empty_and_oversized_symbols_are_refused() {
        let mut block = block(4);
        assert_eq!(
            block.push(Bytes::new()),
            Err(EncodeError::SymbolSize { got: 0, want: 4 })
        );
        let large = block.push(Bytes::from_static(b"large"));
        assert_eq!(large, Err(EncodeError::SymbolSize { got: 5, want: 4 }));
        assert_eq!(block.len(), 0);
    }

    #[test]
    fn a_closed_block_takes_nothing_more() {
        let mut block = block(1);
        block.push(Bytes::from_static(b"a")).unwrap();
        assert_eq!(
            block.get(esi(1)),
            Err(EncodeError::Open {
                esi: esi(1),
                source_symbols: 1
            })
        );
        block.close();
        assert_eq!(block.get(esi(1)), Ok(None));
        let refused = block.push(Bytes::from_static(b"b"));
        assert_eq!(refused, Err(EncodeError::Ended { source_symbols: 1 }));
    }

    #[test]
    fn a_block_is_full_at_56403_symbols() {
        let mut block = block(1);
        for _ in 0..56_403 {
            block.push(Bytes::from_static(b"a")).unwrap();
        }
        let refused = block.push(Bytes::from_static(b"b"));
        let full = EncodeError::Full {
            source_symbols: 56_403,
        };
        assert_eq!(refused, Err(full));
    }
}
