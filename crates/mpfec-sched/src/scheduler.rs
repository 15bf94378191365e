//! The question a path asks, and the answer.

use std::fmt::Debug;

use crate::view::View;

/// What kind of encoding symbol of a block leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// The next source symbol that was never sent.
    Source,
    /// A new repair symbol; of a block without repair code, a lost source symbol again.
    Repair,
    /// A new repair symbol; of a block without repair code, again the first source symbol that
    /// was lost on the path of slot `of`.
    Retransmission {
        /// Slot of the path that lost it.
        of: usize,
    },
    /// A new repair symbol; of a block without repair code, once more the first source symbol
    /// that is on its way on the path of slot `of`.
    Reinjection {
        /// Slot of the path that holds the data up.
        of: usize,
    },
}

impl SymbolKind {
    /// Whether it stands in for what a certain path was given before.
    #[must_use]
    pub fn is_again(self) -> bool {
        matches!(self, Self::Retransmission { .. } | Self::Reinjection { .. })
    }
}

/// Symbols of one block for one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// Index into [`View::blocks`].
    pub block: usize,
    /// Which symbols of it.
    pub symbol: SymbolKind,
    /// How many in a row: at least 1, at most the budget that was asked for.
    pub count: u32,
}

/// Decides which symbol goes on which path.
pub trait Scheduler: Debug + Send {
    /// What `paths[path]`, which may send now, carries next, up to `budget` symbols.
    ///
    /// `None` leaves the path idle: a decision too (FMTCP Theorem 2). It is asked again after
    /// every change of the view.
    fn select(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment>;

    /// The symbols of `assignment` left on `paths[path]`.
    fn on_sent(&mut self, path: usize, assignment: &Assignment, view: &View<'_>);

    /// A path, by its index in the view of the call before, whose window is to be cut as if
    /// it had lost a packet: asked after a [retransmission](SymbolKind::Retransmission) or a
    /// [reinjection](SymbolKind::Reinjection) was sent.
    fn poll_penalty(&mut self) -> Option<usize> {
        None
    }

    /// Whether it gives `paths[path]` anything at all, now or in a moment.
    fn may_carry(&self, path: usize, view: &View<'_>) -> bool {
        view.is_usable(path)
    }

    /// Whether it has left the path of that slot out of the data, when it was asked last, because
    /// more gets through without it.
    fn leaves_out(&self, _slot: usize) -> bool {
        false
    }

    /// Whether it wants to be asked while nothing is unsent and nothing lost: because it sends
    /// repair symbols ahead of loss even then.
    fn sends_ahead(&self) -> bool {
        false
    }
}
