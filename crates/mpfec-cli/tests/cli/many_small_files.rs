//! Small files follow one another without waiting.

use std::fs;
use std::time::Duration;

use mpfec_sim::PathSetup;

use crate::support::{LONG, Receiver, links, noise, send, tree};

#[test]
fn a_thousand_small_files_take_few_round_trips() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("small");
    fs::create_dir(&root).unwrap();
    for number in 0..1000 {
        fs::write(root.join(number.to_string()), noise(number, 1024)).unwrap();
    }
    let receiver = Receiver::start(&[]);
    let path = PathSetup::symmetric("far", 100_000_000, Duration::from_millis(100), 0.0);
    let (_relay, ticket) = links(&receiver.ticket, &[path]);
    let done = send(&ticket, &[root.as_os_str()]).end(LONG).done();
    receiver.process.end(LONG).done();
    assert!(
        tree(receiver.dir.path()) == tree(dir.path()),
        "the trees differ"
    );
    // A round trip for each would take 100 seconds; the rest is for slow disks.
    let seconds = done["seconds"].as_f64().unwrap();
    assert!(seconds < 10.0, "{seconds} s");
}
