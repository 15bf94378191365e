//! Whether a slow path is worth its wait.

use crate::view::{MAX_PATHS, PathView, View};

/// Whether a window of `window` symbols is filled faster with `paths[path]` than with the
/// paths that deliver sooner alone. A path holds back a window for its own round trip, and for
/// one more where it loses: a small window moves faster without a bad path, a large one never
/// does.
pub(crate) fn adds_throughput(path: usize, window: u64, view: &View<'_>) -> bool {
    let me = &view.paths[path];
    let mine = (delivery(me), path);
    let window = window as f64;
    let mut sooner = 0.0;
    let mut shortest = f64::INFINITY;
    for (_, other) in view
        .usable()
        .filter(|&(index, other)| index != path && (delivery(other), index) < mine)
    {
        sooner += arriving_rate(other);
        shortest = shortest.min(other.srtt.as_secs_f64());
    }
    if sooner == 0.0 {
        return true;
    }
    let in_window = window / (SOUND_MARGIN * me.srtt.as_secs_f64()).max(1e-6);
    let with = (sooner + arriving_rate(me)).min(in_window);
    let without = sooner.min(window / shortest.max(1e-6));
    with > without
}

/// [`adds_throughput`] for every path, by index, with the window that flow control leaves.
pub(crate) fn worth_having(view: &View<'_>) -> [bool; MAX_PATHS] {
    let mut worth = [true; MAX_PATHS];
    if view.paths.len() > 1 {
        for (index, worth) in worth.iter_mut().enumerate().take(view.paths.len()) {
            *worth = adds_throughput(index, view.window, view);
        }
    }
    worth
}

/// Seconds until a symbol arrives, on average: what is lost takes a round trip more, each time.
fn delivery(path: &PathView) -> f64 {
    let loss = path.loss_bounded();
    path.one_way.as_secs_f64() + loss / (1.0 - loss) * path.srtt.as_secs_f64()
}

/// Where a window is about filled without a path, estimates of rates and delays do not decide.
const SOUND_MARGIN: f64 = 1.1;

/// Symbols per second that arrive.
fn arriving_rate(path: &PathView) -> f64 {
    (1.0 - path.loss_bounded()) / path.symbol_seconds()
}
