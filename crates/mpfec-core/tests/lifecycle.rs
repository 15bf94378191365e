//! How endpoints and connections begin and end when the application does not play along:
//! nothing may hang, pile up or stay open by itself.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::Duration;

use mpfec_core::net::{
    Connecting, ConnectingError, Connection, Endpoint, LocalAddress, PathError, Paths, ReadError,
    WriteError,
};
use mpfec_core::{
    ClientConfig, ClientTls, CloseReason, ConnectError, OpenPathError, Rng, SendDatagramError,
    ServerConfig, ServerTls, TransportConfig, TransportError,
};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

/// A server on loopback and what a client needs to connect to it.
struct Server {
    endpoint: Endpoint,
    client: ClientConfig,
}

impl Server {
    /// Connections last for the default idle timeout, 30 s, unless they are closed.
    fn start() -> Self {
        let client = TransportConfig {
            keep_alive: Duration::from_secs(1),
            ..TransportConfig::default()
        };
        Self::start_with(TransportConfig::default(), client)
    }

    fn start_with(server: TransportConfig, client: TransportConfig) -> Self {
        let tls = ServerTls::self_signed(&mut Rng::system());
        let client = ClientConfig::new(ClientTls::pinned(tls.fingerprint())).with_transport(client);
        let any = ["127.0.0.1:0".parse().unwrap()];
        let server = ServerConfig::new(tls).with_transport(server);
        let endpoint = Endpoint::server(server, &any).unwrap();
        Self { endpoint, client }
    }

    fn connect(&self, endpoint: &Endpoint) -> Connecting {
        endpoint.connect(self.client.clone(), self.endpoint.local_addrs())
    }

    /// Both ends of a connection.
    async fn pair(&self, client: &Endpoint) -> (Connection, Connection) {
        let accepting = async { self.endpoint.accept().await.unwrap().await };
        let (connected, accepted) =
            within(async { tokio::join!(self.connect(client), accepting) }).await;
        (connected.unwrap(), accepted.unwrap())
    }
}

/// Nothing on loopback takes this long unless it hangs.
async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(15), future)
        .await
        .expect("it does not hang")
}

/// Whether the peer's application closed the connection with `code`, which it keeps to itself
/// until the handshake is complete at its end.
fn is_of_the_peer(reason: &CloseReason, code: u64) -> bool {
    match reason {
        CloseReason::ApplicationClosed { code: told, .. } => *told == code,
        CloseReason::PeerError(error) => error.code == TransportError::APPLICATION_ERROR,
        _ => false,
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

#[tokio::test]
async fn accept_ends_when_the_endpoint_is_closed() {
    let server = Server::start();
    let endpoint = server.endpoint.clone();
    let accepting = tokio::spawn(async move { endpoint.accept().await.is_none() });
    sleep(Duration::from_millis(50)).await;
    server.endpoint.close(0, "");
    assert!(within(accepting).await.unwrap());
    assert!(within(server.endpoint.accept()).await.is_none());
    within(server.endpoint.wait_idle()).await;
}

#[tokio::test]
async fn a_closed_endpoint_starts_no_connection() {
    let server = Server::start();
    let client = Endpoint::client().unwrap();
    client.close(0, "");
    let outcome = within(server.connect(&client)).await;
    assert!(
        matches!(outcome, Err(ConnectingError::EndpointClosed)),
        "{outcome:?}"
    );
    within(client.wait_idle()).await;
}

#[tokio::test]
async fn a_server_without_an_address_is_an_error() {
    let tls = ServerTls::self_signed(&mut Rng::system());
    let deaf = Endpoint::server(ServerConfig::new(tls), &[]);
    assert_eq!(deaf.unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_made_though_its_endpoint_is_dropped_meanwhile() {
    let server = Server::start();
    for round in 0..40 {
        let client = Endpoint::client().unwrap();
        let connecting = server.connect(&client);
        if round % 2 == 1 {
            tokio::task::yield_now().await;
        }
        drop(client);
        let connection = within(connecting).await;
        assert!(connection.is_ok(), "round {round}: {connection:?}");
    }
}

#[tokio::test]
async fn a_connection_that_nobody_takes_is_closed_with_the_endpoint() {
    let server = Server::start();
    let client = Endpoint::client().unwrap();
    let connection = within(server.connect(&client)).await.unwrap();
    server.endpoint.close(3, "going");
    let reason = within(connection.closed()).await;
    assert!(is_of_the_peer(&reason, 3), "{reason}");
    within(server.endpoint.wait_idle()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_an_endpoint_is_closed_is_told_even_if_its_connections_are_dropped_at_once() {
    for _ in 0..20 {
        let server = Server::start();
        let client = Endpoint::client().unwrap();
        let (connection, accepted) = server.pair(&client).await;
        let endpoint = server.endpoint.clone();
        let serving = tokio::spawn(async move {
            assert!(endpoint.accept().await.is_none());
            drop(accepted);
        });
        tokio::task::yield_now().await;
        server.endpoint.close(7, "enough");
        within(serving).await.unwrap();
        let told = CloseReason::ApplicationClosed {
            code: 7,
            reason: "enough".to_owned(),
        };
        assert_eq!(within(connection.closed()).await, told);
    }
}

#[tokio::test]
async fn a_server_that_is_dropped_takes_nobody_else() {
    let Server { endpoint, client } = Server::start();
    let addresses = endpoint.local_addrs().to_vec();
    let server = Server {
        endpoint,
        client: client.clone(),
    };
    let clients = Endpoint::client().unwrap();
    let (first, accepted) = server.pair(&clients).await;
    let waiting = within(server.connect(&clients)).await.unwrap();
    drop(server);

    // The one that nobody took ends; the other one goes on.
    let reason = within(waiting.closed()).await;
    assert!(is_of_the_peer(&reason, 0), "{reason}");
    let late = clients.connect(client, &addresses);
    let refused = within(late).await;
    assert!(
        matches!(&refused, Err(ConnectingError::Closed(reason)) if reason.is_refusal()),
        "{refused:?}"
    );
    let mut send = first.open_uni().await.unwrap();
    send.write_all(b"still here").await.unwrap();
    send.finish().unwrap();
    let mut recv = within(accepted.accept_uni()).await.unwrap();
    assert_eq!(within(recv.read_to_end(100)).await.unwrap(), b"still here");
    drop((first, accepted, send, recv));
    within(clients.wait_idle()).await;
}

#[tokio::test]
async fn a_client_whose_connection_is_not_wanted_is_told() {
    let server = Server::start();
    let client = Endpoint::client().unwrap();
    let connecting = tokio::spawn(server.connect(&client));
    drop(within(server.endpoint.accept()).await.unwrap());
    let reason = match within(connecting).await.unwrap() {
        Ok(connection) => within(connection.closed()).await,
        Err(ConnectingError::Closed(reason)) => reason,
        Err(other) => panic!("{other}"),
    };
    assert!(is_of_the_peer(&reason, 0), "{reason}");
    within(server.endpoint.wait_idle()).await;
}

#[tokio::test]
async fn a_connection_attempt_that_is_dropped_at_any_moment_leaves_nothing_behind() {
    let server = Server::start();
    let client = Endpoint::client().unwrap();
    for turn in 0..20 {
        let mut connecting = Box::pin(server.connect(&client));
        // The driver's answer may or may not be there when it is dropped.
        for _ in 0..turn % 4 {
            tokio::task::yield_now().await;
        }
        if turn % 2 == 1 {
            let _ = timeout(Duration::from_micros(turn * 100), &mut connecting).await;
        }
        drop(connecting);
    }
    within(client.wait_idle()).await;
    server.endpoint.close(0, "");
    within(server.endpoint.wait_idle()).await;
}

#[test]
fn everything_ends_when_the_runtime_of_the_endpoint_is_gone() {
    let (ours, theirs) = (runtime(), runtime());
    let (server, client) = ours.block_on(async {
        let server = Server::start();
        let client = theirs.spawn(async { Endpoint::client().unwrap() });
        (server, client.await.unwrap())
    });
    ours.block_on(async {
        let (connection, _accepted) = server.pair(&client).await;
        let mut send = connection.open_uni().await.unwrap();
        let waiting = {
            let connection = connection.clone();
            tokio::spawn(async move { connection.accept_uni().await.map(|_| ()) })
        };
        sleep(Duration::from_millis(50)).await;
        tokio::task::spawn_blocking(move || theirs.shutdown_timeout(Duration::from_secs(5)))
            .await
            .unwrap();

        let gone = CloseReason::EndpointGone;
        assert_eq!(within(waiting).await.unwrap(), Err(gone.clone()));
        assert_eq!(within(connection.closed()).await, gone);
        assert_eq!(within(connection.open_bi()).await.unwrap_err(), gone);
        assert_eq!(
            within(send.write_all(&[0; 100])).await,
            Err(WriteError::ConnectionLost(gone.clone()))
        );
        assert_eq!(
            within(connection.send_datagram(vec![0; 10].into())).await,
            Err(SendDatagramError::Closed)
        );
        let again = within(server.connect(&client)).await;
        assert!(
            matches!(again, Err(ConnectingError::EndpointClosed)),
            "{again:?}"
        );
        assert!(within(client.accept()).await.is_none());
        client.close(0, "");
        within(client.wait_idle()).await;
    });
}

#[test]
fn outside_a_runtime_an_endpoint_is_an_error() {
    let config = ServerConfig::new(ServerTls::self_signed(&mut Rng::system()));
    let any = ["127.0.0.1:0".parse().unwrap()];
    assert!(Endpoint::server(config, &any).is_err());
    assert!(Endpoint::client().is_err());
}

#[tokio::test]
async fn waits_of_any_length_can_be_asked_for() {
    let Server { endpoint, client } = Server::start();
    let transport = TransportConfig {
        idle_timeout: Duration::MAX,
        keep_alive: Duration::MAX,
        ..TransportConfig::default()
    };
    let server = Server {
        endpoint,
        client: client.with_transport(transport),
    };
    let clients = Endpoint::client().unwrap();
    let (connection, accepted) = server.pair(&clients).await;
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"x").await.unwrap();
    within(accepted.accept_uni()).await.unwrap();
}

#[tokio::test]
async fn a_stream_that_was_reset_is_waited_for_no_more() {
    let server = Server::start();
    let client = Endpoint::client().unwrap();
    let (connection, _accepted) = server.pair(&client).await;
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"x").await.unwrap();
    send.reset(1);
    assert_eq!(within(send.delivered()).await, Err(WriteError::Finished));
    assert_eq!(within(send.stopped()).await, Ok(None));
}

#[tokio::test]
async fn an_empty_datagram_does_not_make_a_server_deaf() {
    let server = Server::start();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for address in server.endpoint.local_addrs() {
        socket.send_to(&[], address).unwrap();
    }
    sleep(Duration::from_millis(50)).await;
    let client = Endpoint::client().unwrap();
    within(server.connect(&client)).await.unwrap();
}

#[tokio::test]
async fn a_buffer_is_filled_or_it_is_told_how_far() {
    let server = Server::start();
    let client = Endpoint::client().unwrap();
    let (connection, accepted) = server.pair(&client).await;
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"hello, you").await.unwrap();
    send.finish().unwrap();
    let mut recv = within(accepted.accept_uni()).await.unwrap();
    let mut buf = [0; 6];
    within(recv.read_exact(&mut buf)).await.unwrap();
    assert_eq!(&buf, b"hello,");
    let error = within(recv.read_exact(&mut buf)).await.unwrap_err();
    assert_eq!(error, mpfec_core::net::ReadExactError::FinishedEarly(4));
}

#[tokio::test]
async fn an_empty_buffer_is_full_before_anything_arrived() {
    let server = Server::start();
    let client = Endpoint::client().unwrap();
    let (connection, accepted) = server.pair(&client).await;
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"hello").await.unwrap();
    let mut recv = within(accepted.accept_uni()).await.unwrap();
    assert_eq!(within(recv.read_exact(&mut [0; 5])).await, Ok(()));
    assert_eq!(within(recv.read(&mut [])).await, Ok(Some(0)));
    let read = within(tokio::io::AsyncReadExt::read(&mut recv, &mut [])).await;
    assert_eq!(read.unwrap(), 0);
}

#[tokio::test]
async fn clients_of_a_server_that_takes_no_more_are_told_at_once() {
    let server = Server::start();
    let client = Endpoint::client().unwrap();
    let (kept, _accepted) = server.pair(&client).await;
    server.endpoint.refuse_new();
    for why in ["takes no new connections", "is closed"] {
        let refused = within(server.connect(&client)).await;
        assert!(
            matches!(&refused, Err(ConnectingError::Closed(reason))
                if reason.is_refusal() && reason.to_string().contains(why)),
            "{refused:?}"
        );
        server.endpoint.close(0, "");
    }
    within(kept.closed()).await;
}

#[tokio::test]
async fn what_closed_a_connection_here_is_known_at_once() {
    let server = Server::start();
    let (connection, _accepted) = server.pair(&Endpoint::client().unwrap()).await;
    let mut send = connection.open_uni().await.unwrap();
    connection.close(7, "done");
    assert_eq!(
        connection.close_reason(),
        Some(CloseReason::LocallyClosed(7))
    );
    assert!(matches!(send.finish(), Err(WriteError::ConnectionLost(_))));
}

#[tokio::test]
async fn a_remote_without_a_port_is_an_error_at_once() {
    let server = Server::start();
    let nowhere = ["127.0.0.1:0".parse().unwrap()];
    let client = Endpoint::client().unwrap();
    let result = within(client.connect(server.client.clone(), &nowhere)).await;
    assert_eq!(
        result.map(|_| ()),
        Err(ConnectingError::Connect(ConnectError::InvalidRemote(
            nowhere[0]
        )))
    );
}

#[tokio::test]
async fn paths_that_are_asked_for_are_opened_or_refused_all_of_them() {
    let server = Server::start();
    let (connection, _accepted) = server.pair(&Endpoint::client().unwrap()).await;
    let remote = server.endpoint.local_addrs()[0];
    let local = |number: u8| LocalAddress::Ip([127, 0, 1, number].into());
    let opening = (1..=11).map(|number| connection.open_path(local(number), remote));
    let mut results = Vec::new();
    for opened in opening {
        results.push(within(opened).await);
    }
    let opened = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(opened, 7, "beside the first one: {results:?}");
    let full = PathError::Refused(OpenPathError::TooManyPaths(8));
    assert!(
        results[7..]
            .iter()
            .all(|result| *result == Err(full.clone()))
    );
}

#[tokio::test]
async fn where_nothing_can_be_sent_from_is_told_with_what_the_system_says() {
    let server = Server::start();
    let client = Endpoint::client().unwrap();
    let (connection, _accepted) = server.pair(&client).await;
    let remote = server.endpoint.local_addrs()[0];
    let cause = UdpSocket::bind("198.51.100.1:0").unwrap_err();
    let message = format!("nothing can be sent from 198.51.100.1 to {remote}: {cause}");

    let foreign = LocalAddress::Ip([198, 51, 100, 1].into());
    let refused = within(connection.open_path(foreign.clone(), remote)).await;
    assert_eq!(refused.unwrap_err().to_string(), message);
    let paths = Paths::Over(vec![foreign]);
    let connecting = client.connect_over(server.client.clone(), paths, &[remote]);
    assert_eq!(within(connecting).await.unwrap_err().to_string(), message);
}

#[tokio::test]
async fn whoever_wants_one_more_stream_on_a_quiet_connection_asks_the_peer_for_it() {
    let few = TransportConfig {
        max_streams_uni: 16,
        ..TransportConfig::default()
    };
    let server = Server::start_with(few, TransportConfig::default());
    let (connection, accepted) = server.pair(&Endpoint::client().unwrap()).await;
    let mut streams = Vec::new();
    for _ in 0..16 {
        streams.push(within(connection.open_uni()).await.unwrap());
    }
    // One of 16 is too little for the peer to tell of it unasked.
    streams[0].finish().unwrap();
    let mut recv = within(accepted.accept_uni()).await.unwrap();
    assert_eq!(within(recv.read_to_end(1)).await.unwrap(), b"");
    within(streams[0].delivered()).await.unwrap();
    sleep(Duration::from_millis(500)).await;
    let one_more = timeout(Duration::from_secs(5), connection.open_uni()).await;
    assert!(one_more.is_ok(), "nobody asked the peer");
}

#[tokio::test]
async fn reading_to_the_end_may_be_given_up_and_begun_again() {
    let server = Server::start();
    let (connection, accepted) = server.pair(&Endpoint::client().unwrap()).await;
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(&[1; 1000]).await.unwrap();
    let mut recv = within(accepted.accept_uni()).await.unwrap();
    let given_up = timeout(Duration::from_millis(100), recv.read_to_end(5000)).await;
    assert!(given_up.is_err());
    send.write_all(&[2; 500]).await.unwrap();
    send.finish().unwrap();
    let too_long = within(recv.read_to_end(1200)).await;
    assert_eq!(too_long, Err(ReadError::TooLong { limit: 1200 }));
    let all = within(recv.read_to_end(5000)).await.unwrap();
    assert_eq!(all, [vec![1; 1000], vec![2; 500]].concat());
}

#[tokio::test]
async fn a_handshake_that_nobody_answers_ends_after_its_timeout_and_says_what_was_tried() {
    let server = Server::start();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let transport = TransportConfig {
        handshake_timeout: Duration::from_millis(500),
        ..TransportConfig::default()
    };
    let client = Endpoint::client().unwrap();
    let config = server.client.clone().with_transport(transport);
    let remote = silent.local_addr().unwrap();
    let error = within(client.connect(config, &[remote])).await.unwrap_err();
    let tried = vec![(LocalAddress::Any, remote)];
    assert_eq!(error, ConnectingError::TimedOut { tried });
    let route = format!("any interface -> {remote}");
    assert!(error.to_string().ends_with(&route), "{error}");
}
