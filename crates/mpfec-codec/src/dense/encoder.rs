//! Repair symbols, several at once.

use std::cell::Cell;
use std::thread::LocalKey;

use bytes::Bytes;

use super::Rows;
use crate::EncodingSymbolId;
use crate::gf256::{self, Slab};
use crate::pool::{Own, Pool, Poolable, Pooled};

/// Makes repair symbols of one block; has some in a row ready when they are asked for in
/// order.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    /// The first symbol of those that are ready.
    first: u32,
    /// Symbols made so far.
    made: u32,
    /// Symbols that were announced.
    expected: u32,
    ready: Option<Pooled<Ready>>,
}

#[derive(Debug, Default)]
struct Ready {
    symbols: Slab,
    coefficients: Vec<u8>,
}

impl Encoder {
    /// Nothing made.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// About so many repair symbols will be asked for altogether.
    pub(crate) fn expect(&mut self, count: u32) {
        self.expected = self.expected.max(count);
    }

    /// Repair symbols made so far, also those not asked for.
    pub(crate) fn made(&self) -> u32 {
        self.made
    }

    /// Appends repair symbol `esi` of `size` bytes. Source symbols may be shorter; they
    /// must be the same every time.
    pub(crate) fn append(
        &mut self,
        rows: &impl Rows,
        source: &[Bytes],
        size: usize,
        esi: u32,
        out: &mut Vec<u8>,
    ) {
        if self.append_ready(esi, out) {
            return;
        }
        // Unless told otherwise, expect as many again as there were.
        let wanted = match self.expected.saturating_sub(self.made) {
            0 => self.made.clamp(1, source.len() as u32),
            wanted => wanted,
        };
        // In parts of equal size.
        let count = wanted.div_ceil(wanted.div_ceil(MAX_AT_ONCE));
        let end = rows.end().min(EncodingSymbolId::MAX.value() + 1);
        let count = count.min(end.saturating_sub(esi).max(1));
        self.made += count;
        if count == 1 {
            append_one(rows, source, size, esi, out);
        } else {
            self.make(rows, source, size, esi, count);
            self.append_ready(esi, out);
        }
    }

    /// Appends repair symbol `esi` if it is made already.
    pub(crate) fn append_ready(&self, esi: u32, out: &mut Vec<u8>) -> bool {
        let (Some(ready), Some(row)) = (&self.ready, esi.checked_sub(self.first)) else {
            return false;
        };
        let is_ready = (row as usize) < ready.symbols.rows();
        if is_ready {
            out.extend_from_slice(ready.symbols.row(row as usize));
        }
        is_ready
    }

    fn make(&mut self, rows: &impl Rows, source: &[Bytes], size: usize, first: u32, count: u32) {
        let Ready {
            symbols,
            coefficients,
        } = &mut **self.ready.get_or_insert_default();
        let (columns, height) = (source.len(), count as usize);
        // What was there before is overwritten.
        coefficients.resize(columns * height, 0);
        for (esi, row) in (first..).zip(coefficients.chunks_exact_mut(columns.max(1))) {
            rows.coefficients(esi, row);
        }
        symbols.reset(height, size);
        symbols.set_dot(0..height, coefficients, columns, source);
        self.first = first;
    }
}

/// Makes a symbol where it belongs.
fn append_one(rows: &impl Rows, source: &[Bytes], size: usize, esi: u32, out: &mut Vec<u8>) {
    let mut room = [0; SMALL];
    let mut large = Vec::new();
    let coefficients = match room.get_mut(..source.len()) {
        Some(room) => room,
        None => {
            large.resize(source.len(), 0);
            &mut large[..]
        }
    };
    rows.coefficients(esi, coefficients);
    let columns = source.len();
    let source = source.iter().map(|symbol| &symbol[..]).enumerate();
    out.reserve(size);
    gf256::append_dot(out, 1, size, coefficients, columns, source);
}

impl Poolable for Ready {
    fn pool() -> &'static Pool<Self> {
        static POOL: Pool<Ready> = Pool::new();
        &POOL
    }

    fn own() -> &'static LocalKey<Own<Self>> {
        thread_local! { static OWN: Own<Ready> = const { Cell::new(None) } }
        &OWN
    }

    fn capacity(&self) -> usize {
        self.symbols.capacity() + self.coefficients.capacity()
    }
}

/// Repair symbols made at once, at most.
const MAX_AT_ONCE: u32 = 24;

/// Coefficients that have room on the stack.
const SMALL: usize = 1024;
