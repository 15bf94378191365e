//! The receiving half of a stream: blocks laid end to end, and what the application has read
//! of them.

mod reassembly;

use std::collections::BTreeMap;
use std::time::Instant;

use bytes::Bytes;
use mpfec_codec::pipeline::PipelineCode;

use super::event::ReadError;
use super::flow::{ReceiveCredit, Rounds};
use super::ready::ReadyQueue;
use crate::block::BlockReceiver;
use crate::error::TransportError;

/// What the streams of a connection share on the receiving side.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) credit: ReceiveCredit,
    /// Bytes of whole blocks that wait to be read.
    pub(super) ready: u64,
    /// How long data take that are not lost.
    pub(super) rounds: Rounds,
    /// Blocks of which something is here and that are not yet in the reader's queue.
    pub(super) pending_blocks: usize,
    /// How the peer codes its packets before they leave, if it does.
    pub(super) pipeline: Option<PipelineCode>,
}

/// One stream that the peer writes.
#[derive(Debug)]
pub(super) struct RecvStream {
    credit: ReceiveCredit,
    state: RecvState,
    /// The next block to be read, its number, and where in the stream it starts.
    head: Option<BlockReceiver>,
    head_sbn: u64,
    head_offset: u64,
    /// Blocks that came before their turn.
    later: BTreeMap<u64, BlockReceiver>,
    ready: ReadyQueue,
    final_size: Option<u64>,
    /// The peer gave the stream up when all of it was here: it has forgotten it.
    is_abandoned: bool,
    /// Whether the application waits to hear that there is something to read.
    pub(super) notify: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecvState {
    /// Data arrive and are read.
    Open,
    /// The application does not want the rest; the peer has not yet confirmed that.
    Stopped { code: u64 },
    /// The peer abandoned it; the application does not know yet.
    Reset { code: u64 },
    /// Everything was read. `known`: the peer knows; `told`: the application saw the end.
    Ended { known: bool, told: bool },
}

/// What a symbol brought about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing new.
    Redundant,
    /// A repair symbol of a block that is complete: the peer should be told so.
    Needless,
    /// Something new.
    Useful,
    /// A block was decoded: the peer should be told.
    Decoded,
    /// A block could not be decoded with K symbols: the peer should be told.
    Undecodable,
}

impl RecvStream {
    /// A stream whose window is `window` and grows to `most`.
    pub(super) fn new(window: u64, most: u64) -> Self {
        Self {
            credit: ReceiveCredit::new(window, most),
            state: RecvState::Open,
            head: None,
            head_sbn: 0,
            head_offset: 0,
            later: BTreeMap::new(),
            ready: ReadyQueue::default(),
            final_size: None,
            is_abandoned: false,
            notify: true,
        }
    }

    fn receive_up_to(&mut self, end: u64, shared: &mut Shared) -> Result<(), TransportError> {
        let new = end.saturating_sub(self.credit.received());
        self.credit.receive(new)?;
        shared.credit.receive(new)?;
        if matches!(self.state, RecvState::Stopped { .. }) {
            self.credit.consume(new);
            shared.credit.consume(new);
        }
        Ok(())
    }

    fn on_final_size(&mut self, size: u64) -> Result<(), TransportError> {
        if self.final_size.is_some_and(|known| known != size) || size < self.credit.received() {
            return Err(TransportError::final_size("the end of the stream moved"));
        }
        self.final_size = Some(size);
        Ok(())
    }

    /// STREAM_FIN.
    pub(super) fn on_fin(&mut self, size: u64, shared: &mut Shared) -> Result<(), TransportError> {
        self.on_final_size(size)?;
        // Windows bound what may be announced as well.
        self.receive_up_to(size, shared)?;
        if self.state == RecvState::Open {
            self.advance(shared)
        } else {
            Ok(())
        }
    }

    /// RESET_STREAM. Returns whether the stream can be forgotten.
    pub(super) fn on_reset(
        &mut self,
        code: u64,
        size: u64,
        shared: &mut Shared,
    ) -> Result<bool, TransportError> {
        let had_all = self.has_all();
        self.on_final_size(size)?;
        self.receive_up_to(size, shared)?;
        match self.state {
            RecvState::Stopped { .. } => Ok(true),
            RecvState::Open if !had_all => {
                self.discard(shared);
                self.state = RecvState::Reset { code };
                Ok(false)
            }
            // All of it is here, and its end was known: that is better than to know that the peer gave up.
            RecvState::Open => {
                self.is_abandoned = true;
                Ok(false)
            }
            RecvState::Reset { .. } => Ok(false),
            RecvState::Ended { told, .. } => {
                self.state = RecvState::Ended { known: true, told };
                Ok(told)
            }
        }
    }

    /// The application does not want the rest. Returns whether the peer must be told; if not,
    /// the stream can be forgotten once nothing is due to the peer.
    pub(super) fn stop(&mut self, code: u64, shared: &mut Shared) -> bool {
        match self.state {
            // Nobody is left to be told.
            RecvState::Open if self.is_abandoned => {
                self.discard(shared);
                self.state = RecvState::Ended {
                    known: true,
                    told: true,
                };
                false
            }
            RecvState::Open => {
                self.discard(shared);
                self.state = RecvState::Stopped { code };
                true
            }
            RecvState::Reset { .. } => {
                self.state = RecvState::Ended {
                    known: true,
                    told: true,
                };
                false
            }
            RecvState::Ended { known, .. } => {
                self.state = RecvState::Ended { known, told: true };
                false
            }
            RecvState::Stopped { .. } => false,
        }
    }

    fn discard(&mut self, shared: &mut Shared) {
        let unread = self.credit.received() - self.credit.consumed();
        self.credit.consume(unread);
        shared.credit.consume(unread);
        shared.pending_blocks -= self.later.len() + usize::from(self.head.is_some());
        self.head = None;
        self.later.clear();
        shared.ready = shared.ready.saturating_sub(self.ready.bytes());
        self.ready = ReadyQueue::default();
    }

    /// The next bytes, at most `max`; `None` at the end.
    pub(super) fn read(
        &mut self,
        max: usize,
        shared: &mut Shared,
    ) -> Result<Option<Bytes>, ReadError> {
        match self.state {
            RecvState::Open => {}
            RecvState::Stopped { .. } => return Err(ReadError::Closed),
            RecvState::Reset { code } => {
                self.state = RecvState::Ended {
                    known: true,
                    told: true,
                };
                return Err(ReadError::Reset(code));
            }
            RecvState::Ended { known, .. } => {
                self.state = RecvState::Ended { known, told: true };
                return Ok(None);
            }
        }
        if self.ready.is_empty()
            && let Some(chunk) = self.head.as_mut().and_then(BlockReceiver::take_ready)
        {
            shared.ready += chunk.len() as u64;
            self.ready.push(chunk);
        }
        let Some(chunk) = self.ready.take(max) else {
            if self.final_size == Some(self.credit.consumed()) {
                self.state = RecvState::Ended {
                    known: false,
                    told: true,
                };
                return Ok(None);
            }
            self.notify = true;
            return Err(ReadError::Blocked);
        };
        let bytes = chunk.len() as u64;
        shared.ready = shared.ready.saturating_sub(bytes);
        self.credit.consume(bytes);
        if self.final_size == Some(self.credit.consumed()) {
            self.state = RecvState::Ended {
                known: false,
                told: false,
            };
        }
        Ok(Some(chunk))
    }

    /// Whether a read would not be blocked.
    pub(super) fn is_readable(&self) -> bool {
        match self.state {
            RecvState::Open => {
                !self.ready.is_empty()
                    || self.head.as_ref().is_some_and(BlockReceiver::has_ready)
                    || self.final_size == Some(self.credit.consumed())
            }
            RecvState::Stopped { .. } => false,
            RecvState::Reset { .. } | RecvState::Ended { .. } => true,
        }
    }

    /// Whether everything was read, and the peer does not know for sure.
    pub(super) fn is_delivered(&self) -> bool {
        matches!(self.state, RecvState::Ended { known: false, .. })
    }

    /// The peer knows that everything was read.
    pub(super) fn on_delivery_known(&mut self) {
        if let RecvState::Ended { known, .. } = &mut self.state {
            *known = true;
        }
    }

    /// Whether neither the application nor the peer has anything left to learn of it.
    pub(super) fn is_over(&self) -> bool {
        matches!(
            self.state,
            RecvState::Ended {
                known: true,
                told: true
            }
        )
    }

    /// The code that the peer is to be told, while it has not answered.
    pub(super) fn stop_code(&self) -> Option<u64> {
        match self.state {
            RecvState::Stopped { code } => Some(code),
            _ => None,
        }
    }

    /// Whether the peer has begun to write, and has more to say.
    pub(super) fn expects_data(&self) -> bool {
        let received = self.credit.received();
        self.state == RecvState::Open && received > 0 && self.final_size != Some(received)
    }

    /// The stream's window, while it matters to the peer.
    pub(super) fn credit(&mut self) -> Option<&mut ReceiveCredit> {
        (self.state == RecvState::Open && self.final_size.is_none()).then_some(&mut self.credit)
    }

    /// Something arrived: makes the window larger if it is too small. `Some`: it is so large now.
    pub(super) fn tune(&mut self, now: Instant, rounds: Rounds) -> Option<u64> {
        let ready = self.ready.bytes();
        let credit = self.credit()?;
        credit.tune(now, rounds, ready).then(|| credit.window())
    }

    /// What a BLOCK_ACK says of a block: symbols needed beyond K, 0 if it is complete, and
    /// nothing if it is neither.
    pub(super) fn block_ack(&self, sbn: u64) -> Option<u32> {
        if sbn < self.head_sbn || matches!(self.state, RecvState::Ended { .. }) {
            return Some(0);
        }
        let block = if sbn == self.head_sbn {
            self.head.as_ref()
        } else {
            self.later.get(&sbn)
        }?;
        if block.is_complete() {
            Some(0)
        } else {
            Some(block.extra()).filter(|extra| *extra > 0)
        }
    }

    fn has_all(&self) -> bool {
        self.final_size == Some(self.head_offset)
    }
}
