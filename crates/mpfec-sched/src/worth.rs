//! Whether a slow path is worth its wait.

use crate::view::View;

/// Whether a window of `window` symbols is filled faster with `paths[path]` than with the
/// paths of shorter delay alone. A path holds back a window for its own round trip: a small
/// window moves faster without a slow one, a large one never does.
pub(crate) fn adds_throughput(path: usize, window: u64, view: &View<'_>) -> bool {
    let me = &view.paths[path];
    let window = window as f64;
    let mut faster = 0.0;
    let mut shortest = f64::INFINITY;
    for (_, other) in view
        .usable()
        .filter(|(_, other)| other.one_way < me.one_way)
    {
        faster += (1.0 - other.loss_bounded()) / other.symbol_seconds();
        shortest = shortest.min(other.srtt.as_secs_f64());
    }
    if faster == 0.0 {
        return true;
    }
    let with = (faster + (1.0 - me.loss_bounded()) / me.symbol_seconds())
        .min(window / me.srtt.as_secs_f64().max(1e-6));
    let without = faster.min(window / shortest.max(1e-6));
    with > without
}
