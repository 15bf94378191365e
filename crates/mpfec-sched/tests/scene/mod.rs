//! Paths to schedule on.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use mpfec_sched::{LossEstimate, PathId, PathView};

/// Bytes on the wire of a full symbol packet.
pub(crate) const SYMBOL: u64 = 1428;

/// When every scene begins.
pub(crate) fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    *EPOCH.get_or_init(Instant::now)
}

/// A path of so many Mbit/s with an empty window of a round trip's worth.
pub(crate) fn path(slot: usize, mbit: f64, rtt: Duration, loss: f64) -> PathView {
    let rate = mbit * 1e6 / 8.0;
    PathView {
        id: PathId(slot as u32),
        slot,
        srtt: rtt,
        rttvar: rtt / 8,
        rto: rtt * 2,
        one_way: rtt / 2,
        loss,
        loss_long: loss,
        loss_burst: 1.0,
        punctual: 0,
        cwnd: ((rate * rtt.as_secs_f64()) as u64).max(10 * SYMBOL),
        in_flight: 0,
        symbol_bytes: SYMBOL,
        pacing_rate: rate as u64,
        lasting_rate: 0,
        next_send: epoch(),
        since_oldest: Duration::ZERO,
        suspected: false,
        backup: false,
        bandwidth: rate as u64,
        loss_estimate: LossEstimate {
            rate: loss,
            deviation: 0.0,
        },
    }
}
