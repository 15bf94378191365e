//! The one place where time comes from.

use std::time::Instant;

/// Now, on a clock that never goes backwards.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
