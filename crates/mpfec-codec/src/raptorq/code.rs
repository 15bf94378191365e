//! What depends on K alone, made once and shared by the whole process: the program that
//! encodes, the coefficients of the first repair symbols, and for small blocks those that
//! give the coefficients of every other.

use std::cell::Cell;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::cost;
use super::elimination::Elimination;
use super::matrix::{HdpcColumn, hdpc_columns};
use super::program::{Program, Workspace};
use super::table::Parameters;
use super::transposed::{self, LANES};
use super::tuple::neighbours;
use crate::SourceSymbols;
use crate::dense::Rows;
use crate::gf256::{self, Slab};

/// The code for blocks of K source symbols.
#[derive(Debug)]
pub(super) struct Code {
    source_symbols: u32,
    parameters: Parameters,
    hdpc: Vec<HdpcColumn>,
    program: OnceLock<Program>,
    generator: OnceLock<Slab>,
    /// Coefficients of the first repair symbols, [`LANES`] at a time.
    first: [OnceLock<Vec<u8>>; FIRST / LANES],
}

impl Code {
    /// The code for K, made if it is not at hand.
    pub(super) fn get(source_symbols: SourceSymbols) -> Arc<Self> {
        // The one that this thread used last: blocks tend to have the same K, and the lock
        // takes a tenth of what coding a small one does.
        thread_local! { static LAST: Cell<Option<Arc<Code>>> = const { Cell::new(None) } }
        let get = |last: &Cell<Option<Arc<Self>>>| {
            let known = last.take();
            let known = known.filter(|code| code.source_symbols == source_symbols.value());
            let code = known.unwrap_or_else(|| Self::get_shared(source_symbols));
            last.set(Some(Arc::clone(&code)));
            code
        };
        // A thread that ends has none any more.
        let code = LAST.try_with(get);
        code.unwrap_or_else(|_| Self::get_shared(source_symbols))
    }

    fn get_shared(source_symbols: SourceSymbols) -> Arc<Self> {
        static CODES: Mutex<Codes> = Mutex::new(Codes {
            entries: Vec::new(),
        });
        // A panic elsewhere cannot leave it half changed in a way that matters.
        let mut codes = CODES.lock().unwrap_or_else(PoisonError::into_inner);
        codes.get(source_symbols)
    }

    fn new(source_symbols: SourceSymbols) -> Self {
        let parameters = Parameters::new(source_symbols);
        let mut hdpc = Vec::new();
        hdpc_columns(&parameters, &mut hdpc);
        Self {
            source_symbols: source_symbols.value(),
            parameters,
            hdpc,
            program: OnceLock::new(),
            generator: OnceLock::new(),
            first: Default::default(),
        }
    }

    /// K.
    pub(super) fn source_symbols(&self) -> usize {
        self.source_symbols as usize
    }

    pub(super) fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The columns of the HDPC rows.
    pub(super) fn hdpc(&self) -> &[HdpcColumn] {
        &self.hdpc
    }

    /// The internal symbol identifier of symbol `esi` (RFC 6330 §5.3.1): repair symbols
    /// follow the padding.
    pub(super) fn isi(&self, esi: u32) -> u32 {
        if esi < self.source_symbols {
            esi
        } else {
            esi - self.source_symbols + self.parameters.extended
        }
    }

    /// Identifiers of the symbols that are zero.
    pub(super) fn padding(&self) -> std::ops::Range<u32> {
        self.source_symbols..self.parameters.extended
    }

    /// The work that turns source symbols into intermediate symbols.
    pub(super) fn program(&self) -> &Program {
        self.program.get_or_init(|| {
            let mut elimination = Elimination::default();
            let isis = 0..self.source_symbols;
            let is_done = elimination.start(&self.parameters, &self.hdpc, self.padding(), isis);
            let is_solved = is_done && elimination.solve(&self.parameters);
            // RFC 6330 §5.6 chose J(K') such that they always do; a test tries.
            assert!(is_solved, "source symbols give the intermediate symbols");
            let mut program = Program::default();
            program.compile(&elimination);
            program
        })
    }

    /// For each work row of [`Code::program`], the coefficients of its sum of source symbols.
    fn generator(&self) -> &Slab {
        self.generator.get_or_init(|| {
            let k = self.source_symbols as usize;
            let width = k.next_multiple_of(64);
            // Source symbol i has a one in byte i: a window of this.
            let mut one = vec![0; k + width];
            one[k] = 1;
            let mut workspace = Workspace::default();
            let input = |index: u32| &one[k - index as usize..][..width];
            let program = self.program();
            program.run(&mut workspace, width, input);
            workspace.work.resize(program.places().len());
            workspace.work
        })
    }

    /// The coefficients of `count` repair symbols, up to [`LANES`], K each.
    fn rows(&self, first: u32, count: usize) -> Vec<u8> {
        let program = self.program();
        let sums = (first..).take(count).enumerate().flat_map(|(symbol, esi)| {
            let columns = neighbours(&self.parameters, self.isi(esi));
            columns.map(move |column| (symbol, usize::from(program.places()[usize::from(column)])))
        });
        transposed::coefficients(program, self.source_symbols(), count, sums)
    }

    fn add_up(&self, esi: u32, row: &mut [u8]) {
        let generator = self.generator();
        let places = self.program().places();
        row.fill(0);
        for column in neighbours(&self.parameters, self.isi(esi)) {
            let place = usize::from(places[usize::from(column)]);
            gf256::add(row, &generator.row(place)[..row.len()]);
        }
    }

    /// Bytes that it occupies.
    fn capacity(&self) -> usize {
        size_of_val(&self.hdpc[..])
            + self.program.get().map_or(0, Program::capacity)
            + self.generator.get().map_or(0, Slab::capacity)
            + (self.first.iter().filter_map(OnceLock::get))
                .map(Vec::capacity)
                .sum::<usize>()
    }
}

impl Rows for Code {
    fn coefficients(&self, esi: u32, row: &mut [u8]) {
        let k = self.source_symbols();
        let at = (esi - self.source_symbols) as usize;
        let Some(first) = self.first.get(at / LANES) else {
            return if cost::keeps_all(self.source_symbols) {
                self.add_up(esi, row);
            } else {
                row.copy_from_slice(&self.rows(esi, 1));
            };
        };
        let first = first.get_or_init(|| self.rows(esi - (at % LANES) as u32, LANES));
        row.copy_from_slice(&first[at % LANES * k..][..k]);
    }

    fn end(&self) -> u32 {
        end(self.source_symbols)
    }
}

/// Coefficients of symbols from here on are expensive.
pub(super) fn end(source_symbols: u32) -> u32 {
    if cost::keeps_all(source_symbols) {
        u32::MAX
    } else {
        source_symbols + FIRST as u32
    }
}

/// Codes in the order in which they were used, the last one last.
struct Codes {
    entries: Vec<Arc<Code>>,
}

impl Codes {
    fn get(&mut self, source_symbols: SourceSymbols) -> Arc<Code> {
        if let Some(last) = self.entries.last()
            && last.source_symbols == source_symbols.value()
        {
            return Arc::clone(last);
        }
        let known = self
            .entries
            .iter()
            .rposition(|code| code.source_symbols == source_symbols.value());
        let code = match known {
            Some(at) => self.entries.remove(at),
            None => Arc::new(Code::new(source_symbols)),
        };
        self.entries.push(Arc::clone(&code));
        self.shrink();
        code
    }

    fn shrink(&mut self) {
        let mut left = MAX_BYTES;
        let kept = self
            .entries
            .iter()
            .rev()
            .take(MAX_ENTRIES)
            .take_while(|code| {
                let fits = code.capacity() <= left;
                left = left.saturating_sub(code.capacity());
                fits
            });
        // The last one stays in any case.
        let excess = self.entries.len() - kept.count().max(1);
        self.entries.drain(..excess);
    }
}

/// Repair symbols whose coefficients are kept: those that nearly all blocks use.
const FIRST: usize = 4 * LANES;
/// Codes kept at most, and bytes that they occupy at most: 24 of K = 1024.
const MAX_ENTRIES: usize = 64;
const MAX_BYTES: usize = 32 << 20;

#[cfg(test)]
mod tests {
    use super::super::table::all_extended;
    use super::*;

    fn code(k: u32) -> Arc<Code> {
        Arc::new(Code::new(SourceSymbols::new(k).expect("a valid K")))
    }

    #[test]
    fn the_code_used_longest_ago_makes_room() {
        let mut codes = Codes {
            entries: Vec::new(),
        };
        for k in 1..=70 {
            codes.get(SourceSymbols::new(k).expect("a valid K"));
        }
        let first = codes.entries.first().map(|code| code.source_symbols);
        assert_eq!((first, codes.entries.len()), (Some(7), MAX_ENTRIES));
        codes.get(SourceSymbols::new(7).expect("a valid K"));
        assert_eq!(
            codes.entries.first().map(|code| code.source_symbols),
            Some(8)
        );
    }

    #[test]
    fn coefficients_are_the_same_whichever_way_they_are_computed() {
        for k in [1, 2, 10, 27, 101, 250, 600, 1500] {
            let code = code(k);
            let mut row = vec![0; k as usize];
            for (first, count) in [(k, LANES), (k + 1000, 1), (k + 5_000_000, 9)] {
                let rows = code.rows(first, count);
                assert_eq!(rows.len(), count * k as usize);
                for (esi, got) in (first..).zip(rows.chunks_exact(k as usize)) {
                    code.add_up(esi, &mut row);
                    assert_eq!(got, row, "K = {k}, ESI = {esi}");
                }
            }
        }
    }

    #[test]
    fn codes_stay_within_their_bytes() {
        let mut codes = Codes {
            entries: Vec::new(),
        };
        for k in 1000..1040 {
            let code = codes.get(SourceSymbols::new(k).expect("a valid K"));
            code.generator();
        }
        let bytes: usize = codes.entries.iter().map(|code| code.capacity()).sum();
        // The last one was measured before it was used.
        assert!(bytes <= MAX_BYTES + codes.entries[0].capacity(), "{bytes}");
        assert!(codes.entries.len() > 20);
    }

    /// J(K') was chosen such that the source symbols give the intermediate symbols.
    #[test]
    fn every_row_of_table_2_can_be_solved() {
        for extended in all_extended() {
            assert!(code(extended).program().rows() > extended as usize);
        }
    }
}
