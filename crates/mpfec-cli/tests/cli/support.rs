//! Processes with bounds, links between them, and trees of files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mpfec_core::Ticket;
use mpfec_sim::{PathSetup, Setup, UdpRelay};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

/// No test waits longer for anything that is not bounded by the program itself.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A running `mpfec`; killed when dropped.
#[derive(Debug)]
pub(crate) struct Mpfec {
    child: Child,
    input: Option<ChildStdin>,
    out: Pipe,
    err: Pipe,
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

#[derive(Debug)]
struct Pipe {
    text: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Pipe {
    fn new(mut from: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let reader = {
            let text = Arc::clone(&text);
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(length @ 1..) = from.read(&mut buffer) {
                    text.lock().unwrap().extend_from_slice(&buffer[..length]);
                }
            })
        };
        Self {
            text,
            reader: Some(reader),
        }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }

    fn all(&mut self) -> String {
        self.reader.take().map(JoinHandle::join);
        self.so_far()
    }
}

impl Mpfec {
    /// Starts it with `words` as its command line.
    pub(crate) fn start(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mpfec"));
        command.args(words);
        Self::run(command)
    }

    /// Starts a command that is, or ends up as, `mpfec`.
    pub(crate) fn run(mut command: Command) -> Self {
        let mut child = command
            .env_remove("NO_COLOR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            out: Pipe::new(child.stdout.take().unwrap()),
            err: Pipe::new(child.stderr.take().unwrap()),
            child,
        }
    }

    /// Writes to its standard input, and ends that if told so.
    pub(crate) fn feed(&mut self, bytes: &[u8], and_end: bool) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
        if and_end {
            self.input = None;
        }
    }

    /// Waits until it has printed a text on standard output.
    pub(crate) fn wait_for_text(&self, text: &str) {
        let found = within(LONG, || self.out.so_far().contains(text));
        assert!(found, "no {text:?} in {LONG:?}:\n{}", self.out.so_far());
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Waits until it has printed a line on standard output that `is_it`.
    pub(crate) fn wait_for(&self, what: &str, is_it: impl Fn(&Value) -> bool) {
        let found = || {
            json_lines(&complete_lines(&self.out.so_far()))
                .iter()
                .any(&is_it)
        };
        assert!(
            within(LONG, found),
            "no {what} in {LONG:?}:\n{}\n{}",
            self.out.so_far(),
            self.err.so_far()
        );
    }

    /// Waits until it ends by itself, at most this long. Its standard input stays as it is.
    pub(crate) fn end(mut self, limit: Duration) -> Ended {
        let is_over = within(limit, || self.child.try_wait().unwrap().is_some());
        if !is_over {
            // The bound is broken; what it has said so far tells why.
            let _ = self.child.kill();
        }
        let status = self.child.wait().unwrap();
        let ended = Ended {
            code: status.code(),
            out: self.out.all(),
            err: self.err.all(),
        };
        assert!(is_over, "still running after {limit:?}: {ended:#?}");
        ended
    }
}

impl Drop for Mpfec {
    fn drop(&mut self) {
        // It may be over already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The last object of its JSON lines, all of which must be objects with a type.
    pub(crate) fn last(&self) -> Value {
        self.lines()
            .pop()
            .unwrap_or_else(|| panic!("no JSON: {self:#?}"))
    }

    /// All objects.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let lines = json_lines(&self.out);
        assert!(
            lines.iter().all(|line| line["type"].is_string()),
            "an object without type: {self:#?}"
        );
        lines
    }

    /// Asserts that it went well, and returns what its last line says.
    pub(crate) fn done(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:#?}");
        assert_eq!(
            self.err, "",
            "errors are two lines, success with --json none"
        );
        let done = self.last();
        assert_eq!(done["type"], "done", "{self:#?}");
        assert_eq!(done["ok"], true, "{self:#?}");
        for number in ["bytes", "seconds", "goodput_mbps", "longest_pause_ms"] {
            assert!(
                done[number].as_f64().is_some_and(|value| value >= 0.0),
                "{number}: {done:#}"
            );
        }
        let is_telling = done["bytes"].as_u64() >= Some(1 << 20);
        let gain = done.get("gain_over_best_path").map(|gain| gain.as_f64());
        assert_eq!(
            gain.map(|gain| gain.is_some()),
            Some(is_telling),
            "{done:#}"
        );
        assert_eq!(done["blake3"].as_str().map(str::len), Some(64), "{done:#}");
        assert!(!done["paths"].as_array().unwrap().is_empty(), "{done:#}");
        done
    }

    /// Asserts that it failed with this code, in two lines that contain `facts`, and with
    /// `--json` also as an object.
    pub(crate) fn failed(&self, code: i32, facts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        let lines: Vec<&str> = self.err.lines().collect();
        assert_eq!(lines.len(), 2, "not two lines: {self:#?}");
        assert!(
            lines.iter().all(|line| !line.trim().is_empty()),
            "{self:#?}"
        );
        for fact in facts {
            assert!(lines[0].contains(fact), "{fact:?} is not told: {self:#?}");
        }
        if self.out.is_empty() {
            return;
        }
        let error = self.last();
        assert_eq!(error["type"], "error", "{self:#?}");
        assert_eq!(error["code"], code, "{self:#?}");
        assert_eq!(error["message"], lines[0], "{self:#?}");
        assert_eq!(error["hint"], lines[1], "{self:#?}");
        assert!(error["kind"].is_string(), "{self:#?}");
    }
}

/// `mpfec recv` that saves into a directory of its own.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) process: Mpfec,
    pub(crate) ticket: Ticket,
    pub(crate) dir: TempDir,
}

impl Receiver {
    /// On loopback, for one transfer.
    pub(crate) fn start(flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self::start_in(dir, flags)
    }

    pub(crate) fn start_in(dir: TempDir, flags: &[&str]) -> Self {
        let mut words = vec!["recv", "--json", "--once", "--listen", "127.0.0.1:0"];
        words.extend_from_slice(flags);
        words.extend(["--dir", dir.path().to_str().unwrap()]);
        let (process, ticket) = serve(&words);
        Self {
            process,
            ticket,
            dir,
        }
    }

    /// Where a transfer of something called `name` ends up.
    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }
}

/// Starts a command that writes a ticket.
pub(crate) fn serve(words: &[&str]) -> (Mpfec, Ticket) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ticket");
    let mut words = words.to_vec();
    words.extend(["--ticket-file", file.to_str().unwrap()]);
    let process = Mpfec::start(words);
    assert!(
        within(LONG, || file.exists()),
        "no ticket: {:#?}",
        process.end(Duration::ZERO)
    );
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "others can read the ticket");
    let ticket = std::fs::read_to_string(&file)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    (process, ticket)
}

/// `mpfec send --json`
pub(crate) fn send(ticket: &Ticket, sources: &[&OsStr]) -> Mpfec {
    let ticket = ticket.to_string();
    let words = ["send", "--json", &ticket, "--"].map(OsStr::new);
    Mpfec::start(words.iter().chain(sources))
}

/// Puts emulated links before the server of a ticket, and writes a ticket that leads there.
pub(crate) fn links(ticket: &Ticket, paths: &[PathSetup]) -> (UdpRelay, Ticket) {
    let setup = Setup {
        name: "test".to_owned(),
        summary: String::new(),
        paths: paths.to_vec(),
        changes: Vec::new(),
    };
    let relay = UdpRelay::start(&setup, ticket.addresses()[0], 1).unwrap();
    let addresses: Vec<SocketAddr> = relay.paths().iter().map(|(_, address)| *address).collect();
    let ticket = Ticket::new(
        addresses,
        ticket.fingerprint(),
        ticket.secret(),
        ticket.expires(),
    );
    (relay, ticket.unwrap())
}

/// Bytes without a pattern, the same for the same seed.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new()
        .update(&seed.to_be_bytes())
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

/// Everything below a directory by its path: what it is, and what is in it.
pub(crate) fn tree(root: &Path) -> BTreeMap<Vec<u8>, Node> {
    let entries = walkdir::WalkDir::new(root).min_depth(1);
    let node = |entry: walkdir::DirEntry| {
        let path = entry.path().strip_prefix(root).unwrap();
        let node = if entry.file_type().is_dir() {
            Node::Directory
        } else if entry.file_type().is_symlink() {
            Node::Link
        } else {
            Node::File {
                content: std::fs::read(entry.path()).unwrap(),
                is_executable: entry.metadata().unwrap().permissions().mode() & 0o100 != 0,
            }
        };
        (path.as_os_str().as_bytes().to_vec(), node)
    };
    entries
        .into_iter()
        .map(|entry| node(entry.unwrap()))
        .collect()
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    Link,
    File {
        content: Vec<u8>,
        is_executable: bool,
    },
}

/// Looks again and again until `is_so`, at most this long.
#[expect(clippy::disallowed_methods, reason = "a test watches another process")]
pub(crate) fn within(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        if is_so() {
            return true;
        }
        if began.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Says why a test proves nothing here.
#[expect(
    clippy::print_stdout,
    reason = "the test harness shows it to whoever asks"
)]
pub(crate) fn left_out(reason: &str) {
    println!("left out: {reason}");
}

/// A clock to measure the program's own bounds by.
#[expect(clippy::disallowed_methods, reason = "a test measures another process")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

fn complete_lines(text: &str) -> String {
    text.rsplit_once('\n')
        .map(|(lines, _)| lines.to_owned())
        .unwrap_or_default()
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}")))
        .collect()
}
