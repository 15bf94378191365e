//! Sources that are missing or cannot be read.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::support::{LONG, Mpfec, Receiver, send};

#[test]
fn a_missing_source_is_told_before_anything_is_sent() {
    let receiver = Receiver::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().join("there");
    fs::write(&there, "content").unwrap();
    let sources = [there.as_os_str(), OsStr::new("/nonexistent/film")];
    send(&receiver.ticket, &sources)
        .end(LONG)
        .failed(3, &["/nonexistent/film"]);
    assert_eq!(fs::read_dir(receiver.dir.path()).unwrap().count(), 0);
}

#[test]
fn a_source_without_permission_is_told_before_anything_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("secret");
    fs::write(&source, "content").unwrap();
    fs::set_permissions(&source, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpfec"));
    if nix::unistd::geteuid().is_root() {
        // Root may read everything, so somebody else tries.
        let program = dir.path().join("mpfec");
        fs::copy(env!("CARGO_BIN_EXE_mpfec"), &program).unwrap();
        command = Command::new(program);
        command.uid(65_534).gid(65_534);
    }
    let receiver = Receiver::start(&[]);
    command
        .args(["send", "--json", &receiver.ticket.to_string()])
        .arg(&source);
    Mpfec::run(command)
        .end(LONG)
        .failed(3, &["secret", "permission denied"]);
    assert_eq!(fs::read_dir(receiver.dir.path()).unwrap().count(), 0);
}

#[test]
fn a_path_that_cannot_be_sent_is_named() {
    let receiver = Receiver::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().join("top");
    let deep = (0..64).fold(top.clone(), |path, _| path.join("d"));
    fs::create_dir_all(&deep).unwrap();
    let ended = send(&receiver.ticket, &[top.as_os_str()]).end(LONG);
    ended.failed(3, &["top/d/d/d", "65 components"]);
    assert_eq!(fs::read_dir(receiver.dir.path()).unwrap().count(), 0);
}

#[test]
fn a_name_for_standard_input_that_is_none_is_a_wrong_argument() {
    let receiver = Receiver::start(&[]);
    let ticket = receiver.ticket.to_string();
    let ended = Mpfec::start(["send", "--json", "--name", "../x", &ticket, "-"]).end(LONG);
    ended.failed(2, &["../x"]);
    assert!(ended.err.contains("--name"), "{ended:#?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_source_that_breaks_while_it_is_read_fails_at_both_ends() {
    let receiver = Receiver::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let good = dir.path().join("good");
    fs::write(&good, "content").unwrap();
    // It opens, and its first byte cannot be read.
    let sources = [OsStr::new("/proc/self/mem"), good.as_os_str()];
    let ended = send(&receiver.ticket, &sources).end(LONG);
    ended.failed(3, &["/proc/self/mem"]);
    receiver
        .process
        .end(LONG)
        .failed(3, &["mem was not stored"]);
    // What could be read is there, and nothing else.
    let names: Vec<_> = fs::read_dir(receiver.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["good"]);
}
