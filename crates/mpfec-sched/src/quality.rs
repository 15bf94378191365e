//! Data distribution by the quality of paths (PNC Eq. 11 to 15, Algorithm 4).

use std::time::Duration;

use crate::allocate::{Allocator, Turn, free_symbols};
use crate::memo::Target;
use crate::scheduler::{Assignment, Scheduler};
use crate::view::{PathView, View};

/// MPTCP-PNC: the path of best quality `Q_i` is given as much of what waits, in order, as arrives
/// earlier on it than on the next best path (`D_i`); then qualities are looked at again.
///
/// **Reading.** The paper hands data to the send buffers of paths. Here a path asks when it may
/// send, so all that waits is handed out virtually, and the path carries what falls to it; the
/// rest stays where it is, and is handed out anew with the next feedback. Repair symbols follow
/// feedback, or a redundancy policy.
#[derive(Debug)]
pub struct Quality {
    allocator: Allocator,
}

impl Quality {
    /// A scheduler without history.
    #[must_use]
    pub fn new() -> Self {
        Self {
            allocator: Allocator::new(Target::FEEDBACK),
        }
    }
}

impl Default for Quality {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheduler for Quality {
    fn select(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment> {
        self.allocator
            .select(path, budget, view, || turns(path, view))
    }

    fn on_sent(&mut self, path: usize, assignment: &Assignment, _view: &View<'_>) {
        self.allocator.on_sent(path, assignment);
    }
}

/// `smooth_cwnd_i` in bytes: what the window of `cwnd` bytes is on average while the losses
/// among it and the `waiting` bytes halve it (PNC Eq. 13 to 15). `mss` is bytes of a packet,
/// `loss` from 0 to 1.
#[must_use]
pub fn smooth_cwnd(waiting: f64, cwnd: f64, mss: f64, loss: f64) -> f64 {
    let losses = ((waiting + cwnd) * loss / mss.max(1.0)).clamp(0.0, MOST_LOSSES);
    // What a tiny remainder of rounding adds is no loss.
    let losses = (losses - 1e-9).ceil().max(0.0);
    let halvings = 2.0 - (-losses).exp2();
    cwnd * halvings / (losses + 1.0)
}

/// `Q_i`: when a packet arrives behind `waiting` bytes that the window of `cwnd` bytes has no
/// room for yet (PNC Eq. 11).
#[must_use]
pub fn path_quality(waiting: f64, cwnd: f64, mss: f64, loss: f64, rtt: Duration) -> Duration {
    let seconds = quality_seconds(waiting, cwnd, mss, loss, rtt.as_secs_f64());
    Duration::from_secs_f64(seconds.clamp(0.0, LONGEST))
}

fn quality_seconds(waiting: f64, cwnd: f64, mss: f64, loss: f64, rtt: f64) -> f64 {
    let loss = loss.clamp(0.0, MOST_LOSS);
    let window = smooth_cwnd(waiting, cwnd, mss, loss).max(1.0);
    (waiting / window / (1.0 - loss) + 0.5) * rtt
}

/// A path to which data is handed out.
#[derive(Debug)]
struct Candidate<'a> {
    index: usize,
    path: &'a PathView,
    /// Bytes handed out to it so far.
    given: f64,
    quality: f64,
}

impl<'a> Candidate<'a> {
    fn new((index, path): (usize, &'a PathView)) -> Self {
        let mut candidate = Self {
            index,
            path,
            given: 0.0,
            quality: 0.0,
        };
        candidate.give(0);
        candidate
    }

    /// Hands symbols out to it, and looks when the next one would arrive: behind what the
    /// window has no room for, itself included.
    fn give(&mut self, symbols: u64) {
        let mss = self.path.symbol_bytes as f64;
        self.given += symbols as f64 * mss;
        let free = self.path.cwnd.saturating_sub(self.path.in_flight) as f64;
        let waiting = (self.given + mss - free).max(0.0);
        let rtt = self.path.srtt.as_secs_f64();
        self.quality = quality_seconds(
            waiting,
            self.path.cwnd as f64,
            mss,
            self.path.loss_estimate.rate,
            rtt,
        );
    }

    /// `D_i`: symbols that arrive on it in so many seconds (PNC Eq. 12); as many as it lets
    /// out, before anything is known of its bandwidth.
    fn share(&self, seconds: f64) -> u64 {
        let rate = if self.path.bandwidth > 0 {
            self.path.bandwidth as f64 / self.path.symbol_bytes.max(1) as f64
        } else {
            1.0 / self.path.symbol_seconds()
        };
        (seconds.clamp(0.0, LONGEST) * rate) as u64
    }
}

/// Algorithm 4, up to the end of the free window of `paths[path]`.
fn turns(path: usize, view: &View<'_>) -> Vec<Turn> {
    let mut waiting: u64 = view
        .blocks
        .iter()
        .map(|block| u64::from(block.unsent) + u64::from(block.deficit()))
        .sum();
    // Paths of like quality take turns symbol by symbol; with much to hand out, by more.
    let least = (waiting / MOST_STEPS).max(1);
    let mut own = u64::from(free_symbols(&view.paths[path]).max(1));
    let mut candidates: Vec<Candidate<'_>> = view.usable().map(Candidate::new).collect();
    let mut turns = Vec::new();
    while waiting > 0 && own > 0 {
        candidates.sort_by(|a, b| {
            let by_quality = a.quality.total_cmp(&b.quality);
            by_quality.then(a.index.cmp(&b.index))
        });
        let next = candidates.get(1).map(|next| next.quality);
        let Some(best) = candidates.first_mut() else {
            break;
        };
        let share = match next {
            Some(next) => best.share(next - best.quality).max(least),
            None => waiting,
        };
        let mut share = share.min(waiting).min(u64::from(u32::MAX));
        if best.index == path {
            share = share.min(own);
            own -= share;
        }
        waiting -= share;
        best.give(share);
        turns.push(Turn {
            path: best.index,
            symbols: share as u32,
        });
    }
    turns
}

/// In this many steps at most all that waits is handed out.
const MOST_STEPS: u64 = 64;
/// A path that loses more is as good as dead, and the formulas stay finite.
const MOST_LOSS: f64 = 0.95;
/// More losses than this leave nothing of a window.
const MOST_LOSSES: f64 = 1e6;
/// Seconds that nothing takes longer than.
const LONGEST: f64 = 1e6;
