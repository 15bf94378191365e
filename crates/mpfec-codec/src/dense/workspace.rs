//! What a decoder needs besides the symbols, used by one block after the other.

use std::cell::Cell;
use std::thread::LocalKey;

use bytes::{Bytes, BytesMut};

use super::system::System;
use crate::gf256::Slab;
use crate::pool::{Own, Pool, Poolable};
use crate::received::Received;

/// Memory of a decoder.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    /// Which source symbols are here.
    pub(super) received: Received,
    /// Source symbols in the order in which they came, each with its position.
    pub(super) sources: Vec<(u32, Bytes)>,
    /// Repair symbols that are not worked in, in the order in which they came.
    pub(super) waiting: Vec<(u32, Bytes)>,
    /// Identifiers of the repair symbols that are here, ascending.
    pub(super) used: Vec<u32>,
    /// The coefficients of those that are worked in, K each.
    pub(super) coefficients: Vec<u8>,
    /// They themselves, later what is left of them without the known source symbols.
    pub(super) syndromes: Slab,
    /// Positions of the unknowns at the start, ascending.
    pub(super) unknowns: Vec<u32>,
    pub(super) system: System,
    /// The solution: the coefficients of the syndromes for each unknown.
    pub(super) solution: Vec<u8>,
    /// Positions of the symbols decoded, ascending.
    pub(super) positions: Vec<u32>,
    /// Where they are written; used again once the application has dropped them.
    pub(super) decoded: BytesMut,
    /// The most that was ever needed of it.
    pub(super) decoded_bytes: usize,
}

impl Workspace {
    /// Lets go of all symbols.
    pub(super) fn release(&mut self) {
        self.sources.clear();
        self.waiting.clear();
        self.used.clear();
        self.coefficients.clear();
    }

    /// Empty memory with room for `bytes` bytes of decoded symbols.
    pub(super) fn room(&mut self, bytes: usize) -> &mut BytesMut {
        self.decoded_bytes = self.decoded_bytes.max(bytes);
        self.decoded.clear();
        self.decoded.reserve(bytes);
        &mut self.decoded
    }
}

impl Poolable for Workspace {
    fn pool() -> &'static Pool<Self> {
        static POOL: Pool<Workspace> = Pool::new();
        &POOL
    }

    fn own() -> &'static LocalKey<Own<Self>> {
        thread_local! { static OWN: Own<Workspace> = const { Cell::new(None) } }
        &OWN
    }

    fn capacity(&self) -> usize {
        let symbols = self.sources.capacity() + self.waiting.capacity();
        let numbers = self.used.capacity() + self.unknowns.capacity() + self.positions.capacity();
        symbols * size_of::<(u32, Bytes)>()
            + numbers * size_of::<u32>()
            + self.coefficients.capacity()
            + self.solution.capacity()
            + self.syndromes.capacity()
            + self.system.capacity()
            + self.decoded_bytes
    }
}
