//! Where frames and acknowledgements go: to the component that they concern.

use std::time::Instant;

use mpfec_congestion::{Ack, CodingFeedback, CongestionEvent, Group};

use super::event::{Event, PathChange};
use super::lost::coding_feedback;
use super::state::CloseReason;
use super::{Connection, view};
use crate::component::Tokens;
use crate::error::TransportError;
use crate::id::Side;
use crate::path::{PathReason, RemoteCid};
use crate::recovery::{Eliciting, LossCause, Token};
use crate::wire::frame::{self, Frame};

impl Connection {
    /// One frame of a 1-RTT packet that arrived on path `id`.
    pub(super) fn on_frame(
        &mut self,
        now: Instant,
        id: u32,
        frame: Frame,
    ) -> Result<(), TransportError> {
        match frame {
            Frame::Padding | Frame::Ping => {}
            Frame::Ack(ack) => self.on_ack(now, id, &ack)?,
            Frame::Crypto(crypto) => self
                .handshake
                .on_one_rtt_crypto(crypto.offset, &crypto.data)?,
            Frame::PathChallenge(challenge) => {
                if let Some(path) = self.paths.get_mut(id) {
                    path.validation.on_challenge(challenge.data);
                }
            }
            Frame::PathResponse(response) => self.on_path_response(now, id, response.data),
            Frame::PathConnectionId(given) => {
                let remote = RemoteCid {
                    path: given.path,
                    cid: given.issued.cid,
                    reset_token: given.issued.reset_token,
                };
                self.add_remote(remote)?;
            }
            Frame::PathAbandon(abandon) => self.on_abandoned(now, abandon.path, abandon.code),
            Frame::PathStatus(status) => {
                if let Some(path) = self.paths.get_mut(status.path) {
                    path.on_peer_status(status.sequence, status.backup);
                }
            }
            Frame::PathShare(share) => {
                if let Some(path) = self.paths.get_mut(share.path) {
                    path.on_peer_share(share.sequence, share.rho());
                }
            }
            Frame::HandshakeDone => {
                if self.side == Side::Server {
                    return Err(TransportError::protocol_violation(
                        "only servers confirm the handshake",
                    ));
                }
                if !self.handshake.is_confirmed() {
                    self.handshake.confirm();
                    self.events.push_back(Event::Confirmed);
                }
                if self.control.authenticate.take().is_some() {
                    self.update_symbol_size();
                }
            }
            Frame::Authenticate(_) => {
                if self.side == Side::Client {
                    return Err(TransportError::protocol_violation(
                        "only clients prove that they hold a secret",
                    ));
                }
            }
            Frame::AddAddress(added) => {
                if self.addresses.on_add(&added)? {
                    self.events.push_back(Event::PeerAddresses);
                }
            }
            Frame::RemoveAddress(removed) => {
                if self.addresses.on_remove(&removed) {
                    self.events.push_back(Event::PeerAddresses);
                }
            }
            Frame::ParityReport(report) => self.on_parity_report(now, &report)?,
            Frame::ConnectionClose(close) => {
                self.peer_closed(now, CloseReason::PeerError(close.error))
            }
            Frame::ApplicationClose(close) => {
                let reason = String::from_utf8_lossy(&close.reason).into_owned();
                self.peer_closed(
                    now,
                    CloseReason::ApplicationClosed {
                        code: close.code,
                        reason,
                    },
                );
            }
            Frame::Datagram(datagram) => {
                if self.datagrams.on_frame(&datagram)? {
                    self.events.push_back(Event::DatagramReceived);
                }
            }
            Frame::BlockAck(_) => {
                self.streams.on_frame(now, frame)?;
                self.on_feedback();
            }
            frame => self.streams.on_frame(now, frame)?,
        }
        Ok(())
    }

    /// An acknowledgement that came back on path `via`.
    fn on_ack(&mut self, now: Instant, via: u32, ack: &frame::Ack) -> Result<(), TransportError> {
        let id = ack
            .path
            .ok_or_else(|| TransportError::protocol_violation("acknowledgement without a path"))?;
        let Some(index) = self.paths.position(id) else {
            return if self.paths.was_opened(id) {
                Ok(())
            } else {
                Err(TransportError::protocol_violation(
                    "acknowledgement on a path never opened",
                ))
            };
        };
        let mut acked = std::mem::take(&mut self.scratch.acked);
        let result = self.take_acked(now, index, via, ack, &mut acked);
        acked.clear();
        self.scratch.acked = acked;
        result
    }

    fn take_acked(
        &mut self,
        now: Instant,
        index: usize,
        via: u32,
        ack: &frame::Ack,
        acked: &mut Vec<super::AckedPacket>,
    ) -> Result<(), TransportError> {
        let started = self.started;
        let Some(path) = self.paths.at_mut(index) else {
            return Ok(());
        };
        path.space
            .on_ack(ack.ranges.iter().cloned(), ack.largest, acked)?;
        if acked.is_empty() {
            return Ok(());
        }
        let (id, slot) = (path.id, path.slot);
        if !self.is_backdated {
            let oldest = |was_lost| {
                let awaited = acked.iter().filter(|packet| packet.packet.in_flight);
                let awaited = awaited.filter(|packet| packet.was_lost == was_lost);
                awaited.map(|packet| packet.packet.sent_at).min()
            };
            let given_up = oldest(Some(LossCause::Silence));
            path.on_waited(now, given_up.or(oldest(None)), given_up);
        }
        let mut bytes = 0;
        let mut packets = 0;
        let mut sent_at = None;
        let (mut spurious, mut unheard) = (0, 0);
        let mut has_large = false;
        let (mut oldest_late, mut largest_sent_at): (Option<Instant>, _) = (None, None);
        for packet in acked.iter() {
            let sent = &packet.packet;
            if packet.packet_number == ack.largest && sent.eliciting.is_eliciting() {
                let sample = now.saturating_duration_since(sent.sent_at);
                let delay = ack.delay.min(path.peer_ack_delay(sent.eliciting));
                // With a time that is too early, a round trip may seem to take none.
                let usual = path.rtt.smoothed();
                if !self.is_backdated && path.rtt.update(now, sample, delay) {
                    path.loss.on_round_trip(path.rtt.adjusted(), usual);
                    path.rtt_route = via;
                    let at = now.saturating_duration_since(started);
                    path.took_back = path.way_back.of(at, ack);
                }
                path.received.set_rtt(path.rtt.smoothed());
                largest_sent_at = Some(sent.sent_at);
            }
            if sent.eliciting == Eliciting::Late {
                oldest_late = Some(oldest_late.map_or(sent.sent_at, |at| sent.sent_at.min(at)));
            }
            let age = now.saturating_duration_since(sent.sent_at);
            path.on_order(packet.was_lost.is_some(), packet.overtaken_by, age);
            if !sent.in_flight {
                continue;
            }
            sent_at = sent_at.max(Some(sent.sent_at));
            path.delivery
                .on_acked(now, &sent.delivery, u64::from(sent.size));
            path.counters.delivered_bytes += u64::from(sent.size);
            has_large |= path.mtu.is_large(sent.size);
            match packet.was_lost {
                Some(LossCause::Silence) => unheard += 1,
                Some(LossCause::Reordering | LossCause::Time) => spurious += 1,
                None => {
                    bytes += u64::from(sent.size);
                    packets += 1;
                }
            }
        }
        if let (Some(oldest), Some(largest)) = (oldest_late, largest_sent_at) {
            let apart = largest.saturating_duration_since(oldest);
            path.on_late_answer(apart.saturating_add(ack.delay));
        }
        path.loss.update(packets, 0);
        if let Some(estimates) = &mut path.estimates {
            let srtt = path.rtt.smoothed();
            estimates.on_acked(now, bytes, packets as u32, srtt);
        }
        path.on_spurious(spurious, unheard);
        path.on_parity_time(now);
        path.on_answer(now);
        let is_black_hole = path.mtu.on_acked(has_large, now);
        if !is_black_hole && !path.mtu.is_narrow() {
            path.count_burst(now, ack.largest);
        }
        if !path.mtu.is_narrow()
            && let Some(silent) = path.liveness.on_answer(now)
        {
            path.controller.on_return(now);
            self.announce(id, PathChange::Back, PathReason::Answered(silent));
        }
        if let Some(keys) = &mut self.keys {
            keys.on_acked(id, ack.largest);
        }
        if is_black_hole {
            self.on_mtu_changed(index);
        }
        for packet in acked.iter() {
            let was_lost = packet.was_lost.is_some();
            self.tokens_acked(now, index, &packet.packet.tokens, slot, was_lost);
        }
        self.detect_lost(now, index);
        self.on_feedback();
        if let Some(sent_at) = sent_at {
            self.inform_controller(now, index, sent_at, bytes, packets as u32);
            let counts = ack
                .ecn
                .map(|counts| (counts.ect0 + counts.ect1 + counts.ce, counts.ce));
            self.on_ecn(now, index, sent_at, packets, counts);
        }
        if let Some(path) = self.paths.at_mut(index) {
            path.space.forget_lost(now, 3 * path.rtt.pto_base());
        }
        Ok(())
    }

    /// The peer's answer to a challenge.
    fn on_path_response(&mut self, now: Instant, id: u32, answer: [u8; 8]) {
        let subflows = view::subflows(&self.paths);
        let Some(me) = self.paths.position(id) else {
            return;
        };
        let Some(path) = self.paths.at_mut(me) else {
            return;
        };
        let is_measured = path.pair.as_mut();
        if let Some(apart) = is_measured.and_then(|pair| pair.on_response(now, answer)) {
            path.pair = None;
            let group = Group {
                subflows: &subflows,
                me,
            };
            path.controller.on_packet_pair(apart, &path.rtt, &group);
        }
        if path.validation.on_response(answer) {
            self.on_path_validated(id);
        }
    }

    /// Tells congestion control what an acknowledgement brought.
    fn inform_controller(
        &mut self,
        now: Instant,
        index: usize,
        sent_at: Instant,
        bytes: u64,
        packets: u32,
    ) {
        let subflows = view::subflows(&self.paths);
        let Some(path) = self.paths.at_mut(index) else {
            return;
        };
        let rate = path.delivery.sample(now, path.rtt.min());
        let rate = rate.filter(|_| !self.is_backdated);
        if let Some(rate) =
            rate.filter(|rate| !rate.app_limited || rate.bytes_per_second > path.delivery_rate)
        {
            path.delivery_rate = smooth(path.delivery_rate, rate.bytes_per_second);
        }
        let coding = coding_feedback(path, &self.streams);
        path.controller.on_ack(&Ack {
            now,
            sent_at,
            bytes,
            packets,
            in_flight: path.space.bytes_in_flight(),
            app_limited: path.app_limit.is_limited(),
            idle: path.app_limit.take_idle(now),
            rtt: &path.rtt,
            route: path.rtt_route,
            way_back: path.took_back,
            rate,
            coding,
            group: Group {
                subflows: &subflows,
                me: index,
            },
        });
        path.losses.on_ack(
            now,
            &path.rtt,
            path.space.bytes_in_flight(),
            path.delivery_rate,
        );
        path.report_verdict();
    }

    /// Routers may have marked packets instead of dropping them (RFC 9002 §7.1).
    fn on_ecn(
        &mut self,
        now: Instant,
        index: usize,
        sent_at: Instant,
        acked: u64,
        counts: Option<(u64, u64)>,
    ) {
        let path = self.paths.at_mut(index);
        if path.is_some_and(|path| path.ecn.on_ack(acked, counts)) {
            self.on_marked(now, index, sent_at);
        }
    }

    /// The scheduler finds that a path holds up the others: its window is cut as if its oldest
    /// packet had been marked, and so at most once in a round trip.
    pub(super) fn penalise(&mut self, now: Instant, index: usize) {
        let Some(path) = self.paths.at(index) else {
            return;
        };
        tracing::debug!(path = path.id, "holds up the others");
        let oldest = path.space.oldest_unacked().unwrap_or(now);
        self.on_marked(now, index, oldest);
    }

    /// Congestion without loss on the path at `index`, of a packet that left at `sent_at`.
    fn on_marked(&mut self, now: Instant, index: usize, sent_at: Instant) {
        let subflows = view::subflows(&self.paths);
        let Some(path) = self.paths.at_mut(index) else {
            return;
        };
        path.controller.on_congestion_event(&CongestionEvent {
            now,
            sent_at,
            packets: 0,
            runs: 0,
            ecn: true,
            coding: CodingFeedback::default(),
            rtt: &path.rtt,
            group: Group {
                subflows: &subflows,
                me: index,
            },
        });
    }

    fn tokens_acked(
        &mut self,
        now: Instant,
        index: usize,
        tokens: &Tokens,
        slot: usize,
        was_lost: bool,
    ) {
        for token in tokens {
            match *token {
                Token::Symbol { .. } => self.streams.on_acked(now, token, slot, was_lost),
                Token::Ack { path, largest } => {
                    if let Some(path) = self.paths.get_mut(path) {
                        path.received.on_ack_acked(largest);
                    }
                }
                Token::Crypto { offset, length } => self.handshake.on_one_rtt_acked(offset, length),
                Token::Parity => {
                    if let Some(counters) = self.parity_counters(index) {
                        counters.acked += 1;
                        counters.lost = counters.lost.saturating_sub(was_lost.into());
                    }
                }
                Token::Datagram { number } => self.datagrams.outgoing.on_acked(number),
                Token::MtuProbe { size } => {
                    let path = self.paths.at_mut(index);
                    if path.is_some_and(|path| path.mtu.on_probe_acked(size, now)) {
                        self.on_mtu_changed(index);
                    }
                }
                _ => self.streams.on_acked(now, token, slot, was_lost),
            }
        }
    }

    /// Packets of the path may be larger, or must be smaller, from now on.
    pub(super) fn on_mtu_changed(&mut self, index: usize) {
        if let Some(path) = self.paths.at_mut(index) {
            let mtu = path.mtu.current();
            path.controller.on_mtu_update(mtu);
            path.pacer.on_mtu_update(mtu);
            let room = path.parity_room();
            if let Some(parity) = &mut path.parity {
                parity.on_mtu_update(room);
            }
        }
        self.update_symbol_size();
    }
}

/// A running mean that follows rises at once and forgets slowly.
fn smooth(old: u64, new: u64) -> u64 {
    if new >= old {
        new
    } else {
        old - (old - new) / 8
    }
}
