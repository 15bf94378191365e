//! One path only, as a transport without multipath has it.

use crate::in_order::InOrder;
use crate::scheduler::{Assignment, Scheduler};
use crate::view::{PathId, View};

/// Uses the first path that is usable and stays on it until it is closed; while it is silent,
/// another stands in. The other paths carry no data.
#[derive(Debug, Default)]
pub struct Single {
    order: InOrder,
    /// The path that was chosen, whether or not it answers now.
    home: Option<PathId>,
}

impl Single {
    /// A scheduler that has not chosen its path yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The path in use, or the one that would be.
    fn current(&self, view: &View<'_>) -> Option<usize> {
        let mut usable = view.usable();
        let home = usable.find(|(_, path)| Some(path.id) == self.home);
        home.or_else(|| view.usable().next())
            .map(|(index, _)| index)
    }
}

impl Scheduler for Single {
    fn select(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment> {
        if budget == 0 || self.current(view) != Some(path) {
            return None;
        }
        if !view.paths.iter().any(|known| Some(known.id) == self.home) {
            self.home = Some(view.paths[path].id);
        }
        let (block, symbol, wanted) = self.order.next(view)?;
        Some(Assignment {
            block,
            symbol,
            count: wanted.min(budget),
        })
    }

    fn on_sent(&mut self, _path: usize, _assignment: &Assignment, _view: &View<'_>) {}

    fn may_carry(&self, path: usize, view: &View<'_>) -> bool {
        self.current(view) == Some(path)
    }
}
