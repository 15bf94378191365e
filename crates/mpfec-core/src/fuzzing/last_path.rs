//! What becomes of a connection whose last path is closed.

use std::time::Duration;

use super::operations::{forge_data, scene};
use super::scene::{CLIENT, InFlight, Party, SERVER, Scene};
use crate::address::SocketId;
use crate::connection::{ClosePathError, PathStatus};

/// PATH_ABANDON of the first path, with code 0.
const ABANDON: &[u8] = &[0x19, 0, 0];
/// As long as an address may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
const SECOND: Duration = Duration::from_secs(1);

fn party(scene: &mut Scene, end: usize) -> Option<&mut Party> {
    scene.ends[end].parties.values_mut().next()
}

/// A connection with a single path, which this end hears that the other has closed.
fn deserted(end: usize) -> Scene {
    let mut scene = scene(0x80);
    scene.run(SECOND, |_| false);
    let peer = if end == CLIENT { SERVER } else { CLIENT };
    forge_data(&mut scene, peer, 0, ABANDON);
    // The peer knows nothing of what was forged.
    scene.ends[peer].parties.clear();
    scene
}

#[test]
fn the_last_path_of_a_connection_is_not_closed_by_either_end() {
    for end in [CLIENT, SERVER] {
        let mut scene = scene(0);
        scene.run(SECOND, |_| false);
        let now = scene.now;
        let connection = &mut party(&mut scene, end).expect("a connection").connection;
        assert_eq!(connection.close_path(now, 1), Ok(()));
        let refused = Err(ClosePathError::LastPath(0));
        assert_eq!(connection.close_path(now, 0), refused);
        assert_eq!(connection.close_path(now, 1), Ok(()), "it is not open");
        scene.flush();
        scene.run(SECOND, |_| false);
        for end in [CLIENT, SERVER] {
            let connection = &party(&mut scene, end).expect("a connection").connection;
            assert_eq!(connection.stats().paths.len(), 1);
        }
    }
}

/// Nothing could be said on it yet, and it may never work.
#[test]
fn a_path_that_only_opens_does_not_make_another_superfluous() {
    for end in [CLIENT, SERVER] {
        let mut scene = scene(0x80);
        scene.run(SECOND, |_| false);
        let (now, tuple) = (scene.now, scene.tuple(1, 1));
        let client = &mut party(&mut scene, CLIENT).expect("a connection").connection;
        assert_eq!(client.open_path(now, tuple), Ok(1));
        scene.flush();
        for datagram in std::mem::take(&mut scene.wire) {
            scene.deliver(datagram);
        }
        let connection = &mut party(&mut scene, end).expect("a connection").connection;
        assert_eq!(connection.stats().paths.len(), 2);
        let refused = Err(ClosePathError::LastPath(0));
        assert_eq!(connection.close_path(now, 0), refused, "end {end}");
        scene.run(SECOND, |_| false);
        let now = scene.now;
        let connection = &mut party(&mut scene, end).expect("a connection").connection;
        assert_eq!(connection.close_path(now, 0), Ok(()), "end {end}");
    }
}

#[test]
fn whose_peer_closes_the_last_path_waits_for_another_and_no_longer_than_for_an_address() {
    for end in [CLIENT, SERVER] {
        let mut scene = deserted(end);
        scene.run(PATIENCE - SECOND, |_| false);
        assert!(party(&mut scene, end).is_some());
        scene.run(2 * SECOND, |_| false);
        assert!(party(&mut scene, end).is_none(), "end {end}");
    }
}

#[test]
fn a_client_whose_peer_closes_the_last_path_may_open_another() {
    let mut scene = deserted(CLIENT);
    scene.run(PATIENCE - SECOND, |_| false);
    let (now, tuple) = (scene.now, scene.tuple(1, 1));
    let connection = &mut party(&mut scene, CLIENT).expect("a connection").connection;
    assert_eq!(connection.open_path(now, tuple), Ok(1));
    scene.flush();
    scene.run(2 * PATIENCE - 2 * SECOND, |_| false);
    assert!(party(&mut scene, CLIENT).is_some());
}

/// A client whose paths went away before they answered, until it had to go on with the first one,
/// and what had come on that one.
fn gone_on() -> (Scene, Vec<InFlight>) {
    let mut scene = scene(0x80);
    let (mut came, until) = (Vec::new(), scene.now + SECOND);
    while scene.now < until {
        let client = scene.ends[CLIENT].sockets;
        for datagram in std::mem::take(&mut scene.wire) {
            came.extend(Some(datagram.clone()).filter(|datagram| client.contains(&datagram.to)));
            scene.deliver(datagram);
        }
        let next = scene.now + SECOND / 100;
        scene.wait_until(next);
    }
    let (now, tuple) = (scene.now, scene.tuple(1, 1));
    let client = &mut party(&mut scene, CLIENT).expect("a connection").connection;
    client.socket_gone(now, SocketId(0));
    for path in [1, 2, 3, 4, 0] {
        client.socket_gone(now, SocketId(1));
        assert!(client.may_open_path());
        assert_eq!(client.open_path(now, tuple), Ok(path));
    }
    assert!(!client.may_open_path());
    scene.flush();
    scene.run(2 * SECOND, |_| false);
    (scene, came)
}

/// Its number, and so its nonces and what has arrived, stay.
#[test]
fn a_path_that_goes_on_elsewhere_takes_nothing_twice() {
    let (mut scene, came) = gone_on();
    let received = |scene: &mut Scene| {
        let client = &party(scene, CLIENT).expect("a connection").connection;
        let mut paths = client.stats().paths.into_iter();
        let path = paths.find(|path| path.id == 0).expect("it is open");
        assert_eq!(path.state, PathStatus::Active);
        path.received_packets
    };
    let before = received(&mut scene);
    assert!(before > 0 && !came.is_empty());
    let [from, to] = [SERVER, CLIENT].map(|end| scene.ends[end].sockets[1]);
    for copy in came {
        scene.deliver(InFlight { from, to, ..copy });
    }
    assert_eq!(received(&mut scene), before);
}

#[test]
fn a_path_that_goes_on_elsewhere_is_the_only_one_of_those_before_that_is_not_closed() {
    let (mut scene, _) = gone_on();
    for end in [CLIENT, SERVER] {
        let connection = &party(&mut scene, end).expect("a connection").connection;
        let open = connection.stats().paths.into_iter().map(|path| path.id);
        assert_eq!(open.collect::<Vec<_>>(), [0], "end {end}");
    }
    let (now, tuple) = (scene.now, scene.tuple(0, 0));
    let client = &mut party(&mut scene, CLIENT).expect("a connection").connection;
    assert_eq!(client.open_path(now, tuple), Ok(5));
}

#[test]
fn a_client_may_open_paths_as_before_once_another_one_than_the_last_answers() {
    let mut scene = scene(0x80);
    scene.run(SECOND, |_| false);
    let (now, tuple) = (scene.now, scene.tuple(1, 1));
    let client = &mut party(&mut scene, CLIENT).expect("a connection").connection;
    client.socket_gone(now, SocketId(0));
    assert_eq!(client.open_path(now, tuple), Ok(1));
    scene.flush();
    scene.run(SECOND, |_| false);
    for end in [CLIENT, SERVER] {
        let connection = &party(&mut scene, end).expect("a connection").connection;
        let open = connection.stats().paths.into_iter().map(|path| path.id);
        assert_eq!(open.collect::<Vec<_>>(), [1], "end {end}");
    }
}

/// Its server has a path that answers no more, and does not take it for another to go on with.
#[test]
fn a_client_on_its_only_path_may_wait_for_answers_as_long_as_it_takes() {
    let mut scene = scene(0x80);
    scene.run(SECOND, |_| false);
    let (now, tuple) = (scene.now, scene.tuple(1, 1));
    let connection = &mut party(&mut scene, CLIENT).expect("a connection").connection;
    connection.socket_gone(now, SocketId(0));
    assert_eq!(connection.open_path(now, tuple), Ok(1));
    scene.flush();
    let until = scene.now + 2 * PATIENCE;
    while scene.now < until {
        let next = scene.now + SECOND / 10;
        scene.wait_until(next);
        let server = scene.ends[SERVER].sockets;
        for datagram in std::mem::take(&mut scene.wire) {
            if server.contains(&datagram.to) {
                scene.deliver(datagram);
            }
        }
    }
    scene.run(5 * SECOND, |_| false);
    for end in [CLIENT, SERVER] {
        let connection = &party(&mut scene, end).expect("a connection").connection;
        let mut paths = connection.stats().paths.into_iter();
        let is_active = paths.any(|path| path.id == 1 && path.state == PathStatus::Active);
        assert!(is_active, "end {end}");
    }
}
