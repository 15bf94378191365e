//! What a dot product is computed of: coefficients with a stride, and sources
//! gathered in blocks that fit into the cache and on the stack.
#![expect(
    unsafe_code,
    reason = "sources are gathered in memory that was not filled"
)]

use std::mem::MaybeUninit;
use std::slice;

/// Rows of coefficients, `stride` apart.
#[derive(Clone, Copy)]
pub(super) struct Coefficients<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) stride: usize,
}

impl<'a> Coefficients<'a> {
    /// # Panics
    /// If `bytes` are not `rows` rows of `columns` coefficients.
    pub(super) fn new(bytes: &'a [u8], stride: usize, rows: usize, columns: usize) -> Self {
        let needed = rows.saturating_sub(1).saturating_mul(stride) + columns;
        assert!(
            rows == 0 || columns <= stride && needed <= bytes.len(),
            "coefficients are missing"
        );
        Self { bytes, stride }
    }

    /// The row and what follows it.
    pub(super) fn row(&self, row: usize) -> &'a [u8] {
        &self.bytes[row * self.stride..]
    }

    /// Without the first `rows` rows, if there are more.
    pub(super) fn skip(&self, rows: usize) -> Self {
        Self {
            bytes: self.bytes.get(rows * self.stride..).unwrap_or_default(),
            stride: self.stride,
        }
    }
}

/// At most [`MAX_SOURCES`] sources, of which the first `len` bytes count, and the
/// columns of their coefficients. Made here only: kernels rely on what is said of it.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    /// Each at least `len` bytes.
    sources: &'a [&'a [u8]],
    /// As many as sources.
    columns: &'a [u16],
    len: usize,
    /// No column is larger.
    last: u16,
    /// See [`Block::triangle`].
    triangle: usize,
}

impl<'a> Block<'a> {
    /// The sources: each has at least [`Block::len`] bytes.
    pub(super) fn sources(&self) -> &'a [&'a [u8]] {
        self.sources
    }

    /// The columns of their coefficients, as many as there are sources.
    pub(super) fn columns(&self) -> &'a [u16] {
        self.columns
    }

    /// How many bytes of each source and output count.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// No column is larger than this.
    pub(super) fn last_column(&self) -> usize {
        usize::from(self.last)
    }

    /// If not 0: for so many outputs, the last so many sources have a triangle of
    /// coefficients, 0 above its diagonal and 1 on it, so that most of these products need
    /// not be computed.
    pub(super) fn triangle(&self) -> usize {
        self.triangle
    }

    /// What of it counts for rows of a lower triangular matrix with ones on the diagonal, if
    /// columns ascend: row `first` and those after it, `count` altogether.
    pub(super) fn lower(&self, first: usize, count: usize) -> Self {
        let end = first + count;
        let sources = self
            .columns
            .partition_point(|&column| usize::from(column) < end);
        let columns = &self.columns[..sources];
        let is_triangle = |columns: &[u16]| {
            let expected = first..end;
            columns
                .iter()
                .map(|&column| usize::from(column))
                .eq(expected)
        };
        let rest = sources.checked_sub(count);
        let is_triangle = rest.is_some_and(|rest| is_triangle(&columns[rest..]));
        Self {
            sources: &self.sources[..sources],
            columns,
            len: self.len,
            last: columns.last().copied().unwrap_or(0),
            triangle: if is_triangle { count } else { 0 },
        }
    }
}

/// Cuts `sources`, each with the column of its coefficients, into blocks for outputs of
/// `len` bytes. Shorter sources, as if filled with zeros, get a block each, empty ones
/// none.
///
/// # Panics
/// If a source is longer than `len`, or a column is not below 65536.
pub(super) fn for_each_block<'a>(
    len: usize,
    sources: impl Iterator<Item = (usize, &'a [u8])>,
    mut each: impl FnMut(Block<'_>),
) {
    // There is this for every dot product, so it is not filled before it is used: for few
    // and short sources that would take as long as the product.
    let mut gathered = [const { MaybeUninit::<&[u8]>::uninit() }; MAX_SOURCES];
    let mut columns = [const { MaybeUninit::<u16>::uninit() }; MAX_SOURCES];
    let (mut count, mut last) = (0, 0);
    for (column, source) in sources {
        let column = u16::try_from(column).expect("a column is below 65536");
        if source.len() != len {
            assert!(source.len() < len, "a source is longer than the outputs");
            if !source.is_empty() {
                each(Block {
                    sources: &[source],
                    columns: &[column],
                    len: source.len(),
                    last: column,
                    triangle: 0,
                });
            }
            continue;
        }
        gathered[count].write(source);
        columns[count].write(column);
        last = column.max(last);
        count += 1;
        if count == MAX_SOURCES {
            each(Block {
                // SAFETY: all were written.
                sources: unsafe { initialised(&gathered) },
                // SAFETY: as above.
                columns: unsafe { initialised(&columns) },
                len,
                last,
                triangle: 0,
            });
            (count, last) = (0, 0);
        }
    }
    if count > 0 {
        each(Block {
            // SAFETY: so many were written.
            sources: unsafe { initialised(&gathered[..count]) },
            // SAFETY: as above.
            columns: unsafe { initialised(&columns[..count]) },
            len,
            last,
            triangle: 0,
        });
    }
}

/// # Safety
/// All of `values` must be initialised.
unsafe fn initialised<T>(values: &[MaybeUninit<T>]) -> &[T] {
    // SAFETY: the same memory, and the caller's promise.
    unsafe { slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

/// So many sources are read for each strip of the outputs before the next strip.
pub(super) const MAX_SOURCES: usize = 64;

/// Groups outputs by at most `most` (up to [`MAX_OUTPUTS`]), as equally as possible;
/// gives each group with the number of outputs before it.
pub(super) fn for_each_tile<'a, O: Default + 'a>(
    most: usize,
    mut outputs: impl ExactSizeIterator<Item = O>,
    mut each: impl FnMut(usize, &mut [O]),
) {
    let count = outputs.len();
    let tiles = count.div_ceil(most);
    for nth in 0..tiles {
        let (first, end) = (count * nth / tiles, count * (nth + 1) / tiles);
        let mut tile: [O; MAX_OUTPUTS] = Default::default();
        for (place, output) in tile.iter_mut().zip(outputs.by_ref().take(end - first)) {
            *place = output;
        }
        each(first, &mut tile[..end - first]);
    }
}

/// The most outputs that any kernel computes at once.
pub(super) const MAX_OUTPUTS: usize = 6;
