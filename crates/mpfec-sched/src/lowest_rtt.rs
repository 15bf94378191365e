//! Lowest RTT first, the default of multipath TCP: the reference to beat.

use crate::in_order::InOrder;
use crate::scheduler::{Assignment, Scheduler};
use crate::view::View;

/// Gives every symbol to the usable path with the smallest smoothed RTT that can send now.
/// Lost symbols go first, by feedback only; nothing is protected ahead of loss.
#[derive(Debug, Default)]
pub struct LowestRtt {
    order: InOrder,
}

impl LowestRtt {
    /// A scheduler without history.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Scheduler for LowestRtt {
    fn select(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment> {
        if budget == 0 || !view.is_usable(path) || better_is_free(path, view) {
            return None;
        }
        let (block, symbol, wanted) = self.order.next(view)?;
        Some(Assignment {
            block,
            symbol,
            count: wanted.min(budget),
        })
    }

    fn on_sent(&mut self, _path: usize, _assignment: &Assignment, _view: &View<'_>) {}
}

/// Whether a usable path of smaller RTT could send now.
pub(crate) fn better_is_free(path: usize, view: &View<'_>) -> bool {
    let mine = (view.paths[path].srtt, path);
    view.usable().any(|(j, other)| {
        (other.srtt, j) < mine && other.has_window() && other.next_send <= view.now
    })
}
