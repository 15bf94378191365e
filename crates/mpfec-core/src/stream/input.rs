//! What the peer says about streams.

use std::time::Instant;

use super::control::Control;
use super::recv::{Effect, RecvStream};
use super::send::SendStream;
use super::{MAX_PENDING_BLOCKS, StreamEvent, Streams};
use crate::error::TransportError;
use crate::id::{Dir, StreamId};
use crate::wire::frame::{
    BlockAck, Frame, MaxStreamData, ResetStream, StopSending, StreamFin, Symbol,
};

impl Streams {
    /// A frame about streams.
    pub(crate) fn on_frame(&mut self, now: Instant, frame: Frame) -> Result<(), TransportError> {
        let ty = frame.ty();
        self.dispatch(now, frame)
            .map_err(|error| error.in_frame(ty))
    }

    fn dispatch(&mut self, now: Instant, frame: Frame) -> Result<(), TransportError> {
        match frame {
            Frame::Symbol(symbol) => self.on_symbol(now, &symbol),
            Frame::BlockAck(ack) => self.on_block_ack(ack),
            Frame::MaxData(limit) => {
                if self.sending.credit.raise(limit) {
                    self.wake_writers();
                }
                Ok(())
            }
            Frame::MaxStreamData(MaxStreamData { stream, limit }) => {
                if self
                    .find_send(stream)?
                    .is_some_and(|stream| stream.credit.raise(limit))
                {
                    self.wake_writers();
                }
                Ok(())
            }
            Frame::MaxStreams(max) => {
                self.raise_streams(max.dir, max.limit);
                Ok(())
            }
            Frame::StreamFin(fin) => self.on_stream_fin(fin),
            Frame::ResetStream(reset) => self.on_reset_stream(reset),
            Frame::StopSending(stop) => self.on_stop_sending(stop),
            Frame::StreamDelivered(delivered) => self.on_delivered(delivered.stream),
            Frame::DataBlocked(limit) => {
                if self.receiving.credit.on_blocked(limit) {
                    self.pending.insert(Control::MaxData);
                }
                Ok(())
            }
            Frame::StreamDataBlocked(blocked) => {
                let stream = self.find_recv(blocked.stream)?;
                if stream
                    .and_then(RecvStream::credit)
                    .is_some_and(|credit| credit.has_more())
                {
                    self.pending.insert(Control::MaxStreamData {
                        stream: blocked.stream,
                    });
                }
                Ok(())
            }
            Frame::StreamsBlocked(blocked) => {
                if self.remote.get_mut(blocked.dir).has_more() {
                    self.pending
                        .insert(Control::MaxStreams { dir: blocked.dir });
                }
                Ok(())
            }
            _ => Err(TransportError::internal("frame that is not about streams")),
        }
    }

    fn on_symbol(&mut self, now: Instant, symbol: &Symbol) -> Result<(), TransportError> {
        let (id, bytes) = (symbol.stream, symbol.payload.len() as u64);
        self.stats.received_symbols += 1;
        self.stats.received_bytes += bytes;
        if !self.recv.contains_key(&id) && self.find_recv(id)?.is_none() {
            // Late symbol of a stream that is over.
            self.count_redundant(bytes);
            return Ok(());
        }
        let Some(stream) = self.recv.get_mut(&id) else {
            return Ok(());
        };
        let effect = stream.on_symbol(symbol, &mut self.receiving, MAX_PENDING_BLOCKS as usize)?;
        let notify = stream.notify;
        self.tune_windows(now, id);
        if notify {
            self.wake_reader(id);
        }
        match effect {
            Effect::Useful => {}
            Effect::Redundant => self.count_redundant(bytes),
            Effect::Needless => {
                self.count_redundant(bytes);
                self.pending.insert(Control::BlockAck {
                    stream: id,
                    sbn: symbol.sbn,
                });
            }
            Effect::Decoded => {
                self.stats.decoded_blocks += 1;
                self.pending.insert(Control::BlockAck {
                    stream: id,
                    sbn: symbol.sbn,
                });
            }
            Effect::Undecodable => self.pending.insert(Control::BlockAck {
                stream: id,
                sbn: symbol.sbn,
            }),
        }
        self.tell_credit();
        Ok(())
    }

    /// Makes the windows of a stream and of the connection larger where they hold the peer back.
    fn tune_windows(&mut self, now: Instant, id: StreamId) {
        let Self {
            recv,
            receiving,
            pending,
            ..
        } = self;
        let (rounds, ready) = (receiving.rounds, receiving.ready);
        let stream = recv
            .get_mut(&id)
            .and_then(|stream| stream.tune(now, rounds));
        let mut has_grown = receiving.credit.tune(now, rounds, ready);
        if let Some(window) = stream {
            pending.insert(Control::MaxStreamData { stream: id });
            // A stream alone is to use all of its window.
            has_grown |= receiving.credit.widen(window.saturating_add(window / 2));
        }
        if has_grown {
            pending.insert(Control::MaxData);
        }
    }

    /// Data of stopped streams count as read: whoever waits for room in the connection is told of it.
    pub(super) fn tell_credit(&mut self) {
        if self.receiving.credit.is_update_due() || self.receiving.credit.owes_rest() {
            self.pending.insert(Control::MaxData);
        }
    }

    fn count_redundant(&mut self, bytes: u64) {
        self.stats.redundant_symbols += 1;
        self.stats.redundant_bytes += bytes;
    }

    fn on_stream_fin(&mut self, fin: StreamFin) -> Result<(), TransportError> {
        self.find_recv(fin.stream)?;
        if let Some(stream) = self.recv.get_mut(&fin.stream) {
            stream.on_fin(fin.final_size, &mut self.receiving)?;
            self.wake_reader(fin.stream);
        }
        self.tell_credit();
        Ok(())
    }

    fn on_reset_stream(&mut self, reset: ResetStream) -> Result<(), TransportError> {
        self.find_recv(reset.stream)?;
        let Some(stream) = self.recv.get_mut(&reset.stream) else {
            return Ok(());
        };
        let is_over = stream.on_reset(reset.code, reset.final_size, &mut self.receiving)?;
        if is_over {
            self.forget_recv(reset.stream);
        } else {
            self.wake_reader(reset.stream);
        }
        self.tell_credit();
        Ok(())
    }

    fn on_block_ack(&mut self, ack: BlockAck) -> Result<(), TransportError> {
        self.find_send(ack.stream)?;
        let Some(stream) = self.send.get_mut(&ack.stream) else {
            return Ok(());
        };
        if ack.sbn >= stream.next_sbn() {
            return Err(TransportError::protocol_violation(
                "acknowledgement of a block never sent",
            ));
        }
        let Some(slot) = stream.slot(ack.sbn) else {
            return Ok(());
        };
        let (block, view) = self.sending.queue.get(slot);
        if !block.may_be_decoded(view) {
            return Err(TransportError::protocol_violation(
                "acknowledgement of a block that was not sent",
            ));
        }
        if ack.missing > 0 {
            self.sending
                .queue
                .with(slot, |block, view| block.set_extra(ack.missing, view));
        } else {
            self.complete_block(ack.stream, ack.sbn);
        }
        Ok(())
    }

    fn on_stop_sending(&mut self, stop: StopSending) -> Result<(), TransportError> {
        let Some(stream) = self.find_send(stop.stream)? else {
            return Ok(());
        };
        if !matches!(stream.state, super::SendState::Reset { .. }) {
            self.abandon(stop.stream, stop.code, true);
            self.events.push_back(StreamEvent::Stopped {
                stream: stop.stream,
                code: stop.code,
            });
        }
        Ok(())
    }

    /// The half that we write of a stream that the peer speaks of; `None` if it is over.
    pub(super) fn find_send(
        &mut self,
        id: StreamId,
    ) -> Result<Option<&mut SendStream>, TransportError> {
        if id.dir() == Dir::Uni && id.initiator() != self.side {
            return Err(TransportError::stream_state(
                "only the peer writes to this stream",
            ));
        }
        self.open_for_peer(id)?;
        Ok(self.send.get_mut(&id))
    }

    /// The half that the peer writes of a stream that it speaks of; `None` if it is over.
    fn find_recv(&mut self, id: StreamId) -> Result<Option<&mut RecvStream>, TransportError> {
        if id.dir() == Dir::Uni && id.initiator() == self.side {
            return Err(TransportError::stream_state(
                "the peer does not write to this stream",
            ));
        }
        self.open_for_peer(id)?;
        Ok(self.recv.get_mut(&id))
    }

    /// Checks that a stream exists or existed. One that the peer may open comes into being
    /// with all before it (RFC 9000 §3.2).
    fn open_for_peer(&mut self, id: StreamId) -> Result<(), TransportError> {
        if id.initiator() == self.side {
            return if id.index() < self.local.of(id).opened {
                Ok(())
            } else {
                Err(TransportError::stream_state("stream that was never opened"))
            };
        }
        let remote = self.remote.of(id);
        if id.index() < remote.opened {
            return Ok(());
        }
        if id.index() >= remote.limit() {
            return Err(TransportError::stream_limit(
                "more streams than were allowed",
            ));
        }
        let first = remote.opened;
        remote.open_up_to(id.index());
        for index in first..=id.index() {
            let id = StreamId::new(self.side.peer(), id.dir(), index);
            self.recv.insert(id, self.window.stream());
            if id.dir() == Dir::Bi {
                self.send
                    .insert(id, SendStream::new(id, self.peer.bidi_local));
            }
        }
        Ok(())
    }
}
