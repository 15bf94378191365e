//! The one place where time comes from.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Now, on a clock that never goes backwards.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Seconds since 1970 by the wall clock, for what outlives the process: expiry of tickets.
/// Zero if the wall clock stands before 1970.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
