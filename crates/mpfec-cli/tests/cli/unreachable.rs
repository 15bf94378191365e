//! Nobody answers.

use std::net::UdpSocket;
use std::time::Duration;

use mpfec_core::{Rng, Secret, ServerTls, Ticket};

use crate::support::{LONG, Mpfec, Receiver, now, send};

/// For a server that is not there.
fn ticket(address: std::net::SocketAddr) -> Ticket {
    let fingerprint = ServerTls::self_signed(&mut Rng::system()).fingerprint();
    Ticket::new([address], fingerprint, Secret::from_bytes([1; 16]), None).unwrap()
}

#[test]
fn silence_is_told_within_three_seconds_with_the_route() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let port = format!("127.0.0.1 UDP {}", address.port());
    let ticket = ticket(address);
    let began = now();
    let ended = send(&ticket, &["/dev/null".as_ref()]).end(Duration::from_secs(5));
    // /dev/null is no file: that is told without asking the network.
    ended.failed(3, &["/dev/null"]);
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("x");
    std::fs::write(&source, "content").unwrap();
    let ended = send(&ticket, &[source.as_os_str()]).end(Duration::from_secs(5));
    assert!(
        began.elapsed() < Duration::from_millis(4500),
        "{:?}",
        began.elapsed()
    );
    ended.failed(5, &["no answer from", &port, "loopback", "3 s"]);
    let ended =
        Mpfec::start(["perf", "client", "--json", &ticket.to_string()]).end(Duration::from_secs(5));
    ended.failed(5, &["no answer from", &port]);
}

#[test]
fn a_closed_port_is_told_no_later() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let ticket = ticket(socket.local_addr().unwrap());
    drop(socket);
    let ended =
        Mpfec::start(["perf", "client", "--json", &ticket.to_string()]).end(Duration::from_secs(5));
    ended.failed(5, &["127.0.0.1"]);
}

#[test]
fn an_interface_that_is_not_there_is_a_wrong_argument() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let ticket = ticket(socket.local_addr().unwrap()).to_string();
    let words = ["perf", "client", "--json", "--path", "nosuch0", &ticket];
    Mpfec::start(words)
        .end(Duration::from_secs(5))
        .failed(2, &["nosuch0"]);
}

#[test]
fn a_path_that_leads_nowhere_is_a_wrong_argument_too() {
    let elsewhere = ticket("203.0.113.7:47800".parse().unwrap()).to_string();
    for path in ["lo", "127.0.0.1"] {
        let words = ["perf", "client", "--json", "--path", path, &elsewhere];
        let ended = Mpfec::start(words).end(Duration::from_secs(5));
        if path != "lo" || cfg!(target_os = "linux") {
            ended.failed(2, &[path, "203.0.113.7"]);
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn paths_over_loopback_lead_to_this_host_and_have_names_of_their_own() {
    let receiver = Receiver::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x"), "content").unwrap();
    let ticket = receiver.ticket.to_string();
    let words = [
        "send",
        "--json",
        "--path",
        "lo",
        "--path",
        "127.0.0.2",
        &ticket,
    ];
    let source = dir.path().join("x");
    let words = words.map(std::ffi::OsStr::new).into_iter();
    let sent = Mpfec::start(words.chain([source.as_os_str()]))
        .end(LONG)
        .done();
    let paths = sent["paths"].as_array().unwrap();
    assert_eq!(paths[0]["name"], "loopback", "{sent:#}");
    assert!(
        paths
            .iter()
            .skip(1)
            .all(|path| path["name"] == "loopback 127.0.0.2"),
        "{sent:#}"
    );
    receiver.process.end(LONG).done();
}

#[test]
fn an_address_that_is_taken_is_told() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let ended = Mpfec::start(["recv", "--json", "--listen", &address]).end(Duration::from_secs(5));
    ended.failed(5, &[&address]);
}
