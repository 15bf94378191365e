//! Real sockets on loopback: the tokio layer from handshake to close.

use std::net::SocketAddr;
use std::time::Duration;

use mpfec_core::net::{
    Connecting, ConnectingError, Connection, Endpoint, LocalAddress, Paths, ReadError, WriteError,
};
use mpfec_core::{
    ClientConfig, ClientTls, CloseReason, PathChange, PathReason, Rng, Secret, SendDatagramError,
    ServerConfig, ServerTls, TransportConfig,
};
use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};

/// A server on loopback and what a client needs to connect to it.
struct Server {
    endpoint: Endpoint,
    client: ClientConfig,
}

impl Server {
    fn start(addresses: usize) -> Self {
        let mut rng = Rng::system();
        let tls = ServerTls::self_signed(&mut rng);
        let secret = Secret::generate(&mut rng);
        let client = ClientConfig::new(ClientTls::pinned(tls.fingerprint())).with_secret(secret);
        let any = vec!["127.0.0.1:0".parse().unwrap(); addresses];
        let endpoint = Endpoint::server(ServerConfig::new(tls).with_secret(secret), &any).unwrap();
        Self { endpoint, client }
    }

    fn connect(&self, endpoint: &Endpoint) -> Connecting {
        endpoint.connect(self.client.clone(), self.endpoint.local_addrs())
    }

    async fn accept(&self) -> Connection {
        within(self.endpoint.accept()).await.unwrap().await.unwrap()
    }
}

/// Nothing on loopback takes this long unless it hangs.
async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), future)
        .await
        .expect("it does not hang")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_carries_its_bytes_both_ways_and_delivery_is_confirmed() {
    let server = Server::start(1);
    let client = Endpoint::client().unwrap();
    let (connection, accepted) = tokio::join!(within(server.connect(&client)), server.accept());
    let connection = connection.unwrap();

    let echo = tokio::spawn(async move {
        let (mut send, mut recv) = accepted.accept_bi().await.unwrap();
        tokio::io::copy(&mut recv, &mut send).await.unwrap();
        send.finish().unwrap();
        send.delivered().await.unwrap();
        accepted
    });
    let data: Vec<u8> = (0..5_000_000u32).map(|index| (index % 251) as u8).collect();
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    let sent = data.clone();
    let writing = tokio::spawn(async move {
        send.write_all(&sent).await.unwrap();
        send.finish().unwrap();
        send.delivered().await.unwrap();
    });
    let received = within(recv.read_to_end(data.len())).await.unwrap();
    assert!(received == data, "the echo is what was sent");
    within(writing).await.unwrap();
    let accepted = within(echo).await.unwrap();

    connection.close(7, "done");
    let reason = within(accepted.closed()).await;
    assert_eq!(
        reason,
        CloseReason::ApplicationClosed {
            code: 7,
            reason: "done".to_owned()
        }
    );
    within(client.wait_idle()).await;
}

/// What is left of the window is less than the step in which limits are told otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_read_goes_on_beside_many_that_are_not() {
    const WINDOW: usize = 16 << 10;
    let tls = ServerTls::self_signed(&mut Rng::system());
    let client = ClientConfig::new(ClientTls::pinned(tls.fingerprint()));
    let transport = TransportConfig {
        stream_window: WINDOW as u64,
        connection_window: 9 * WINDOW as u64 + WINDOW as u64 / 2,
        ..TransportConfig::default()
    };
    let config = ServerConfig::new(tls).with_transport(transport);
    let endpoint = Endpoint::server(config, &["127.0.0.1:0".parse().unwrap()]).unwrap();
    let server = Server { endpoint, client };
    let client = Endpoint::client().unwrap();
    let (connection, accepted) = tokio::join!(within(server.connect(&client)), server.accept());
    let connection = connection.unwrap();

    let mut unread = Vec::new();
    for _ in 0..9 {
        let mut send = connection.open_uni().await.unwrap();
        within(send.write_all(&[0; WINDOW])).await.unwrap();
        let recv = within(accepted.accept_uni()).await.unwrap();
        unread.push((send, recv));
    }
    let mut send = connection.open_uni().await.unwrap();
    let writing = tokio::spawn(async move {
        send.write_all(&vec![1; 5 * WINDOW]).await.unwrap();
        send.finish().unwrap();
    });
    let mut recv = within(accepted.accept_uni()).await.unwrap();
    // So that the server knows that the client waits, and nothing else wakes it.
    let pause = || sleep(Duration::from_millis(20));
    pause().await;
    let mut received = 0;
    while let Some(chunk) = within(recv.read_chunk(usize::MAX)).await.unwrap() {
        received += chunk.len();
        pause().await;
    }
    assert_eq!(received, 5 * WINDOW);
    within(writing).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_addresses_of_a_server_make_three_paths_that_all_carry_data() {
    let server = Server::start(3);
    let client = Endpoint::client().unwrap();
    let pairs = server
        .endpoint
        .local_addrs()
        .iter()
        .map(|remote| (LocalAddress::Any, *remote))
        .collect();
    let connecting = client.connect_over(server.client.clone(), Paths::Exactly(pairs), &[]);
    let (connection, accepted) = tokio::join!(within(connecting), server.accept());
    let connection = connection.unwrap();

    let reading = tokio::spawn(async move {
        let mut recv = accepted.accept_uni().await.unwrap();
        let mut total = 0;
        while let Some(chunk) = recv.read_chunk(usize::MAX).await.unwrap() {
            total += chunk.len();
        }
        total
    });
    let mut send = connection.open_uni().await.unwrap();
    let chunk = vec![3; 1 << 20];
    let mut written = 0;
    // Until every path has carried data, however fast one of them alone would be.
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while written < 64
        || connection
            .paths()
            .iter()
            .filter(|path| path.delivered_bytes > 100_000)
            .count()
            < 3
    {
        if timeout(Duration::from_secs(5), send.write_all(&chunk))
            .await
            .is_err()
        {
            panic!("{:#?}", connection.stats());
        }
        written += 1;
        assert!(
            tokio::time::Instant::now() < deadline,
            "some path carries nothing: {:#?}",
            connection.paths()
        );
    }
    send.finish().unwrap();
    within(send.delivered()).await.unwrap();
    assert_eq!(within(reading).await.unwrap(), written << 20);
}

/// What a client knows of a server whose secret it has to guess.
fn without_its_secret(server: &Server) -> ClientConfig {
    let guess = Secret::generate(&mut Rng::system());
    server.client.clone().with_secret(guess)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_with_the_wrong_secret_is_told_so() {
    let server = Server::start(1);
    let client = Endpoint::client().unwrap();
    let config = without_its_secret(&server);
    let connecting = client.connect(config, server.endpoint.local_addrs());
    let outcome = match within(connecting).await {
        Ok(connection) => within(connection.closed()).await,
        Err(ConnectingError::Closed(reason)) => reason,
        Err(other) => panic!("{other}"),
    };
    assert!(outcome.is_authentication(), "{outcome}");
}

#[tokio::test]
async fn whatever_a_client_with_the_wrong_secret_does_first_says_so() {
    let server = Server::start(1);
    let client = Endpoint::client().unwrap();
    let config = without_its_secret(&server);
    let check = |reason: CloseReason| assert!(reason.is_authentication(), "{reason}");
    // On a busy host the answer may be there before anything is done.
    let connect = || async {
        loop {
            let connecting = client.connect(config.clone(), server.endpoint.local_addrs());
            match within(connecting).await {
                Ok(connection) => return connection,
                Err(ConnectingError::Closed(reason)) => check(reason),
                Err(error) => panic!("{error}"),
            }
        }
    };

    let connection = connect().await;
    check(within(connection.handshake_confirmed()).await.unwrap_err());
    check(within(connection.open_bi()).await.unwrap_err());
    let again = within(connection.send_datagram(vec![0; 10].into())).await;
    assert_eq!(again, Err(SendDatagramError::Closed));
    check(connection.close_reason().unwrap());
    check(within(connect().await.accept_bi()).await.unwrap_err());
    check(within(connect().await.read_datagram()).await.unwrap_err());

    let (mut send, mut recv) = loop {
        match within(connect().await.open_bi()).await {
            Ok(opened) => break opened,
            Err(reason) => check(reason),
        }
    };
    if let Err(error) = send.write_all(b"hello").await {
        assert!(
            matches!(&error, WriteError::ConnectionLost(reason)
            if reason.is_authentication()),
            "{error}"
        );
    }
    let Err(ReadError::ConnectionLost(reason)) = within(recv.read_chunk(10)).await else {
        panic!("it reads")
    };
    check(reason);
    let Err(WriteError::ConnectionLost(reason)) = within(send.delivered()).await else {
        panic!("it is read")
    };
    check(reason);
    let error = within(send.write_all(b"more")).await.unwrap_err();
    let error = std::io::Error::from(error);
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
}

#[tokio::test]
async fn both_ends_learn_that_the_handshake_is_confirmed() {
    let server = Server::start(1);
    let client = Endpoint::client().unwrap();
    let (connection, accepted) = tokio::join!(within(server.connect(&client)), server.accept());
    let connection = connection.unwrap();
    for end in [&connection, &accepted] {
        assert_eq!(within(end.handshake_confirmed()).await, Ok(()));
    }
    // It stays so.
    connection.close(0, "");
    assert_eq!(within(connection.handshake_confirmed()).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_another_certificate_is_not_trusted() {
    let (server, other) = (Server::start(1), Server::start(1));
    let client = Endpoint::client().unwrap();
    let outcome = within(client.connect(other.client.clone(), server.endpoint.local_addrs())).await;
    let Err(ConnectingError::Closed(reason)) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(reason.is_authentication(), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_arrive_whole() {
    let server = Server::start(1);
    let client = Endpoint::client().unwrap();
    let (connection, accepted) = tokio::join!(within(server.connect(&client)), server.accept());
    let connection = connection.unwrap();
    for size in [1, 100, connection.max_datagram_size().unwrap()] {
        within(connection.send_datagram(vec![size as u8; size].into()))
            .await
            .unwrap();
        assert_eq!(
            within(accepted.read_datagram()).await.unwrap(),
            vec![size as u8; size]
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_stops_is_noticed_by_the_writer() {
    let server = Server::start(1);
    let client = Endpoint::client().unwrap();
    let (connection, accepted) = tokio::join!(within(server.connect(&client)), server.accept());
    let mut send = connection.unwrap().open_uni().await.unwrap();
    send.write_all(b"hello").await.unwrap();
    let mut recv = within(accepted.accept_uni()).await.unwrap();
    let mut start = [0; 5];
    within(recv.read_exact(&mut start)).await.unwrap();
    recv.stop(42);
    assert_eq!(within(send.stopped()).await.unwrap(), Some(42));
    // Also when the peer has long confirmed that the stream is over.
    for _ in 0..20 {
        let error = within(send.write_all(&[0; 100])).await.unwrap_err();
        assert_eq!(error, WriteError::Stopped(42));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let _ = send.shutdown().await;
}

#[tokio::test]
async fn whoever_waits_for_a_reader_to_stop_does_not_keep_the_writer_from_writing() {
    let server = Server::start(1);
    let client = Endpoint::client().unwrap();
    let (connection, accepted) = tokio::join!(within(server.connect(&client)), server.accept());
    let connection = connection.unwrap();
    let mut send = connection.open_uni().await.unwrap();
    let stopped = tokio::spawn(send.stopped());
    let delivered = tokio::spawn(send.delivered());
    send.write_all(b"hello").await.unwrap();
    let mut recv = within(accepted.accept_uni()).await.unwrap();
    let mut start = [0; 5];
    within(recv.read_exact(&mut start)).await.unwrap();
    recv.stop(42);
    assert_eq!(within(stopped).await.unwrap(), Ok(Some(42)));
    assert_eq!(
        within(delivered).await.unwrap(),
        Err(WriteError::Stopped(42))
    );

    let mut abandoned = connection.open_uni().await.unwrap();
    let stopped = tokio::spawn(abandoned.stopped());
    abandoned.write_all(b"some").await.unwrap();
    let _unread = within(accepted.accept_uni()).await.unwrap();
    abandoned.reset(1);
    assert_eq!(within(stopped).await.unwrap(), Ok(None));

    // What is waited for outlives the writer and the last handle of the connection.
    let mut last = connection.open_uni().await.unwrap();
    last.write_all(b"last").await.unwrap();
    let delivered = last.delivered();
    drop((last, send, abandoned, connection));
    let mut recv = within(accepted.accept_uni()).await.unwrap();
    assert_eq!(within(recv.read_to_end(10)).await.unwrap(), b"last");
    assert_eq!(within(delivered).await, Ok(()));
    within(accepted.closed()).await;
}

#[tokio::test]
async fn the_end_of_a_stream_and_its_reset_show_at_every_later_read() {
    let server = Server::start(1);
    let client = Endpoint::client().unwrap();
    let (connection, accepted) = tokio::join!(within(server.connect(&client)), server.accept());
    let connection = connection.unwrap();
    let mut finished = connection.open_uni().await.unwrap();
    finished.write_all(b"all").await.unwrap();
    finished.finish().unwrap();
    let mut recv = within(accepted.accept_uni()).await.unwrap();
    assert_eq!(within(recv.read_chunk(10)).await.unwrap().unwrap(), "all");
    assert_eq!(within(recv.read_chunk(10)).await, Ok(None));
    within(finished.delivered()).await.unwrap();
    for _ in 0..20 {
        assert_eq!(within(recv.read_chunk(10)).await, Ok(None));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    let mut abandoned = connection.open_uni().await.unwrap();
    abandoned.write_all(b"some").await.unwrap();
    let mut recv = within(accepted.accept_uni()).await.unwrap();
    assert_eq!(within(recv.read_chunk(10)).await.unwrap().unwrap(), "some");
    abandoned.reset(9);
    for _ in 0..20 {
        assert_eq!(within(recv.read_chunk(10)).await, Err(ReadError::Reset(9)));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn nobody_at_the_address_is_not_a_hang_for_those_who_give_up() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let remote: SocketAddr = silent.local_addr().unwrap();
    let server = Server::start(1);
    let client = Endpoint::client().unwrap();
    let connecting = client.connect(server.client.clone(), &[remote]);
    assert_eq!(connecting.routes().len(), 1);
    assert!(
        timeout(Duration::from_millis(300), connecting)
            .await
            .is_err()
    );
    within(client.wait_idle()).await;
}

#[tokio::test]
async fn a_path_that_is_closed_before_it_was_up_ends_with_an_event_as_well() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = Server::start(1);
    let client = Endpoint::client().unwrap();
    let connecting = client.connect(server.client.clone(), server.endpoint.local_addrs());
    let connection = within(connecting).await.unwrap();
    let mut events = connection.path_events();
    assert_eq!(within(events.next()).await.unwrap().change, PathChange::Up);

    let remote = silent.local_addr().unwrap();
    let opened = within(connection.open_path(LocalAddress::Any, remote)).await;
    let path = opened.unwrap();
    connection.close_path(path).unwrap();
    let event = within(events.next()).await.unwrap();
    assert_eq!(event.path, path);
    assert_eq!(event.change, PathChange::Down);
    assert_eq!(event.reason, PathReason::ClosedHere);
}
