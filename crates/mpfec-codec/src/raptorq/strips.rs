//! Symbols cut into strips, so that a strip of all symbols of a block fits into the cache.

use std::ops::Range;

use bytes::Bytes;

use crate::gf256::Slab;

/// Lines of a strip so that `rows` rows fit into the cache, if that is not too little, and
/// have at most `most` bytes, if that is possible.
pub(super) fn lines_within(rows: usize, most: usize) -> usize {
    let line = LINE * rows.max(1);
    let in_cache = (CACHE / line).max(LEAST_LINES);
    in_cache.min(most / line).clamp(1, MOST_LINES)
}

/// The ranges of bytes, of up to `most` whole lines of 64 bytes, that the symbols of `size`
/// bytes are worked on in. Bytes that fill no line are a strip alone. The first one is the
/// widest.
pub(super) fn strips(size: usize, most: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    let lines = size / LINE;
    let count = lines.div_ceil(most);
    let whole = (0..count).map(move |at| {
        (lines * at).div_ceil(count) * LINE..(lines * (at + 1)).div_ceil(count) * LINE
    });
    let rest = lines * LINE..size;
    whole.chain((!rest.is_empty()).then_some(rest))
}

/// Symbols of a block as inputs: a strip of each, filled up to whole lines with zeros.
#[derive(Debug)]
pub(super) struct Inputs<'a> {
    symbols: &'a [Bytes],
    /// The last bytes of each symbol, unless they fill lines.
    tails: Option<&'a Slab>,
    tail_start: usize,
    /// A symbol that is short, filled up.
    short: Option<(u32, &'a [u8])>,
}

impl<'a> Inputs<'a> {
    /// Symbols of `size` bytes; only the one that `short` has in full may be shorter.
    /// `tails` is overwritten.
    pub(super) fn new(
        symbols: &'a [Bytes],
        size: usize,
        short: Option<(u32, &'a [u8])>,
        tails: &'a mut Slab,
    ) -> Self {
        let tail_start = size / LINE * LINE;
        let mut inputs = Self {
            symbols,
            tails: None,
            tail_start,
            short,
        };
        if tail_start < size {
            tails.reset(symbols.len(), LINE);
            for row in 0..symbols.len() {
                tails.write_row(row, &inputs.symbol(row as u32)[tail_start..]);
            }
            inputs.tails = Some(tails);
        }
        inputs
    }

    /// Bytes of input `index`, from the start of the strip, which is one of [`strips`].
    pub(super) fn get(&self, index: u32, strip: &Range<usize>) -> &'a [u8] {
        match self.tails {
            Some(tails) if strip.start == self.tail_start => tails.row(index as usize),
            _ => &self.symbol(index)[strip.start..strip.end],
        }
    }

    fn symbol(&self, index: u32) -> &'a [u8] {
        match self.short {
            Some((short, filled)) if short == index => filled,
            _ => &self.symbols[index as usize],
        }
    }
}

/// Bytes that a strip of all rows should have at most: half of a usual second-level cache.
const CACHE: usize = 512 << 10;
/// Below this, more time goes into starting sums than into computing them.
const LEAST_LINES: usize = 3;
/// What a kernel keeps of a sum in registers.
pub(super) const MOST_LINES: usize = 8;
/// Bytes in a cache line.
const LINE: usize = 64;
