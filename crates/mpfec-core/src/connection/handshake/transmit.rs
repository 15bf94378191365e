//! The datagrams of the handshake: which packets are in one, and on which routes it leaves.

use std::time::Instant;

use super::HandshakeSpaces;
use crate::address::Transmit;
use crate::connection::early::{EarlySpace, Level, PacketIds};
use crate::connection::state::CloseFrame;
use crate::id::Side;
use crate::rng::Rng;

impl HandshakeSpaces {
    /// Writes the next datagram of the handshake.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        rng: &mut Rng,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        loop {
            if let Some(transmit) = self.routes.poll_transmit(buf) {
                return Some(transmit);
            }
            if !self.routes.may_send() || !self.build(now, rng) {
                return None;
            }
        }
    }

    /// Builds the datagram that ends the connection, with every key that the peer may have.
    pub(crate) fn write_close(&mut self, now: Instant, frame: &CloseFrame, rng: &mut Rng) {
        self.routes.discard();
        let ids = PacketIds {
            dcid: self.dcid,
            scid: self.scid,
        };
        for (level, space) in [
            (Level::Initial, &mut self.initial),
            (Level::Handshake, &mut self.handshake),
        ] {
            if let Some(space) = space {
                space.write_close(
                    now,
                    level,
                    &ids,
                    &self.token,
                    frame,
                    rng,
                    self.routes.datagram(),
                );
            }
        }
    }

    /// Builds one datagram of Initial and Handshake packets, if there is anything to say.
    fn build(&mut self, now: Instant, rng: &mut Rng) -> bool {
        let wants = |space: &Option<EarlySpace>| {
            space.as_ref().is_some_and(|space| space.wants_to_send(now))
        };
        let (initial, handshake) = (wants(&self.initial), wants(&self.handshake));
        if !initial && !handshake {
            return false;
        }
        self.last_built = Some(now);
        let out = self.routes.datagram();
        let ids = PacketIds {
            dcid: self.dcid,
            scid: self.scid,
        };
        if initial {
            let alone = !handshake;
            if let Some(space) = &mut self.initial {
                let pad = alone.then_some(DATAGRAM_SIZE);
                space.write_packet(now, Level::Initial, &ids, &self.token, pad, rng, out);
            }
        }
        if handshake && let Some(space) = &mut self.handshake {
            // A datagram with an Initial packet is padded to 1200 bytes (RFC 9000 §14.1).
            let pad = initial.then_some(DATAGRAM_SIZE);
            space.write_packet(now, Level::Handshake, &ids, &[], pad, rng, out);
            if self.side == Side::Client {
                // RFC 9001 §4.9.1.
                self.initial = None;
            }
        }
        !out.is_empty()
    }
}

pub(in crate::connection) const DATAGRAM_SIZE: usize = 1200;
