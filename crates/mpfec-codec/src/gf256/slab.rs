//! Rows of equal size, aligned to cache lines, in one allocation.

use std::fmt;
use std::ops::Range;

use bytes::BufMut;

use super::block::{Coefficients, for_each_block};
use super::kernel::Kernel;

/// Rows of equal size in one allocation that is kept when the slab is used again.
///
/// Every row starts at a multiple of 64 bytes: vectors that straddle cache lines cost
/// a quarter of the speed.
pub struct Slab {
    /// The rows begin at `offset`, where a cache line does.
    bytes: Vec<u8>,
    offset: usize,
    rows: usize,
    row_bytes: usize,
    /// From one row to the next.
    stride: usize,
    kernel: Kernel,
}

/// All rows, for a kernel.
pub(super) struct Rows<'a> {
    /// A multiple of `stride` long.
    pub(super) bytes: &'a mut [u8],
    pub(super) stride: usize,
    /// What counts of each row, filled up to whole lines; at most `stride`.
    pub(super) width: usize,
}

impl Slab {
    /// No rows, no memory; computes with the fastest kernel.
    #[must_use]
    pub fn new() -> Self {
        Self::with_kernel(Kernel::best())
    }

    /// No rows, no memory; computes with `kernel`.
    #[must_use]
    pub fn with_kernel(kernel: Kernel) -> Self {
        Self {
            bytes: Vec::new(),
            offset: 0,
            rows: 0,
            row_bytes: 0,
            stride: 0,
            kernel,
        }
    }

    /// Becomes `rows` rows of `row_bytes` bytes each. Allocates only if that needs more
    /// than ever before. What the rows contain is not defined: old bytes or zeros.
    pub fn reset(&mut self, rows: usize, row_bytes: usize) {
        self.rows = 0;
        self.row_bytes = row_bytes;
        self.stride = stride(row_bytes);
        self.grow(rows);
    }

    /// Becomes `rows` rows; those that were there keep their bytes.
    /// What new rows contain is not defined.
    pub fn resize(&mut self, rows: usize) {
        if rows > self.rows {
            self.grow(rows);
        } else {
            self.rows = rows;
        }
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes in each row.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Bytes allocated.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// A row.
    ///
    /// # Panics
    /// If there is no such row, as every method here that takes a row.
    #[must_use]
    pub fn row(&self, index: usize) -> &[u8] {
        let start = self.start(index);
        &self.bytes[start..start + self.row_bytes]
    }

    /// A row, to change.
    pub fn row_mut(&mut self, index: usize) -> &mut [u8] {
        let start = self.start(index);
        &mut self.bytes[start..start + self.row_bytes]
    }

    /// Two different rows, the first to change.
    ///
    /// # Panics
    /// If they are the same.
    pub fn row_pair(&mut self, changed: usize, other: usize) -> (&mut [u8], &[u8]) {
        let (changed, other) = (self.start(changed), self.start(other));
        let row_bytes = self.row_bytes;
        let rows = [changed..changed + row_bytes, other..other + row_bytes];
        let [changed, other] = self
            .bytes
            .get_disjoint_mut(rows)
            .expect("two rows are different");
        (changed, other)
    }

    /// Fills a row with zeros.
    pub fn zero_row(&mut self, index: usize) {
        self.row_mut(index).fill(0);
    }

    /// Copies `bytes` into a row and fills the rest of it with zeros.
    ///
    /// # Panics
    /// If they are more than the row has.
    pub fn write_row(&mut self, index: usize, bytes: &[u8]) {
        let (data, rest) = self.row_mut(index).split_at_mut(bytes.len());
        data.copy_from_slice(bytes);
        rest.fill(0);
    }

    /// Copies row `src` into row `dst`.
    pub fn copy_row(&mut self, dst: usize, src: usize) {
        let (dst, src) = (self.start(dst), self.start(src));
        self.bytes.copy_within(src..src + self.row_bytes, dst);
    }

    /// Exchanges two rows, which may be the same.
    pub fn swap_rows(&mut self, a: usize, b: usize) {
        if a != b {
            let (low, high) = (self.start(a.min(b)), self.start(a.max(b)));
            let (before, rest) = self.bytes.split_at_mut(high);
            before[low..low + self.row_bytes].swap_with_slice(&mut rest[..self.row_bytes]);
        }
    }

    /// Multiplies a row by `c`.
    pub fn scale_row(&mut self, index: usize, c: u8) {
        let kernel = self.kernel;
        kernel.scale(self.row_mut(index), c);
    }

    /// Adds row `src` times `c` to row `dst`.
    ///
    /// # Panics
    /// If they are the same.
    pub fn mul_add_row(&mut self, dst: usize, src: usize, c: u8) {
        let kernel = self.kernel;
        let (dst, src) = self.row_pair(dst, src);
        kernel.mul_add(dst, src, c);
    }

    /// Adds to row `dst` the rows `xors`, and of each of `terms` the row times the
    /// number, in one pass: the sum stays in registers.
    ///
    /// # Panics
    /// If `dst` is among the sources.
    pub fn accumulate(&mut self, dst: usize, xors: &[u32], terms: &[(u32, u8)]) {
        let kernel = self.kernel;
        kernel.accumulate(self.all(), dst, xors, terms);
    }

    /// Adds row `src` to others: to each row of `terms`, times the number.
    ///
    /// # Panics
    /// If `src` is among them.
    pub fn spread(&mut self, src: usize, terms: &[(u32, u8)]) {
        let kernel = self.kernel;
        kernel.spread(self.all(), src, terms);
    }

    /// Adds to each row i of `rows` the sum over j of
    /// `coefficients[(i - rows.start) * stride + j] * sources[j]`.
    /// Shorter sources count as filled with zeros.
    ///
    /// # Panics
    /// If a source is longer than a row, or coefficients are missing.
    pub fn add_dot<S: AsRef<[u8]>>(
        &mut self,
        rows: Range<usize>,
        coefficients: &[u8],
        stride: usize,
        sources: &[S],
    ) {
        let sources = sources.iter().map(AsRef::as_ref).enumerate();
        self.add_dot_of(rows, coefficients, stride, sources);
    }

    /// As [`Slab::add_dot`], but what the rows contained is overwritten.
    ///
    /// # Panics
    /// As [`Slab::add_dot`].
    pub fn set_dot<S: AsRef<[u8]>>(
        &mut self,
        rows: Range<usize>,
        coefficients: &[u8],
        stride: usize,
        sources: &[S],
    ) {
        let sources = sources.iter().map(AsRef::as_ref).enumerate();
        self.dot_of(rows, false, coefficients, stride, sources);
    }

    /// As [`Slab::add_dot`], of sources in any order, each with its j.
    pub fn add_dot_of<'a>(
        &mut self,
        rows: Range<usize>,
        coefficients: &[u8],
        stride: usize,
        sources: impl Iterator<Item = (usize, &'a [u8])>,
    ) {
        self.dot_of(rows, true, coefficients, stride, sources);
    }

    /// As [`Slab::add_dot_of`] if `adds`, else the rows become the sums.
    fn dot_of<'a>(
        &mut self,
        rows: Range<usize>,
        mut adds: bool,
        coefficients: &[u8],
        stride: usize,
        sources: impl Iterator<Item = (usize, &'a [u8])>,
    ) {
        assert!(rows.end <= self.rows, "row {} of {}", rows.end, self.rows);
        let coefficients = Coefficients::new(coefficients, stride, rows.len(), 0);
        let (kernel, row_bytes, row_stride) = (self.kernel, self.row_bytes, self.stride);
        let start = self.offset + rows.start * row_stride;
        let end = start + rows.len() * row_stride;
        for_each_block(row_bytes, sources, |block| {
            if !adds && block.len() < row_bytes {
                self.bytes[start..end].fill(0);
                adds = true;
            }
            let outputs = self.bytes[start..end].chunks_exact_mut(row_stride);
            let outputs = outputs.map(|row| &mut row[..row_bytes]);
            kernel.dot_block(outputs, adds, coefficients, block);
            adds = true;
        });
        if !adds {
            self.bytes[start..end].fill(0);
        }
    }

    /// Adds to each of `outputs` the sum over the rows j of `rows` of
    /// `coefficients[i * stride + (j - rows.start)]` times the row.
    ///
    /// # Panics
    /// If an output has not the size of a row, or coefficients are missing.
    pub fn dot_into<O: AsMut<[u8]>>(
        &self,
        outputs: &mut [O],
        coefficients: &[u8],
        stride: usize,
        rows: Range<usize>,
    ) {
        let coefficients = Coefficients::new(coefficients, stride, outputs.len(), rows.len());
        let sources = rows.map(|row| self.row(row)).enumerate();
        self.kernel
            .dot_sources(outputs, self.row_bytes, coefficients, sources);
    }

    /// As [`Slab::dot_into`], where the outputs lie one behind the other in `buffer`.
    ///
    /// # Panics
    /// If `buffer` is not a number of rows, or coefficients are missing.
    pub fn dot_into_buffer(
        &self,
        buffer: &mut [u8],
        coefficients: &[u8],
        stride: usize,
        rows: Range<usize>,
    ) {
        let count = buffer.len() / self.row_bytes.max(1);
        assert_eq!(buffer.len(), count * self.row_bytes, "not a number of rows");
        let coefficients = Coefficients::new(coefficients, stride, count, rows.len());
        let sources = rows.map(|row| self.row(row)).enumerate();
        self.kernel
            .dot_buffer(buffer, self.row_bytes, coefficients, sources);
    }

    /// As [`Slab::dot_into_buffer`], of outputs that it appends to `out`, which has room for
    /// them.
    pub(crate) fn append_dot(
        &self,
        out: &mut impl BufMut,
        count: usize,
        coefficients: &[u8],
        stride: usize,
        rows: Range<usize>,
    ) {
        let coefficients = Coefficients::new(coefficients, stride, count, rows.len());
        let sources = rows.map(|row| self.row(row)).enumerate();
        self.kernel
            .append_dot(out, count, self.row_bytes, coefficients, sources, None);
    }

    fn start(&self, index: usize) -> usize {
        assert!(index < self.rows, "row {index} of {}", self.rows);
        self.offset + index * self.stride
    }

    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    pub(super) fn all(&mut self) -> Rows<'_> {
        Rows {
            bytes: &mut self.bytes[self.offset..self.offset + self.rows * self.stride],
            stride: self.stride,
            width: self.row_bytes.next_multiple_of(LINE),
        }
    }

    fn grow(&mut self, rows: usize) {
        let used = self.rows * self.stride;
        let needed = rows * self.stride;
        if self.offset + needed > self.bytes.len() {
            // Doubling keeps growth row by row cheap.
            let room = needed.max(2 * used) + LINE;
            if used == 0 {
                // Not both at once.
                self.bytes = Vec::new();
            }
            let mut bytes = vec![0; room];
            let offset = bytes.as_ptr().align_offset(LINE);
            // Miri may say that it cannot be aligned: correct all the same.
            let offset = if offset < LINE { offset } else { 0 };
            let old = self
                .bytes
                .get(self.offset..self.offset + used)
                .unwrap_or_default();
            bytes[offset..offset + old.len()].copy_from_slice(old);
            self.bytes = bytes;
            self.offset = offset;
        }
        self.rows = rows;
    }
}

impl Default for Slab {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Slab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows of {} bytes", self.rows, self.row_bytes)
    }
}

/// Whole lines; not a whole number of pages, where rows would compete for the same
/// places in the cache.
fn stride(row_bytes: usize) -> usize {
    let lines = row_bytes.next_multiple_of(LINE).max(LINE);
    if lines.is_multiple_of(4096) {
        lines + LINE
    } else {
        lines
    }
}

/// Bytes in a cache line.
const LINE: usize = 64;
