//! The first phase of inactivation decoding (RFC 6330 §5.4.2.2): an order in which all
//! but a few columns, the inactive ones, follow one by one from a row each.
//!
//! A row whose columns are all but one known gives that column. When no such row is
//! left, a column is declared inactive: taken for known, and solved for later. The RFC
//! takes the row and column from the largest component of the graph whose edges are the
//! rows with two unknown columns, because all columns of the component then follow. Here
//! components are kept in a disjoint-set forest, which is exact: a component loses all of
//! its columns at once.

use super::matrix::Rows;

/// The order found, and what finding it needs; kept to be used again.
#[derive(Debug, Default)]
pub(super) struct Peeling {
    /// Rows and the columns that follow from them, in that order.
    pivots: Vec<(u32, u16)>,
    /// All other columns, the permanently inactive ones first.
    inactive: Vec<u16>,
    /// Where each column stands.
    places: Vec<Place>,
    scratch: Scratch,
}

/// Where a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Not known yet; none is when peeling has ended.
    Active,
    /// Follows from the row of this pivot.
    Pivot(u32),
    /// Is the inactive column of this index.
    Inactive(u32),
}

#[derive(Debug, Default)]
struct Scratch {
    /// For each row, how many of its columns are active, and the XOR of these.
    degrees: Vec<u16>,
    sums: Vec<u16>,
    /// For each column below W, where its rows start in `rows`.
    starts: Vec<u32>,
    rows: Vec<u32>,
    /// Rows with one active column, some of which may have lost it.
    ready: Vec<u32>,
    /// Rows of the smallest degree above two when last looked for.
    sparse: Vec<u32>,
    components: Components,
}

impl Peeling {
    /// Peels `rows` of the columns below `lt`; those up to `all` are inactive from the start.
    ///
    /// False if more than `most` columns got inactive: solving for them would cost too much.
    pub(super) fn peel(&mut self, rows: &Rows, lt: usize, all: usize, most: usize) -> bool {
        self.pivots.clear();
        self.inactive.clear();
        self.places.clear();
        self.places.resize(lt, Place::Active);
        for column in lt..all {
            self.places.push(Place::Inactive((column - lt) as u32));
            self.inactive.push(column as u16);
        }
        self.scratch.prepare(rows, lt);
        let mut next = 0;
        loop {
            while let Some(row) = self.scratch.ready.pop() {
                if self.scratch.degrees[row as usize] == 1 {
                    let column = self.scratch.sums[row as usize];
                    self.places[usize::from(column)] = Place::Pivot(self.pivots.len() as u32);
                    self.pivots.push((row, column));
                    self.scratch.remove(rows, &self.places, column);
                }
            }
            let Some(column) = self.next_inactive(rows, &mut next) else {
                return true;
            };
            if self.inactive.len() >= most {
                return false;
            }
            self.places[usize::from(column)] = Place::Inactive(self.inactive.len() as u32);
            self.inactive.push(column);
            self.scratch.remove(rows, &self.places, column);
        }
    }

    pub(super) fn pivots(&self) -> &[(u32, u16)] {
        &self.pivots
    }

    pub(super) fn inactive(&self) -> &[u16] {
        &self.inactive
    }

    pub(super) fn place(&self, column: u16) -> Place {
        self.places[usize::from(column)]
    }

    /// An active column whose knowledge gives many others, unless there is none.
    /// Columns before `next` are not active.
    fn next_inactive(&mut self, rows: &Rows, next: &mut usize) -> Option<u16> {
        let is_active = |column: u16| self.places[usize::from(column)] == Place::Active;
        if let Some(column) = self.scratch.components.largest(is_active) {
            return Some(column);
        }
        if let Some(row) = self.scratch.sparse_row() {
            let mut columns = rows.row(row as usize).iter().copied();
            return columns.find(|&column| is_active(column));
        }
        // In no row that is left.
        while *next < self.scratch.starts.len() - 1 {
            let column = *next as u16;
            *next += 1;
            if is_active(column) {
                return Some(column);
            }
        }
        None
    }
}

impl Scratch {
    fn prepare(&mut self, rows: &Rows, lt: usize) {
        self.degrees.clear();
        self.sums.clear();
        self.ready.clear();
        self.sparse.clear();
        self.starts.clear();
        self.starts.resize(lt + 1, 0);
        for row in rows.iter() {
            let (mut degree, mut sum) = (0, 0);
            for &column in row.iter().take_while(|&&column| usize::from(column) < lt) {
                degree += 1;
                sum ^= column;
                self.starts[usize::from(column)] += 1;
            }
            self.degrees.push(degree);
            self.sums.push(sum);
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.rows.clear();
        self.rows.resize(end as usize, 0);
        // Backwards, so that each start ends where it belongs.
        for (row, columns) in rows.iter().enumerate().rev() {
            for &column in columns
                .iter()
                .take_while(|&&column| usize::from(column) < lt)
            {
                let start = &mut self.starts[usize::from(column)];
                *start -= 1;
                self.rows[*start as usize] = row as u32;
            }
        }
        self.components.reset(lt);
        for row in 0..self.degrees.len() {
            match self.degrees[row] {
                1 => self.ready.push(row as u32),
                2 => self.join(rows, row, |column| usize::from(column) < lt),
                _ => {}
            }
        }
    }

    /// Column `column` is not active any more.
    fn remove(&mut self, rows: &Rows, places: &[Place], column: u16) {
        let range = self.starts[usize::from(column)]..self.starts[usize::from(column) + 1];
        for at in range {
            let row = self.rows[at as usize] as usize;
            self.sums[row] ^= column;
            self.degrees[row] -= 1;
            match self.degrees[row] {
                1 => self.ready.push(row as u32),
                2 => self.join(rows, row, |column| {
                    places[usize::from(column)] == Place::Active
                }),
                _ => {}
            }
        }
    }

    /// The two active columns of `row` follow from each other now.
    fn join(&mut self, rows: &Rows, row: usize, is_active: impl Fn(u16) -> bool) {
        let first = rows
            .row(row)
            .iter()
            .copied()
            .find(|&column| is_active(column));
        let first = first.expect("the row has two active columns");
        self.components.join(first, self.sums[row] ^ first);
    }

    /// A row with few active columns, but more than two: those with fewer are used up.
    fn sparse_row(&mut self) -> Option<u32> {
        while let Some(row) = self.sparse.pop() {
            if self.degrees[row as usize] > 2 {
                return Some(row);
            }
        }
        let degrees = self.degrees.iter().copied();
        let smallest = degrees.filter(|&degree| degree > 0).min()?;
        let rows = (0..).zip(&self.degrees);
        let smallest = rows.filter(|&(_, &degree)| degree == smallest);
        self.sparse.extend(smallest.map(|(row, _)| row));
        self.sparse.pop()
    }
}

/// Sets of columns that follow from each other.
#[derive(Debug, Default)]
struct Components {
    parents: Vec<u16>,
    sizes: Vec<u16>,
    /// Roots of components of at least 2^i columns, as they reached that size.
    by_size: [Vec<u16>; 16],
}

impl Components {
    fn reset(&mut self, columns: usize) {
        self.parents.clear();
        self.parents
            .extend((0..columns).map(|column| column as u16));
        self.sizes.clear();
        self.sizes.resize(columns, 1);
        self.by_size.iter_mut().for_each(Vec::clear);
    }

    fn join(&mut self, a: u16, b: u16) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        let size = |root: u16| self.sizes[usize::from(root)];
        let (large, small) = if size(a) < size(b) { (b, a) } else { (a, b) };
        let (before, joined) = (size(large), size(large) + size(small));
        self.parents[usize::from(small)] = large;
        self.sizes[usize::from(large)] = joined;
        if joined.ilog2() > before.ilog2() {
            self.by_size[joined.ilog2() as usize].push(large);
        }
    }

    fn root(&mut self, mut column: u16) -> u16 {
        loop {
            let parent = self.parents[usize::from(column)];
            if parent == column {
                return column;
            }
            let grandparent = self.parents[usize::from(parent)];
            self.parents[usize::from(column)] = grandparent;
            column = grandparent;
        }
    }

    /// A column of a component nearly as large as any; it goes with all of its columns.
    fn largest(&mut self, is_active: impl Fn(u16) -> bool) -> Option<u16> {
        for (log, roots) in self.by_size.iter_mut().enumerate().rev() {
            while let Some(root) = roots.pop() {
                let is_root = self.parents[usize::from(root)] == root;
                if is_root
                    && self.sizes[usize::from(root)].ilog2() as usize == log
                    && is_active(root)
                {
                    return Some(root);
                }
            }
        }
        None
    }
}
