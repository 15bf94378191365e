//! The paths as the scheduler sees them.

use std::time::{Duration, Instant};

use mpfec_congestion::Subflow;
use mpfec_sched::{LossEstimate, PathId, PathView};
use smallvec::SmallVec;

use crate::path::{Path, PathSet};

/// Values copied from the paths before each round of decisions, in a buffer that is used
/// again.
#[derive(Debug, Default)]
pub(crate) struct PathViews {
    views: Vec<PathView>,
    /// Whether the views are those of now.
    is_fresh: bool,
}

impl PathViews {
    /// A new round begins: what was copied before says nothing any more.
    pub(crate) fn forget(&mut self) {
        self.is_fresh = false;
    }

    /// Rewrites the views, unless they are those of this round; positions are those of the
    /// paths in `paths`.
    pub(crate) fn refresh(&mut self, paths: &PathSet, now: Instant) {
        if std::mem::replace(&mut self.is_fresh, true) {
            return;
        }
        // Acknowledgements come back on the fastest path, so every RTT contains that path's
        // way back; the rest is the path's own way forth.
        let fastest = paths
            .iter()
            .filter(|path| path.is_usable())
            .map(Path::srtt)
            .min();
        let way_back = fastest.unwrap_or_default() / 2;
        self.views.clear();
        for path in paths.iter() {
            self.views.push(view(path, now, way_back));
        }
    }

    pub(crate) fn as_slice(&self) -> &[PathView] {
        &self.views
    }

    /// A packet of `bytes` left on the path at `index`.
    pub(crate) fn on_sent(&mut self, index: usize, bytes: u64) {
        if let Some(view) = self.views.get_mut(index).filter(|_| self.is_fresh) {
            view.in_flight += bytes;
            if view.pacing_rate > 0 {
                view.next_send += Duration::from_secs_f64(bytes as f64 / view.pacing_rate as f64);
            }
        }
    }
}

fn view(path: &Path, now: Instant, way_back: Duration) -> PathView {
    let symbol_bytes = u64::from(path.mtu.current());
    let pacing_rate = path.pacing_rate();
    let srtt = path.srtt();
    let (cwnd, held) = (path.controller.cwnd(), path.bytes_held(now));
    let window_full = cwnd.saturating_sub(held) < symbol_bytes;
    let paced = path
        .pacer
        .next_send(now, pacing_rate, symbol_bytes)
        .unwrap_or(now);
    let next_send = if window_full {
        let since = path
            .space
            .oldest_unacked()
            .map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        paced.max(now + srtt.saturating_sub(since))
    } else {
        paced
    };
    PathView {
        id: PathId(path.id),
        slot: path.slot,
        srtt,
        rttvar: path.rtt.var(),
        rto: path.pto_base(),
        one_way: srtt.saturating_sub(way_back).max(srtt / 4),
        loss: path.loss.get(),
        loss_long: path.loss.long(),
        loss_burst: path.loss.burst(),
        punctual: path.loss.punctual(),
        cwnd,
        in_flight: held,
        symbol_bytes,
        pacing_rate,
        lasting_rate: path.controller.lasting_rate(),
        next_send,
        since_oldest: path
            .space
            .oldest_unacked()
            .map_or(Duration::ZERO, |at| now.saturating_duration_since(at)),
        suspected: !path.is_usable(),
        backup: path.backup,
        bandwidth: match &path.estimates {
            Some(estimates) if estimates.bandwidth() > 0 => estimates.bandwidth(),
            _ => path.delivery_rate,
        },
        loss_estimate: match &path.estimates {
            Some(estimates) => estimates.loss(),
            None => LossEstimate {
                rate: path.loss.get(),
                deviation: 0.0,
            },
        },
    }
}

/// What coupled congestion control knows of a path's siblings (RFC 6356 §3).
pub(crate) fn subflows(paths: &PathSet) -> SmallVec<[Subflow; 8]> {
    paths
        .iter()
        .map(|path| Subflow {
            cwnd: path.controller.cwnd(),
            srtt: path.srtt(),
            delivery_rate: path.delivery_rate,
            drains: path.controller.drains(),
        })
        .collect()
}
