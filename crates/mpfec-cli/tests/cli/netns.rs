//! Two hosts with two links between them, as network namespaces.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mpfec_core::{Rng, Secret, ServerTls, Ticket};
use serde_json::Value;

use crate::support::{Mpfec, left_out, noise, tree, within};

#[test]
fn a_link_that_is_pulled_midway_does_not_stop_a_transfer() {
    let Some(hosts) = Hosts::new() else {
        left_out("network namespaces with veth and tbf can be made by root only");
        return;
    };
    hosts.settle();
    let dir = tempfile::tempdir().unwrap();
    let (outbox, inbox) = (dir.path().join("out"), dir.path().join("in"));
    fs::create_dir(&inbox).unwrap();
    fs::create_dir_all(outbox.join("small")).unwrap();
    fs::write(outbox.join("film"), noise(1, SIZE)).unwrap();
    for number in 0..200 {
        let content = noise(number, (number as usize * 41) % 9000);
        fs::write(outbox.join("small").join(number.to_string()), content).unwrap();
    }

    let ticket = dir.path().join("ticket");
    let [near, far] = &hosts.names;
    let mut command = hosts.run(far, &["recv", "--json", "--once", "--dir"]);
    command.arg(&inbox);
    command.arg("--ticket-file").arg(&ticket);
    let receiver = Mpfec::run(command);
    assert!(within(LIMIT, || ticket.exists()), "no ticket");
    let mut command = hosts.run(near, &["send", "--json", "--ticket-file"]);
    command.arg(&ticket);
    command.args(["film", "small"].map(|name| outbox.join(name)));
    let sender = Mpfec::run(command);
    receiver.wait_for("a third of it", |line| {
        line["type"] == "progress" && line["bytes"].as_u64() > Some(SIZE as u64 / 3)
    });
    hosts.pull("one");

    let ended = sender.end(LIMIT);
    let sent = ended.done();
    let received = receiver.end(LIMIT).done();
    assert_eq!(sent["blake3"], received["blake3"]);
    assert_eq!(sent["files"], 201);
    assert!(tree(&outbox) == tree(&inbox), "the result differs");
    let carried = |name: &str| {
        let paths = sent["paths"].as_array().unwrap();
        let path = paths.iter().find(|path| path["interface"] == name).unwrap();
        path["delivered_bytes"].as_u64().unwrap()
    };
    assert!(carried("one") > SIZE as u64 / 20, "{sent:#}");
    assert!(carried("two") > SIZE as u64 / 2, "{sent:#}");
    let told = |line: &Value| {
        let is_about = line["interface"] == "one";
        is_about && ["path_suspected", "path_down"].contains(&line["type"].as_str().unwrap())
    };
    assert!(ended.lines().iter().any(told), "{:#?}", ended.out);
}

#[test]
fn silence_is_told_with_the_interfaces_that_were_tried() {
    let Some(hosts) = Hosts::new() else {
        left_out("network namespaces with veth and tbf can be made by root only");
        return;
    };
    hosts.settle();
    let fingerprint = ServerTls::self_signed(&mut Rng::system()).fingerprint();
    let nobody = ["10.77.1.99:47800", "10.77.2.99:47800"].map(|address| address.parse().unwrap());
    let ticket = Ticket::new(nobody, fingerprint, Secret::from_bytes([1; 16]), None);
    let ticket = ticket.unwrap().to_string();
    let command = hosts.run(&hosts.names[0], &["perf", "client", "--json", &ticket]);
    let ended = Mpfec::run(command).end(Duration::from_secs(5));
    ended.failed(
        5,
        &["10.77.1.99 UDP 47800, 10.77.2.99 UDP 47800 over one, two in 3 s"],
    );
    assert!(
        ended.err.contains("open the port on the receiver"),
        "{ended:#?}"
    );
}

/// Two namespaces, joined by two links of 100 Mbit/s each; gone when dropped.
struct Hosts {
    names: [String; 2],
}

impl Hosts {
    /// `None` where that is not possible.
    fn new() -> Option<Self> {
        if !nix::unistd::geteuid().is_root() {
            return None;
        }
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let names = ["a", "b"].map(|end| format!("mpfec-{}-{number}-{end}", std::process::id()));
        let hosts = Self { names };
        let [a, b] = &hosts.names;
        let mut possible = hosts
            .names
            .iter()
            .all(|name| hosts.ip(&["netns", "add", name]));
        for (link, net) in [("one", "10.77.1"), ("two", "10.77.2")] {
            possible = possible
                && hosts.ip(&[
                    "-n", a, "link", "add", link, "type", "veth", "peer", "name", link, "netns", b,
                ])
                && [a, b].iter().zip(1..).all(|(name, number)| {
                    let address = format!("{net}.{number}/24");
                    hosts.ip(&["-n", name, "addr", "add", &address, "dev", link])
                        && hosts.ip(&["-n", name, "link", "set", link, "up"])
                        && hosts.shape(name, link)
                });
        }
        possible.then_some(hosts)
    }

    /// Waits until both links are up at both ends.
    fn settle(&self) {
        for name in &self.names {
            let is_up = || {
                let ended = Mpfec::run(self.run(name, &["paths", "--json"])).end(LIMIT);
                let used = ended
                    .lines()
                    .iter()
                    .filter(|line| line["used"] == true)
                    .count();
                used == 2
            };
            assert!(within(LIMIT, is_up), "the links stay down");
        }
    }

    /// Takes a link off the sender, as a pulled cable does.
    fn pull(&self, link: &str) {
        assert!(self.ip(&["-n", &self.names[0], "link", "set", link, "down"]));
    }

    /// `mpfec` on one of the hosts.
    fn run(&self, name: &str, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", name, env!("CARGO_BIN_EXE_mpfec")]);
        command.args(words);
        command
    }

    fn ip(&self, words: &[&str]) -> bool {
        works(Command::new("ip").args(words))
    }

    fn shape(&self, name: &str, link: &str) -> bool {
        let words = ["-n", name, "qdisc", "add", "dev", link, "root", "tbf"];
        let figures = ["rate", "100mbit", "burst", "64kb", "latency", "50ms"];
        works(Command::new("tc").args(words).args(figures))
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            // It is not there if it could not be made.
            self.ip(&["netns", "del", name]);
        }
    }
}

fn works(command: &mut Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

const SIZE: usize = 64 << 20;
const LIMIT: Duration = Duration::from_secs(60);
