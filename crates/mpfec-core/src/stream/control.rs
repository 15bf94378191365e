//! Frames about streams that wait to be sent, or sent again.

use std::collections::BTreeSet;

use crate::id::{Dir, StreamId};
use crate::recovery::Token;

/// A frame that is due. What it says is looked up when it is written, so that a repetition
/// tells the present; one that has become pointless is left out then. Urgent ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Control {
    BlockAck { stream: StreamId, sbn: u64 },
    MaxData,
    MaxStreamData { stream: StreamId },
    StreamFin { stream: StreamId },
    ResetStream { stream: StreamId },
    StopSending { stream: StreamId },
    StreamDelivered { stream: StreamId },
    MaxStreams { dir: Dir },
    StreamsBlocked { dir: Dir },
    DataBlocked,
    StreamDataBlocked { stream: StreamId },
}

impl Control {
    /// What recovery keeps of it.
    pub(super) fn token(self) -> Token {
        match self {
            Self::BlockAck { stream, sbn } => Token::BlockAck { stream, sbn },
            Self::MaxData => Token::MaxData,
            Self::MaxStreamData { stream } => Token::MaxStreamData { stream },
            Self::StreamFin { stream } => Token::StreamFin { stream },
            Self::ResetStream { stream } => Token::ResetStream { stream },
            Self::StopSending { stream } => Token::StopSending { stream },
            Self::StreamDelivered { stream } => Token::StreamDelivered { stream },
            Self::MaxStreams { dir } => Token::MaxStreams { dir },
            Self::StreamsBlocked { dir } => Token::StreamsBlocked { dir },
            Self::DataBlocked => Token::DataBlocked,
            Self::StreamDataBlocked { stream } => Token::StreamDataBlocked { stream },
        }
    }

    /// What was lost, if it was a frame of this kind.
    pub(super) fn of(token: &Token) -> Option<Self> {
        Some(match *token {
            Token::BlockAck { stream, sbn } => Self::BlockAck { stream, sbn },
            Token::MaxData => Self::MaxData,
            Token::MaxStreamData { stream } => Self::MaxStreamData { stream },
            Token::StreamFin { stream } => Self::StreamFin { stream },
            Token::ResetStream { stream } => Self::ResetStream { stream },
            Token::StopSending { stream } => Self::StopSending { stream },
            Token::StreamDelivered { stream } => Self::StreamDelivered { stream },
            Token::MaxStreams { dir } => Self::MaxStreams { dir },
            Token::StreamsBlocked { dir } => Self::StreamsBlocked { dir },
            Token::DataBlocked => Self::DataBlocked,
            Token::StreamDataBlocked { stream } => Self::StreamDataBlocked { stream },
            _ => return None,
        })
    }
}

/// What waits, each frame once.
#[derive(Debug, Default)]
pub(super) struct Pending {
    frames: BTreeSet<Control>,
}

impl Pending {
    /// Adds a frame. What a peer can make us say without bound are acknowledgements of
    /// blocks: an honest one never has more blocks than [`MAX_FRAMES`] waiting for them, so the
    /// oldest gives way to a new one.
    pub(super) fn insert(&mut self, control: Control) {
        let is_block_ack = |control: &Control| matches!(control, Control::BlockAck { .. });
        if self.frames.len() >= MAX_FRAMES
            && is_block_ack(&control)
            && self.frames.first().is_some_and(is_block_ack)
        {
            self.frames.pop_first();
        }
        self.frames.insert(control);
    }

    pub(super) fn remove(&mut self, control: Control) {
        self.frames.remove(&control);
    }

    pub(super) fn first(&self) -> Option<Control> {
        self.frames.first().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

const MAX_FRAMES: usize = 1 << 15;
