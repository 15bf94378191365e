//! A client's first datagram: check it, ask for proof of its address if many others are
//! waiting, and make a connection of it.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::routing::{Endpoint, Routed, respond};
use crate::address::Datagram;
use crate::config::ServerConfig;
use crate::connection::{Authentication, Connection, Opening, parameters};
use crate::crypto::{self, Keys};
use crate::error::TransportError;
use crate::id::Side;
use crate::wire::frame::ConnectionClose;
use crate::wire::header::{self, LongHeader, LongType};
use crate::wire::{ConnectionId, MAX_DATAGRAM};

/// The header of a client's Initial packet.
#[derive(Debug)]
pub(super) struct Initial {
    pub(super) dcid: ConnectionId,
    pub(super) scid: ConnectionId,
    pub(super) token: Range<usize>,
    pub(super) packet_number_at: usize,
    pub(super) end: usize,
}

impl Endpoint {
    pub(super) fn incoming(
        &mut self,
        now: Instant,
        initial: &Initial,
        datagram: Datagram,
        response: &mut Vec<u8>,
    ) -> Routed {
        let Some(server) = self.server.clone() else {
            return Routed::Ignored;
        };
        if initial.dcid.as_slice().len() < MIN_CLIENT_DCID {
            return Routed::Ignored;
        }
        // Opening a packet changes its bytes, and the connection must see them unchanged.
        let Some(packet) = datagram.data.get(..initial.end.min(MAX_DATAGRAM)) else {
            return Routed::Ignored;
        };
        let mut copy = [0; MAX_DATAGRAM];
        let copy = &mut copy[..packet.len()];
        copy.copy_from_slice(packet);
        if !crypto::is_authentic_initial(initial.dcid, copy, initial.packet_number_at) {
            return Routed::Ignored;
        }
        let keys = Keys::initial(initial.dcid.as_slice(), Side::Server);
        let is_full = self.routes.connections() >= server.max_connections;
        if let Some(reason) = self.refuses.or(is_full.then_some(FULL)) {
            return self.refuse(reason, &keys, initial, &datagram, response);
        }
        if let Err(error) = server.transport.profile.check() {
            tracing::warn!(%error, "no connection can be taken");
            let reason = "the server's settings contradict each other";
            return self.refuse(reason, &keys, initial, &datagram, response);
        }
        let token = datagram.data.get(initial.token.clone()).unwrap_or_default();
        let age = now.saturating_duration_since(self.epoch).as_millis() as u64;
        let original = self
            .token_key
            .open(token, datagram.tuple.remote, age, TOKEN_LIFETIME);
        if original.is_none() && !token.is_empty() {
            // It expects what only an answer to its own token holds: this copy came from elsewhere.
            return Routed::Ignored;
        }
        if original.is_none() && self.routes.handshaking() >= server.retry_above {
            return self.retry(age, initial, &datagram, response);
        }
        self.accept(now, &server, keys, initial, original, datagram)
    }

    /// Asks the client to prove its address before anything is kept for it.
    fn retry(
        &mut self,
        age: u64,
        initial: &Initial,
        datagram: &Datagram,
        response: &mut Vec<u8>,
    ) -> Routed {
        let scid = ConnectionId::from(self.rng.bytes::<8>());
        let token = self
            .token_key
            .seal(&mut self.rng, datagram.tuple.remote, initial.dcid, age);
        let start = response.len();
        header::encode_retry_without_tag(initial.scid, scid, &token, response);
        let tag = crypto::retry_tag(initial.dcid, &response[start..]);
        response.extend_from_slice(&tag);
        respond(&datagram.tuple, response)
    }

    fn refuse(
        &mut self,
        reason: &'static str,
        keys: &Keys,
        initial: &Initial,
        datagram: &Datagram,
        response: &mut Vec<u8>,
    ) -> Routed {
        let header = LongHeader {
            kind: LongType::Initial,
            dcid: initial.scid,
            scid: initial.dcid,
            token: &[],
            packet_number: 0,
            largest_acked: None,
        };
        let marks = header.encode(response);
        let error = TransportError::connection_refused(reason);
        ConnectionClose { error }.encode(response);
        keys.seal_packet(0, &marks, response);
        respond(&datagram.tuple, response)
    }

    fn accept(
        &mut self,
        now: Instant,
        server: &ServerConfig,
        keys: Keys,
        initial: &Initial,
        original: Option<ConnectionId>,
        datagram: Datagram,
    ) -> Routed {
        let mut rng = self.rng.fork();
        let scid = ConnectionId::from(rng.bytes::<8>());
        let issued = self.issue(&mut rng);
        let mut parameters = parameters(&server.transport, &issued);
        parameters.initial_source_connection_id = Some(scid);
        parameters.original_destination_connection_id = Some(original.unwrap_or(initial.dcid));
        parameters.retry_source_connection_id = original.map(|_| initial.dcid);
        let mut encoded = Vec::new();
        parameters.encode(&mut encoded);
        let tls = match crypto::Handshake::server(&server.tls, encoded) {
            Ok(tls) => tls,
            Err(error) => {
                tracing::warn!(%error, "TLS cannot start");
                return Routed::Ignored;
            }
        };
        let opening = Opening {
            side: Side::Server,
            tls,
            initial_keys: keys,
            routes: vec![(datagram.tuple, 0)],
            dcid: initial.scid,
            scid,
            original_dcid: original.unwrap_or(initial.dcid),
            retry_scid: original.map(|_| initial.dcid),
            address_validated: original.is_some(),
            authentication: server
                .secret
                .map_or(Authentication::None, Authentication::Demand),
            reset_key: self.reset_key.clone(),
        };
        let handle = self.routes.add(&[initial.dcid, scid], true);
        let connection = Connection::new(now, Arc::clone(&server.transport), rng, &issued, opening);
        Routed::New(handle, Box::new(connection), datagram)
    }
}

/// What clients are told while [`ServerConfig::max_connections`] is reached.
const FULL: &str = "the server has as many connections as it may";
/// RFC 9000 §7.2: the client's choice must be unpredictable.
const MIN_CLIENT_DCID: usize = 8;
/// How long a client may take from a Retry to its answer.
const TOKEN_LIFETIME: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests;
