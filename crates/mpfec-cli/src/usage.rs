//! What this process has cost the machine so far.

use std::time::Duration;

/// Processor time of all threads, and the most memory held.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// User and system time.
    pub(crate) cpu: Duration,
    /// Largest resident set so far.
    pub(crate) peak_rss_bytes: u64,
}

/// getrusage(2); zeros where the system has no such call.
#[cfg(unix)]
pub(crate) fn usage() -> Usage {
    use nix::sys::resource::{UsageWho, getrusage};

    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else {
        return Usage::default();
    };
    let time = |value: nix::sys::time::TimeVal| {
        let micros = value.tv_sec() as i128 * 1_000_000 + value.tv_usec() as i128;
        Duration::from_micros(u64::try_from(micros).unwrap_or_default())
    };
    // Apple counts bytes, the others KiB.
    let unit = if cfg!(target_vendor = "apple") {
        1
    } else {
        1024
    };
    Usage {
        cpu: time(usage.user_time()) + time(usage.system_time()),
        peak_rss_bytes: u64::try_from(usage.max_rss()).unwrap_or_default() * unit,
    }
}

/// getrusage(2); zeros where the system has no such call.
#[cfg(not(unix))]
pub(crate) fn usage() -> Usage {
    Usage::default()
}
