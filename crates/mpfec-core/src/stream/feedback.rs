//! What became of what was sent.

use std::time::Instant;

use mpfec_congestion::CodingFeedback;

use super::control::Control;
use super::send::{SendState, Shared as Sending};
use super::{StreamEvent, Streams};
use crate::error::TransportError;
use crate::id::StreamId;
use crate::recovery::Token;

impl Streams {
    /// A frame arrived that left on the path of `slot`. `was_lost`: it had been declared lost
    /// before.
    pub(crate) fn on_acked(&mut self, _now: Instant, token: &Token, slot: usize, was_lost: bool) {
        match *token {
            Token::Symbol { stream, sbn, esi } => {
                self.on_symbol_acked(stream, sbn, esi, slot, was_lost)
            }
            Token::StreamFin { stream } => self.on_fin_known(stream),
            Token::ResetStream { stream } => {
                self.forget_send(stream);
                self.wake_writers();
            }
            Token::StreamDelivered { stream } => {
                if let Some(half) = self.recv.get_mut(&stream) {
                    half.on_delivery_known();
                    self.forget_recv_if_over(stream);
                }
            }
            _ => {}
        }
    }

    /// A frame that left on the path of `slot` was declared lost.
    pub(crate) fn on_lost(&mut self, _now: Instant, token: &Token, slot: usize) {
        if let Token::Symbol { stream, sbn, esi } = *token {
            let Some(block) = self.send.get(&stream).and_then(|stream| stream.slot(sbn)) else {
                return;
            };
            let is_stuck = self.sending.queue.with(block, |block, view| {
                block.on_lost(esi, slot, view);
                !view.closed && view.unsent == 0
            });
            self.sending.queue.note_lost(block, slot);
            if is_stuck {
                // Repair needs K, and more data may be long in coming.
                self.flush(stream);
            }
        } else if let Some(control) = Control::of(token) {
            self.pending.insert(control);
        }
    }

    /// Whether the peer has got a whole block since this was asked last.
    pub(crate) fn take_completed(&mut self) -> bool {
        std::mem::take(&mut self.has_completed)
    }

    /// Notes from now on which losses the code has not made up for.
    pub(crate) fn keep_undecoded(&mut self) {
        self.sending.queue.keep_undecoded();
    }

    /// What the code has made up for on the path of `slot`, if that is noted.
    pub(crate) fn coding_feedback(&self, slot: usize) -> CodingFeedback {
        CodingFeedback {
            undecoded: self.sending.queue.undecoded(slot),
            retransmits: self.sending.queue.has_deficits(),
            receive_window_nearly_full: self.is_peer_nearly_full(),
        }
    }

    /// Whether what has left since the peer last told of reading fills seven eighths of its
    /// window.
    fn is_peer_nearly_full(&self) -> bool {
        let Sending {
            queue,
            credit,
            symbol_size,
            ..
        } = &self.sending;
        let unsent = queue.unsent().saturating_mul(symbol_size.bytes() as u64);
        let left = credit.used().saturating_sub(unsent);
        credit.limit().saturating_sub(left) <= self.peer.max_data / 8
    }

    fn on_symbol_acked(&mut self, id: StreamId, sbn: u64, esi: u32, slot: usize, was_lost: bool) {
        let Some(block) = self.send.get(&id).and_then(|stream| stream.slot(sbn)) else {
            return;
        };
        let arrival = self.sending.queue.with(block, |block, view| {
            block.on_acked(esi, slot, was_lost, view)
        });
        self.sending.queue.note_acked(block);
        if arrival.fin {
            self.on_fin_known(id);
        }
        if arrival.complete {
            self.complete_block(id, sbn);
        }
    }

    /// The peer has a block.
    pub(super) fn complete_block(&mut self, id: StreamId, sbn: u64) {
        self.has_completed = true;
        if let Some(stream) = self.send.get_mut(&id) {
            stream.complete(sbn, &mut self.sending);
            self.finish_if_complete(id);
            self.wake_writers();
        }
    }

    /// The peer knows where a stream ends.
    fn on_fin_known(&mut self, id: StreamId) {
        if let Some(stream) = self.send.get_mut(&id)
            && let SendState::Ending { known } = &mut stream.state
        {
            *known = true;
            self.pending.remove(Control::StreamFin { stream: id });
            self.finish_if_complete(id);
        }
    }

    fn finish_if_complete(&mut self, id: StreamId) {
        let Some(stream) = self.send.get_mut(&id) else {
            return;
        };
        let SendState::Ending { known } = stream.state else {
            return;
        };
        if !stream.has_no_blocks() {
            return;
        }
        if known {
            stream.state = SendState::Finished;
            self.events.push_back(StreamEvent::Finished { stream: id });
        } else if !std::mem::replace(&mut stream.has_fin_frame, true) {
            // Symbols that told the end were lost, and others took their place.
            self.pending.insert(Control::StreamFin { stream: id });
        }
    }

    /// STREAM_DELIVERED.
    pub(super) fn on_delivered(&mut self, id: StreamId) -> Result<(), TransportError> {
        let Some(stream) = self.find_send(id)? else {
            return Ok(());
        };
        match stream.state {
            SendState::Open => {
                return Err(TransportError::protocol_violation(
                    "delivery of a stream that has not ended",
                ));
            }
            SendState::Reset { .. } => return Ok(()),
            SendState::Ending { .. } => {
                let stream = self.send.get(&id);
                if !stream.is_some_and(|stream| stream.may_be_complete(&self.sending)) {
                    return Err(TransportError::protocol_violation(
                        "delivery of data that were not sent",
                    ));
                }
                self.events.push_back(StreamEvent::Finished { stream: id });
            }
            SendState::Finished => {}
        }
        self.events.push_back(StreamEvent::Delivered { stream: id });
        self.pending.remove(Control::StreamFin { stream: id });
        self.forget_send(id);
        self.wake_writers();
        Ok(())
    }
}
