//! What asks the program to end.

/// Ctrl-C, a terminal that is closed, or the system's wish that the program ends.
#[cfg(unix)]
pub(crate) async fn stop_signal() {
    use tokio::signal::unix::SignalKind;
    let hangup = async {
        if ignores_hangups() {
            std::future::pending::<()>().await;
        }
        signalled(SignalKind::hangup()).await;
    };
    tokio::select! {
        () = signalled(SignalKind::terminate()) => {}
        () = hangup => {}
        () = interrupt() => {}
    }
}

#[cfg(unix)]
async fn signalled(kind: tokio::signal::unix::SignalKind) {
    match tokio::signal::unix::signal(kind) {
        Ok(mut signal) => signal.recv().await,
        Err(_) => std::future::pending().await,
    };
}

/// Whether it was started to outlive its terminal, as by `nohup`. Where that cannot be told, hangups
/// are left to the system.
#[cfg(unix)]
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is that of SIGHUP, number 1.
    mask.is_none_or(|mask| mask & 1 != 0)
}

/// Ctrl-C.
#[cfg(not(unix))]
pub(crate) async fn stop_signal() {
    interrupt().await;
}

async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        // No such signals here: the system ends the program as it likes.
        std::future::pending::<()>().await;
    }
}
