//! The one place of the program where time comes from.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Now, on a clock that never goes backwards.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Time since 1970 by the wall clock; zero if that stands before 1970.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Nanoseconds since this process first asked: one clock for all its threads.
pub(crate) fn nanos() -> u64 {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    let epoch = *EPOCH.get_or_init(now);
    u64::try_from((now() - epoch).as_nanos()).unwrap_or(u64::MAX)
}
