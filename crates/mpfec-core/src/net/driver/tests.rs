//! The driver without a network: connections that pile up, interfaces that change, panics.

use std::future::poll_fn;
use std::net::Ipv4Addr;

use tokio::time::timeout;

use super::*;
use crate::address::FourTuple;
use crate::connection::{CloseReason, PathChange, PathEvent, PathStatus};
use crate::crypto::{ClientTls, ServerTls};
use crate::error::TransportError;
use crate::id::{Dir, Side, StreamId};
use crate::net::interface::Interface;
use crate::net::interface_kind::InterfaceKind;
use crate::net::route::{LocalAddress, Paths};
use crate::net::stream::SendStream;
use crate::path::PathReason;

const REMOTE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9);

fn driver(server: Option<ServerConfig>) -> Driver {
    Driver::new(server, Vec::new(), Arc::default())
}

/// A server's and a client's configuration that fit.
fn configs() -> (ServerConfig, ClientConfig) {
    let tls = ServerTls::self_signed(&mut Rng::seeded(1));
    let client = ClientConfig::new(ClientTls::pinned(tls.fingerprint()));
    (ServerConfig::new(tls), client)
}

/// A connection over the loopback interface to where nobody is, which follows interfaces.
fn connect(driver: &mut Driver, config: &ClientConfig) -> Guard {
    let local = LocalAddress::Interface("lo".to_owned());
    connect_from(driver, config, local, &Paths::EveryInterface, REMOTE)
}

/// A connection that has a path from `local`, which is among those that it is to have.
fn connect_from(
    driver: &mut Driver,
    config: &ClientConfig,
    local: LocalAddress,
    paths: &Paths,
    remote: SocketAddr,
) -> Guard {
    let route = Route {
        local,
        remote,
        group: 0,
    };
    let follow = Places::new(paths, &[remote]);
    driver.connect(config, &[route], follow).unwrap()
}

/// Lets the driver work until `done`, which takes less than a second unless it never comes.
async fn run(driver: &mut Driver, done: impl Fn() -> bool) {
    let running = poll_fn(|cx| {
        let _ = Pin::new(&mut *driver).poll(cx);
        if done() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    let outcome = timeout(Duration::from_secs(10), running).await;
    outcome.expect("what is waited for happens");
}

/// A client's first datagram.
fn initial(config: &ClientConfig) -> Datagram {
    attempt(config).1
}

/// A client that asks for a connection, and its first datagram.
fn attempt(config: &ClientConfig) -> (Connection, Datagram) {
    let tuple = FourTuple {
        socket: SocketId(0),
        local_ip: None,
        remote: REMOTE,
    };
    let mut endpoint = Endpoint::new(clock::now(), None, Rng::system());
    let started = endpoint.connect(clock::now(), config, vec![(tuple, 0)]);
    let mut data = Vec::new();
    let (_, mut connection) = started.unwrap();
    connection.poll_transmit(clock::now(), 1, &mut data);
    let datagram = Datagram {
        tuple,
        ecn: None,
        data: data[..].into(),
    };
    (connection, datagram)
}

/// What a client is told whom the driver refuses.
fn refused(driver: &mut Driver, config: &ClientConfig) -> String {
    let (mut connection, datagram) = attempt(config);
    let (tuple, now) = (datagram.tuple, clock::now());
    let mut response = Vec::new();
    let routed = driver
        .endpoint
        .handle_datagram(now, datagram, &mut response);
    assert!(matches!(routed, Routed::Response(_)), "{routed:?}");
    let datagram = Datagram {
        tuple,
        ecn: None,
        data: response[..].into(),
    };
    connection.handle_datagram(now, datagram);
    match connection.poll_event() {
        Some(Event::Closed(CloseReason::PeerError(error))) => {
            assert_eq!(error.code, TransportError::CONNECTION_REFUSED);
            error.reason.into_owned()
        }
        other => panic!("{other:?}"),
    }
}

fn lo_interface(addresses: &[IpAddr]) -> Interface {
    Interface {
        name: "lo".to_owned(),
        friendly_name: None,
        index: 1,
        kind: InterfaceKind::Ethernet,
        addresses: addresses.to_vec(),
        mtu: Some(1500),
        has_gateway: true,
        why_not: None,
    }
}

#[tokio::test]
async fn clients_are_refused_while_as_many_wait_as_may_and_taken_again_afterwards() {
    let (server, client) = configs();
    let mut driver = driver(Some(server));
    let answer = |driver: &mut Driver| {
        let mut response = Vec::new();
        let datagram = initial(&client);
        driver
            .endpoint
            .handle_datagram(clock::now(), datagram, &mut response)
    };
    let Routed::New(handle, connection, _) = answer(&mut driver) else {
        panic!("the first client is not taken");
    };
    let guard = driver.add(handle, *connection, None);
    for _ in 0..incoming::MAX_WAITING {
        driver.let_wait(Guard(Arc::clone(&guard.0)));
    }
    let reason = refused(&mut driver, &client);
    assert!(reason.contains("wait"), "{reason}");

    let taken = lock(&driver.shared.incoming).pop_front();
    driver.adjust_door();
    assert!(matches!(answer(&mut driver), Routed::New(..)));
    drop(taken);
}

#[tokio::test]
async fn clients_that_are_refused_are_told_why() {
    let (mut server, client) = configs();
    server.max_connections = 0;
    let mut driver = driver(Some(server));
    let reason = refused(&mut driver, &client);
    assert!(reason.contains("as many connections as it may"), "{reason}");
    driver.on_command(Command::RefuseNew);
    let reason = refused(&mut driver, &client);
    assert!(reason.contains("takes no new connections"), "{reason}");
    let (code, words) = (7, "enough".to_owned());
    driver.on_command(Command::Close {
        code,
        reason: words,
    });
    let reason = refused(&mut driver, &client);
    assert!(reason.contains("closed"), "{reason}");
    // A closed endpoint stays closed.
    driver.on_command(Command::RefuseNew);
    assert_eq!(refused(&mut driver, &client), reason);
}

#[tokio::test(start_paused = true)]
#[cfg(target_os = "linux")]
async fn where_time_stands_still_the_driver_sleeps_until_its_timers() {
    let (_, client) = configs();
    let mut driver = driver(None);
    let _guard = connect(&mut driver, &client);
    let mut wakeups = 0;
    let running = poll_fn(|cx| {
        wakeups += 1;
        Pin::new(&mut driver).poll(cx)
    });
    // The handshake is tried again every second or so.
    assert!(timeout(Duration::from_secs(10), running).await.is_err());
    assert!((5..200).contains(&wakeups), "{wakeups} wake-ups in 10 s");
}

#[tokio::test]
async fn a_connection_that_is_over_waits_no_more_to_be_taken() {
    let (server, client) = configs();
    let mut driver = driver(Some(server));
    let routed = driver
        .endpoint
        .handle_datagram(clock::now(), initial(&client), &mut Vec::new());
    let Routed::New(handle, connection, _) = routed else {
        panic!("{routed:?}");
    };
    let guard = driver.add(handle, *connection, None);
    let shared = Arc::clone(&guard.0);
    driver.let_wait(guard);
    shared.lock().connection.close(clock::now(), 0, "");
    driver.transmit(&shared);
    let over = clock::now() + Duration::from_secs(10);
    shared.lock().connection.handle_timeout(over);
    driver.hand_over(handle, &shared);
    assert!(lock(&driver.shared.incoming).is_empty());
    assert!(driver.connections.is_empty());
    assert!(lock(&driver.shared.connections).is_empty());
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_path_outlives_a_change_of_other_addresses() {
    let (_, client) = configs();
    let mut driver = driver(None);
    let guard = connect(&mut driver, &client);
    let tuples = || guard.0.lock().connection.tuples();
    let before = tuples();
    let own: IpAddr = Ipv4Addr::LOCALHOST.into();
    let other: IpAddr = [198, 18, 0, 1].into();
    for (had, has) in [
        (&[own][..], &[own, other][..]),
        (&[own, other], &[other, own]),
        (&[own, other], &[own]),
    ] {
        driver.on_interface(&InterfaceChange::Changed {
            before: lo_interface(had),
            after: lo_interface(has),
        });
        assert_eq!(tuples(), before);
        assert!(driver.sockets.local(before[0].socket).is_some());
    }

    driver.on_interface(&InterfaceChange::Changed {
        before: lo_interface(&[own]),
        after: lo_interface(&[other]),
    });
    assert_eq!(driver.sockets.local(before[0].socket), None);
    assert!(tuples().is_empty());
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_path_whose_socket_failed_is_back_though_its_interface_looks_as_before() {
    let interface = LocalAddress::Interface("lo".to_owned());
    let own = LocalAddress::Ip(Ipv4Addr::LOCALHOST.into());
    for (local, has_remote) in [
        (&interface, None),
        (&interface, Some(false)),
        (&own, Some(false)),
        (&own, Some(true)),
    ] {
        let (server, client) = configs();
        let any = ["127.0.0.1:0".parse().unwrap()];
        let server = crate::net::Endpoint::server(server, &any).unwrap();
        let remote = server.local_addrs()[0];
        let paths = match has_remote {
            None => Paths::EveryInterface,
            Some(false) => Paths::Over(vec![local.clone()]),
            Some(true) => Paths::Exactly(vec![(local.clone(), remote)]),
        };
        let mut driver = driver(None);
        let guard = connect_from(&mut driver, &client, local.clone(), &paths, remote);
        let active = || -> Vec<SocketId> {
            let paths = guard.0.lock().connection.stats().paths;
            let active = paths.iter().filter(|path| path.state == PathStatus::Active);
            active.map(|path| path.tuple.socket).collect()
        };
        run(&mut driver, || active().len() == 1).await;

        // Its address is taken away, and given back before anybody looks.
        let failed = active();
        driver.sockets.close(failed[0]);
        driver.on_trouble(&Trouble::Gone(failed[0]), None);
        assert_eq!(active(), []);
        run(&mut driver, || active().len() == 1).await;
        assert_ne!(active(), failed);
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_path_that_an_application_named_is_tried_until_it_is_there_or_not_wanted_any_more() {
    let (_, client) = configs();
    let missing = LocalAddress::Interface("no-such-if0".to_owned());
    let elsewhere: IpAddr = [198, 18, 0, 1].into();
    let lo = LocalAddress::Interface("lo".to_owned());
    let paths = Paths::Over(vec![
        lo.clone(),
        missing.clone(),
        LocalAddress::Ip(elsewhere),
        LocalAddress::Ip("::1".parse().unwrap()),
    ]);
    let mut driver = driver(None);
    let guard = connect_from(&mut driver, &client, lo, &paths, REMOTE);
    let handle = guard.0.handle;
    let due = |driver: &mut Driver, after| {
        let retries = &mut driver.connections.get_mut(&handle).unwrap().retries;
        let due = retries.take_due(clock::now() + Duration::from_secs(after));
        due.into_iter().map(|place| place.local).collect::<Vec<_>>()
    };
    // Between addresses of two families there will never be a way.
    let wanted = [LocalAddress::Ip(elsewhere), missing.clone()];
    assert_eq!(due(&mut driver, 1), wanted);

    let interface = Interface {
        name: "no-such-if0".to_owned(),
        ..lo_interface(&[elsewhere])
    };
    driver.on_interface(&InterfaceChange::Appeared(interface.clone()));
    assert_eq!(due(&mut driver, 1), wanted, "neither can be bound to yet");
    driver.on_interface(&InterfaceChange::Vanished(interface.clone()));
    assert_eq!(due(&mut driver, 1), []);
    assert_eq!(due(&mut driver, 6), wanted);

    let socket = driver.sockets.made().next().unwrap();
    let down = |reason| PathEvent {
        path: 0,
        tuple: FourTuple {
            socket,
            local_ip: None,
            remote: REMOTE,
        },
        change: PathChange::Down,
        reason,
    };
    driver.on_path_event(handle, &down(PathReason::NeverAnswered));
    let lo = LocalAddress::Interface("lo".to_owned());
    assert_eq!(due(&mut driver, 6), [lo]);
    driver.on_path_event(handle, &down(PathReason::ClosedHere));
    driver.on_path_event(handle, &down(PathReason::NeverAnswered));
    assert_eq!(due(&mut driver, 6), []);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn an_interface_that_cannot_be_bound_to_is_tried_again_until_it_has_gone() {
    let (_, client) = configs();
    let mut driver = driver(None);
    let guard = connect(&mut driver, &client);
    let handle = guard.0.handle;
    let interface = Interface {
        name: "no-such-if0".to_owned(),
        ..lo_interface(&[])
    };
    let soon = clock::now() + Duration::from_secs(1);
    driver.on_interface(&InterfaceChange::Appeared(interface.clone()));
    let next = |driver: &Driver| driver.connections[&handle].retries.next();
    assert!(next(&driver).is_some_and(|at| at < soon));
    driver.serve();
    assert_eq!(driver.timers.first().map(|(at, _)| *at), next(&driver));

    // With its gateway may have come the way to the peer.
    let place = Place {
        local: LocalAddress::Interface(interface.name.clone()),
        remote: None,
    };
    let retries = &mut driver.connections.get_mut(&handle).unwrap().retries;
    retries.forget(&place);
    retries.later(clock::now(), place, Duration::from_secs(60));
    driver.on_interface(&InterfaceChange::Changed {
        before: Interface {
            has_gateway: false,
            ..interface.clone()
        },
        after: interface.clone(),
    });
    assert!(next(&driver).is_some_and(|at| at < soon));
    driver.on_interface(&InterfaceChange::Vanished(interface));
    assert_eq!(next(&driver), None);
}

#[tokio::test]
async fn a_path_that_is_opened_later_tries_the_nearest_address_first() {
    let mut driver = driver(None);
    let [far, near]: [SocketAddr; 2] =
        ["198.18.0.1:9", "127.0.0.2:9"].map(|address| address.parse().unwrap());
    let local = LocalAddress::Ip(Ipv4Addr::LOCALHOST.into());
    for remotes in [[far, near], [near, far]] {
        let tuples = driver.tuples(&local, &remotes);
        let tried: Vec<SocketAddr> = tuples.iter().map(|tuple| tuple.remote).collect();
        assert_eq!(tried, [near, far], "of {remotes:?}");
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn the_driver_looks_after_a_deadline_was_set() {
    let (_, client) = configs();
    let mut driver = driver(None);
    let guard = Arc::new(connect(&mut driver, &client));
    let mut stream = SendStream::new(guard, StreamId::new(Side::Client, Dir::Uni, 0));
    driver.take_commands();
    driver.serve();
    assert!(driver.dirty.is_empty());
    stream.set_deadline(Some(Duration::from_millis(100)));
    assert!(driver.take_commands());
    assert_eq!(driver.dirty.len(), 1);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn whoever_waits_learns_that_the_driver_panicked() {
    let (_, client) = configs();
    let mut driver = driver(None);
    let shared = Arc::clone(&driver.shared);
    let guard = connect(&mut driver, &client);
    let (reply, answer) = oneshot::channel();
    shared.command(Command::Connect {
        config: Box::new(client),
        routes: Vec::new(),
        follow: Places::new(&Paths::EveryInterface, &[]),
        reply,
    });
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _held = lock(&driver.shared.connections);
        panic!("as a bug would");
    }));
    assert!(outcome.is_err());
    assert_eq!(guard.0.lock().closed, Some(CloseReason::EndpointGone));
    assert!(answer.await.is_err());
    assert!(lock(&shared.connections).is_empty());
    // Nobody is there any more to look at it.
    guard.0.wake_driver();
    shared.command(Command::RefuseNew);
    assert!(lock(&shared.commands).is_empty() && lock(&shared.changed).is_empty());
}
