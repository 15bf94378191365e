//! Both ends of a handshake in memory, for tests and benchmarks.

use std::mem;

use super::handshake::{Handshake, KeyChange, Level};
use super::keys::Keys;
use super::one_rtt::OneRttKeys;
use super::tls::{ClientTls, ServerTls};
use crate::error::TransportError;
use crate::rng::Rng;

/// What one end has got out of its handshake.
#[derive(Debug)]
pub(super) struct End {
    pub(super) tls: Handshake,
    pub(super) handshake: Option<Keys>,
    pub(super) one_rtt: Option<OneRttKeys>,
    /// What it writes under.
    level: Level,
}

impl End {
    fn new(tls: Handshake) -> Self {
        Self {
            tls,
            handshake: None,
            one_rtt: None,
            level: Level::Initial,
        }
    }

    /// Everything to say now, by level.
    pub(super) fn flight(&mut self) -> Vec<(Level, Vec<u8>)> {
        let mut flight = Vec::new();
        loop {
            let mut bytes = Vec::new();
            let change = self.tls.write(&mut bytes);
            let is_over = bytes.is_empty() && change.is_none();
            if !bytes.is_empty() {
                flight.push((self.level, bytes));
            }
            match change {
                Some(KeyChange::Handshake(keys)) => {
                    self.handshake = Some(keys);
                    self.level = Level::Handshake;
                }
                Some(KeyChange::OneRtt(keys)) => {
                    self.one_rtt = Some(keys);
                    self.level = Level::OneRtt;
                }
                None if is_over => return flight,
                None => {}
            }
        }
    }
}

/// Carries flights until neither end has anything to say.
fn run(client: &mut End, server: &mut End) -> Result<(), TransportError> {
    let mut from_client = client.flight();
    while !from_client.is_empty() {
        let mut from_server = Vec::new();
        for (level, bytes) in mem::take(&mut from_client) {
            server.tls.read(level, &bytes)?;
            from_server.extend(server.flight());
        }
        for (level, bytes) in from_server {
            client.tls.read(level, &bytes)?;
            from_client.extend(client.flight());
        }
    }
    Ok(())
}

/// The ends of a handshake that has not begun.
pub(super) fn pair(client: &ClientTls, server: &ServerTls) -> (End, End) {
    let client = Handshake::client(client, b"client parameters".to_vec());
    let server = Handshake::server(server, b"server parameters".to_vec());
    (
        End::new(client.expect("a good configuration")),
        End::new(server.expect("a good configuration")),
    )
}

/// The ends of a whole handshake between the two.
pub(super) fn complete(
    client: &ClientTls,
    server: &ServerTls,
) -> Result<(End, End), TransportError> {
    let (mut client, mut server) = pair(client, server);
    run(&mut client, &mut server)?;
    Ok((client, server))
}

/// A server with a certificate of its own, and a client that trusts it.
pub(super) fn trusting_pair() -> (ClientTls, ServerTls) {
    let server = ServerTls::self_signed(&mut Rng::seeded(1));
    (ClientTls::pinned(server.fingerprint()), server)
}

/// Both ends of a completed handshake.
#[cfg(test)]
pub(super) fn handshakes() -> (Handshake, Handshake) {
    let (client, server) = trusting_pair();
    let (client, server) = complete(&client, &server).expect("they trust each other");
    (client.tls, server.tls)
}

/// The 1-RTT keys of both ends of a connection.
pub(crate) fn connected() -> (OneRttKeys, OneRttKeys) {
    let (client, server) = trusting_pair();
    let (client, server) = complete(&client, &server).expect("they trust each other");
    (
        client.one_rtt.expect("complete"),
        server.one_rtt.expect("complete"),
    )
}
