//! Programs across emulated links, between namespaces that leave nothing behind.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{LONG, Mpfec, left_out, within};

#[test]
fn a_connection_across_a_lab_has_the_delay_and_no_more_than_the_rate_of_its_links() {
    if !is_possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (links, ticket) = (dir.path().join("links.toml"), dir.path().join("ticket"));
    fs::write(&links, LINKS).unwrap();
    let program = env!("CARGO_BIN_EXE_mpfec");
    let server = format!(
        "exec '{program}' perf server --quiet --once --ticket-file '{}'",
        ticket.display()
    );
    let mut lab = Command::new(program);
    lab.args(["lab", "--json", "--links"]).arg(&links);
    // What is not ready in time is waited for here.
    let client = format!(
        "until [ -s '{ticket}' ]; do sleep 0.1; done; \
         exec '{program}' perf client --json --time 3 --warmup 1 --ticket-file '{ticket}'",
        ticket = ticket.display()
    );
    lab.args(["--server", &server, "--", "sh", "-c", &client]);
    let ended = Mpfec::run(lab).end(LONG);

    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let lines = ended.lines();
    let of = |kind: &str| lines.iter().find(|line| line["type"] == kind).unwrap();
    let result = of("result");
    let goodput = result["goodput_mbps"].as_f64().unwrap();
    assert!((2.0..=6.0).contains(&goodput), "{result:#}");
    // Acknowledgements may come back over the other path.
    for (path, least) in [("near", 40.0), ("far", 60.0)] {
        let paths = result["paths"].as_array().unwrap();
        let path = paths.iter().find(|one| one["interface"] == path).unwrap();
        let rtt = path["min_rtt_ms"].as_f64().unwrap();
        assert!((least..least + 60.0).contains(&rtt), "{path:#}");
    }
    let crossed = of("crossed")["paths"].as_array().unwrap();
    let lost = |at: usize| crossed[at]["forward"]["lost"].as_u64().unwrap();
    assert_eq!(lost(0), 0, "{crossed:#?}");
    assert!(lost(1) > 5, "{crossed:#?}");
    assert_eq!(ended.last()["type"], "done");
}

#[test]
fn two_addresses_on_one_path_are_two_paths_through_one_bottleneck() {
    if !is_possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (links, ticket) = (dir.path().join("links.toml"), dir.path().join("ticket"));
    fs::write(&links, BOTTLENECK).unwrap();
    let program = env!("CARGO_BIN_EXE_mpfec");
    let ticket = ticket.display();
    let server = format!("exec '{program}' perf server --quiet --once --ticket-file '{ticket}'");
    let client = format!(
        "ip addr add 10.77.1.3/24 dev narrow || exit 42; \
         until [ -s '{ticket}' ]; do sleep 0.1; done; \
         exec '{program}' perf client --json --time 3 --warmup 1 --ticket-file '{ticket}' \
         --path 10.77.1.1 --path 10.77.1.3"
    );
    let mut lab = Command::new(program);
    lab.args(["lab", "--json", "--links"]).arg(&links);
    lab.args(["--server", &server, "--", "sh", "-c", &client]);
    let ended = Mpfec::run(lab).end(LONG);
    if ended.code == Some(42) {
        left_out("ip of iproute2 is not installed");
        return;
    }

    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let lines = ended.lines();
    let of = |kind: &str| lines.iter().find(|line| line["type"] == kind).unwrap();
    let result = of("result");
    let sent = |local: &str| {
        let paths = result["paths"].as_array().unwrap();
        let is_from = |one: &&serde_json::Value| one["local"].as_str().unwrap().starts_with(local);
        paths.iter().find(is_from).unwrap()["sent_packets"]
            .as_u64()
            .unwrap()
    };
    let (first, second) = (sent("10.77.1.1:"), sent("10.77.1.3:"));
    assert!(first > 50 && second > 50, "{result:#}");
    assert!(result["goodput_mbps"].as_f64().unwrap() < 3.0, "{result:#}");
    let crossed = of("crossed")["paths"][0]["forward"]["packets"]
        .as_u64()
        .unwrap();
    assert!(
        crossed >= first + second,
        "{crossed} of {first} and {second}"
    );
}

#[test]
fn a_lab_ends_as_its_command_does_and_ends_what_that_left_running() {
    if !is_possible() {
        return;
    }
    let script = "echo $MPFEC_SERVERS; sleep 1000 & echo $!; exit 7";
    let words = ["lab", "--links", "pnc", "--quiet", "--", "sh", "-c", script];
    let ended = Mpfec::start(words).end(LONG);
    ended_with(&ended, 7, "sh ended with exit code 7");
    let (servers, sleeper) = ended.out.trim().split_once('\n').unwrap();
    assert_eq!(servers, "10.77.1.2 10.77.2.2 10.77.3.2");
    let sleeper = Pid::from_raw(sleeper.parse().unwrap());
    assert!(!is_alive(sleeper), "{sleeper} is still there");
}

#[test]
fn a_lab_that_is_stopped_leaves_no_namespace_and_no_server() {
    if !is_possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("server");
    let server = format!("echo $$ > '{}'; sleep 1000", file.display());
    // Nothing runs at the client, as there is no terminal.
    let words = ["lab", "--links", "pnc", "--json", "--server", &server];
    let lab = Mpfec::start(words);
    lab.wait_for("lab", |line| line["type"] == "lab");
    let id = || fs::read_to_string(&file).ok()?.trim().parse().ok();
    assert!(within(LONG, || id().is_some()), "the server never ran");
    let server = Pid::from_raw(id().unwrap());
    assert!(is_alive(server));
    lab.signal(Signal::SIGTERM);
    let ended = lab.end(Duration::from_secs(10));
    ended_with(&ended, 130, "interrupted");
    assert!(!is_alive(server), "{server} is still there");
    let thread = ended.lines()[0]["server_thread"].as_i64().unwrap();
    assert!(!Path::new(&format!("/proc/{thread}")).exists());
}

#[test]
fn a_command_that_does_not_exist_is_named() {
    if !is_possible() {
        return;
    }
    let words = ["lab", "--links", "pnc", "--quiet", "--", "no-such-program"];
    let ended = Mpfec::start(words).end(LONG);
    ended_with(
        &ended,
        127,
        "cannot run no-such-program: no such file or directory",
    );
}

#[test]
fn without_root_a_lab_says_what_would_help() {
    let mut lab = Command::new(env!("CARGO_BIN_EXE_mpfec"));
    lab.args(["lab", "--links", "pnc", "--", "true"]);
    if nix::unistd::geteuid().is_root() {
        lab.uid(NOBODY).gid(NOBODY);
        let mut probe = Command::new(env!("CARGO_BIN_EXE_mpfec"));
        if probe
            .arg("--version")
            .uid(NOBODY)
            .gid(NOBODY)
            .output()
            .is_err()
        {
            left_out("the program lies where only root can run it");
            return;
        }
    }
    let ended = Mpfec::run(lab).end(LONG);
    ended.failed(
        1,
        &["cannot make a network namespace: operation not permitted"],
    );
    assert!(ended.err.contains("run it as root"), "{ended:#?}");
}

/// Whether a lab can be made here; says so if not.
fn is_possible() -> bool {
    let is = nix::unistd::geteuid().is_root() && Path::new("/dev/net/tun").exists();
    if !is {
        left_out("network namespaces with TUN devices can be made by root only");
    }
    is
}

/// Asserts how it ended, whatever it printed before.
fn ended_with(ended: &crate::support::Ended, code: i32, what: &str) {
    assert_eq!(ended.code, Some(code), "{ended:#?}");
    assert_eq!(ended.err.lines().count(), 2, "{ended:#?}");
    assert_eq!(ended.err.lines().next(), Some(what), "{ended:#?}");
}

/// Whether a process runs; one that nobody has waited for yet does not.
fn is_alive(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    kill(process, None).is_ok() && !stat.contains(") Z ")
}

/// Two paths of 3 Mbit/s.
const LINKS: &str = r#"
    name = "two"
    [[path]]
    name = "near"
    both = { rate_mbps = 3, delay_ms = 20 }
    [[path]]
    name = "far"
    both = { rate_mbps = 3, delay_ms = 40 }
    forward = { loss_percent = 5 }
"#;

/// One path of 3 Mbit/s.
const BOTTLENECK: &str = r#"
    name = "one"
    [[path]]
    name = "narrow"
    both = { rate_mbps = 3, delay_ms = 20 }
"#;

const NOBODY: u32 = 65_534;
