//! Collects symbols and solves for the absent ones as repair symbols arrive.

use std::fmt;

use bytes::{Bytes, BytesMut};

use super::Rows;
use super::workspace::Workspace;
use crate::pool::Pooled;
use crate::{BlockDecoder, DecodeError, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};

/// Decoder of one block, for any code with [`Rows`].
pub(crate) struct Decoder<R> {
    rows: R,
    source_symbols: SourceSymbols,
    size: SymbolSize,
    most_unknowns: u32,
    /// Symbols with expensive coefficients that came while solving.
    expensive: u32,
    state: State,
    work: Pooled<Workspace>,
}

#[derive(Debug)]
enum State {
    /// Symbols are kept and nothing else.
    Collecting,
    /// The unknowns are those of the workspace, and symbols are worked in.
    Solving {
        /// Syndromes that contain no known source symbol but late ones: the first of them.
        folded: usize,
        /// Source symbols that were taken out of those, the first that came.
        known: usize,
    },
    Complete {
        /// Decoded symbols that were not asked for.
        decoded: Bytes,
        /// How many were.
        polled: usize,
    },
}

impl<R: Rows + fmt::Debug + Send> Decoder<R> {
    /// A decoder of K symbols that does not solve while more than `most_unknowns` source
    /// symbols are absent.
    pub(crate) fn new(
        rows: R,
        source_symbols: SourceSymbols,
        size: SymbolSize,
        most_unknowns: u32,
    ) -> Self {
        let mut work: Pooled<Workspace> = Pooled::default();
        work.received.reset(source_symbols);
        Self {
            rows,
            source_symbols,
            size,
            most_unknowns,
            expensive: 0,
            state: State::Collecting,
            work,
        }
    }

    /// K symbols or more are here, but too many source symbols are absent for this
    /// decoder: all that came is in [`Decoder::symbols`].
    pub(crate) fn is_deferred(&self) -> bool {
        matches!(self.state, State::Collecting)
            && self.work.waiting.len() >= self.work.received.absent() as usize
            && !self.is_possible()
    }

    /// Whether to solve here is the cheaper way.
    fn is_possible(&self) -> bool {
        let is_cheap = |(esi, _): &(u32, Bytes)| *esi < self.rows.end();
        self.work.received.absent() <= self.most_unknowns && self.work.waiting.iter().all(is_cheap)
    }

    /// The symbols here: source symbols, then repair symbols, each in the order in which
    /// they came. Source symbols may be short. Of a decoder that is solving, or complete,
    /// they are not all.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = (u32, &Bytes)> {
        let all = self.work.sources.iter().chain(&self.work.waiting);
        all.map(|(esi, symbol)| (*esi, symbol))
    }

    /// Positions of the source symbols that are not here, ascending.
    pub(crate) fn absent(&self) -> impl Iterator<Item = u32> {
        self.work.received.iter_absent()
    }

    /// Memory for the absent symbols, zeroed: T bytes each, one behind the other.
    pub(crate) fn memory_for_absent(&mut self) -> BytesMut {
        let bytes = self.work.received.absent() as usize * self.size.bytes();
        let room = self.work.room(bytes);
        room.resize(bytes, 0);
        room.split()
    }

    /// Takes the absent symbols, decoded elsewhere: T bytes each, ascending by position.
    pub(crate) fn complete(&mut self, decoded: Bytes) {
        debug_assert_eq!(
            decoded.len(),
            self.work.received.absent() as usize * self.size.bytes()
        );
        let work = &mut *self.work;
        work.positions.clear();
        work.positions.extend(work.received.iter_absent());
        work.release();
        self.state = State::Complete { decoded, polled: 0 };
    }

    #[inline(always)]
    fn push_source(&mut self, position: u32, symbol: Bytes) -> Progress {
        if !self.work.received.insert(position) {
            return Progress::Redundant;
        }
        self.work.sources.push((position, symbol));
        if let State::Solving { .. } = self.state {
            let unknown = self.work.unknowns.binary_search(&position);
            let unknown = unknown.expect("what was here at the start is a duplicate");
            self.work.system.know(unknown);
            self.fold(FOLD_SOURCES);
        } else if self.work.waiting.is_empty() && self.work.received.absent() > 0 {
            // Nothing that it could help with: the usual case.
            return Progress::Useful {
                missing: self.work.received.absent(),
            };
        }
        self.advance()
    }

    fn push_repair(&mut self, esi: u32, symbol: Bytes) -> Progress {
        // So many help only if nearly all say the same.
        let most = self.work.received.absent() as usize + MAX_SPARE;
        if self.work.waiting.len() >= most {
            return Progress::Redundant;
        }
        let Err(place) = self.work.used.binary_search(&esi) else {
            return Progress::Redundant;
        };
        if let State::Solving { .. } = self.state {
            if esi >= self.rows.end() {
                // More than any sender of useful ones needs are meant to cost us time.
                if self.expensive >= self.most_unknowns + MAX_SPARE as u32 {
                    return Progress::Redundant;
                }
                self.expensive += 1;
            }
            if !self.work_in(esi, &symbol) {
                return Progress::Redundant;
            }
        } else {
            self.work.waiting.push((esi, symbol));
        }
        self.work.used.insert(place, esi);
        self.advance()
    }

    /// Does what has become possible.
    fn advance(&mut self) -> Progress {
        if self.work.received.absent() == 0 {
            self.complete(Bytes::new());
            return Progress::Complete;
        }
        self.start();
        if let State::Solving { folded, .. } = self.state {
            let missing = self.work.system.missing();
            if missing == 0 {
                self.solve();
                return Progress::Complete;
            }
            let unfolded = self.work.syndromes.rows() - folded;
            // Leaves the last few to be folded together.
            let enough = if self.source_symbols.value() < LARGE {
                FOLD_REPAIRS
            } else {
                FOLD_REPAIRS_OF_LARGE
            };
            if unfolded >= enough && missing >= 2 {
                self.fold(0);
            }
        }
        Progress::Useful {
            missing: self.missing(),
        }
    }

    /// Begins to solve if that is worth it by now.
    fn start(&mut self) {
        let absent = self.work.received.absent();
        let waiting = self.work.waiting.len();
        let is_worth_it = waiting >= FOLD_REPAIRS.min(absent as usize);
        if !matches!(self.state, State::Collecting) || !is_worth_it || !self.is_possible() {
            return;
        }
        let work = &mut *self.work;
        work.unknowns.clear();
        work.unknowns.extend(work.received.iter_absent());
        work.system.start(absent as usize);
        // Room for all at once: growing would take three times as much for a moment.
        work.syndromes.reset(absent as usize, self.size.bytes());
        work.syndromes.resize(0);
        work.coefficients.clear();
        self.state = State::Solving {
            folded: 0,
            known: 0,
        };
        let mut waiting = std::mem::take(&mut self.work.waiting);
        for (esi, symbol) in waiting.drain(..) {
            if self.work.system.missing() > 0 {
                self.work_in(esi, &symbol);
            }
        }
        // Its memory is used again.
        self.work.waiting = waiting;
    }

    /// Makes a repair symbol an equation and a syndrome; false if it says nothing new.
    fn work_in(&mut self, esi: u32, symbol: &[u8]) -> bool {
        let k = self.source_symbols.value() as usize;
        let Workspace {
            coefficients,
            syndromes,
            unknowns,
            system,
            ..
        } = &mut *self.work;
        let start = coefficients.len();
        coefficients.resize(start + k, 0);
        let row = &mut coefficients[start..];
        self.rows.coefficients(esi, row);
        if !system.push(unknowns.iter().map(|&position| row[position as usize])) {
            coefficients.truncate(start);
            return false;
        }
        let index = syndromes.rows();
        syndromes.resize(index + 1);
        syndromes.write_row(index, symbol);
        true
    }

    /// Takes known source symbols out of the syndromes: all out of the new ones, and of
    /// the old ones those that came late, if they are at least `late`.
    fn fold(&mut self, late: usize) {
        let State::Solving { folded, known } = &mut self.state else {
            return;
        };
        let k = self.source_symbols.value() as usize;
        let Workspace {
            sources,
            coefficients,
            syndromes,
            ..
        } = &mut *self.work;
        let symbols = |range: std::ops::Range<usize>| {
            let symbols = sources[range].iter();
            symbols.map(|(position, symbol)| (*position as usize, &symbol[..]))
        };
        let rows = syndromes.rows();
        if *folded == 0 {
            *known = sources.len();
        }
        if late == 0 && *folded < rows {
            let coefficients = &coefficients[*folded * k..];
            syndromes.add_dot_of(*folded..rows, coefficients, k, symbols(0..*known));
            *folded = rows;
        }
        if sources.len() - *known > late {
            syndromes.add_dot_of(0..*folded, coefficients, k, symbols(*known..sources.len()));
            *known = sources.len();
        }
    }

    /// Computes the unknowns. No equation is missing.
    fn solve(&mut self) {
        self.fold(0);
        let absent = self.work.received.absent() as usize;
        self.work.room(absent * self.size.bytes());
        let Workspace {
            syndromes,
            system,
            solution,
            decoded,
            ..
        } = &mut *self.work;
        let equations = system.equations();
        solution.clear();
        system.solve(solution);
        syndromes.append_dot(decoded, absent, solution, equations, 0..equations);
        let decoded = decoded.split().freeze();
        self.complete(decoded);
    }
}

impl<R: Rows + fmt::Debug + Send> BlockDecoder for Decoder<R> {
    // Inlined into a decoder that contains this one: handing `symbol` on in memory costs as
    // much as all else that is done with a source symbol.
    #[inline(always)]
    fn push(&mut self, esi: EncodingSymbolId, symbol: Bytes) -> Result<Progress, DecodeError> {
        let (got, want) = (symbol.len(), self.size.bytes());
        let is_source = esi.value() < self.source_symbols.value();
        let fits = if is_source {
            1 <= got && got <= want
        } else {
            got == want
        };
        if !fits {
            return Err(DecodeError::SymbolSize { esi, got, want });
        }
        if let State::Complete { .. } = self.state {
            return Ok(Progress::Redundant);
        }
        Ok(if is_source {
            self.push_source(esi.value(), symbol)
        } else {
            self.push_repair(esi.value(), symbol)
        })
    }

    fn poll_recovered(&mut self) -> Option<(u32, Bytes)> {
        let State::Complete { decoded, polled } = &mut self.state else {
            return None;
        };
        if decoded.is_empty() {
            return None;
        }
        let position = self.work.positions[*polled];
        *polled += 1;
        Some((position, decoded.split_to(self.size.bytes())))
    }

    fn missing(&self) -> u32 {
        match self.state {
            State::Complete { .. } => 0,
            State::Solving { .. } => self.work.system.missing() as u32,
            State::Collecting => {
                let waiting = self.work.waiting.len() as u32;
                self.work.received.absent().saturating_sub(waiting).max(1)
            }
        }
    }
}

impl<R> fmt::Debug for Decoder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Collecting => "collecting",
            State::Solving { .. } => "solving",
            State::Complete { .. } => "complete",
        };
        let mut debug = f.debug_struct("Decoder");
        debug
            .field("received", &self.work.received)
            .field("repairs", &(self.work.waiting.len() + self.work.used.len()))
            .field("state", &state)
            .finish_non_exhaustive()
    }
}

impl<R> Drop for Decoder<R> {
    fn drop(&mut self) {
        // The workspace goes back to the pool; what it holds of the application must not.
        self.work.release();
    }
}

/// Repair symbols that are worked in together: they share the reading of the source
/// symbols, and the sums of so many fit into the registers of the fastest kernel.
const FOLD_REPAIRS: usize = 6;

/// The same where reading the source symbols takes longer, because they fit into no cache
/// that is near, and where a block takes so long that the last few matter less.
const FOLD_REPAIRS_OF_LARGE: usize = 16;

/// The first K that is large in this sense.
const LARGE: u32 = 2049;

/// Late source symbols that wait to be taken out together.
const FOLD_SOURCES: usize = 8;

/// Repair symbols beyond the absent source symbols that are kept while too many source
/// symbols are absent, and beyond the unknowns that are taken if they are expensive.
const MAX_SPARE: usize = 64;
