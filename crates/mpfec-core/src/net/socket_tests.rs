//! Datagrams over the loopback interface.

use std::future::poll_fn;
use std::time::Duration;

use super::*;
use crate::address::{FourTuple, SocketId};

fn loopback(family: &str) -> SocketAddr {
    format!("{family}:0").parse().unwrap()
}

fn to(remote: SocketAddr, size: usize, segment_size: Option<usize>) -> Transmit {
    let tuple = FourTuple {
        socket: SocketId(0),
        local_ip: None,
        remote,
    };
    Transmit {
        tuple,
        ecn: Some(Ecn::Ect0),
        size,
        segment_size,
    }
}

/// Sends all of `bytes`, waiting for the socket where need be.
async fn send(socket: &UdpSocket, transmit: &Transmit, bytes: &[u8]) -> Sent {
    let mut sent = 0;
    loop {
        match socket.try_send(transmit, &bytes[sent..]) {
            Sent::Blocked(part) => sent += part,
            result => return result,
        }
        poll_fn(|cx| socket.poll_writable(cx)).await.unwrap();
    }
}

/// Receives `count` datagrams, or what arrives within two seconds.
async fn receive(socket: &UdpSocket, count: usize) -> Vec<Received> {
    let (mut buffers, mut got) = (RecvBuffers::new(), Vec::new());
    let all = async {
        while got.len() < count {
            poll_fn(|cx| socket.poll_recv(cx, &mut buffers, |received| got.push(received)))
                .await
                .unwrap();
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(2), all).await;
    got
}

#[tokio::test]
async fn a_batch_arrives_as_separate_datagrams_with_mark_and_addresses() {
    for family in ["127.0.0.1", "[::1]"] {
        let receiver = UdpSocket::bind(loopback(family), None).unwrap();
        let sender = UdpSocket::bind(loopback(family), None).unwrap();
        let bytes: Vec<u8> = (0..20_u8)
            .flat_map(|fill| [fill; 1200])
            .chain([99; 100])
            .collect();
        assert!(matches!(
            send(
                &sender,
                &to(receiver.local_addr(), bytes.len(), Some(1200)),
                &bytes
            )
            .await,
            Sent::All
        ));
        let got = receive(&receiver, 21).await;
        assert_eq!(got.len(), 21);
        assert!(
            got.iter()
                .zip(bytes.chunks(1200))
                .all(|(received, sent)| received.data == sent)
        );
        assert!(
            got.iter()
                .all(|received| received.remote == sender.local_addr())
        );
        let marks: Vec<_> = got.iter().map(|received| received.ecn).collect();
        assert_eq!(marks, [Some(Ecn::Ect0); 21], "{family}");
        assert!(
            got.iter()
                .all(|received| received.local_ip == Some(receiver.local_addr().ip()))
        );
    }
}

#[tokio::test]
async fn a_batch_larger_than_the_system_takes_is_split() {
    let receiver = UdpSocket::bind(loopback("127.0.0.1"), None).unwrap();
    let sender = UdpSocket::bind(loopback("127.0.0.1"), None).unwrap();
    let bytes = vec![5; 100 * 1400];
    assert!(matches!(
        send(
            &sender,
            &to(receiver.local_addr(), bytes.len(), Some(1400)),
            &bytes
        )
        .await,
        Sent::All
    ));
    let got = receive(&receiver, 100).await;
    assert_eq!(got.len(), 100);
    assert!(got.iter().all(|received| received.data.len() == 1400));
}

#[tokio::test]
async fn every_mark_arrives() {
    let receiver = UdpSocket::bind(loopback("127.0.0.1"), None).unwrap();
    let sender = UdpSocket::bind(loopback("127.0.0.1"), None).unwrap();
    let marks = [Some(Ecn::Ect0), Some(Ecn::Ect1), Some(Ecn::Ce), None];
    for ecn in marks {
        let transmit = Transmit {
            ecn,
            ..to(receiver.local_addr(), 3, None)
        };
        assert!(matches!(send(&sender, &transmit, b"abc").await, Sent::All));
    }
    let got: Vec<_> = receive(&receiver, 4)
        .await
        .into_iter()
        .map(|received| received.ecn)
        .collect();
    assert_eq!(got, marks);
}

#[tokio::test]
#[expect(clippy::print_stderr, reason = "a test that does not run says so")]
async fn a_socket_without_an_address_serves_both_families_and_replies_from_where_it_was_asked() {
    let Ok(server) = UdpSocket::bind(loopback("[::]"), None) else {
        eprintln!("skipped: no IPv6 here");
        return;
    };
    for (family, ask_at) in [("127.0.0.1", "127.0.0.3"), ("[::1]", "::1")] {
        let client = UdpSocket::bind(loopback(family), None).unwrap();
        let asked = SocketAddr::new(ask_at.parse().unwrap(), server.local_addr().port());
        assert!(matches!(
            send(&client, &to(asked, 3, None), b"ask").await,
            Sent::All
        ));
        let question = receive(&server, 1).await.remove(0);
        assert_eq!(
            (question.remote, question.local_ip),
            (client.local_addr(), Some(asked.ip()))
        );
        let mut answer = to(question.remote, 6, None);
        answer.tuple.local_ip = question.local_ip;
        assert!(matches!(send(&server, &answer, b"answer").await, Sent::All));
        assert_eq!(receive(&client, 1).await.remove(0).remote, asked);
    }
}

#[tokio::test]
async fn a_datagram_that_nobody_takes_leaves_the_socket_alive() {
    let closed = UdpSocket::bind(loopback("127.0.0.1"), None)
        .unwrap()
        .local_addr();
    let socket = UdpSocket::bind(loopback("127.0.0.1"), None).unwrap();
    for _ in 0..3 {
        assert!(!matches!(
            send(&socket, &to(closed, 3, None), b"abc").await,
            Sent::Gone
        ));
    }
    assert!(matches!(
        send(&socket, &to(socket.local_addr(), 3, None), b"abc").await,
        Sent::All
    ));
    assert_eq!(receive(&socket, 1).await.len(), 1);
}

#[tokio::test]
async fn a_datagram_larger_than_any_is_too_big() {
    let socket = UdpSocket::bind(loopback("127.0.0.1"), None).unwrap();
    let bytes = vec![0; 65_520];
    let sent = send(&socket, &to(socket.local_addr(), bytes.len(), None), &bytes).await;
    assert!(matches!(sent, Sent::TooBig), "{sent:?}");
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_socket_bound_to_an_interface_sends_by_it() {
    let socket = UdpSocket::bind(loopback("127.0.0.1"), Some("lo")).unwrap();
    let other = UdpSocket::bind(loopback("127.0.0.1"), None).unwrap();
    assert!(matches!(
        send(&socket, &to(other.local_addr(), 3, None), b"abc").await,
        Sent::All
    ));
    assert_eq!(receive(&other, 1).await.len(), 1);
    let missing = UdpSocket::bind(loopback("127.0.0.1"), Some("no-such-if0"));
    assert!(missing.is_err_and(|error| is_gone(&error)));
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_socket_whose_interface_or_address_is_gone_says_so() {
    use crate::net::test_link::TestLink;
    let losses: [fn(&TestLink); 2] = [TestLink::remove, TestLink::remove_address];
    for (lose, bind_to_device) in losses.into_iter().zip([false, true]) {
        let Some(link) = TestLink::new('s') else {
            return;
        };
        link.up();
        let device = bind_to_device.then_some(link.name.as_str());
        let socket = UdpSocket::bind(link.own(0), device).unwrap();
        let peer = to(link.neighbour(9), 3, None);
        let before = send(&socket, &peer, b"abc").await;
        assert!(matches!(before, Sent::All), "{before:?}");
        lose(&link);
        let after = send(&socket, &peer, b"abc").await;
        assert!(matches!(after, Sent::Gone), "{after:?}");
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_batch_of_datagrams_too_big_for_the_interface_says_so() {
    let Some(link) = crate::net::test_link::TestLink::new('m') else {
        return;
    };
    link.set_mtu(1300);
    link.up();
    let socket = UdpSocket::bind(link.own(0), Some(&link.name)).unwrap();
    let peer = link.neighbour(9);
    for (segment, fits) in [(1272, true), (1273, false), (1472, false), (1272, true)] {
        for segments in [1, 5] {
            let bytes = vec![0; segment * segments];
            let batch = to(peer, bytes.len(), (segments > 1).then_some(segment));
            let sent = send(&socket, &batch, &bytes).await;
            let as_expected = match fits {
                true => matches!(sent, Sent::All),
                false => matches!(sent, Sent::TooBig),
            };
            assert!(as_expected, "{segments} of {segment}: {sent:?}");
        }
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_socket_bound_to_an_interface_that_is_down_does_not_send_by_another() {
    let Some(link) = crate::net::test_link::TestLink::new('d') else {
        return;
    };
    link.up();
    let socket = UdpSocket::bind(link.own(0), Some(&link.name)).unwrap();
    link.down();
    let sent = send(&socket, &to(link.neighbour(9), 3, None), b"abc").await;
    assert!(matches!(sent, Sent::Lost), "{sent:?}");
}

#[tokio::test]
async fn a_full_socket_says_how_much_it_took_and_becomes_writable_again() {
    let receiver = UdpSocket::bind(loopback("127.0.0.1"), None).unwrap();
    let sender = UdpSocket::bind(loopback("127.0.0.1"), None).unwrap();
    poll_fn(|cx| sender.poll_writable(cx)).await.unwrap();
    let bytes = vec![0; 64 * 1000];
    for _ in 0..1000 {
        match sender.try_send(&to(receiver.local_addr(), bytes.len(), Some(1000)), &bytes) {
            Sent::All => {}
            Sent::Blocked(sent) => {
                assert!(sent.is_multiple_of(1000) && sent < bytes.len());
                poll_fn(|cx| sender.poll_writable(cx)).await.unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
}
