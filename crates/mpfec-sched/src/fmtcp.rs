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
    // The paper takes half the RTT for the time of delivery `DT_f`, as acknowledgements come
    // back on the path itself; where they come back on the fastest path, it is longer.
    let delivery = |p: &PathView| expected_delivery_time(p.loss, p.one_way * 2, p.rto);
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::view::PathId;

    #[test]
    fn a_slow_path_whose_acknowledgements_return_on_a_fast_one_waits_for_it_as_long_as_it_takes() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let now = Instant::now();
        let path = |slot: usize, one_way: u64, rtt: u64, in_flight: u64| PathView {
            id: PathId(slot as u32),
            slot,
            srtt: Duration::from_millis(rtt),
            rttvar: Duration::ZERO,
            rto: Duration::from_millis(rtt),
            one_way: Duration::from_millis(one_way),
            loss: 0.0,
            loss_long: 0.0,
            loss_burst: 1.0,
            punctual: 0,
            cwnd: 10_000,
            in_flight,
            symbol_bytes: 1000,
            pacing_rate: 0,
            lasting_rate: 0,
            next_send: now,
            since_oldest: Duration::ZERO,
            suspected: false,
            backup: false,
            bandwidth: 0,
            loss_estimate: Default::default(),
        };
        // From 100 + 200 ms on the fast path delivers ten symbols in 200 ms.
        let paths = [path(0, 100, 200, 10_000), path(1, 500, 600, 0)];
        let view = View {
            now,
            paths: &paths,
            blocks: &[],
            has_repair: true,
            may_protect: true,
            version: 0,
            writer_blocked: false,
            window_closed: false,
            window: 1000,
        };
        let symbols: u32 = earlier_windows(1, &view).iter().map(|w| w.symbols).sum();
        assert_eq!(symbols, 10);
    }
}
