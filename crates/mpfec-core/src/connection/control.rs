//! Frames about the connection and its paths that must arrive and belong to no stream.

use std::collections::BTreeSet;

use super::shares::Shares;
use crate::component::FrameWriter;
use crate::recovery::Token;
use crate::wire::IssuedId;
use crate::wire::frame::{Frame, PathAbandon, PathConnectionId, PathStatus};

/// What is waiting to be sent, or sent again.
#[derive(Debug, Default)]
pub(crate) struct Control {
    pub(crate) handshake_done: bool,
    /// The proof that goes into every packet until the server has confirmed the handshake.
    pub(crate) authenticate: Option<[u8; 32]>,
    connection_ids: BTreeSet<u32>,
    /// Those of paths that are open or may be opened.
    issued: Vec<PathConnectionId>,
    abandon: BTreeSet<u32>,
    status: BTreeSet<u32>,
    /// Those of open paths.
    statuses: Vec<PathStatus>,
    pub(super) shares: Shares,
}

impl Control {
    /// A connection ID for a further path is to be sent.
    pub(crate) fn issue(&mut self, path: u32, issued: IssuedId) {
        self.issued.push(PathConnectionId { path, issued });
        self.connection_ids.insert(path);
    }

    /// The peer is to be told that a path is closed.
    pub(crate) fn abandon(&mut self, path: u32) {
        self.abandon.insert(path);
    }

    /// A path is closed: what there was to say of it no longer matters.
    pub(crate) fn forget(&mut self, path: u32) {
        self.connection_ids.remove(&path);
        self.issued.retain(|issued| issued.path != path);
        self.status.remove(&path);
        self.statuses.retain(|status| status.path != path);
        self.shares.forget(path);
    }

    /// What is kept about paths.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.issued.len() + self.statuses.len() + self.abandon.len()
    }

    /// The peer is to be told whether a path is only for backup.
    pub(crate) fn set_status(&mut self, path: u32, backup: bool) {
        let sequence = match self.statuses.iter_mut().find(|status| status.path == path) {
            Some(status) => {
                status.sequence += 1;
                status.backup = backup;
                self.status.insert(path);
                return;
            }
            None => 1,
        };
        self.statuses.push(PathStatus {
            path,
            sequence,
            backup,
        });
        self.status.insert(path);
    }

    pub(crate) fn has_frames(&self) -> bool {
        self.handshake_done
            || !self.connection_ids.is_empty()
            || !self.abandon.is_empty()
            || !self.status.is_empty()
            || self.shares.has_frames()
    }

    pub(crate) fn write(&mut self, writer: &mut FrameWriter<'_>) {
        if self.handshake_done {
            self.handshake_done = !writer.push(&Frame::HandshakeDone, Some(Token::HandshakeDone));
        }
        while let Some(path) = self.connection_ids.first().copied() {
            let frame = self.issued.iter().find(|issued| issued.path == path);
            if frame.is_some_and(|frame| {
                !writer.push(
                    &Frame::PathConnectionId(*frame),
                    Some(Token::PathConnectionId { path }),
                )
            }) {
                return;
            }
            self.connection_ids.remove(&path);
        }
        while let Some(path) = self.abandon.first().copied() {
            let frame = Frame::PathAbandon(PathAbandon {
                path,
                code: NO_CODE,
            });
            if !writer.push(&frame, Some(Token::PathAbandon { path })) {
                return;
            }
            self.abandon.remove(&path);
        }
        while let Some(path) = self.status.first().copied() {
            let frame = self.statuses.iter().find(|status| status.path == path);
            if frame.is_some_and(|frame| {
                !writer.push(&Frame::PathStatus(*frame), Some(Token::PathStatus { path }))
            }) {
                return;
            }
            self.status.remove(&path);
        }
        self.shares.write(writer);
    }

    pub(crate) fn on_lost(&mut self, token: &Token) {
        match *token {
            Token::HandshakeDone => self.handshake_done = true,
            Token::PathConnectionId { path }
                if self.issued.iter().any(|issued| issued.path == path) =>
            {
                self.connection_ids.insert(path);
            }
            Token::PathAbandon { path } => self.abandon(path),
            Token::PathStatus { path }
                if self.statuses.iter().any(|status| status.path == path) =>
            {
                self.status.insert(path);
            }
            Token::PathShare { path } => self.shares.on_lost(path),
            _ => {}
        }
    }
}

/// No other has a meaning.
const NO_CODE: u64 = 0;
