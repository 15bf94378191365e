//! What leaves: symbols as the scheduler places them, and frames about streams.

use std::time::{Duration, Instant};

use mpfec_sched::{BlockView, SymbolKind};

use super::Streams;
use super::control::Control;
use super::send::{Obstacle, SendState};
use crate::block::BlockSender;
use crate::component::FrameWriter;
use crate::wire::frame::{
    BlockAck, Frame, MaxStreamData, MaxStreams, ResetStream, StopSending, StreamDataBlocked,
    StreamDelivered, StreamFin, StreamsBlocked,
};

impl Streams {
    /// Blocks that the peer does not fully have, in delivery order.
    pub(crate) fn blocks(&self) -> &[BlockView] {
        self.sending.queue.views()
    }

    /// Changes with every change of the blocks by feedback, loss or new data.
    pub(crate) fn version(&self) -> u64 {
        self.sending.queue.version()
    }

    /// Whether more data wait for room in the buffer.
    pub(crate) fn writer_blocked(&self) -> bool {
        self.writers.by_buffer()
    }

    /// Whether more data wait for the peer's permission. What is in blocks may leave all the
    /// same: it has been counted.
    pub(crate) fn window_closed(&self) -> bool {
        self.writers.by_window()
    }

    /// Symbols that the peer's flow control and the send buffers let be on their way at once.
    pub(crate) fn window_symbols(&self) -> u64 {
        let peer = &self.peer;
        let of_stream = peer.bidi_local.max(peer.bidi_remote).max(peer.uni);
        // Windows that grow do so where that is what paths wait for.
        let of_stream = of_stream.max(peer.max_window).min(self.sending.most_buffer);
        let streams = self.send.len().max(1) as u64;
        let bytes = peer
            .max_data
            .max(peer.max_window)
            .min(of_stream.saturating_mul(streams));
        bytes / self.sending.symbol_size.bytes() as u64
    }

    /// Whether there are source symbols that never left.
    pub(crate) fn has_unsent(&self) -> bool {
        self.sending.queue.unsent() > 0
    }

    /// Whether the peer may lack something of what was written, sent or not.
    pub(crate) fn has_undelivered(&self) -> bool {
        self.sending.queue.buffered() > 0
    }

    /// Whether a symbol could leave now that the peer needs: unsent, or in place of a lost one.
    pub(crate) fn has_work(&self) -> bool {
        self.sending.queue.has_work()
    }

    /// Ends open blocks of which everything has left, so that what is lost of them can be
    /// repaired. Returns whether there were any. Those that the peer's next credit fills stay
    /// open for up to `patience` after their first symbol left.
    pub(crate) fn close_idle_blocks(&mut self, now: Instant, patience: Duration) -> bool {
        let (send, sending, open) = (&mut self.send, &mut self.sending, &mut self.open_blocks);
        let before = open.len();
        let mut next: Option<Instant> = None;
        open.retain(|id| {
            let Some(stream) = send.get_mut(id) else {
                return false;
            };
            if let Some(until) = stream.keeps_open_until(patience, sending)
                && now < until
            {
                next = Some(next.map_or(until, |at| at.min(until)));
                return true;
            }
            !(stream.has_idle_block(sending) && stream.close_block(sending))
        });
        self.next_block_close = next;
        let has_closed = open.len() < before;
        if has_closed {
            self.wake_writers();
        }
        has_closed
    }

    /// When [`close_idle_blocks`](Self::close_idle_blocks) has a block to end that waits for
    /// credit now.
    pub(crate) fn next_block_close(&self) -> Option<Instant> {
        self.next_block_close
    }

    /// Appends a symbol of `blocks()[block]` for the path of `slot`. `None` if there is none of
    /// that kind or it does not fit.
    pub(crate) fn write_symbol(
        &mut self,
        now: Instant,
        block: usize,
        kind: SymbolKind,
        slot: usize,
        writer: &mut FrameWriter<'_>,
    ) -> Option<()> {
        let is_coded = self.is_coded(slot);
        self.send_from(block, writer, |block, view, writer| {
            block.write(now, kind, slot, is_coded, writer, view)
        })
    }

    /// Appends a symbol of the first block that the peer may want more of, for a path that is to
    /// answer. `None` if everything that it wants is on its way on other paths, where nothing
    /// speaks for a loss: one more would be redundancy that nobody asked for.
    pub(crate) fn write_probe(
        &mut self,
        now: Instant,
        slot: usize,
        writer: &mut FrameWriter<'_>,
    ) -> Option<()> {
        let queue = &self.sending.queue;
        let wanting = (0..queue.views().len()).find(|index| {
            let block = queue.slot_at(*index).map(|slot| queue.get(slot));
            block.is_some_and(|(block, view)| view.source_symbols > 0 && block.is_wanting(view))
        })?;
        let view = queue.views().get(wanting)?;
        let is_on_path = view.in_flight.get(slot).is_some_and(|count| *count > 0);
        if view.unsent == 0 && view.deficit() == 0 && !is_on_path {
            return None;
        }
        let is_coded = self.is_coded(slot);
        self.send_from(wanting, writer, |block, view, writer| {
            block.write_probe(now, slot, is_coded, writer, view)
        })
    }

    /// Whether the path of `slot` carries combinations where a batch is coded.
    fn is_coded(&self, slot: usize) -> bool {
        u32::try_from(slot)
            .ok()
            .and_then(|slot| self.sending.coded_slots.checked_shr(slot))
            .is_some_and(|bits| bits & 1 != 0)
    }

    fn send_from(
        &mut self,
        index: usize,
        writer: &mut FrameWriter<'_>,
        write: impl FnOnce(&mut BlockSender, &mut BlockView, &mut FrameWriter<'_>) -> Option<()>,
    ) -> Option<()> {
        let slot = self.sending.queue.slot_at(index)?;
        let room = writer.room();
        let (id, was_sent, unsent, sent, furthest, is_late, closed, is_done) =
            self.sending.queue.send(slot, |block, view| {
                let (was_sent, unsent, sent) =
                    (view.first_sent.is_some(), view.unsent, block.sent());
                let was_closed = view.closed;
                let is_late = view.unsent == 0 && view.deficit() > 0;
                write(block, view, writer)?;
                // Of an open block that waits for data, nothing could be repaired.
                let is_stuck = !view.closed && view.unsent == 0 && view.deficit() > 0;
                let closed = (!was_closed && view.closed, is_stuck);
                let furthest = block.origin().offset + block.sent().source_bytes;
                let sent = block.sent().since(&sent);
                Some((
                    block.origin().stream,
                    was_sent,
                    unsent - view.unsent,
                    sent,
                    furthest,
                    is_late,
                    closed,
                    unsent > 0 && view.unsent == 0,
                ))
            })?;
        debug_assert!(writer.room() < room);
        match closed {
            (true, _) => {
                self.open_blocks.remove(&id);
                if let Some(stream) = self.send.get_mut(&id) {
                    stream.on_block_closed();
                }
            }
            (false, true) => self.flush(id),
            (false, false) => {}
        }
        if is_done && self.sending.is_low() {
            self.wake_writers();
        }
        self.stats.blocks_sent += u64::from(!was_sent);
        self.stats.sent_source_symbols += u64::from(unsent);
        self.stats.sent_stream_bytes += sent.source_bytes;
        self.stats.furthest_sent_byte = self.stats.furthest_sent_byte.max(furthest);
        self.stats.sent_repair_symbols += u64::from(sent.repairs);
        self.stats.sent_coefficient_bytes += sent.coefficients;
        self.stats.late_symbols += u64::from(is_late);
        self.stats.resent_symbols += u64::from(unsent == 0 && sent.repairs == 0);
        Some(())
    }

    /// Whether frames about streams wait.
    pub(crate) fn has_control(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Appends frames about streams, urgent ones first, as many as fit.
    pub(crate) fn write_control(&mut self, writer: &mut FrameWriter<'_>) {
        while let Some(control) = self.pending.first() {
            if writer.room() < MAX_FRAME {
                return;
            }
            self.pending.remove(control);
            if let Some(frame) = self.frame(control) {
                writer.push(&frame, Some(control.token()));
            }
        }
    }

    /// The frame as it is to be now; `None` if there is nothing left to say.
    fn frame(&mut self, control: Control) -> Option<Frame> {
        Some(match control {
            Control::BlockAck { stream, sbn } => {
                let missing = self.recv.get(&stream)?.block_ack(sbn)?;
                Frame::BlockAck(BlockAck {
                    stream,
                    sbn,
                    missing,
                })
            }
            Control::MaxData => Frame::MaxData(self.receiving.credit.advertise()),
            Control::MaxStreamData { stream } => {
                let limit = self.recv.get_mut(&stream)?.credit()?.advertise();
                Frame::MaxStreamData(MaxStreamData { stream, limit })
            }
            Control::StreamFin { stream } => {
                let half = self.send.get(&stream)?;
                if half.state != (SendState::Ending { known: false }) {
                    return None;
                }
                Frame::StreamFin(StreamFin {
                    stream,
                    final_size: half.credit.used(),
                })
            }
            Control::ResetStream { stream } => {
                let half = self.send.get(&stream)?;
                let SendState::Reset { code, .. } = half.state else {
                    return None;
                };
                Frame::ResetStream(ResetStream {
                    stream,
                    code,
                    final_size: half.credit.used(),
                })
            }
            Control::StopSending { stream } => {
                let code = self.recv.get(&stream)?.stop_code()?;
                Frame::StopSending(StopSending { stream, code })
            }
            Control::StreamDelivered { stream } => {
                self.recv.get(&stream).filter(|half| half.is_delivered())?;
                Frame::StreamDelivered(StreamDelivered { stream })
            }
            Control::MaxStreams { dir } => Frame::MaxStreams(MaxStreams {
                dir,
                limit: self.remote.get_mut(dir).advertise(),
            }),
            Control::StreamsBlocked { dir } => {
                let local = self.local.get_mut(dir);
                if !local.is_blocked {
                    return None;
                }
                Frame::StreamsBlocked(StreamsBlocked {
                    dir,
                    limit: local.limit,
                })
            }
            Control::DataBlocked => {
                if !self.writers.has(Obstacle::ConnectionWindow) {
                    return None;
                }
                Frame::DataBlocked(self.sending.credit.limit())
            }
            Control::StreamDataBlocked { stream } => {
                if self.writers.obstacle(stream) != Some(Obstacle::StreamWindow) {
                    return None;
                }
                let limit = self.send.get(&stream)?.credit.limit();
                Frame::StreamDataBlocked(StreamDataBlocked { stream, limit })
            }
        })
    }
}

/// No frame about streams is longer.
const MAX_FRAME: usize = 1 + 3 * 8;
