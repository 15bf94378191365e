//! Descriptors of a process that has one endpoint for long: alone here, as it counts them.

#![cfg(target_os = "linux")]

use std::net::SocketAddr;
use std::time::Duration;

use mpfec_core::net::{Connection, Endpoint, LocalAddress, PathError};
use mpfec_core::{
    ClientConfig, ClientTls, OpenPathError, Rng, ServerConfig, ServerTls, TransportConfig,
};
use tokio::time::{Instant, sleep};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The number of them once it is `expected` or less, or after five seconds.
async fn settled(expected: usize) -> usize {
    let end = Instant::now() + Duration::from_secs(5);
    while descriptors() > expected && Instant::now() < end {
        sleep(Duration::from_millis(50)).await;
    }
    descriptors()
}

async fn open(connection: &Connection, number: u8, remote: SocketAddr) -> Result<u32, PathError> {
    let local = LocalAddress::Ip([127, 0, 1, number].into());
    connection.open_path(local, remote).await
}

#[tokio::test]
async fn sockets_of_paths_and_connections_that_are_over_are_closed() {
    let tls = ServerTls::self_signed(&mut Rng::system());
    let transport = TransportConfig {
        keep_alive: Duration::from_secs(1),
        ..TransportConfig::default()
    };
    let config = ClientConfig::new(ClientTls::pinned(tls.fingerprint())).with_transport(transport);
    let any = ["127.0.0.1:0".parse().unwrap()];
    let server = Endpoint::server(ServerConfig::new(tls), &any).unwrap();
    let remote = server.local_addrs()[0];
    let client = Endpoint::client().unwrap();
    // It opens what it watches interfaces with.
    sleep(Duration::from_millis(200)).await;
    let without = descriptors();
    let connection = client.connect(config.clone(), &[remote]).await.unwrap();
    let with_one = descriptors();

    for number in 1..=30 {
        let path = open(&connection, number, remote).await.unwrap();
        connection.close_path(path).unwrap();
    }
    assert!(settled(with_one).await <= with_one);

    for number in 1..=7 {
        open(&connection, number, remote).await.unwrap();
    }
    let with_all = descriptors();
    for number in 31..=60 {
        let refused = open(&connection, number, remote).await;
        let full = PathError::Refused(OpenPathError::TooManyPaths(8));
        assert_eq!(refused, Err(full));
    }
    // No packet ever left from these.
    assert_eq!(descriptors(), with_all);
    sleep(Duration::from_millis(2500)).await;
    assert_eq!(descriptors(), with_all);
    assert_eq!(connection.paths().len(), 8);

    connection.close(0, "");
    assert!(settled(without).await <= without);
    // The server's stays, and the client goes on.
    let again = client.connect(config, &[remote]).await;
    assert!(again.is_ok(), "{again:?}");
}
