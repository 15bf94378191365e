//! The intermediate symbols of a block (RFC 6330 §5.3.3), and the encoding symbols that
//! are their sums (§5.3.5.3).

use std::cell::Cell;
use std::thread::LocalKey;

use std::sync::Arc;

use bytes::Bytes;

use super::code::Code;
use super::program::Workspace;
use super::strips::{Inputs, MOST_LINES, strips};
use super::tuple::neighbours;
use crate::gf256::{Slab, add_all};
use crate::pool::{Own, Pool, Poolable, Pooled};

/// All intermediate symbols, strip by strip.
#[derive(Debug)]
pub(super) struct Intermediate {
    code: Arc<Code>,
    size: usize,
    storage: Pooled<Storage>,
}

#[derive(Debug, Default)]
pub(super) struct Storage {
    strips: Vec<Workspace>,
    tails: Slab,
    filled: Vec<u8>,
}

impl Poolable for Storage {
    fn pool() -> &'static Pool<Self> {
        static POOL: Pool<Storage> = Pool::new();
        &POOL
    }

    fn own() -> &'static LocalKey<Own<Self>> {
        thread_local! { static OWN: Own<Storage> = const { Cell::new(None) } }
        &OWN
    }

    fn capacity(&self) -> usize {
        let strips = self.strips.iter().map(Workspace::capacity);
        strips.sum::<usize>() + self.tails.capacity() + self.filled.capacity()
    }
}

impl Intermediate {
    /// Computes them from source symbols of `size` bytes, the last of which may be shorter.
    pub(super) fn new(code: &Arc<Code>, source: &[Bytes], size: usize) -> Self {
        let program = code.program();
        let mut storage: Pooled<Storage> = Pooled::default();
        let Storage {
            strips: workspaces,
            tails,
            filled,
        } = &mut *storage;
        let ranges = strips(size, MOST_LINES);
        let count = ranges.clone().count();
        workspaces.resize_with(count.max(workspaces.len()), Workspace::default);
        let last = source.len() - 1;
        let short = (source[last].len() < size).then(|| {
            filled.clear();
            filled.extend_from_slice(&source[last]);
            filled.resize(size, 0);
            (last as u32, &filled[..])
        });
        let inputs = Inputs::new(source, size, short, tails);
        for (range, workspace) in ranges.zip(workspaces) {
            program.run(workspace, range.len(), |index| inputs.get(index, &range));
        }
        Self {
            code: Arc::clone(code),
            size,
            storage,
        }
    }

    /// Appends encoding symbol `esi`.
    pub(super) fn append(&self, esi: u32, out: &mut Vec<u8>) {
        let program = self.code.program();
        let mut rows = [0; MAX_NEIGHBOURS];
        let mut count = 0;
        for column in neighbours(self.code.parameters(), self.code.isi(esi)) {
            rows[count] = usize::from(program.places()[usize::from(column)]);
            count += 1;
        }
        let rows = &rows[..count];
        let start = out.len();
        out.resize(start + self.size, 0);
        let out = &mut out[start..];
        for (range, workspace) in strips(self.size, MOST_LINES).zip(&self.storage.strips) {
            let mut sources: [&[u8]; MAX_NEIGHBOURS] = [&[]; MAX_NEIGHBOURS];
            for (source, &row) in sources.iter_mut().zip(rows) {
                *source = workspace.work.row(row);
            }
            add_all(&mut out[range], &sources[..count]);
        }
    }
}

/// Up to 30 LT symbols and up to 3 permanently inactive ones (RFC 6330 §5.3.5).
const MAX_NEIGHBOURS: usize = 33;
