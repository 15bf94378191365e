//! What to do with symbols once it is known how they depend on each other: compiled
//! once, run over one strip of all symbols after the other.
//!
//! `forward` computes what each pivot would be if all inactive symbols were zero, where
//! that is needed, and from it what the inactive symbols with an equation of bits would
//! be if the free ones were zero. The free ones are `weights` times the given symbols and
//! those. `backward` adds the free ones, then computes each pivot anew from its row, which
//! is sparse, and at last the symbols that are asked for.

use super::elimination::Elimination;
use super::matrix::Rows;
use super::peel::Place;
use super::residual::MAX_HDPC;
use crate::gf256::{self, Slab, Steps};

/// Work on symbols; kept to be used again.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// The work row of each intermediate symbol.
    places: Vec<u16>,
    /// Work rows altogether.
    rows: usize,
    forward: Steps,
    /// Inputs, and then work rows, that the free symbols are sums of products of.
    weighted_inputs: Vec<u32>,
    weighted_rows: std::ops::Range<usize>,
    /// For each free symbol, a factor for each of these.
    weights: Vec<u8>,
    free: usize,
    backward: Steps,
    /// What was asked for, some at a time, in the temporary rows.
    outputs: Vec<Steps>,
    /// Rows behind those of the intermediate symbols.
    temporary: std::ops::Range<usize>,
    scratch: Scratch,
}

#[derive(Debug, Default)]
struct Scratch {
    /// Which pivots have to be computed.
    needed: Vec<bool>,
    /// Which of them `forward` computes.
    is_forward: Vec<bool>,
    /// For each inactive column, its work row.
    inactive: Vec<u32>,
    /// The weights of all inputs and rows in one HDPC row, for each of these.
    planes: Vec<u8>,
}

/// What a program works in; kept to be used again.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    pub(super) work: Slab,
    free: Slab,
}

impl Workspace {
    /// Bytes allocated.
    pub(super) fn capacity(&self) -> usize {
        self.work.capacity() + self.free.capacity()
    }
}

impl Program {
    /// Becomes the work that gives all intermediate symbols.
    pub(super) fn compile(&mut self, elimination: &Elimination) {
        self.lay_out(elimination);
        self.outputs.iter_mut().for_each(Steps::clear);
        self.scratch.needed.clear();
        self.scratch
            .needed
            .resize(elimination.peeling().pivots().len(), true);
        self.compile_backward(elimination);
    }

    /// Becomes the work that gives the encoding symbols with these neighbours, and of the
    /// intermediate symbols only what that needs.
    pub(super) fn compile_outputs(&mut self, elimination: &Elimination, outputs: &Rows) {
        self.lay_out(elimination);
        self.need_for(elimination, outputs.iter().flatten().copied());
        self.compile_backward(elimination);
        let groups = outputs.len().div_ceil(self.temporary.len());
        self.outputs
            .resize_with(groups.max(self.outputs.len()), Steps::default);
        self.outputs.iter_mut().for_each(Steps::clear);
        for (at, columns) in outputs.iter().enumerate() {
            let (group, row) = (at / self.temporary.len(), at % self.temporary.len());
            let places = &self.places;
            let rows = columns
                .iter()
                .map(|&column| u32::from(places[usize::from(column)]));
            self.outputs[group].push((self.temporary.start + row) as u32, None, rows);
        }
    }

    /// Rows of a workspace that it needs.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Work rows of the intermediate symbols.
    pub(super) fn places(&self) -> &[u16] {
        &self.places
    }

    /// The steps before the free symbols.
    pub(super) fn forward(&self) -> &Steps {
        &self.forward
    }

    /// The steps after the free symbols, which are in the rows behind the weighted ones.
    pub(super) fn backward(&self) -> &Steps {
        &self.backward
    }

    /// Inputs that the free symbols are sums of products of.
    pub(super) fn weighted_inputs(&self) -> &[u32] {
        &self.weighted_inputs
    }

    /// Rows that they are sums of products of besides.
    pub(super) fn weighted_rows(&self) -> std::ops::Range<usize> {
        self.weighted_rows.clone()
    }

    /// For each free symbol, its factor of each of these.
    pub(super) fn weights(&self) -> &[u8] {
        &self.weights
    }

    /// Bytes allocated.
    pub(super) fn capacity(&self) -> usize {
        self.forward.capacity()
            + self.backward.capacity()
            + self.outputs.iter().map(Steps::capacity).sum::<usize>()
            + self.weights.capacity()
            + 2 * self.places.capacity()
            + 4 * self.weighted_inputs.capacity()
    }

    /// Runs on `width` bytes of each symbol, which `input` gives, filled up to whole lines.
    pub(super) fn run<'a>(
        &self,
        workspace: &mut Workspace,
        width: usize,
        input: impl Fn(u32) -> &'a [u8],
    ) {
        let Workspace { work, free } = workspace;
        work.reset(self.rows, width);
        work.replay(&self.forward, &input);
        free.reset(self.free, width);
        (0..self.free).for_each(|row| free.zero_row(row));
        let inputs = self
            .weighted_inputs
            .iter()
            .map(|&index| &input(index)[..width]);
        let rows = self.weighted_rows.clone().map(|row| work.row(row));
        let stride = self.weighted_inputs.len() + self.weighted_rows.len();
        let sources = inputs.chain(rows).enumerate();
        free.add_dot_of(0..self.free, &self.weights, stride, sources);
        for row in 0..self.free {
            work.write_row(self.weighted_rows.end + row, free.row(row));
        }
        work.replay(&self.backward, &input);
    }

    /// Computes what was asked for, in order, once the program has run.
    pub(super) fn for_each_output(&self, workspace: &mut Workspace, mut each: impl FnMut(&[u8])) {
        for steps in self.outputs.iter().filter(|steps| !steps.is_empty()) {
            workspace.work.replay(steps, |_| &[]);
            let rows = self.temporary.clone().take(steps.len());
            rows.for_each(|row| each(workspace.work.row(row)));
        }
    }

    /// Gives each intermediate symbol a row, and computes up to the free ones.
    fn lay_out(&mut self, elimination: &Elimination) {
        let (peeling, residual) = (elimination.peeling(), elimination.residual());
        let solution = elimination.solution();
        let pivots = peeling.pivots().len();
        let (all, rank) = (pivots + peeling.inactive().len(), residual.rank());
        self.free = solution.free.len();
        self.temporary = all..all + rank.max(LEAST_TEMPORARY);
        self.rows = self.temporary.end;
        self.weighted_rows = pivots..pivots + rank;
        let inactive = &mut self.scratch.inactive;
        inactive.clear();
        inactive.resize(all - pivots, 0);
        let solved = residual.leads().iter().chain(&solution.free);
        for (row, &column) in (pivots as u32..).zip(solved) {
            inactive[column as usize] = row;
        }
        self.places.clear();
        self.places
            .extend((0..all).map(|column| match peeling.place(column as u16) {
                Place::Pivot(pivot) => pivot as u16,
                Place::Inactive(index) => inactive[index as usize] as u16,
                Place::Active => unreachable!("peeling ends without active columns"),
            }));
        self.compile_forward(elimination);
        self.compile_weights(elimination);
        self.backward.clear();
        for (at, lead) in self.weighted_rows.clone().enumerate() {
            let inactive = &self.scratch.inactive;
            let mut columns = residual.columns(at).peekable();
            if columns.peek().is_some() {
                let rows = columns.map(|column| inactive[column as usize]);
                let lead = lead as u32;
                self.backward
                    .push(lead, None, std::iter::once(lead).chain(rows));
            }
        }
    }

    fn compile_forward(&mut self, elimination: &Elimination) {
        let equations = elimination.equations();
        let rows = elimination.rows();
        self.need_for(
            elimination,
            equations
                .iter()
                .flat_map(|&row| rows.row(row as usize))
                .copied(),
        );
        self.scratch.is_forward.clone_from(&self.scratch.needed);
        self.forward.clear();
        let peeling = elimination.peeling();
        let pivot = |column: &u16| match peeling.place(*column) {
            Place::Pivot(pivot) => Some(pivot),
            _ => None,
        };
        for (at, &(row, own)) in (0..).zip(peeling.pivots()) {
            if self.scratch.needed[at as usize] {
                let others = rows
                    .row(row as usize)
                    .iter()
                    .filter(|&&column| column != own);
                self.forward
                    .push(at, elimination.input(row), others.filter_map(pivot));
            }
        }
        let temporary = self.places.len() as u32;
        for (at, &row) in (temporary..).zip(equations) {
            let columns = rows.row(row as usize).iter();
            self.forward
                .push(at, elimination.input(row), columns.filter_map(pivot));
        }
        for (at, lead) in self.weighted_rows.clone().enumerate() {
            let origins = elimination.residual().origins(at);
            self.forward
                .push(lead as u32, None, origins.map(|origin| temporary + origin));
        }
    }

    fn compile_weights(&mut self, elimination: &Elimination) {
        self.weighted_inputs.clear();
        self.weights.clear();
        if self.free == 0 {
            self.weighted_rows.end = self.weighted_rows.start;
            return;
        }
        let pivots = elimination.peeling().pivots();
        let of_inputs = || {
            let pivots = pivots.iter().zip(elimination.weights());
            pivots.filter_map(|(&(row, _), weight)| Some((elimination.input(row)?, weight)))
        };
        self.weighted_inputs
            .extend(of_inputs().map(|(input, _)| input));
        let count = self.weighted_inputs.len() + self.weighted_rows.len();
        let planes = &mut self.scratch.planes;
        planes.clear();
        planes.resize(count * MAX_HDPC, 0);
        let of_inputs = of_inputs().map(|(_, weight)| weight);
        let octets = elimination.octets();
        let of_rows = elimination
            .residual()
            .leads()
            .iter()
            .map(|&lead| &octets[lead as usize]);
        for (at, weight) in of_inputs.chain(of_rows).enumerate() {
            for (plane, octet) in weight.to_le_bytes().into_iter().enumerate() {
                planes[plane * count + at] = octet;
            }
        }
        self.weights.resize(count * self.free, 0);
        let planes: [&[u8]; MAX_HDPC] =
            std::array::from_fn(|plane| &planes[plane * count..][..count]);
        for (weights, inverse) in self
            .weights
            .chunks_exact_mut(count)
            .zip(&elimination.solution().inverse)
        {
            gf256::dot(&mut [weights], inverse, &planes);
        }
    }

    fn compile_backward(&mut self, elimination: &Elimination) {
        let Self {
            places,
            scratch,
            backward,
            ..
        } = self;
        for (at, &(row, own)) in (0..).zip(elimination.peeling().pivots()) {
            if !scratch.needed[at as usize] {
                continue;
            }
            let columns = elimination.rows().row(row as usize);
            let expression = elimination.expression(at as usize);
            // What it would be if inactive symbols were zero is there, and may be nearer.
            if scratch.is_forward[at as usize] && expression.clone().count() < columns.len() {
                let inactive = expression.map(|index| scratch.inactive[index as usize]);
                backward.push(at, None, std::iter::once(at).chain(inactive));
            } else {
                let others = columns.iter().filter(|&&column| column != own);
                let rows = others.map(|&column| u32::from(places[usize::from(column)]));
                backward.push(at, elimination.input(row), rows);
            }
        }
    }

    /// Marks the pivots that these columns need.
    fn need_for(&mut self, elimination: &Elimination, columns: impl Iterator<Item = u16>) {
        let peeling = elimination.peeling();
        let needed = &mut self.scratch.needed;
        needed.clear();
        needed.resize(peeling.pivots().len(), false);
        let need = |needed: &mut [bool], column| {
            if let Place::Pivot(pivot) = peeling.place(column) {
                needed[pivot as usize] = true;
            }
        };
        columns.for_each(|column| need(needed, column));
        for (at, &(row, _)) in peeling.pivots().iter().enumerate().rev() {
            if needed[at] {
                let columns = elimination.rows().row(row as usize).iter();
                columns.for_each(|&column| need(needed, column));
            }
        }
    }
}

/// So many rows there are at least for what is not kept.
const LEAST_TEMPORARY: usize = 16;
