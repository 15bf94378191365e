//! How a connection begins, and what happens as the handshake gets on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::address::Addresses;
use super::control::Control;
use super::datagram::Datagrams;
use super::event::{EndpointEvent, Event, PathChange};
use super::groups::Groups;
use super::handshake::{HandshakeSpaces, Opening};
use super::state::State;
use super::view::PathViews;
use super::{ClosingSend, Connection, Scratch, Totals};
use mpfec_codec::CodecKind;

use crate::address::FourTuple;
use crate::config::TransportConfig;
use crate::error::TransportError;
use crate::id::Side;
use crate::path::{Given, LocalCid, PathReason, PathSet, RemoteCid, Validation};
use crate::rng::Rng;
use crate::stream::{MAX_PENDING_BLOCKS, StreamLimits, Streams};
use crate::wire::frame::Covered;
use crate::wire::{IssuedId, TransportParameters, varint};

impl Connection {
    /// Starts the handshake. `issued` are our connection IDs for the first paths, which the
    /// transport parameters in `opening` hold.
    pub(crate) fn new(
        now: Instant,
        config: Arc<TransportConfig>,
        rng: Rng,
        issued: &[IssuedId],
        opening: Opening,
    ) -> Self {
        let side = opening.side;
        let mut paths = PathSet::default();
        let mut endpoint_events = VecDeque::new();
        for (path, issued) in (0..).zip(issued) {
            paths.add_local(LocalCid {
                path,
                cid: issued.cid,
            });
            endpoint_events.push_back(EndpointEvent::Issued(issued.cid));
        }
        let mut connection = Self {
            side,
            rng,
            state: State::Handshaking,
            handshake: HandshakeSpaces::new(opening),
            keys: None,
            paths,
            path_views: PathViews::default(),
            streams: Streams::new(side, &config),
            scheduler: config
                .profile
                .redundancy
                .apply(config.profile.scheduler.build()),
            groups: Groups::of(&config.profile),
            datagrams: Datagrams::new(config.datagram_buffer),
            addresses: Addresses::default(),
            control: Control::default(),
            early: Vec::new(),
            closing: ClosingSend::default(),
            events: VecDeque::new(),
            endpoint_events,
            idle_timeout: config.idle_timeout,
            started: now,
            idle_since: now,
            deserted_until: None,
            is_answered: true,
            last_sent: now,
            next_path: 0,
            totals: Totals::default(),
            scratch: Scratch::default(),
            last_now: now,
            is_backdated: false,
            peer_known: false,
            tells_times: false,
            config,
        };
        if let Some(seed) = pipeline_seed(&connection.config, issued) {
            connection.streams.set_pipeline_seed(seed);
        }
        if let Err(error) = connection.handshake.pump() {
            connection.fail(now, error);
        }
        connection
    }

    /// Looks whether the handshake brought keys, parameters, or its end. `tuple` is where
    /// the last packet came from.
    pub(super) fn on_handshake_progress(
        &mut self,
        now: Instant,
        tuple: FourTuple,
    ) -> Result<(), TransportError> {
        if let Some(keys) = self.handshake.take_new_keys() {
            self.keys = Some(keys);
        }
        if !self.peer_known
            && let Some(peer) = self.handshake.peer().cloned()
        {
            self.peer_known = true;
            self.apply_parameters(&peer)?;
        }
        if self.handshake.is_complete() && self.state.is_handshaking() && self.keys.is_some() {
            self.state.establish();
            self.endpoint_events.push_back(EndpointEvent::Established);
            match self.side {
                Side::Client => self.begin_as_client(now, tuple)?,
                Side::Server => {
                    // RFC 9001 §4.1.2: the server's handshake is confirmed when complete.
                    self.handshake.confirm();
                    self.control.handshake_done = true;
                    if self.handshake.is_usable() {
                        self.on_usable(now);
                    }
                }
            }
            self.receive_early();
        }
        Ok(())
    }

    fn begin_as_client(&mut self, now: Instant, tuple: FourTuple) -> Result<(), TransportError> {
        self.control.authenticate = self.handshake.proof()?;
        self.update_symbol_size();
        let others = self.handshake.routes.besides(&tuple);
        self.begin_path(now, tuple, &[]);
        for group in &others {
            if let Some((first, alternatives)) = group.split_first() {
                self.begin_path(now, *first, alternatives);
            }
        }
        self.on_usable(now);
        Ok(())
    }

    /// Opens a path on a route of the handshake; without a challenge where the server has
    /// answered on it already.
    fn begin_path(&mut self, now: Instant, tuple: FourTuple, alternatives: &[FourTuple]) {
        let (Some(slot), Some(id)) = (self.paths.free_slot(), self.paths.next_id()) else {
            return;
        };
        let answered = self.handshake.routes.has_answered(&tuple);
        let validation = if answered {
            Validation::validated()
        } else {
            Validation::challenge(self.rng.bytes(), now, self.patience())
        };
        self.insert_path(now, id, slot, tuple, validation);
        self.set_alternatives(id, alternatives);
        if let Some(path) = self.paths.get_mut(id) {
            // So that the server learns of the path at once, whatever there is to say.
            path.probes = 1;
        }
    }

    /// Streams may be used from now on.
    pub(super) fn on_usable(&mut self, now: Instant) {
        self.update_windows(now);
        self.events.push_back(Event::Connected);
        if self.handshake.is_confirmed() {
            self.events.push_back(Event::Confirmed);
        }
        let up: Vec<u32> = self
            .paths
            .iter()
            .filter(|path| path.validation.is_validated() && !path.announced)
            .map(|path| path.id)
            .collect();
        for id in up {
            if let Some(path) = self.paths.get_mut(id) {
                path.announced = true;
            }
            self.announce(id, PathChange::Up, PathReason::Validated);
        }
    }

    fn apply_parameters(&mut self, peer: &TransportParameters) -> Result<(), TransportError> {
        self.idle_timeout = match (self.config.idle_timeout, peer.max_idle_timeout) {
            (Duration::ZERO, theirs) => theirs,
            (ours, Duration::ZERO) => ours,
            (ours, theirs) => ours.min(theirs),
        };
        self.tells_times = peer.receive_times;
        self.streams.set_peer_limits(&StreamLimits {
            max_data: peer.initial_max_data,
            bidi_local: peer.initial_max_stream_data_bidi_local,
            bidi_remote: peer.initial_max_stream_data_bidi_remote,
            uni: peer.initial_max_stream_data_uni,
            streams_bidi: peer.initial_max_streams_bidi,
            streams_uni: peer.initial_max_streams_uni,
            max_block_symbols: peer.max_block_symbols,
            max_pending_blocks: peer.max_pending_blocks,
            pipeline_seed: peer.pipeline_seed,
            max_window: peer.max_window,
        });
        for (path, issued) in (0..).zip(&peer.path_connection_ids) {
            self.add_remote(RemoteCid {
                path,
                cid: issued.cid,
                reset_token: issued.reset_token,
            })?;
        }
        Ok(())
    }

    /// Notes a connection ID of the peer's, and tells the endpoint how the peer would reset
    /// the path.
    pub(super) fn add_remote(&mut self, remote: RemoteCid) -> Result<(), TransportError> {
        match self.paths.add_remote(remote) {
            Given::New => self
                .endpoint_events
                .push_back(EndpointEvent::Expects(remote.reset_token)),
            Given::Known => {}
            Given::Refused => {
                return Err(TransportError::connection_id_limit(
                    "connection IDs that contradict each other, or too many",
                ));
            }
        }
        Ok(())
    }
}

/// Source symbols in a block of the peer's: whatever it likes, within the protocol's bound.
const MAX_BLOCK_SYMBOLS: u16 = 1024;

/// What we tell the peer about ourselves.
pub(crate) fn parameters(config: &TransportConfig, issued: &[IssuedId]) -> TransportParameters {
    TransportParameters {
        max_idle_timeout: config.idle_timeout,
        max_udp_payload_size: u64::from(config.max_mtu),
        initial_max_data: config.first_connection_window(),
        initial_max_stream_data_bidi_local: config.first_stream_window(),
        initial_max_stream_data_bidi_remote: config.first_stream_window(),
        initial_max_stream_data_uni: config.first_stream_window(),
        initial_max_streams_bidi: config.max_streams_bidi,
        initial_max_streams_uni: config.max_streams_uni,
        max_ack_delay: crate::path::MAX_ACK_DELAY,
        max_path_id: crate::path::MAX_PATH_ID,
        max_datagram_frame_size: config.datagram_buffer.min(1 << 16) as u64,
        max_block_symbols: MAX_BLOCK_SYMBOLS,
        max_pending_blocks: MAX_PENDING_BLOCKS,
        pipeline_seed: pipeline_seed(config, issued),
        path_connection_ids: issued.to_vec(),
        parity_packets: if config.profile.redundancy.is_parity() {
            Covered::MAX as u16
        } else {
            0
        },
        max_window: if config.stream_window > config.first_stream_window() {
            config.stream_window
        } else {
            0
        },
        receive_times: config.profile.congestion.heeds_way_back(),
        ..TransportParameters::default()
    }
}

/// What the coefficients of our packets follow from, if they are pipeline-coded. It is no
/// secret, and another one for each connection: part of the first connection ID.
fn pipeline_seed(config: &TransportConfig, issued: &[IssuedId]) -> Option<u64> {
    if config.profile.codec != CodecKind::Pipeline {
        return None;
    }
    let cid = issued
        .first()
        .map_or(&[][..], |issued| issued.cid.as_slice());
    let seed = cid
        .iter()
        .take(8)
        .fold(0, |seed, byte| seed << 8 | u64::from(*byte));
    Some(seed & varint::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_we_say_of_ourselves_is_what_we_do() {
        let parameters = parameters(&TransportConfig::default(), &[]);
        assert_eq!(parameters.max_path_id, crate::path::MAX_PATH_ID);
        assert_eq!(parameters.max_ack_delay, crate::path::MAX_ACK_DELAY);
        assert_eq!(parameters.max_pending_blocks, MAX_PENDING_BLOCKS);
    }
}
