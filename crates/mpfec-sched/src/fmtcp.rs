//! Data allocation of FMTCP (Algorithm 1).

use crate::allocate::{Allocator, Turn, free_symbols};
use crate::arrival::{expected_arriving_time, expected_delivery_time, response_time};
use crate::memo::Target;
use crate::scheduler::{Assignment, Scheduler};
use crate::view::{PathView, View};

/// Gives virtual packets to the path of least expected arriving time until it is the asking
/// path's turn; each is filled from the first blocks that are not yet complete but for a
/// chance of 5 % (delta-hat).
#[derive(Debug)]
pub struct Fmtcp {
    allocator: Allocator,
}

impl Fmtcp {
    /// A scheduler without history.
    #[must_use]
    pub fn new() -> Self {
        Self {
            allocator: Allocator::new(Target::FMTCP),
        }
    }
}

impl Default for Fmtcp {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheduler for Fmtcp {
    fn select(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment> {
        self.allocator
            .select(path, budget, view, || turns(path, view))
    }

    fn on_sent(&mut self, path: usize, assignment: &Assignment, _view: &View<'_>) {
        self.allocator.on_sent(path, assignment);
    }

    /// Blocks become complete but for delta-hat even when nothing else is to be sent.
    fn sends_ahead(&self) -> bool {
        true
    }
}

/// Virtual packets of a path in a row.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// Expected arrival in seconds from now.
    arrives: f64,
    path: usize,
    symbols: u32,
}

/// The turns up to the end of the free window of `paths[path]`.
fn turns(path: usize, view: &View<'_>) -> Vec<Turn> {
    let earlier = earlier_windows(path, view).into_iter();
    let own = Turn {
        path,
        symbols: free_symbols(&view.paths[path]).clamp(1, MOST_PLANNED),
    };
    earlier
        .map(|Window { path, symbols, .. }| Turn { path, symbols })
        .chain([own])
        .collect()
}

/// The windows of other paths that are expected to arrive before a packet of `paths[path]`,
/// which has room: first what is free, then a full window per response time.
fn earlier_windows(path: usize, view: &View<'_>) -> Vec<Window> {
    let delivery = |p: &PathView| expected_delivery_time(p.loss, p.srtt, p.rto);
    let mine = (delivery(&view.paths[path]).as_secs_f64(), path);
    let mut windows = Vec::new();
    for (j, other) in view.usable().filter(|&(j, _)| j != path) {
        let delivery = delivery(other);
        let response = response_time(other.loss, other.srtt, other.rto);
        if (delivery.as_secs_f64(), j) >= mine {
            continue;
        }
        let free = free_symbols(other);
        if free > 0 {
            windows.push(Window {
                arrives: delivery.as_secs_f64(),
                path: j,
                symbols: free,
            });
        }
        let full = (other.cwnd / other.symbol_bytes.max(1)).clamp(1, u64::from(u32::MAX));
        let first =
            expected_arriving_time(delivery, response, false, other.since_oldest).as_secs_f64();
        let spacing = response.as_secs_f64().max(1e-6) / full as f64;
        // Packets at `first`, `first + spacing`, and so on up to mine, a few of them at a time.
        let earlier = ((mine.0 - first) / spacing).ceil().clamp(0.0, MOST_EARLIER) as u32
            + u32::from(first == mine.0 && j < path);
        let step = earlier.div_ceil(MOST_WINDOWS).max(1);
        windows.extend((0..earlier).step_by(step as usize).map(|done| Window {
            arrives: first + f64::from(done) * spacing,
            path: j,
            symbols: step.min(earlier - done),
        }));
    }
    windows.sort_by(|a, b| a.arrives.total_cmp(&b.arrives).then(a.path.cmp(&b.path)));
    windows
}

/// Times of arrival told apart on a path.
const MOST_WINDOWS: u32 = 32;

/// Virtual packets of a path that go before another one's.
const MOST_EARLIER: f64 = 1e6;

/// Symbols planned at once.
const MOST_PLANNED: u32 = 1024;
