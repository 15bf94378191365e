//! Paths and blocks to ask a scheduler about.
#![expect(dead_code, reason = "each test file uses its own part of the scene")]

pub mod network;

use std::time::{Duration, Instant};

use mpfec_sched::{BlockView, PathId, PathView, View};

/// Bytes on the wire of a full symbol packet.
pub const SYMBOL: u64 = 1428;

pub fn epoch() -> Instant {
    use std::sync::OnceLock;
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    *EPOCH.get_or_init(Instant::now)
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A path of so many Mbit/s with an empty window of a round trip's worth.
pub fn path(slot: usize, mbit: f64, rtt: Duration, loss: f64) -> PathView {
    let rate = mbit * 1e6 / 8.0;
    PathView {
        id: PathId(slot as u32),
        slot,
        srtt: rtt,
        min_rtt: rtt,
        rttvar: rtt / 8,
        rto: rtt * 2,
        one_way: rtt / 2,
        loss,
        cwnd: ((rate * rtt.as_secs_f64()) as u64).max(10 * SYMBOL),
        in_flight: 0,
        symbol_bytes: SYMBOL,
        pacing_rate: rate as u64,
        next_send: epoch(),
        since_oldest: Duration::ZERO,
        suspected: false,
        backup: false,
    }
}

/// A closed block of which nothing was sent.
pub fn fresh(source_symbols: u32) -> BlockView {
    BlockView {
        source_symbols,
        closed: true,
        unsent: source_symbols,
        ..BlockView::default()
    }
}

/// A closed block of which everything was sent on path 0 and `lost` symbols got lost.
pub fn flying(source_symbols: u32, lost: u32) -> BlockView {
    let mut block = BlockView {
        source_symbols,
        closed: true,
        lost_once: lost,
        first_sent: Some(epoch()),
        ..BlockView::default()
    };
    block.in_flight[0] = (source_symbols - lost) as u16;
    block
}

pub fn view<'a>(paths: &'a [PathView], blocks: &'a [BlockView]) -> View<'a> {
    View {
        now: epoch(),
        paths,
        blocks,
        has_repair: true,
        version: 1,
        writer_blocked: false,
        window_closed: false,
    }
}
