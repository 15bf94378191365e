//! Schedules: sums of rows of a [`Slab`], one after the other.
#![expect(unsafe_code, reason = "replays with vectors, rows checked beforehand")]

use super::Slab;
use super::simd::Vector;
use super::slab::Rows;

/// Sums to compute, each of at most one input from outside and any rows.
#[derive(Debug, Default, Clone)]
pub(crate) struct Steps {
    steps: Vec<Step>,
    sources: Vec<u32>,
    /// Rows and inputs must be below these.
    rows: u32,
    inputs: u32,
}

/// One sum.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// The row that it is written to.
    pub(super) target: u32,
    /// An input, or `NO_INPUT`.
    pub(super) input: u32,
    /// Where in `sources` the rows end that are added; they start where those of the
    /// step before end. The target may be one of them.
    pub(super) end: u32,
}

impl Steps {
    /// None.
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.sources.clear();
        self.rows = 0;
        self.inputs = 0;
    }

    /// Appends: `target` becomes the sum of `input` and `rows`, zero without any.
    pub(crate) fn push(
        &mut self,
        target: u32,
        input: Option<u32>,
        rows: impl Iterator<Item = u32>,
    ) {
        let start = self.sources.len();
        self.sources.extend(rows);
        let added = self.sources[start..].iter().copied();
        let largest = added.fold(target, u32::max);
        self.rows = self.rows.max(largest + 1);
        if let Some(input) = input {
            debug_assert!(input != NO_INPUT, "there are never so many");
            self.inputs = self.inputs.max(input + 1);
        }
        self.steps.push(Step {
            target,
            input: input.unwrap_or(NO_INPUT),
            end: self.sources.len() as u32,
        });
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Bytes allocated.
    pub(crate) fn capacity(&self) -> usize {
        self.steps.capacity() * size_of::<Step>() + self.sources.capacity() * size_of::<u32>()
    }

    /// From the last to the first: target, input and rows that are added.
    pub(crate) fn iter_back(&self) -> impl Iterator<Item = (u32, Option<u32>, &[u32])> {
        (0..self.steps.len()).rev().map(|at| {
            let start = at.checked_sub(1).map_or(0, |before| self.steps[before].end);
            let step = self.steps[at];
            let input = (step.input != NO_INPUT).then_some(step.input);
            let sources = &self.sources[start as usize..step.end as usize];
            (step.target, input, sources)
        })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Step, &[u32])> {
        let mut start = 0;
        self.steps.iter().map(move |&step| {
            let sources = &self.sources[start..step.end as usize];
            start = step.end as usize;
            (step, sources)
        })
    }
}

impl Slab {
    /// Computes all `steps`, in order. `input` gives the inputs, as long as a row is
    /// when filled up to whole lines of 64 bytes.
    ///
    /// # Panics
    /// If there are fewer rows than the steps name, or an input is shorter than that.
    pub(crate) fn replay<'a>(&mut self, steps: &Steps, input: impl Fn(u32) -> &'a [u8]) {
        assert!(
            steps.rows as usize <= self.rows(),
            "row {} of {}",
            steps.rows,
            self.rows()
        );
        let kernel = self.kernel();
        kernel.replay(self.all(), steps, input);
    }
}

/// In plain Rust.
pub(super) fn portable<'a>(rows: Rows<'_>, steps: &Steps, input: impl Fn(u32) -> &'a [u8]) {
    let Rows {
        bytes,
        stride,
        width,
    } = rows;
    for (step, sources) in steps.iter() {
        let at = step.target as usize * stride;
        let target = &mut bytes[at..at + width];
        if !sources.contains(&step.target) {
            target.fill(0);
        }
        if step.input != NO_INPUT {
            super::portable::add(target, &input(step.input)[..width]);
        }
        for source in sources.iter().filter(|&&source| source != step.target) {
            let source = *source as usize * stride;
            let ranges = [at..at + width, source..source + width];
            let [target, source] = bytes.get_disjoint_mut(ranges).expect("two different rows");
            super::portable::add(target, source);
        }
    }
}

/// With vectors. The caller has the instructions for them.
#[inline(always)]
pub(super) unsafe fn replay<'a, V: Vector>(
    rows: Rows<'_>,
    steps: &Steps,
    input: impl Fn(u32) -> &'a [u8],
) {
    let Rows {
        bytes,
        stride,
        width,
    } = rows;
    assert!(width <= stride && width.is_multiple_of(V::BYTES));
    assert!(steps.rows as usize <= bytes.len() / stride);
    // Inputs come from all over a block; where that is large, they are slow to come.
    let ahead = if bytes.len() > FAR { AHEAD } else { usize::MAX };
    let mut later = steps.steps.iter().skip(ahead);
    let bytes = bytes.as_mut_ptr();
    for (step, sources) in steps.iter() {
        if let Some(later) = later.next()
            && later.input != NO_INPUT
        {
            prefetch(&input(later.input)[..width]);
        }
        let input = (step.input != NO_INPUT).then(|| {
            let input = input(step.input);
            assert!(input.len() >= width, "an input is shorter than a row");
            input.as_ptr()
        });
        let mut at = 0;
        // SAFETY: the input is as long as a row, and all rows are below `steps.rows`:
        // `Steps::push` saw them.
        unsafe {
            while at + 8 * V::BYTES <= width {
                strip::<V, 8>(bytes.add(at), stride, step.target, input, sources, at);
                at += 8 * V::BYTES;
            }
            match (width - at) / V::BYTES {
                1 => strip::<V, 1>(bytes.add(at), stride, step.target, input, sources, at),
                2 => strip::<V, 2>(bytes.add(at), stride, step.target, input, sources, at),
                3 => strip::<V, 3>(bytes.add(at), stride, step.target, input, sources, at),
                4 => strip::<V, 4>(bytes.add(at), stride, step.target, input, sources, at),
                5 => strip::<V, 5>(bytes.add(at), stride, step.target, input, sources, at),
                6 => strip::<V, 6>(bytes.add(at), stride, step.target, input, sources, at),
                7 => strip::<V, 7>(bytes.add(at), stride, step.target, input, sources, at),
                _ => {}
            }
        }
    }
}

/// Has the bytes fetched into the cache, on CPUs where that can be asked for.
#[inline(always)]
fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instructions are those of every such CPU, and nothing is read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// W vectors of row `target`, `at` bytes from the start, where `column` is that of row 0.
#[inline(always)]
unsafe fn strip<V: Vector, const W: usize>(
    column: *mut u8,
    stride: usize,
    target: u32,
    input: Option<*const u8>,
    sources: &[u32],
    at: usize,
) {
    // SAFETY: the caller has checked the rows, the input and that they have W vectors.
    unsafe {
        let vector = |from: *const u8, w: usize| V::load(from.add(w * V::BYTES));
        let mut sums: [V; W] = match input {
            Some(input) => std::array::from_fn(|w| vector(input.add(at), w)),
            None => [V::zero(); W],
        };
        for &source in sources {
            let from = column.add(source as usize * stride).cast_const();
            for (w, sum) in sums.iter_mut().enumerate() {
                *sum = sum.add(vector(from, w));
            }
        }
        let to = column.add(target as usize * stride);
        for (w, sum) in sums.into_iter().enumerate() {
            sum.store(to.add(w * V::BYTES));
        }
    }
}

/// Bytes of rows from which on inputs are fetched beforehand.
const FAR: usize = 1 << 20;
/// So many steps before.
const AHEAD: usize = 6;

pub(super) const NO_INPUT: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gf256::Kernel;

    proptest! {
        #[test]
        fn every_kernel_replays_the_same(
            width in 1_usize..1400,
            plan in prop::collection::vec(
                (0_u32..9, prop::option::of(0_u32..4), prop::collection::btree_set(0_u32..9, 0..9)),
                1..20,
            ),
        ) {
            let inputs: Vec<Vec<u8>> = (1..5_usize)
                .map(|input| (0..width.next_multiple_of(64)).map(|at| (at * input % 251) as u8).collect())
                .collect();
            let mut steps = Steps::default();
            let mut expected = vec![vec![0; width]; 9];
            for (target, input, rows) in plan {
                let mut sum = vec![0; width];
                let sources = input.map(|input| &inputs[input as usize]).into_iter();
                for source in sources.chain(rows.iter().map(|&row| &expected[row as usize])) {
                    sum.iter_mut().zip(source).for_each(|(sum, byte)| *sum ^= byte);
                }
                expected[target as usize] = sum;
                steps.push(target, input, rows.into_iter());
            }
            for kernel in Kernel::available() {
                let mut slab = Slab::with_kernel(kernel);
                slab.reset(9, width);
                (0..9).for_each(|row| slab.zero_row(row));
                slab.replay(&steps, |input| &inputs[input as usize]);
                for (row, expected) in expected.iter().enumerate() {
                    prop_assert_eq!(slab.row(row), &expected[..], "{:?}", kernel);
                }
            }
        }
    }
}
