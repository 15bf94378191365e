//! Hosts whose sockets are bound to no address: whose address a datagram leaves from.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use mpfec_core::{
    ClientConfig, ClientTls, Connection, ConnectionHandle, Datagram, Dir, Endpoint, FourTuple, Rng,
    Routed, ServerConfig, ServerTls, SocketId, StreamId, Transmit,
};

/// An endpoint with one connection at most.
struct Host {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Addresses of the host; what leaves without one is sent from the first.
    addresses: Vec<IpAddr>,
    port: u16,
}

impl Host {
    fn new(now: Instant, server: Option<ServerConfig>, addresses: &[&str], port: u16) -> Self {
        Self {
            endpoint: Endpoint::new(now, server, Rng::seeded(u64::from(port))),
            connection: None,
            addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
            port,
        }
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection.as_mut().expect("a connection").1
    }

    /// What leaves now, with the address it leaves from. As a kernel does, it refuses what is
    /// to leave from an address that the host does not have.
    fn transmit(&mut self, now: Instant) -> Vec<(SocketAddr, Transmit, Vec<u8>)> {
        let Some((handle, connection)) = &mut self.connection else {
            return Vec::new();
        };
        connection.handle_timeout(now);
        let (mut sent, mut buffer) = (Vec::new(), Vec::new());
        while let Some(transmit) = connection.poll_transmit(now, 1, &mut buffer) {
            let from = transmit.tuple.local_ip.unwrap_or(self.addresses[0]);
            let data = std::mem::take(&mut buffer);
            if self.addresses.contains(&from) {
                sent.push((SocketAddr::new(from, self.port), transmit, data));
            }
        }
        while let Some(event) = connection.poll_endpoint_event() {
            self.endpoint.handle_event(*handle, &event);
        }
        sent
    }

    fn receive(&mut self, now: Instant, from: SocketAddr, to: SocketAddr, data: &[u8]) {
        if to.port() != self.port || !self.addresses.contains(&to.ip()) {
            return;
        }
        let datagram = Datagram {
            tuple: FourTuple {
                socket: SocketId(0),
                local_ip: Some(to.ip()),
                remote: from,
            },
            ecn: None,
            data: BytesMut::from(data),
        };
        match self
            .endpoint
            .handle_datagram(now, datagram, &mut Vec::new())
        {
            Routed::Connection(_, datagram) => self.connection().handle_datagram(now, datagram),
            Routed::New(handle, mut connection, datagram) => {
                connection.handle_datagram(now, datagram);
                self.connection = Some((handle, *connection));
            }
            Routed::Response(_) | Routed::Ignored => {}
        }
    }
}

/// Lets both talk for two seconds.
fn talk(now: &mut Instant, client: &mut Host, server: &mut Host) {
    for _ in 0..200 {
        *now += Duration::from_millis(10);
        for (from, transmit, data) in client.transmit(*now) {
            server.receive(*now, from, transmit.tuple.remote, &data);
        }
        for (from, transmit, data) in server.transmit(*now) {
            client.receive(*now, from, transmit.tuple.remote, &data);
        }
    }
}

fn read(connection: &mut Connection, stream: StreamId) -> Vec<u8> {
    let mut all = Vec::new();
    while let Ok(Some(chunk)) = connection.read(stream, usize::MAX) {
        all.extend_from_slice(&chunk);
    }
    all
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
fn a_client_that_leaves_its_address_to_the_system_goes_on_from_another_and_a_server_keeps_its_own()
{
    let mut now = Instant::now();
    let tls = ServerTls::self_signed(&mut Rng::seeded(1));
    let config = ClientConfig::new(ClientTls::pinned(tls.fingerprint()));
    let asked_at: SocketAddr = "192.0.2.2:47800".parse().unwrap();
    let addresses = ["192.0.2.1", "192.0.2.2"];
    let mut server = Host::new(now, Some(ServerConfig::new(tls)), &addresses, 47800);
    let mut client = Host::new(now, None, &["198.51.100.1"], 1000);
    let tuple = FourTuple {
        socket: SocketId(0),
        local_ip: None,
        remote: asked_at,
    };
    let connection = client.endpoint.connect(now, &config, vec![(tuple, 0)]);
    client.connection = Some(connection.unwrap());
    talk(&mut now, &mut client, &mut server);
    let local = |host: &mut Host| host.connection().stats().paths[0].tuple.local_ip;
    assert_eq!(local(&mut client), Some(client.addresses[0]));

    client.addresses = vec!["203.0.113.7".parse().unwrap()];
    let stream = client.connection().open_stream(Dir::Uni).unwrap();
    client.connection().write(stream, &[7; 3000]).unwrap();
    talk(&mut now, &mut client, &mut server);
    assert_eq!(read(server.connection(), stream), [7; 3000]);
    let path = &server.connection().stats().paths[0];
    assert_eq!(path.tuple.remote.ip(), client.addresses[0]);
    assert_eq!(path.tuple.local_ip, Some(asked_at.ip()));
    assert_eq!(local(&mut client), Some(client.addresses[0]));
}
