//! What goes on after the last handle of an endpoint is gone.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::*;
use crate::crypto::{ClientTls, ServerTls};
use crate::net::route::LocalAddress;
use crate::net::test_link::TestLink;
use crate::rng::Rng;

#[tokio::test]
async fn a_connection_whose_endpoint_is_dropped_uses_interfaces_that_appear_later() {
    let Some(link) = TestLink::new('e') else {
        return;
    };
    let tls = ServerTls::self_signed(&mut Rng::system());
    let config = ClientConfig::new(ClientTls::pinned(tls.fingerprint()));
    let any = ["127.0.0.1:0".parse().unwrap()];
    let server = Endpoint::server(ServerConfig::new(tls), &any).unwrap();
    let remotes = [server.local_addrs()[0], link.neighbour(9)];
    let client = Endpoint::client().unwrap();
    let connection = client.connect(config, &remotes).await.unwrap();
    drop(client);

    link.up();
    let is_tried = async {
        let local = Some(LocalAddress::Interface(link.name.clone()));
        let is_over_link = |path: &crate::PathStats| {
            let socket = connection.local_socket(path.tuple.socket);
            socket.is_some_and(|socket| socket.made_for == local)
        };
        while !connection.paths().iter().any(is_over_link) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let outcome = timeout(Duration::from_secs(5), is_tried).await;
    assert!(outcome.is_ok(), "nobody looked: {:?}", connection.paths());
}

#[tokio::test]
async fn a_stream_that_was_stopped_before_it_was_taken_has_ended() {
    use crate::{ClientTls, Rng, ServerTls};
    use std::time::Duration;
    let tls = ServerTls::self_signed(&mut Rng::system());
    let trusted = ClientTls::pinned(tls.fingerprint());
    let server =
        Endpoint::server(ServerConfig::new(tls), &["127.0.0.1:0".parse().unwrap()]).unwrap();
    let addresses = server.local_addrs().to_vec();
    let client = Endpoint::client().unwrap();
    let connecting = client.connect(ClientConfig::new(trusted), &addresses);
    let (theirs, ours) = tokio::join!(
        async { server.accept().await.unwrap().await.unwrap() },
        async { connecting.await.unwrap() }
    );
    let (mut send, recv) = ours.open_bi().await.unwrap();
    send.write_all(b"a question").await.unwrap();
    drop(recv);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (reply, _request) = theirs.accept_bi().await.unwrap();
    let stopped = tokio::time::timeout(Duration::from_secs(2), reply.stopped()).await;
    assert_eq!(stopped.expect("it has ended").unwrap(), Some(0));
}
