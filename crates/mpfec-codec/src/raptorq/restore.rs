//! Decoding many losses: the intermediate symbols that the absent source symbols need, by
//! inactivation decoding (RFC 6330 §5.4).

use std::cell::Cell;
use std::thread::LocalKey;

use bytes::Bytes;

use super::code::Code;
use super::elimination::Elimination;
use super::matrix::Rows;
use super::program::{Program, Workspace};
use super::strips::{Inputs, lines_within, strips};
use crate::gf256::Slab;
use crate::pool::{Own, Pool, Poolable, Pooled};

/// Symbols being solved for, in the order in which the solver knows them.
#[derive(Debug, Default)]
pub(super) struct Restore {
    storage: Pooled<Storage>,
}

#[derive(Debug, Default)]
pub(super) struct Storage {
    symbols: Vec<Bytes>,
    elimination: Elimination,
    outputs: Rows,
    program: Program,
    workspace: Workspace,
    tails: Slab,
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
        let symbols = self.symbols.capacity() * size_of::<Bytes>();
        let work = self.workspace.capacity() + self.tails.capacity();
        symbols + self.elimination.capacity() + self.program.capacity() + work
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        // What was received is not kept for the next block.
        self.storage.symbols.clear();
    }
}

impl Restore {
    /// Takes the symbols that are here, at least K, of T bytes each.
    ///
    /// `None` if they are of a kind that would cost too much.
    pub(super) fn new(code: &Code, symbols: impl Iterator<Item = (u32, Bytes)>) -> Option<Self> {
        let mut restore = Self::default();
        let Storage {
            symbols: kept,
            elimination,
            ..
        } = &mut *restore.storage;
        kept.clear();
        kept.reserve_exact(symbols.size_hint().0);
        let isis = symbols.map(|(esi, symbol)| {
            kept.push(symbol);
            code.isi(esi)
        });
        elimination
            .start(code.parameters(), code.hdpc(), code.padding(), isis)
            .then_some(restore)
    }

    /// Takes one more symbol; false if it tells nothing, and was not kept.
    pub(super) fn insert(&mut self, code: &Code, esi: u32, symbol: Bytes) -> bool {
        let Storage {
            symbols,
            elimination,
            ..
        } = &mut *self.storage;
        let is_new = elimination.insert(code.parameters(), code.isi(esi));
        if is_new {
            symbols.push(symbol);
        }
        is_new
    }

    /// Whether the source symbols follow from those that are here.
    pub(super) fn is_solvable(&mut self, code: &Code) -> bool {
        self.storage.elimination.solve(code.parameters())
    }

    /// Finds out how the source symbols that are absent follow, once they do.
    pub(super) fn prepare(&mut self, code: &Code, absent: impl Iterator<Item = u32>) {
        let Storage {
            elimination,
            outputs,
            program,
            ..
        } = &mut *self.storage;
        outputs.clear();
        for position in absent {
            outputs.push_symbol(code.parameters(), position);
        }
        program.compile_outputs(elimination, outputs);
    }

    /// Writes them, of `size` bytes, one behind the other.
    pub(super) fn solve(&mut self, size: usize, out: &mut [u8]) {
        let Storage {
            symbols,
            elimination,
            program,
            workspace,
            tails,
            ..
        } = &mut *self.storage;
        let inputs = Inputs::new(symbols, size, None, tails);
        // The block is here already, and `out`: altogether not much more than twice its size.
        let block = symbols.len() * size;
        let taken = out.len() + elimination.capacity() + program.capacity();
        let left = (block + block / 5).saturating_sub(taken);
        for strip in strips(size, lines_within(program.rows(), left)) {
            program.run(workspace, strip.len(), |index| inputs.get(index, &strip));
            let mut symbols = out.chunks_exact_mut(size);
            program.for_each_output(workspace, |output| {
                let symbol = symbols.next().expect("one for each absent symbol");
                symbol[strip.clone()].copy_from_slice(output);
            });
        }
    }
}
