//! Nobody answers.

use std::net::UdpSocket;
use std::time::Duration;

use mpfec_core::{Rng, Secret, ServerTls, Ticket};

use crate::support::{Mpfec, now, send};

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
fn an_address_that_is_taken_is_told() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let ended = Mpfec::start(["recv", "--json", "--listen", &address]).end(Duration::from_secs(5));
    ended.failed(5, &[&address]);
}
