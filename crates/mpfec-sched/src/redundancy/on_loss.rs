//! Repair on feedback only.

use crate::scheduler::{Assignment, Scheduler};
use crate::view::View;

/// A scheduler that is not allowed to protect anything ahead of loss.
#[derive(Debug)]
pub struct OnLoss {
    inner: Box<dyn Scheduler>,
}

impl OnLoss {
    /// Takes the choice of when to repair away from `inner`.
    #[must_use]
    pub fn new(inner: Box<dyn Scheduler>) -> Self {
        Self { inner }
    }
}

impl Scheduler for OnLoss {
    fn select(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment> {
        self.inner.select(path, budget, &without_protection(view))
    }

    fn on_sent(&mut self, path: usize, assignment: &Assignment, view: &View<'_>) {
        self.inner
            .on_sent(path, assignment, &without_protection(view));
    }

    fn poll_penalty(&mut self) -> Option<usize> {
        self.inner.poll_penalty()
    }

    fn may_carry(&self, path: usize, view: &View<'_>) -> bool {
        self.inner.may_carry(path, view)
    }

    fn leaves_out(&self, slot: usize) -> bool {
        self.inner.leaves_out(slot)
    }

    fn sends_ahead(&self) -> bool {
        self.inner.sends_ahead()
    }
}

/// The view in which repair follows feedback only.
pub(super) fn without_protection<'a>(view: &View<'a>) -> View<'a> {
    View {
        may_protect: false,
        ..*view
    }
}
