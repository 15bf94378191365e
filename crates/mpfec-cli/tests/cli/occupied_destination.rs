//! Destinations that exist, are full, or are not there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::support::{LONG, Mpfec, Receiver, left_out, noise, send, serve, tree};

#[test]
#[cfg(target_os = "linux")]
fn a_directory_that_takes_no_files_is_told_before_anybody_sends() {
    // Not even root may make files there.
    let words = [
        "recv",
        "--json",
        "--listen",
        "127.0.0.1:0",
        "--dir",
        "/sys/kernel",
    ];
    Mpfec::start(words).end(LONG).failed(4, &["/sys/kernel"]);
}

#[test]
fn a_file_that_exists_is_kept_unless_overwriting_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("film");
    fs::write(&source, noise(1, 2_000_000)).unwrap();
    let inbox = tempfile::tempdir().unwrap();
    fs::write(inbox.path().join("film"), "old").unwrap();
    let before = tree(inbox.path());

    let receiver = Receiver::start_in(inbox, &[]);
    send(&receiver.ticket, &[source.as_os_str()])
        .end(LONG)
        .failed(4, &["film", "exists"]);
    receiver.process.end(LONG).failed(4, &["film", "exists"]);
    assert_eq!(tree(receiver.dir.path()), before);

    let receiver = Receiver::start_in(receiver.dir, &["--overwrite"]);
    send(&receiver.ticket, &[source.as_os_str()])
        .end(LONG)
        .done();
    receiver.process.end(LONG).done();
    assert!(tree(receiver.dir.path()) == tree(dir.path()));
}

#[test]
fn what_is_never_replaced_is_told_without_the_advice_to_overwrite_it() {
    let dir = tempfile::tempdir().unwrap();
    let (film, tree) = (dir.path().join("film"), dir.path().join("tree"));
    fs::write(&film, "content").unwrap();
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("x"), "content").unwrap();
    for flags in [&[][..], &["--overwrite"]] {
        let cases = [
            (&film, "film was not stored: a directory"),
            (&tree, "tree was not stored: something that is no directory"),
        ];
        for (source, fact) in cases {
            let inbox = tempfile::tempdir().unwrap();
            fs::create_dir(inbox.path().join("film")).unwrap();
            fs::write(inbox.path().join("tree"), "old").unwrap();
            let receiver = Receiver::start_in(inbox, flags);
            let sent = send(&receiver.ticket, &[source.as_os_str()]).end(LONG);
            for ended in [sent, receiver.process.end(LONG)] {
                ended.failed(4, &[fact]);
                assert!(!ended.err.contains("--overwrite"), "{ended:#?}");
            }
            let kept = fs::read(receiver.dir.path().join("tree")).unwrap();
            assert_eq!(kept, b"old");
        }
    }
}

#[test]
fn whoever_may_not_read_a_file_may_not_read_what_replaces_it() {
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("key");
    fs::write(&key, "new").unwrap();
    let inbox = tempfile::tempdir().unwrap();
    let old = inbox.path().join("key");
    fs::write(&old, "old").unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o600)).unwrap();
    let receiver = Receiver::start_in(inbox, &["--overwrite"]);
    send(&receiver.ticket, &[key.as_os_str()]).end(LONG).done();
    receiver.process.end(LONG).done();
    assert_eq!(fs::read(&old).unwrap(), b"new");
    let mode = fs::metadata(&old).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_exists_in_a_tree_is_counted_and_the_rest_arrives() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("tree");
    fs::create_dir(&root).unwrap();
    for number in 0..300 {
        fs::write(root.join(format!("{number:03}")), noise(number, 300)).unwrap();
    }
    let inbox = tempfile::tempdir().unwrap();
    fs::create_dir(inbox.path().join("tree")).unwrap();
    for name in ["000", "150", "299"] {
        fs::write(inbox.path().join("tree").join(name), "old").unwrap();
    }
    let receiver = Receiver::start_in(inbox, &[]);
    let facts = ["tree/000 was not stored", "2 more"];
    send(&receiver.ticket, &[root.as_os_str()])
        .end(LONG)
        .failed(4, &facts);
    receiver.process.end(LONG).failed(4, &facts);
    let found = receiver.dir.path().join("tree");
    assert_eq!(fs::read(found.join("150")).unwrap(), b"old");
    assert_eq!(fs::read(found.join("151")).unwrap(), noise(151, 300));
    assert_eq!(fs::read_dir(&found).unwrap().count(), 300);
}

#[test]
fn a_full_disk_leaves_no_partial_file() {
    let inbox = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::mount(inbox.path()) else {
        left_out("a disk of 1 MiB can be mounted by root only");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (small, large) = (dir.path().join("a small one"), dir.path().join("large"));
    fs::write(&small, "content").unwrap();
    fs::write(&large, noise(1, 8 << 20)).unwrap();
    let path = inbox.path().to_str().unwrap();
    let words = [
        "recv",
        "--json",
        "--once",
        "--listen",
        "127.0.0.1:0",
        "--dir",
        path,
    ];
    let (receiver, ticket) = serve(&words);
    let ended = send(&ticket, &[small.as_os_str(), large.as_os_str()]).end(LONG);
    ended.failed(4, &["large was not stored", "space"]);
    receiver
        .end(LONG)
        .failed(4, &["large was not stored", "space"]);
    let names: Vec<_> = tree(inbox.path()).into_keys().collect();
    assert_eq!(names, [b"a small one"], "{names:?}");
}

#[test]
fn a_directory_that_is_missing_or_forbidden_is_told_at_once() {
    let words = ["recv", "--json", "--listen", "127.0.0.1:0", "--dir"];
    Mpfec::start(words.iter().chain(&["/nonexistent/inbox"]))
        .end(LONG)
        .failed(4, &["/nonexistent/inbox"]);
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    Mpfec::start(words.iter().chain(&[path]))
        .end(LONG)
        .failed(4, &[path]);
    let words = [
        "recv",
        "--json",
        "--listen",
        "127.0.0.1:0",
        "--ticket-file",
        "/nonexistent/ticket",
    ];
    Mpfec::start(words)
        .end(LONG)
        .failed(4, &["/nonexistent/ticket"]);
}

#[test]
fn the_demo_does_not_replace_a_file_either() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept");
    fs::write(&kept, "old").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpfec"));
    command.args(["demo", "--json", "--keep"]).arg(&kept);
    Mpfec::run(command).end(LONG).failed(4, &["kept"]);
    assert_eq!(fs::read(kept).unwrap(), b"old");
}

#[test]
fn the_demo_says_before_it_begins_that_it_cannot_keep_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(dir.path().join("nowhere"), &link).unwrap();
    for kept in [dir.path().join("missing/kept"), link] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mpfec"));
        command.args(["demo", "--json", "--keep"]).arg(&kept);
        let ended = Mpfec::run(command).end(LONG);
        ended.failed(4, &[kept.to_str().unwrap()]);
        assert!(ended.err.contains("another --keep"), "{ended:#?}");
        assert!(!ended.out.contains("\"progress\""), "{ended:#?}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "the link");
}

#[test]
fn standard_output_that_takes_no_more_is_a_failure() {
    let cases: [&[&str]; 6] = [
        &["sim", "list"],
        &["paths", "--json"],
        &["man"],
        &["--version"],
        &["--help"],
        &["send", "-h"],
    ];
    for words in cases {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let mut command = Command::new(env!("CARGO_BIN_EXE_mpfec"));
        command.args(words).stdout(full.unwrap());
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{words:?}: {told}");
        assert!(told.contains("standard output"), "{words:?}: {told}");
    }
}

/// A disk of 1 MiB in memory.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        let kind = Some("tmpfs");
        let mounted = mount(kind, at, kind, MsFlags::empty(), Some("size=1m"));
        mounted.is_ok().then_some(Self(at))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // A process that still holds it open does not keep the rest of the test from ending.
        let _ = umount2(self.0, MntFlags::MNT_DETACH);
    }
}
