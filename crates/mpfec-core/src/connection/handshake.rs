//! The handshake: TLS messages in Initial and Handshake packets, tried on every route at
//! once, so that a dead first path does not stop the start.
//!
//! What the peer says is in this file; what leaves is in `transmit`, and when, in `timers`.

mod timers;
mod transmit;

use std::time::{Duration, Instant};

use bytes::Bytes;
use mpfec_congestion::RttEstimator;

use super::early::{EarlySpace, Level, write_crypto};
use super::routes::Routes;
use crate::address::FourTuple;
use crate::component::FrameWriter;
use crate::crypto::{self, KeyChange, OneRttKeys, ResetKey};
use crate::endpoint::Secret;
use crate::error::TransportError;
use crate::id::Side;
use crate::path::MAX_PATH_ID;
use crate::recovery::{CryptoReceive, CryptoSend, Pto};
use crate::wire::frame::Frame;
use crate::wire::{ConnectionId, TransportParameters};

pub(super) use self::transmit::DATAGRAM_SIZE;

/// What the client must prove, beyond TLS.
#[derive(Debug, Clone)]
pub(crate) enum Authentication {
    None,
    /// We hold the server's secret.
    Prove(Secret),
    /// The client must hold this secret.
    Demand(Secret),
}

/// What a connection starts with.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) side: Side,
    pub(crate) tls: crypto::Handshake,
    pub(crate) initial_keys: crypto::Keys,
    /// Where the handshake is tried: four-tuples, and which of them are alternatives for one
    /// path.
    pub(crate) routes: Vec<(FourTuple, usize)>,
    /// The peer's connection ID; chosen by the client at first.
    pub(crate) dcid: ConnectionId,
    /// Ours.
    pub(crate) scid: ConnectionId,
    /// The destination of the client's first packet, before any Retry.
    pub(crate) original_dcid: ConnectionId,
    /// The server's connection ID in its Retry.
    pub(crate) retry_scid: Option<ConnectionId>,
    /// Whether a Retry token has proved the client's address.
    pub(crate) address_validated: bool,
    pub(crate) authentication: Authentication,
    pub(crate) reset_key: ResetKey,
}

/// Everything about the connection before 1-RTT packets, and what of it stays.
#[derive(Debug)]
pub(crate) struct HandshakeSpaces {
    side: Side,
    tls: crypto::Handshake,
    initial: Option<EarlySpace>,
    handshake: Option<EarlySpace>,
    one_rtt_send: CryptoSend,
    one_rtt_receive: CryptoReceive,
    write_level: Level,
    dcid: ConnectionId,
    scid: ConnectionId,
    original_dcid: ConnectionId,
    retry_scid: Option<ConnectionId>,
    /// Whether the peer's own connection ID is known.
    peer_known: bool,
    token: Bytes,
    /// When a datagram was built last.
    last_built: Option<Instant>,
    /// Where datagrams of the handshake leave.
    pub(crate) routes: Routes,
    rtt: RttEstimator,
    pto: Pto,
    new_keys: Option<OneRttKeys>,
    peer: Option<TransportParameters>,
    complete: bool,
    confirmed: bool,
    authentication: Authentication,
    authenticated: bool,
    reset_key: ResetKey,
}

impl HandshakeSpaces {
    pub(crate) fn new(opening: Opening) -> Self {
        let Opening {
            side,
            tls,
            initial_keys,
            routes,
            dcid,
            scid,
            original_dcid,
            ..
        } = opening;
        let validated = side == Side::Client || opening.address_validated;
        Self {
            side,
            tls,
            initial: Some(EarlySpace::new(initial_keys)),
            handshake: None,
            one_rtt_send: CryptoSend::default(),
            one_rtt_receive: CryptoReceive::default(),
            write_level: Level::Initial,
            dcid,
            scid,
            original_dcid,
            retry_scid: opening.retry_scid,
            peer_known: side == Side::Server,
            token: Bytes::new(),
            last_built: None,
            routes: Routes::new(&routes, validated),
            rtt: RttEstimator::new(INITIAL_RTT),
            pto: Pto::default(),
            new_keys: None,
            peer: None,
            complete: false,
            confirmed: false,
            authenticated: !matches!(opening.authentication, Authentication::Demand(_)),
            authentication: opening.authentication,
            reset_key: opening.reset_key,
        }
    }

    /// Moves what TLS wants to say into the spaces, and installs keys.
    pub(crate) fn pump(&mut self) -> Result<(), TransportError> {
        loop {
            let mut bytes = Vec::new();
            let change = self.tls.write(&mut bytes);
            if !bytes.is_empty() {
                match self.write_level {
                    Level::Initial => {
                        if let Some(space) = &mut self.initial {
                            space.send.write(&bytes);
                        }
                    }
                    Level::Handshake => {
                        if let Some(space) = &mut self.handshake {
                            space.send.write(&bytes);
                        }
                    }
                    Level::OneRtt => self.one_rtt_send.write(&bytes),
                }
            }
            match change {
                Some(KeyChange::Handshake(keys)) => {
                    self.handshake = Some(EarlySpace::new(keys));
                    self.write_level = Level::Handshake;
                }
                Some(KeyChange::OneRtt(keys)) => {
                    self.new_keys = Some(keys);
                    self.write_level = Level::OneRtt;
                }
                None if bytes.is_empty() => break,
                None => {}
            }
        }
        if self.peer.is_none()
            && let Some(raw) = self.tls.peer_parameters()
        {
            let parameters = TransportParameters::parse(raw, self.side.peer())?;
            self.check_parameters(&parameters)?;
            self.peer = Some(parameters);
        }
        self.complete |= !self.tls.is_handshaking();
        Ok(())
    }

    /// RFC 9000 §7.3: the connection IDs of the handshake are authenticated.
    fn check_parameters(&self, parameters: &TransportParameters) -> Result<(), TransportError> {
        let wrong = || {
            Err(TransportError::transport_parameter(
                "connection IDs do not match the handshake",
            ))
        };
        if parameters.initial_source_connection_id != Some(self.dcid) {
            return wrong();
        }
        if self.side == Side::Client
            && (parameters.original_destination_connection_id != Some(self.original_dcid)
                || parameters.retry_source_connection_id != self.retry_scid)
        {
            return wrong();
        }
        if parameters.path_connection_ids.is_empty() {
            return Err(TransportError::transport_parameter(
                "no connection ID for the first path",
            ));
        }
        Ok(())
    }

    /// The space of a level whose keys are there and not yet discarded.
    pub(crate) fn space_mut(&mut self, level: Level) -> Option<&mut EarlySpace> {
        match level {
            Level::Initial => self.initial.as_mut(),
            Level::Handshake => self.handshake.as_mut(),
            Level::OneRtt => None,
        }
    }

    /// Whether a packet comes from another connection of the peer's than the first one did (RFC
    /// 9000 §7.2): copies of one Initial that arrive before and after a server forgot it make two.
    pub(crate) fn is_stranger(&self, source: &ConnectionId) -> bool {
        self.peer_known && *source != self.dcid
    }

    /// An authenticated packet of the handshake arrived from `tuple`.
    pub(crate) fn on_packet(
        &mut self,
        level: Level,
        tuple: &FourTuple,
        source: ConnectionId,
        size: usize,
    ) {
        if !self.peer_known {
            // RFC 9000 §7.2: the server chose its connection ID.
            self.dcid = source;
            self.peer_known = true;
        }
        self.routes
            .on_packet(tuple, size, level == Level::Handshake, self.side);
        if level == Level::Handshake && self.side == Side::Server {
            self.initial = None;
        }
    }

    /// A copy of a packet that was here before arrived from `tuple`, which may be the only
    /// route that works in the other direction: on one that is new, nothing was answered yet.
    pub(crate) fn on_copy(&mut self, now: Instant, level: Level, tuple: &FourTuple, size: usize) {
        let is_new = self
            .routes
            .on_packet(tuple, size, level == Level::Handshake, self.side);
        if !is_new {
            return;
        }
        for space in [&mut self.initial, &mut self.handshake]
            .into_iter()
            .flatten()
            .filter(|space| space.packets.ack_eliciting_in_flight())
        {
            space.probe(now);
        }
    }

    /// Frames of an Initial or Handshake packet.
    pub(crate) fn on_frame(
        &mut self,
        now: Instant,
        level: Level,
        frame: Frame,
    ) -> Result<(), TransportError> {
        match frame {
            Frame::Crypto(crypto) => {
                let Some(space) = self.space_mut(level) else {
                    return Ok(());
                };
                space.receive.on_received(crypto.offset, &crypto.data)?;
                self.read_tls(level)
            }
            Frame::Ack(ack) => {
                let Some(space) = self.space_mut(level) else {
                    return Ok(());
                };
                let (sample, goes_on) = space.on_ack(now, &ack)?;
                if let Some(sample) = sample {
                    self.rtt.update(now, sample, Duration::ZERO);
                }
                // A peer that answers and says nothing waits for a timeout of its own, which no
                // number of probes makes come sooner (RFC 9002 §6.2.1).
                if goes_on {
                    self.pto.on_ack();
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn read_tls(&mut self, level: Level) -> Result<(), TransportError> {
        loop {
            let chunk = match level {
                Level::Initial => self.initial.as_mut().and_then(|space| space.receive.read()),
                Level::Handshake => self
                    .handshake
                    .as_mut()
                    .and_then(|space| space.receive.read()),
                Level::OneRtt => self.one_rtt_receive.read(),
            };
            let Some(chunk) = chunk else { break };
            self.tls.read(level, &chunk)?;
        }
        self.pump()
    }

    /// TLS messages after the handshake.
    pub(crate) fn on_one_rtt_crypto(
        &mut self,
        offset: u64,
        data: &Bytes,
    ) -> Result<(), TransportError> {
        self.one_rtt_receive.on_received(offset, data)?;
        self.read_tls(Level::OneRtt)
    }

    pub(crate) fn on_one_rtt_acked(&mut self, offset: u64, length: u32) {
        self.one_rtt_send.on_acked(offset, length);
    }

    pub(crate) fn on_one_rtt_lost(&mut self, offset: u64, length: u32) {
        self.one_rtt_send.on_lost(offset, length);
    }

    pub(crate) fn has_one_rtt_crypto(&self) -> bool {
        self.one_rtt_send.has_pending()
    }

    pub(crate) fn write_one_rtt_crypto(&mut self, writer: &mut FrameWriter<'_>) {
        write_crypto(&mut self.one_rtt_send, writer);
    }

    /// The server asks for proof of our address (RFC 9000 §17.2.5).
    pub(crate) fn on_retry(
        &mut self,
        now: Instant,
        source: ConnectionId,
        token: Bytes,
        keys: crypto::Keys,
    ) {
        self.retry_scid = Some(source);
        self.dcid = source;
        self.token = token;
        if let Some(space) = &mut self.initial {
            space.restart(now, keys);
        }
        self.routes.discard();
    }

    /// Whether a Retry may be followed: once, and before anything else came.
    pub(crate) fn accepts_retry(&self) -> bool {
        self.side == Side::Client && !self.peer_known && self.retry_scid.is_none()
    }

    pub(crate) fn take_new_keys(&mut self) -> Option<OneRttKeys> {
        self.new_keys.take()
    }

    pub(crate) fn peer(&self) -> Option<&TransportParameters> {
        self.peer.as_ref()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether streams may be used: complete, and the client has proved what it must.
    pub(crate) fn is_usable(&self) -> bool {
        self.complete && self.authenticated
    }

    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    pub(crate) fn is_authenticated(&self) -> bool {
        self.authenticated
    }

    /// Both ends know that the handshake is complete: its keys go (RFC 9001 §4.9.2).
    pub(crate) fn confirm(&mut self) {
        self.confirmed = true;
        self.initial = None;
        self.handshake = None;
        self.routes.discard();
    }

    /// The proof that the client owes, from the TLS exporter.
    pub(crate) fn proof(&self) -> Result<Option<[u8; 32]>, TransportError> {
        match &self.authentication {
            Authentication::Prove(secret) => crypto::authenticate(&self.tls, secret).map(Some),
            _ => Ok(None),
        }
    }

    /// The client's proof arrived.
    pub(crate) fn on_authenticate(&mut self, mac: &[u8; 32]) -> Result<(), TransportError> {
        if self.authenticated {
            return Ok(());
        }
        if let Authentication::Demand(secret) = &self.authentication {
            crypto::verify_authentication(&self.tls, secret, mac)?;
        }
        self.authenticated = true;
        Ok(())
    }

    pub(crate) fn reset_token(&self, cid: &ConnectionId) -> [u8; 16] {
        self.reset_key.token(cid.as_slice())
    }

    pub(crate) fn peer_max_payload(&self) -> u16 {
        self.peer.as_ref().map_or(1200, |peer| {
            u16::try_from(peer.max_udp_payload_size).unwrap_or(u16::MAX)
        })
    }

    /// How long the peer may hold back an acknowledgement (RFC 9000 §18.2).
    pub(crate) fn peer_max_ack_delay(&self) -> Duration {
        let default = || TransportParameters::default().max_ack_delay;
        self.peer
            .as_ref()
            .map_or_else(default, |peer| peer.max_ack_delay)
    }

    /// The largest path ID that both ends take.
    pub(crate) fn max_path_id(&self) -> u32 {
        let peer = self.peer.as_ref();
        peer.map_or(MAX_PATH_ID, |peer| peer.max_path_id.min(MAX_PATH_ID))
    }

    pub(crate) fn rtt(&self) -> Option<Duration> {
        self.rtt.has_sample().then(|| self.rtt.smoothed())
    }

    pub(crate) fn original_dcid(&self) -> ConnectionId {
        self.original_dcid
    }
}

/// Before anything was measured: short, because a probe costs little and a lost first
/// packet would cost a PTO.
const INITIAL_RTT: Duration = Duration::from_millis(100);
