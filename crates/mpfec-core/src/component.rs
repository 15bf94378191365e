//! How a component puts its frames into a packet.

use smallvec::SmallVec;

use crate::recovery::Token;

/// Tokens of one packet; nearly all data packets carry one symbol and nothing else.
pub(crate) type Tokens = SmallVec<[Token; 2]>;

/// The payload of the packet that is being built: bytes up to a limit, and a token
/// for each frame that must arrive.
#[derive(Debug)]
pub(crate) struct FrameWriter<'a> {
    buf: &'a mut Vec<u8>,
    end: usize,
    tokens: Tokens,
    ack_eliciting: bool,
}

impl<'a> FrameWriter<'a> {
    /// Writes behind what `buf` holds, up to `room` bytes.
    pub(crate) fn new(buf: &'a mut Vec<u8>, room: usize) -> Self {
        let end = buf.len() + room;
        Self { buf, end, tokens: Tokens::new(), ack_eliciting: false }
    }

    /// Bytes that still fit.
    pub(crate) fn room(&self) -> usize {
        self.end.saturating_sub(self.buf.len())
    }

    /// Where to append a frame whose size, at most [`room`](Self::room), is known.
    pub(crate) fn buf(&mut self) -> &mut Vec<u8> {
        self.buf
    }

    /// Notes a frame that must be acknowledged; `token` if it must also arrive.
    pub(crate) fn wrote(&mut self, token: Option<Token>) {
        self.ack_eliciting = true;
        self.tokens.extend(token);
    }

    /// Notes an acknowledgement: not ack-eliciting, but worth knowing when it arrived.
    pub(crate) fn wrote_ack(&mut self, token: Token) {
        self.tokens.push(token);
    }

    /// What was written: tokens, and whether the peer must acknowledge the packet.
    pub(crate) fn finish(self) -> (Tokens, bool) {
        (self.tokens, self.ack_eliciting)
    }

    /// Whether the packet so far must be acknowledged.
    pub(crate) fn is_ack_eliciting(&self) -> bool {
        self.ack_eliciting
    }
}
