//! Windows and buffers that follow the paths: how long data are on their way, and how much the
//! paths carry meanwhile.

use std::time::{Duration, Instant};

use mpfec_sched::SchedulerKind;

use super::Connection;
use crate::path::{INITIAL_RTT, Path};
use crate::stream::Rounds;

impl Connection {
    /// Tells the streams how much writers may be ahead of what leaves, and how long the peer's
    /// data take on the paths in use.
    pub(super) fn update_windows(&mut self, now: Instant) {
        let carried = Carried::by(self.paths.iter().filter(|path| path.is_usable()));
        if self.config.profile.scheduler == SchedulerKind::EarliestArrival {
            self.streams.set_lead(carried.lead());
        } else {
            // Other schedulers want to see all that waits.
            self.streams.set_buffer(carried.buffer());
        }
        let used = self.paths.iter().filter(|path| is_in_use(path, now));
        let rounds = used.map(|path| Rounds::even(path.rtt.min()));
        let all = rounds.reduce(Rounds::and);
        self.streams
            .set_rounds(all.unwrap_or(Rounds::even(INITIAL_RTT)));
    }
}

/// What the paths carry together.
#[derive(Debug, Clone, Copy)]
struct Carried {
    /// Bytes per second.
    rate: u64,
    /// The longest round trip.
    longest: Duration,
}

impl Carried {
    fn by<'a>(paths: impl Iterator<Item = &'a Path>) -> Self {
        let (mut rate, mut longest) = (0_u64, Duration::ZERO);
        for path in paths {
            rate = rate.saturating_add(path.pacing_rate().max(path.delivery_rate));
            longest = longest.max(path.srtt());
        }
        Self { rate, longest }
    }

    fn bytes_in(self, time: Duration) -> u64 {
        (self.rate as f64 * time.as_secs_f64()) as u64
    }

    /// Bytes that wait to leave: enough for a round trip, so that a slow path finds data from so
    /// far ahead that they arrive when they are needed, and for as long as it may take a writer
    /// to be heard again.
    fn lead(self) -> u64 {
        let for_writer = self.bytes_in(WRITER).min(MOST_FOR_WRITER);
        self.bytes_in(self.longest).saturating_add(for_writer)
    }

    /// Bytes that wait to leave or to be acknowledged: two round trips for what is on its way and
    /// was lost once, and two more to choose from.
    fn buffer(self) -> u64 {
        self.bytes_in(4 * self.longest).max(LEAST_BUFFER)
    }
}

/// Whether something arrived on a path of late.
fn is_in_use(path: &Path, now: Instant) -> bool {
    let lately = |at: Instant| now.saturating_duration_since(at) <= LATELY.max(2 * path.srtt());
    path.is_usable() && path.last_received.is_some_and(lately)
}

/// How long a writer that was told to go on may take to do so, on a machine that is busy.
const WRITER: Duration = Duration::from_millis(100);
/// At rates where this is less, no machine is so busy.
const MOST_FOR_WRITER: u64 = 4 << 20;
/// What writers may always have buffered where the lead is not bounded.
const LEAST_BUFFER: u64 = 8 << 20;
/// A path on which nothing arrived for longer is of no account.
const LATELY: Duration = Duration::from_secs(2);
