//! The one place that asks what time it is.

use std::time::Instant;

/// Now: for the relay, which lives in real time, and for the epoch of a simulation,
/// which prints only differences to it.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where time enters this crate"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}
