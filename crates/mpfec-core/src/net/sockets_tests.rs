//! Sockets that fail, and sockets whose interface changes.

use std::future::poll_fn;

use super::*;

fn sockets(listener: Option<UdpSocket>) -> Sockets {
    Sockets::new(listener.into_iter().collect(), Arc::default())
}

fn failed(code: i32) -> Poll<io::Result<usize>> {
    Poll::Ready(Err(io::Error::from_raw_os_error(code)))
}

#[test]
#[cfg(target_os = "linux")]
fn only_a_client_s_socket_whose_device_is_gone_is_dropped() {
    const ENODEV: i32 = 19;
    const ENOMEM: i32 = 12;
    const ECONNREFUSED: i32 = 111;
    assert_eq!(verdict(&failed(ENODEV), false, 0), Verdict::Drop);
    assert!(matches!(
        verdict(&failed(ENODEV), true, 0),
        Verdict::Pause(_)
    ));
    for is_listener in [false, true] {
        for code in [ENOMEM, ECONNREFUSED] {
            let verdict = verdict(&failed(code), is_listener, 0);
            assert!(matches!(verdict, Verdict::Pause(_)), "{verdict:?}");
        }
        assert_eq!(verdict(&Poll::Ready(Ok(7)), is_listener, 3), Verdict::GoOn);
    }
}

#[test]
fn an_error_that_stays_is_looked_at_once_a_second_in_the_end() {
    let pauses: Vec<Duration> = [0, 1, 5, 20, u32::MAX]
        .into_iter()
        .map(|failures| match verdict(&failed(12), true, failures) {
            Verdict::Pause(time) => time,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(pauses.is_sorted());
    assert_eq!((pauses[0], pauses[4]), (FIRST_PAUSE, LONGEST_PAUSE));
}

#[tokio::test]
async fn a_socket_that_failed_is_left_alone_and_the_task_is_woken_afterwards() {
    let mut pause = Pause::default();
    let begun = tokio::time::Instant::now();
    poll_fn(|cx| {
        pause.begin(FIRST_PAUSE, cx);
        Poll::Ready(())
    })
    .await;
    poll_fn(|cx| {
        if pause.is_over(cx) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    assert!(begun.elapsed() >= FIRST_PAUSE);
    assert_eq!(pause.failures, 1);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_socket_outlives_other_addresses_of_its_interface() {
    let lo = LocalAddress::Interface("lo".to_owned());
    let mut sockets = sockets(None);
    let bound = UdpSocket::bind("127.0.0.1:0".parse().unwrap(), Some("lo")).unwrap();
    let socket = sockets.add(bound, Some(lo.clone()));
    let own: IpAddr = [127, 0, 0, 1].into();
    let other: IpAddr = [198, 18, 0, 1].into();
    for addresses in [vec![own], vec![own, other]] {
        assert!(sockets.remove_interface("lo", Some(&addresses)).is_empty());
    }
    assert!(sockets.remove_interface("eth0", None).is_empty());
    assert_eq!(sockets.remove_interface("lo", Some(&[other])), [socket]);
    assert_eq!(sockets.local(socket), None);

    let tuple = sockets.tuple(&lo, "127.0.0.1:9".parse().unwrap()).unwrap();
    assert_eq!(sockets.remove_interface("lo", None), [tuple.socket]);
}

#[tokio::test]
async fn a_socket_is_closed_when_nobody_uses_it_for_a_while_unless_a_server_listens_there() {
    let listener = UdpSocket::bind("127.0.0.1:0".parse().unwrap(), None).unwrap();
    let remote = listener.local_addr();
    let mut sockets = sockets(Some(listener));
    let mut make = |number: u8| {
        let local = LocalAddress::Ip([127, 0, 0, number].into());
        sockets.tuple(&local, remote).unwrap().socket
    };
    let [used, again, unused] = [1, 2, 3].map(&mut make);
    let mut look = |used: &[SocketId]| {
        let now = sockets.next_look()?;
        sockets.close_unused(now, &used.iter().copied().collect());
        Some(sockets.made().collect::<Vec<_>>())
    };
    assert_eq!(look(&[used]), Some(vec![used, again, unused]));
    assert_eq!(look(&[used, again]), Some(vec![used, again]));
    assert_eq!(look(&[used]), None, "all are used");
    sockets.look_later(clock::now());
    sockets.close_unused(clock::now(), &BTreeSet::new());
    sockets.close_unused(clock::now(), &BTreeSet::new());
    assert_eq!(sockets.made().count(), 0);
    assert_eq!(sockets.bound.len(), 1);
    assert_eq!(sockets.next_look(), None);
}

#[tokio::test]
async fn sockets_that_are_gone_are_remembered_up_to_a_bound() {
    let mut sockets = sockets(None);
    let bind = || UdpSocket::bind("127.0.0.1:0".parse().unwrap(), None).unwrap();
    let lasting = sockets.add(bind(), Some(LocalAddress::Any));
    for _ in 0..MAX_REMEMBERED + 10 {
        let brief = sockets.add(bind(), Some(LocalAddress::Any));
        sockets.close(brief);
    }
    let known = lock(&sockets.shared.sockets);
    assert!(known.contains_key(&lasting));
    assert!(known.len() <= MAX_REMEMBERED + 2, "{}", known.len());
}

#[tokio::test]
async fn what_is_too_big_for_the_interface_is_told_with_its_size() {
    let listener = UdpSocket::bind("127.0.0.1:0".parse().unwrap(), None).unwrap();
    let remote = listener.local_addr();
    let mut sockets = sockets(Some(listener));
    let tuple = FourTuple {
        socket: SocketId(0),
        local_ip: None,
        remote,
    };
    let size = 65_520;
    let transmit = Transmit {
        tuple,
        ecn: None,
        size,
        segment_size: None,
    };
    // A new socket is blocked until it was polled once.
    let mut trouble = sockets.send(&transmit, &vec![0; size]);
    while trouble.is_none() {
        trouble = poll_fn(|cx| match sockets.poll_pending(cx).pop() {
            Some(trouble) => Poll::Ready(Some(trouble)),
            None => Poll::Pending,
        })
        .await;
    }
    assert_eq!(trouble, Some(Trouble::TooBig { tuple, size }));
}
