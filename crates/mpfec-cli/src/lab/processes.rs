//! What runs in the namespace of a thread, as /proc shows it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Ends everything that still runs in the network namespace of this thread: what its
/// commands left behind, and shells that somebody entered it with.
pub(super) async fn end_all() {
    let Some(own) = namespace_of(Path::new("/proc/thread-self")) else {
        return;
    };
    for (signal, grace) in [
        // What an interactive shell does not ignore.
        (Signal::SIGHUP, GRACE),
        (Signal::SIGTERM, GRACE),
        (Signal::SIGKILL, Duration::ZERO),
    ] {
        let left = within(own);
        if left.is_empty() {
            return;
        }
        for process in left {
            // It may just have ended.
            let _ = kill(process, signal);
        }
        tokio::time::sleep(grace).await;
    }
}

/// The sockets that wait for others in the network namespace of a thread of this process: on
/// TCP ports, and on any UDP port.
pub(super) fn listeners(thread: Pid) -> Vec<String> {
    let of = |table: &str, state: &str| {
        let file = format!("/proc/self/task/{thread}/net/{table}");
        sockets(&fs::read_to_string(file).unwrap_or_default(), state)
    };
    let tables = [
        ("tcp", LISTEN),
        ("tcp6", LISTEN),
        ("udp", BOUND),
        ("udp6", BOUND),
    ];
    tables
        .iter()
        .flat_map(|(table, state)| of(table, state))
        .collect()
}

/// Local addresses of the sockets of a table of the kernel in this state, its fourth column.
fn sockets(table: &str, state: &str) -> Vec<String> {
    let rows = table.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let local = words.next()?;
        (words.nth(1)? == state).then(|| local.to_owned())
    });
    rows.collect()
}

/// Device and inode of the network namespace of a process.
fn namespace_of(process: &Path) -> Option<(u64, u64)> {
    let namespace = fs::metadata(process.join("ns/net")).ok()?;
    Some((namespace.dev(), namespace.ino()))
}

/// The processes whose first thread is in a network namespace.
fn within(namespace: (u64, u64)) -> Vec<Pid> {
    let Ok(all) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    all.flatten()
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            (namespace_of(&entry.path()) == Some(namespace)).then_some(Pid::from_raw(id))
        })
        .collect()
}

/// A TCP socket that takes connections.
const LISTEN: &str = "0A";
/// A UDP socket without a peer.
const BOUND: &str = "07";

/// How long processes may take to end.
const GRACE: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listening_socket_is_found_in_the_kernels_table() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n";
        let line = |state| format!("   0: 0100007F:1F90 00000000:0000 {state} 00000000:00000000\n");
        let none: [&str; 0] = [];
        assert_eq!(sockets(head, LISTEN), none);
        assert_eq!(sockets(&format!("{head}{}", line("01")), LISTEN), none);
        let both = format!("{head}{}{}", line("01"), line("0A"));
        assert_eq!(sockets(&both, LISTEN), ["0100007F:1F90"]);
        assert_eq!(sockets("", LISTEN), none);
        assert_eq!(sockets("\n\n1: a", LISTEN), none);
    }

    #[test]
    fn this_process_is_within_its_own_namespace() {
        let own = namespace_of(Path::new("/proc/self")).expect("procfs");
        let id = i32::try_from(std::process::id()).unwrap();
        assert!(within(own).contains(&Pid::from_raw(id)));
        assert!(!within((own.0, 0)).contains(&Pid::from_raw(id)));
    }
}
