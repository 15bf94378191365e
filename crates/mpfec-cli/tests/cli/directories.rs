//! Trees of files.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::{LONG, Node, Receiver, noise, send, tree};

#[test]
fn a_tree_arrives_with_empty_files_odd_names_and_executables() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("a tree");
    plant(&root);
    let receiver = Receiver::start(&[]);
    let sent = send(&receiver.ticket, &[root.as_os_str()]).end(LONG).done();
    let received = receiver.process.end(LONG).done();
    let expected = tree(dir.path());
    let found = tree(receiver.dir.path());
    assert!(
        found.keys().eq(expected.keys()),
        "{:?}",
        found
            .keys()
            .map(|path| String::from_utf8_lossy(path))
            .collect::<Vec<_>>()
    );
    assert!(found == expected, "a content or a mode differs");
    let files = expected
        .values()
        .filter(|node| matches!(node, Node::File { .. }));
    assert_eq!(sent["files"], files.count());
    assert_eq!(sent["blake3"], received["blake3"]);
}

#[test]
fn links_in_a_tree_are_left_out_and_told_but_one_that_is_named_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("real");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("file"), "1").unwrap();
    fs::write(dir.path().join("outside"), "secret").unwrap();
    symlink("../outside", root.join("link")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("real", dir.path().join("named")).unwrap();
    let receiver = Receiver::start(&[]);
    let ended = send(&receiver.ticket, &[dir.path().join("named").as_os_str()]).end(LONG);
    ended.done();
    let skipped: Vec<_> = ended
        .lines()
        .into_iter()
        .filter(|line| line["type"] == "skipped")
        .collect();
    assert_eq!(skipped.len(), 2, "{skipped:?}");
    assert!(
        skipped
            .iter()
            .all(|line| line["reason"] == "a symbolic link"),
        "{skipped:?}"
    );
    receiver.process.end(LONG).done();
    let found: Vec<_> = tree(receiver.dir.path()).into_keys().collect();
    assert_eq!(found, [&b"named"[..], b"named/file"]);
}

/// A few hundred entries of every kind that is kept.
fn plant(root: &Path) {
    for number in 0..20 {
        let branch = root.join(format!("branch {number}"));
        fs::create_dir_all(branch.join("empty")).unwrap();
        for leaf in 0..15 {
            let content = noise(number * 100 + leaf, (leaf * leaf * 37) as usize);
            fs::write(branch.join(format!("leaf-{leaf}")), content).unwrap();
        }
    }
    let odd: [&[u8]; 9] = [
        "Grüße, 世界 🎉".as_bytes(),
        b"-rf",
        b"--help",
        b" leading and trailing ",
        b"...",
        b"a\\b:c*?",
        b"not UTF-8: \xff\xfe",
        b"new\nline\tand\x1b[31m",
        b"CON",
    ];
    for name in odd {
        fs::write(root.join(OsStr::from_bytes(name)), name).unwrap();
    }
    fs::write(root.join("x".repeat(255)), "a long name").unwrap();
    fs::write(root.join("run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(root.join("run.sh"), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(root.join(vec!["deep"; 40].join("/"))).unwrap();
}
