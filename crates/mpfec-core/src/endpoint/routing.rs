//! Which connection a datagram belongs to, and what happens to those that belong to none.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::address::{Datagram, FourTuple, Transmit};
use crate::config::{ClientConfig, ServerConfig};
use crate::connection::{Authentication, Connection, EndpointEvent, Opening, parameters};
use crate::crypto::{self, ResetKey};
use crate::error::TransportError;
use crate::id::Side;
use crate::profile::ImpossibleProfile;
use crate::rng::Rng;
use crate::wire::header::{self, LongType, Protected};
use crate::wire::{ConnectionId, IssuedId, MIN_DATAGRAM, ResetToken};

use super::cid::{ConnectionHandle, Routes};
use super::incoming::Initial;
use super::reset::{self, ResetLimit};
use super::token::TokenKey;

/// The part of a transport that all its connections share: connection IDs, the server's
/// keys and limits. It owns no connection: the driver does.
#[derive(Debug)]
pub struct Endpoint {
    pub(super) server: Option<ServerConfig>,
    /// Why nobody is taken now, if so.
    pub(super) refuses: Option<&'static str>,
    pub(super) rng: Rng,
    pub(super) routes: Routes,
    pub(super) reset_key: ResetKey,
    reset_limit: ResetLimit,
    pub(super) token_key: TokenKey,
    /// What ages of tokens are counted from.
    pub(super) epoch: Instant,
    /// The latest time that was handed in.
    latest: Instant,
}

/// What is to be done with a datagram.
#[derive(Debug)]
pub enum Routed {
    /// It belongs to this connection: hand it to `Connection::handle_datagram`.
    Connection(ConnectionHandle, Datagram),
    /// A client asks for this new connection, whose first datagram this is.
    New(ConnectionHandle, Box<Connection>, Datagram),
    /// This must be sent at once; its bytes are in the buffer.
    Response(Transmit),
    /// Nothing.
    Ignored,
}

/// Why a connection could not even be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// There is nowhere to send to.
    #[error("no route to try: neither an address of the peer's nor a local interface fits")]
    NoRoute,
    /// Nobody can be reached there.
    #[error("{0} is no address that can be sent to")]
    InvalidRemote(SocketAddr),
    /// TLS cannot be set up.
    #[error("TLS cannot start: {0}")]
    Tls(TransportError),
    /// The parts of the profile do not work together.
    #[error(transparent)]
    Profile(#[from] ImpossibleProfile),
}

impl Endpoint {
    /// An endpoint that makes connections, and takes them if `server` is given. `now` is
    /// when it starts to count; `rng` gives its keys.
    #[must_use]
    pub fn new(now: Instant, server: Option<ServerConfig>, mut rng: Rng) -> Self {
        let kept = server.as_ref().and_then(|server| server.reset_key.clone());
        Self {
            server,
            refuses: None,
            routes: Routes::default(),
            reset_key: kept.unwrap_or_else(|| ResetKey::generate(&mut rng)),
            reset_limit: ResetLimit::new(now),
            token_key: TokenKey::new(&mut rng),
            rng,
            epoch: now,
            latest: now,
        }
    }

    /// Takes connections from now on under other conditions, or no longer any.
    pub fn set_server_config(&mut self, server: Option<ServerConfig>) {
        self.server = server;
    }

    /// Refuses new connections from now on and tells clients why, or takes them again as the
    /// server's configuration says. Connections that exist go on.
    pub fn set_refusal(&mut self, reason: Option<&'static str>) {
        self.refuses = reason;
    }

    /// Starts a connection. `routes` are four-tuples on which the handshake is tried at
    /// once; those with the same number are alternatives for one path.
    ///
    /// # Errors
    /// If there is no route, TLS cannot start, or the profile is impossible.
    pub fn connect(
        &mut self,
        now: Instant,
        config: &ClientConfig,
        routes: Vec<(FourTuple, usize)>,
    ) -> Result<(ConnectionHandle, Connection), ConnectError> {
        let now = self.monotonic(now);
        config.transport.profile.check()?;
        if routes.is_empty() {
            return Err(ConnectError::NoRoute);
        }
        let unreachable = |remote: &SocketAddr| remote.port() == 0 || remote.ip().is_multicast();
        if let Some((tuple, _)) = routes.iter().find(|(tuple, _)| unreachable(&tuple.remote)) {
            return Err(ConnectError::InvalidRemote(tuple.remote));
        }
        let mut rng = self.rng.fork();
        let dcid = ConnectionId::from(rng.bytes::<8>());
        let scid = ConnectionId::from(rng.bytes::<8>());
        let issued = self.issue(&mut rng);
        let mut parameters = parameters(&config.transport, &issued);
        parameters.initial_source_connection_id = Some(scid);
        let mut encoded = Vec::new();
        parameters.encode(&mut encoded);
        let tls = crypto::Handshake::client(&config.tls, encoded).map_err(ConnectError::Tls)?;
        let opening = Opening {
            side: Side::Client,
            tls,
            initial_keys: crypto::Keys::initial(dcid.as_slice(), Side::Client),
            routes,
            dcid,
            scid,
            original_dcid: dcid,
            retry_scid: None,
            address_validated: true,
            authentication: config
                .secret
                .map_or(Authentication::None, Authentication::Prove),
            reset_key: self.reset_key.clone(),
        };
        let handle = self.routes.add(&[scid], false);
        let connection = Connection::new(now, Arc::clone(&config.transport), rng, &issued, opening);
        Ok((handle, connection))
    }

    /// Finds out whom a datagram is for. Costs nothing lasting if it is for nobody.
    /// `response` is where a response is written.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        datagram: Datagram,
        response: &mut Vec<u8>,
    ) -> Routed {
        let now = self.monotonic(now);
        let Ok(packet) = header::parse(&datagram.data) else {
            return Routed::Ignored;
        };
        match packet {
            Protected::Short { dcid, .. } => match self.routes.find(&dcid) {
                Some(handle) => Routed::Connection(handle, datagram),
                None => self.unknown_short(now, &dcid, datagram, response),
            },
            Protected::Long {
                kind,
                dcid,
                scid,
                token,
                packet_number_at,
                end,
            } => {
                if let Some(handle) = self.routes.find(&dcid) {
                    return Routed::Connection(handle, datagram);
                }
                if kind != LongType::Initial || datagram.data.len() < MIN_DATAGRAM {
                    return Routed::Ignored;
                }
                let initial = Initial {
                    dcid,
                    scid,
                    token,
                    packet_number_at,
                    end,
                };
                self.incoming(now, &initial, datagram, response)
            }
            Protected::Retry { dcid, .. } | Protected::VersionNegotiation { dcid, .. } => {
                match self.routes.find(&dcid) {
                    Some(handle) => Routed::Connection(handle, datagram),
                    None => Routed::Ignored,
                }
            }
            Protected::UnknownVersion { dcid, scid, .. } => {
                if self.server.is_none() || datagram.data.len() < MIN_DATAGRAM {
                    return Routed::Ignored;
                }
                let random = self.rng.bytes::<1>()[0];
                header::encode_version_negotiation(scid, dcid, random, response);
                respond(&datagram.tuple, response)
            }
        }
    }

    /// Takes note of what a connection says.
    pub fn handle_event(&mut self, handle: ConnectionHandle, event: &EndpointEvent) {
        match event {
            EndpointEvent::Issued(cid) => self.routes.issue(handle, *cid),
            EndpointEvent::Retired(cid) => self.routes.retire(cid),
            EndpointEvent::Expects(token) => self.routes.expect_reset(handle, *token),
            EndpointEvent::ExpectsNoMore(token) => self.routes.forget_reset(handle, token),
            EndpointEvent::Established => self.routes.establish(handle),
            EndpointEvent::Drained => self.routes.forget(handle),
        }
    }

    /// A clock that stands still rather than going back, as that of a connection: one that
    /// began with an old time would look overdue.
    fn monotonic(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Connections that are not forgotten yet.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.routes.connections()
    }

    fn unknown_short(
        &mut self,
        now: Instant,
        dcid: &ConnectionId,
        datagram: Datagram,
        response: &mut Vec<u8>,
    ) -> Routed {
        if let Some(token) = datagram.data.last_chunk::<16>()
            && let Some(handle) = self.routes.find_reset(&ResetToken(*token))
        {
            return Routed::Connection(handle, datagram);
        }
        if self.server.is_none() || !self.reset_limit.allows(now) {
            return Routed::Ignored;
        }
        let token = self.reset_key.token(dcid.as_slice());
        if reset::encode(&mut self.rng, datagram.data.len(), token, response) {
            respond(&datagram.tuple, response)
        } else {
            Routed::Ignored
        }
    }

    /// Connection IDs for the first paths.
    pub(super) fn issue(&self, rng: &mut Rng) -> Vec<IssuedId> {
        (0..FIRST_CIDS)
            .map(|_| {
                let cid = ConnectionId::from(rng.bytes::<8>());
                IssuedId {
                    cid,
                    reset_token: ResetToken(self.reset_key.token(cid.as_slice())),
                }
            })
            .collect()
    }
}

pub(super) fn respond(tuple: &FourTuple, response: &[u8]) -> Routed {
    Routed::Response(Transmit {
        tuple: *tuple,
        ecn: None,
        size: response.len(),
        segment_size: None,
    })
}

/// Connection IDs in the handshake: enough to open this many paths at once.
const FIRST_CIDS: usize = 5;
