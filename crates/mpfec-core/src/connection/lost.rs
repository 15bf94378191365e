//! What follows when packets of a path count as lost: congestion control is told, and so are the
//! components whose frames they carried.

use std::time::Instant;

use mpfec_congestion::{CodingFeedback, CongestionEvent, Group};

use super::{Connection, LostPacket, view};
use crate::component::Tokens;
use crate::path::Path;
use crate::recovery::{Token, is_persistent_congestion};
use crate::stream::Streams;

impl Connection {
    /// Looks for packets of the path that are old or overtaken enough to count as lost.
    pub(super) fn detect_lost(&mut self, now: Instant, index: usize) {
        let mut lost = std::mem::take(&mut self.scratch.lost);
        if let Some(path) = self.paths.at_mut(index) {
            let (threshold, delay) = (path.loss_threshold(), path.loss_delay());
            path.space.detect_lost(now, threshold, delay, &mut lost);
        }
        if !lost.is_empty() {
            self.on_lost(now, index, &lost);
        }
        lost.clear();
        self.scratch.lost = lost;
        let path = self.paths.at(index);
        if path.is_some_and(|path| path.mtu.is_narrow() && !path.liveness.is_suspected()) {
            self.suspect(now, index);
        }
    }

    fn on_lost(&mut self, now: Instant, index: usize, lost: &[LostPacket]) {
        let subflows = view::subflows(&self.paths);
        let Some(path) = self.paths.at_mut(index) else {
            return;
        };
        let slot = path.slot;
        for lost in lost {
            tracing::trace!(
                path = path.id,
                packet_number = lost.packet_number,
                cause = ?lost.cause,
                "packet lost"
            );
        }
        let (mut bytes, mut packets, mut sent_at) = (0, 0, None);
        let (mut large, mut data) = (0, 0);
        for packet in lost
            .iter()
            .map(|lost| &lost.packet)
            .filter(|packet| packet.in_flight)
        {
            bytes += u64::from(packet.size);
            packets += 1;
            sent_at = sent_at.max(Some(packet.sent_at));
            large += u32::from(path.mtu.is_large(packet.size));
            data += u64::from(!packet.tokens.contains(&Token::Parity));
        }
        if let Some(parity) = &mut path.parity {
            parity.on_lost(data);
        }
        let is_black_hole = path.mtu.on_lost(large, now);
        path.counters.lost_packets += packets;
        path.loss.update(0, packets);
        let runs = path.losses.runs(lost.iter().map(|lost| lost.packet_number));
        path.loss.on_runs(lost.len() as u64, runs);
        if let Some(estimates) = &mut path.estimates {
            estimates.on_lost(packets as u32);
        }
        // Congestion control may ask what the code makes of these losses.
        for packet in lost {
            self.tokens_lost(now, index, &packet.packet.tokens, slot);
        }
        let Some(path) = self.paths.at_mut(index) else {
            return;
        };
        if let Some(sent_at) = sent_at {
            let coding = coding_feedback(path, &self.streams);
            let blamed = if coding.retransmits && path.controller.blames_fullest() {
                self.fullest_path(index, bytes)
            } else {
                index
            };
            let Some(path) = self.paths.at_mut(blamed) else {
                return;
            };
            let window = path.controller.cwnd() as f64 / f64::from(path.mtu.current());
            path.losses.on_lost(packets as u32, window);
            path.controller.on_congestion_event(&CongestionEvent {
                now,
                sent_at,
                packets: packets as u32,
                runs,
                ecn: false,
                coding,
                rtt: &path.rtt,
                group: Group {
                    subflows: &subflows,
                    me: blamed,
                },
            });
            path.report_verdict();
            let Some(path) = self.paths.at_mut(index) else {
                return;
            };
            let duration = PERSISTENT_CONGESTION_PTOS * path.pto_base();
            if is_persistent_congestion(lost, path.rtt.first_sample_at(), duration) {
                path.controller.on_persistent_congestion(now);
            }
            path.report_verdict();
        }
        if is_black_hole {
            self.on_mtu_changed(index);
        }
    }

    /// The path with most in flight before `bytes` of the one at `index` were lost.
    fn fullest_path(&self, index: usize, bytes: u64) -> usize {
        let paths = self.paths.iter().enumerate();
        let in_flight = paths.map(|(at, path)| {
            let lost = if at == index { bytes } else { 0 };
            (path.space.bytes_in_flight() + lost, at)
        });
        in_flight.max().map_or(index, |(_, at)| at)
    }

    /// What a lost packet carried, as seen from the path at `index`, if that still exists.
    pub(super) fn tokens_lost(&mut self, now: Instant, index: usize, tokens: &Tokens, slot: usize) {
        for token in tokens {
            match *token {
                Token::Symbol { .. } => self.streams.on_lost(now, token, slot),
                Token::Crypto { offset, length } => self.handshake.on_one_rtt_lost(offset, length),
                Token::Parity => {
                    if let Some(counters) = self.parity_counters(index) {
                        counters.lost += 1;
                    }
                }
                Token::MtuProbe { size } => {
                    if let Some(path) = self.paths.at_mut(index) {
                        let attempts = path.loss.improbable_run();
                        path.mtu.on_probe_lost(size, attempts, now);
                    }
                }
                Token::Datagram { number } => self.datagrams.outgoing.on_lost(now, number),
                // The next acknowledgement says the same; proofs go out with every packet.
                Token::Ack { .. } | Token::Authenticate => {}
                Token::AddAddress { .. } | Token::RemoveAddress { .. } => {
                    self.addresses.on_lost(token)
                }
                Token::HandshakeDone
                | Token::PathConnectionId { .. }
                | Token::PathAbandon { .. }
                | Token::PathStatus { .. }
                | Token::PathShare { .. } => self.control.on_lost(token),
                _ => self.streams.on_lost(now, token, slot),
            }
        }
    }
}

/// What the code makes of the path's losses, if its congestion control asks.
pub(super) fn coding_feedback(path: &Path, streams: &Streams) -> CodingFeedback {
    if path.controller.wants_coding_feedback() {
        streams.coding_feedback(path.slot)
    } else {
        CodingFeedback::default()
    }
}

/// RFC 9002 §7.6.1.
const PERSISTENT_CONGESTION_PTOS: u32 = 3;
