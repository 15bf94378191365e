//! Every profile over real sockets.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mpfec_core::Profile;

use crate::support::Mpfec;

/// Has `mpfec demo` send so much over three emulated links, two of which lose packets and one
/// of which is cut meanwhile, with every profile, `at_once` of them side by side.
fn every_profile_transfers(size: u64, at_once: usize, limit: Duration) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some((name, _)) = Profile::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
                    transfers(name, size, limit);
                }
            });
        }
    });
}

fn transfers(profile: &str, size: u64, limit: Duration) {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept");
    let ended = Mpfec::start([
        "demo",
        "--json",
        "--profile",
        profile,
        "--size",
        &size.to_string(),
        "--keep",
        kept.to_str().unwrap(),
    ])
    .end(limit);
    // It compares the hashes of what was written and of what arrived.
    assert_eq!(ended.code, Some(0), "{profile}: {ended:#?}");
    let done = ended.done();
    assert_eq!(done["bytes"], size, "{profile}");
    let content = std::fs::read(kept).unwrap();
    assert_eq!(content.len() as u64, size, "{profile}");
    let hash = blake3::hash(&content).to_hex();
    assert_eq!(done["blake3"], hash.as_str(), "{profile}");
}

#[test]
fn a_file_of_a_mebibyte_arrives_as_it_was_with_every_profile() {
    every_profile_transfers(1 << 20, 4, Duration::from_secs(90));
}

#[test]
#[ignore = "takes minutes: run with --release --ignored"]
fn a_file_of_64_mebibytes_arrives_as_it_was_with_every_profile() {
    every_profile_transfers(64 << 20, 6, Duration::from_secs(1200));
}
