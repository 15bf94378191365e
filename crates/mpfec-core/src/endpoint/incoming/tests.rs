//! Clients that are asked for a token.

use std::net::SocketAddr;

use super::*;
use crate::address::{FourTuple, SocketId};
use crate::config::ClientConfig;
use crate::connection::Event;
use crate::crypto::{ClientTls, ServerTls};
use crate::rng::Rng;

fn tuple(socket: u32, remote: &str) -> FourTuple {
    let remote: SocketAddr = remote.parse().unwrap();
    FourTuple {
        socket: SocketId(socket),
        local_ip: None,
        remote,
    }
}

fn datagram(tuple: FourTuple, data: &[u8]) -> Datagram {
    Datagram {
        tuple,
        ecn: None,
        data: data.into(),
    }
}

/// What the client sends, by the route that it leaves on.
fn sent(client: &mut Connection, now: Instant) -> Vec<(u32, Vec<u8>)> {
    let mut all = Vec::new();
    loop {
        let mut data = Vec::new();
        let Some(transmit) = client.poll_transmit(now, 1, &mut data) else {
            return all;
        };
        all.push((transmit.tuple.socket.0, data));
    }
}

#[test]
fn a_client_with_two_addresses_survives_a_retry_whatever_arrives_first() {
    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    let now = Instant::now();
    let tls = ServerTls::self_signed(&mut Rng::seeded(1));
    let config = ClientConfig::new(ClientTls::pinned(tls.fingerprint()));
    let mut busy = ServerConfig::new(tls);
    let calm = busy.clone();
    busy.retry_above = 0;
    let mut server = Endpoint::new(now, Some(busy), Rng::seeded(2));
    let mut host = Endpoint::new(now, None, Rng::seeded(3));
    let routes = vec![(tuple(0, "192.0.2.9:1"), 0), (tuple(1, "192.0.2.9:1"), 1)];
    let (_, mut client) = host.connect(now, &config, routes).unwrap();
    // As the server sees the two routes.
    let seen = [tuple(0, "198.51.100.1:1"), tuple(0, "203.0.113.1:1")];

    let first = sent(&mut client, now);
    assert_eq!(first.len(), 2);
    let mut retry = Vec::new();
    let routed = server.handle_datagram(now, datagram(seen[0], &first[0].1), &mut retry);
    assert!(matches!(routed, Routed::Response(_)));
    client.handle_datagram(now, datagram(tuple(0, "192.0.2.9:1"), &retry));

    // Another handshake is complete meanwhile.
    server.set_server_config(Some(calm));
    let mut connection = None;
    for (route, data) in sent(&mut client, now).iter().rev() {
        let from = seen[*route as usize];
        match server.handle_datagram(now, datagram(from, data), &mut Vec::new()) {
            Routed::New(_, mut new, datagram) => {
                new.handle_datagram(now, datagram);
                connection = Some(new);
            }
            Routed::Connection(_, datagram) => {
                connection.as_mut().unwrap().handle_datagram(now, datagram);
            }
            _ => {}
        }
    }
    let mut connection = connection.expect("one of them made a connection");
    for (_, data) in sent(&mut connection, now) {
        client.handle_datagram(now, datagram(tuple(0, "192.0.2.9:1"), &data));
    }
    let events: Vec<Event> = std::iter::from_fn(|| client.poll_event()).collect();
    assert!(
        !events.iter().any(|event| matches!(event, Event::Closed(_))),
        "{events:?}"
    );
    assert!(client.tuples().len() == 2);
}
