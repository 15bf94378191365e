//! The one place where time comes from.

use std::time::Instant;

/// Now, on a clock that never goes backwards. It is that of the runtime, as the timers are: in
/// tests tokio may stop it and let it jump, and a driver with another clock would wake up for its
/// timers over and over and find nothing due.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
