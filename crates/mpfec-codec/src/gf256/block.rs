//! What a dot product is computed of: coefficients with a stride, and sources
//! gathered in blocks that fit into the cache and on the stack.

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
/// columns of their coefficients.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    /// Each at least `len` bytes.
    pub(super) sources: &'a [&'a [u8]],
    /// As many as sources.
    pub(super) columns: &'a [u16],
    /// How many bytes of each source and output count.
    pub(super) len: usize,
}

impl Block<'_> {
    /// Without sources whose column is `end` or more, if columns ascend.
    pub(super) fn before(&self, end: usize) -> Self {
        let count = self
            .columns
            .partition_point(|&column| usize::from(column) < end);
        Self {
            sources: &self.sources[..count],
            columns: &self.columns[..count],
            len: self.len,
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
    let mut gathered: [&[u8]; MAX_SOURCES] = [&[]; MAX_SOURCES];
    let mut columns = [0; MAX_SOURCES];
    let mut count = 0;
    for (column, source) in sources {
        let column = u16::try_from(column).expect("a column is below 65536");
        if source.len() != len {
            assert!(source.len() < len, "a source is longer than the outputs");
            if !source.is_empty() {
                each(Block {
                    sources: &[source],
                    columns: &[column],
                    len: source.len(),
                });
            }
            continue;
        }
        gathered[count] = source;
        columns[count] = column;
        count += 1;
        if count == MAX_SOURCES {
            each(Block {
                sources: &gathered,
                columns: &columns,
                len,
            });
            count = 0;
        }
    }
    if count > 0 {
        each(Block {
            sources: &gathered[..count],
            columns: &columns[..count],
            len,
        });
    }
}

/// So many sources are read for each strip of the outputs before the next strip.
const MAX_SOURCES: usize = 64;

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
