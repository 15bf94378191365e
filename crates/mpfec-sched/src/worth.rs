//! Whether a slow path is worth its wait.

use crate::view::{MAX_PATHS, MIN_SECONDS, PathView, View};

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
        sooner += arriving_rate(other, other.symbol_seconds());
        shortest = shortest.min(other.srtt.as_secs_f64());
    }
    if sooner == 0.0 {
        return true;
    }
    let in_window = window / (SOUND_MARGIN * me.srtt.as_secs_f64()).max(1e-6);
    let own = arriving_rate(me, me.symbol_seconds());
    let with = (sooner + own).min(in_window);
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

/// Symbols per second that arrive if one leaves every `symbol` seconds. What a path that is not
/// asked for two thirds of its congestion window could carry is told by that window: its rate is
/// paced by what was asked for.
pub(crate) fn arriving_rate(path: &PathView, symbol: f64) -> f64 {
    let mut rate = 1.0 / symbol;
    if path.in_flight < path.cwnd / 3 * 2 {
        let window = path.cwnd as f64 / path.symbol_bytes.max(1) as f64;
        rate = rate.max(window / path.srtt.as_secs_f64().max(MIN_SECONDS));
    }
    (1.0 - path.loss_bounded()) * rate
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    const RTT: Duration = Duration::from_millis(200);

    fn path(slot: usize, loss: f64, in_flight: u64, now: Instant) -> PathView {
        PathView {
            cwnd: 100_000,
            in_flight,
            pacing_rate: 390_000,
            ..PathView::example(slot, loss, RTT, now)
        }
    }

    /// Whether a receive buffer of 90 symbols moves faster with a path of 20 % loss beside one
    /// that is paced at 390 symbols a second and has room for 500.
    fn adds_to(in_flight: u64) -> bool {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let now = Instant::now();
        let paths = [path(0, 0.0, in_flight, now), path(1, 0.2, 45_000, now)];
        let view = View {
            now,
            paths: &paths,
            blocks: &[],
            has_repair: true,
            may_protect: true,
            version: 1,
            writer_blocked: true,
            window_closed: true,
            window: 90,
        };
        worth_having(&view)[1]
    }

    #[test]
    fn a_good_path_that_is_half_used_is_tried_alone_before_it_is_taken_for_slow() {
        assert!(!adds_to(45_000));
        assert!(adds_to(95_000), "it is full: its rate is what it carries");
    }
}
