//! Parity over the packets of a path: when it leaves, what it gives back, and what its fate
//! means.

use std::time::Instant;

use mpfec_congestion::{CodingFeedback, CongestionEvent, Group};
use mpfec_sched::RedundancyKind;

use super::{Connection, view};
use crate::address::Ecn;
use crate::component::FrameWriter;
use crate::error::TransportError;
use crate::parity::{ParityCounters, ParityReceiver, ParitySender, Rebuilt};
use crate::path::Path;
use crate::wire::frame::{Frame, Parity, ParityReport};

/// What a profile's paths begin with.
pub(super) fn sender(redundancy: RedundancyKind) -> Option<Box<ParitySender>> {
    match redundancy {
        RedundancyKind::ParityFixed => Some(Box::new(ParitySender::timed())),
        RedundancyKind::ParityAdaptive {
            milli_percent,
            milli_delta,
        } => Some(Box::new(ParitySender::adaptive(
            f64::from(milli_percent) / 1e5,
            f64::from(milli_delta) / 1e3,
        ))),
        _ => None,
    }
}

impl Connection {
    /// Whether a parity is to leave on the path now.
    pub(super) fn may_send_parity(&self, now: Instant, path: &Path) -> bool {
        path.is_parity_due(now) && (!path.parity_respects_window() || path.may_send(now))
    }

    /// A packet with this payload leaves, which the next parity is to cover.
    pub(super) fn cover_with_parity(
        &mut self,
        now: Instant,
        index: usize,
        packet_number: u64,
        payload: &[u8],
    ) {
        // Until the server has the client's proof it takes no packet without.
        if self.control.authenticate.is_some() {
            return;
        }
        let path = self.paths.at_mut(index);
        let Some(path) = path.filter(|path| path.validation.is_validated()) else {
            return;
        };
        let room = path.parity_room();
        if let Some(parity) = &mut path.parity {
            parity.on_sent(now, packet_number, payload, room);
        }
    }

    /// The parity that is due, alone in its packet.
    pub(super) fn write_parity(&mut self, index: usize, writer: &mut FrameWriter<'_>) {
        let path = self.paths.at_mut(index);
        if let Some(parity) = path.and_then(|path| path.parity.as_mut()) {
            parity.write(writer);
        }
    }

    /// A parity arrived on path `id` in packet `carrier`; in one that was rebuilt there can be
    /// none.
    pub(super) fn on_parity(
        &mut self,
        now: Instant,
        id: u32,
        carrier: Option<u64>,
        parity: &Parity,
    ) -> Result<(), TransportError> {
        let carrier =
            carrier.ok_or_else(|| TransportError::protocol_violation("parity over a parity"))?;
        let most = self.handshake.peer().map_or(0, |peer| peer.parity_packets);
        if parity.covered.len() > usize::from(most) {
            return Err(TransportError::protocol_violation(
                "parity over more packets than announced",
            ));
        }
        let Some(path) = self.paths.get_mut(id) else {
            return Ok(());
        };
        let received = &path.received;
        let rebuilt = path
            .rebuilder
            .get_or_insert_with(|| Box::new(ParityReceiver::new()))
            .on_parity(carrier, parity, |number| received.is_known(number))?;
        self.receive_rebuilt(now, id, rebuilt)
    }

    /// Keeps a packet that a parity may cover; with it, one that came before may be complete.
    pub(super) fn keep_for_parity(
        &mut self,
        now: Instant,
        id: u32,
        packet_number: u64,
        payload: &bytes::Bytes,
    ) -> Result<(), TransportError> {
        if self
            .handshake
            .peer()
            .is_none_or(|peer| peer.parity_packets == 0)
        {
            return Ok(());
        }
        let Some(path) = self.paths.get_mut(id) else {
            return Ok(());
        };
        let rebuilt = path
            .rebuilder
            .get_or_insert_with(|| Box::new(ParityReceiver::new()))
            .on_packet(packet_number, payload)?;
        self.receive_rebuilt(now, id, rebuilt)
    }

    /// Takes a packet that parity gave back as if it had arrived.
    fn receive_rebuilt(
        &mut self,
        now: Instant,
        id: u32,
        rebuilt: Option<Rebuilt>,
    ) -> Result<(), TransportError> {
        let Some(Rebuilt {
            packet_number,
            payload,
        }) = rebuilt
        else {
            return Ok(());
        };
        tracing::trace!(path = id, packet_number, "packet rebuilt");
        let Some(seen) = self.handle_frames(now, id, None, &payload)? else {
            return Ok(());
        };
        if let Some(path) = self.paths.get_mut(id) {
            // It counts as marked where others are: the sender compares the numbers.
            let mark = path.received.ecn().any().then_some(Ecn::Ect0);
            path.received
                .on_received(now, packet_number, seen.eliciting, mark);
        }
        Ok(())
    }

    /// What became of the parity of the path at `index`, if it sends any.
    pub(super) fn parity_counters(&mut self, index: usize) -> Option<&mut ParityCounters> {
        let parity = self.paths.at_mut(index)?.parity.as_mut()?;
        Some(&mut parity.counters)
    }

    /// Tells the peer what its parity gave back, beside acknowledgements.
    pub(super) fn write_parity_reports(&mut self, writer: &mut FrameWriter<'_>) {
        for path in self.paths.iter_mut() {
            let Some(rebuilder) = &mut path.rebuilder else {
                continue;
            };
            if writer.room() < LONGEST_REPORT {
                return;
            }
            if let Some((rebuilt, latest)) = rebuilder.report() {
                let report = ParityReport {
                    path: path.id,
                    rebuilt,
                    latest,
                };
                Frame::ParityReport(report).encode(writer.buf());
            }
        }
    }

    /// The peer says what parity gave back on a path.
    pub(super) fn on_parity_report(
        &mut self,
        now: Instant,
        report: &ParityReport,
    ) -> Result<(), TransportError> {
        let Some(index) = self.paths.position(report.path) else {
            return if self.paths.was_opened(report.path) {
                Ok(())
            } else {
                Err(TransportError::protocol_violation(
                    "report of parity on a path never opened",
                ))
            };
        };
        let subflows = view::subflows(&self.paths);
        let Some(path) = self.paths.at_mut(index) else {
            return Ok(());
        };
        let impossible =
            || TransportError::protocol_violation("report of parity that was never sent");
        let parity = path.parity.as_mut().ok_or_else(impossible)?;
        let is_news = parity.on_report(report.rebuilt).ok_or_else(impossible)?;
        if is_news && !parity.respects_window() {
            // TCP-IR: what parity gave back was lost all the same, and the window answers.
            let sent_at = path.space.sent_at(report.latest);
            // Acknowledged before: about when its answer came.
            let sent_at = sent_at
                .or_else(|| now.checked_sub(path.srtt()))
                .unwrap_or(now);
            path.controller.on_congestion_event(&CongestionEvent {
                now,
                sent_at,
                packets: 1,
                runs: 1,
                ecn: false,
                coding: CodingFeedback::default(),
                rtt: &path.rtt,
                group: Group {
                    subflows: &subflows,
                    me: index,
                },
            });
        }
        Ok(())
    }
}

/// Type and three numbers.
const LONGEST_REPORT: usize = 1 + 3 * 8;
