//! How a component puts its frames into a packet.

use smallvec::SmallVec;

use crate::recovery::{Eliciting, Token};
use crate::wire::frame::{Frame, PADDING};

/// Tokens of one packet; nearly all data packets carry one symbol and nothing else.
pub(crate) type Tokens = SmallVec<[Token; 2]>;

/// The payload of the packet that is being built: bytes up to a limit, and a token
/// for each frame that must arrive.
#[derive(Debug)]
pub(crate) struct FrameWriter<'a> {
    buf: &'a mut Vec<u8>,
    start: usize,
    end: usize,
    tokens: Tokens,
    eliciting: Eliciting,
    /// Whether the packet is padded in the end.
    is_padded: bool,
}

impl<'a> FrameWriter<'a> {
    /// Writes behind what `buf` holds, up to `room` bytes.
    pub(crate) fn new(buf: &'a mut Vec<u8>, room: usize) -> Self {
        let start = buf.len();
        Self {
            buf,
            start,
            end: start + room,
            tokens: Tokens::new(),
            eliciting: Eliciting::No,
            is_padded: false,
        }
    }

    /// Notes that the packet is to be [padded](Self::pad_to) in the end.
    pub(crate) fn set_padded(&mut self) {
        self.is_padded = true;
    }

    /// Makes the next `bytes` the end of the packet, for a frame that nothing may follow; padding
    /// goes in front of it then.
    pub(crate) fn end_after(&mut self, bytes: usize) {
        if self.is_padded {
            let padding = self.room().saturating_sub(bytes);
            self.buf.resize(self.buf.len() + padding, PADDING);
        }
        self.end = self.end.min(self.buf.len() + bytes);
    }

    /// A writer of its own for the next `room` bytes of the same packet.
    pub(crate) fn within(&mut self, room: usize) -> FrameWriter<'_> {
        FrameWriter::new(self.buf, room)
    }

    /// Bytes that still fit.
    pub(crate) fn room(&self) -> usize {
        self.end.saturating_sub(self.buf.len())
    }

    /// Appends a frame that must be acknowledged, and `token` if it must also arrive.
    /// Returns false, having written nothing, if it does not fit.
    pub(crate) fn push(&mut self, frame: &Frame, token: Option<Token>) -> bool {
        let fits = frame.size() <= self.room();
        if fits {
            frame.encode(self.buf);
            self.eliciting = self.eliciting.max(Eliciting::of(frame));
            self.tokens.extend(token);
        }
        fits
    }

    /// Where to append a frame whose size, at most [`room`](Self::room), is known.
    pub(crate) fn buf(&mut self) -> &mut Vec<u8> {
        self.buf
    }

    /// Notes a frame that must be acknowledged; `token` if it must also arrive.
    pub(crate) fn wrote(&mut self, token: Option<Token>) {
        self.eliciting = Eliciting::Soon;
        self.tokens.extend(token);
    }

    /// Whether the packet has a frame of this token already.
    pub(crate) fn carries(&self, token: &Token) -> bool {
        self.tokens.contains(token)
    }

    /// Notes an acknowledgement: not ack-eliciting, but worth knowing when it arrived.
    pub(crate) fn wrote_ack(&mut self, token: Token) {
        self.tokens.push(token);
    }

    /// Bytes written so far.
    pub(crate) fn written(&self) -> usize {
        self.buf.len() - self.start
    }

    /// Fills up to `size` bytes with PADDING.
    pub(crate) fn pad_to(&mut self, size: usize) {
        if self.written() < size {
            self.buf.resize(self.start + size, PADDING);
        }
    }

    /// Whether anything behind the first `skip` bytes must be acknowledged.
    pub(crate) fn asks_for_answer(&self, skip: usize) -> bool {
        self.is_ack_eliciting() && self.written() > skip
    }

    /// What was written: tokens, and whether the peer must acknowledge the packet and how soon.
    pub(crate) fn finish(self) -> (Tokens, Eliciting) {
        (self.tokens, self.eliciting)
    }

    /// Whether the packet so far must be acknowledged.
    pub(crate) fn is_ack_eliciting(&self) -> bool {
        self.eliciting.is_eliciting()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::StreamId;
    use crate::wire::frame::BlockAck;

    /// The soonest frame counts, and acknowledgements ask for nothing.
    #[test]
    fn a_packet_may_be_acknowledged_late_if_it_only_tells_of_complete_blocks() {
        let block_ack = |missing| {
            Frame::BlockAck(BlockAck {
                stream: StreamId(0),
                sbn: 0,
                missing,
            })
        };
        let written = |frames: &[Frame]| {
            let mut buf = Vec::new();
            let mut writer = FrameWriter::new(&mut buf, 100);
            writer.wrote_ack(Token::Ack {
                path: 0,
                largest: 0,
            });
            for frame in frames {
                assert!(writer.push(frame, None));
            }
            writer.finish().1
        };
        assert_eq!(written(&[]), Eliciting::No);
        assert_eq!(written(&[block_ack(0), block_ack(0)]), Eliciting::Late);
        assert_eq!(written(&[block_ack(0), block_ack(1)]), Eliciting::Soon);
        assert_eq!(written(&[Frame::Ping, block_ack(0)]), Eliciting::Soon);
    }
}
