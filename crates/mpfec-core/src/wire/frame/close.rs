//! The connection is over (RFC 9000 §19.19).

use std::borrow::Cow;

use bytes::Bytes;

use super::{APPLICATION_CLOSE, CONNECTION_CLOSE, Frame};
use crate::error::TransportError;
use crate::wire::reader::{Malformed, Reader};
use crate::wire::varint;

/// The transport closes the connection, usually because the peer did something wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConnectionClose {
    pub(crate) error: TransportError,
}

impl ConnectionClose {
    /// The frame for `error`, with as much of its reason as fits into `room` bytes together;
    /// with none it takes 18 bytes at most.
    pub(crate) fn within(error: &TransportError, room: usize) -> Frame {
        let fixed = 1 + varint::size(error.code) + varint::size(error.frame);
        let reason = cut(&error.reason, room.saturating_sub(fixed)).to_owned();
        let error = TransportError {
            reason: Cow::Owned(reason),
            ..*error
        };
        Frame::ConnectionClose(Self { error })
    }

    /// Bytes of a reason that are not UTF-8 are replaced: it is for people.
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (code, frame, len) = (reader.varint()?, reader.varint()?, reader.varint()?);
        let reason = String::from_utf8_lossy(reader.slice(len)?).into_owned();
        Ok(Self {
            error: TransportError {
                code,
                frame,
                reason: Cow::Owned(reason),
            },
        })
    }

    /// Bytes that [`encode`](Self::encode) appends.
    pub(crate) fn size(&self) -> usize {
        let TransportError {
            code,
            frame,
            reason,
        } = &self.error;
        1 + varint::size(*code) + varint::size(*frame) + reason_size(reason.len())
    }

    /// Appends the frame.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(CONNECTION_CLOSE);
        varint::encode(self.error.code, out);
        varint::encode(self.error.frame, out);
        encode_reason(self.error.reason.as_bytes(), out);
    }
}

/// The application closes the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApplicationClose {
    /// The application's code.
    pub(crate) code: u64,
    /// The application's words; of a peer's, any bytes.
    pub(crate) reason: Bytes,
}

impl ApplicationClose {
    /// The frame, with as much of `reason` as fits into `room` bytes together; with none it
    /// takes 10 bytes at most.
    pub(crate) fn within(code: u64, reason: &str, room: usize) -> Frame {
        let reason = cut(reason, room.saturating_sub(1 + varint::size(code)));
        Frame::ApplicationClose(Self {
            code,
            reason: Bytes::copy_from_slice(reason.as_bytes()),
        })
    }

    pub(super) fn parse(payload: &Bytes, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (code, len) = (reader.varint()?, reader.varint()?);
        Ok(Self {
            code,
            reason: payload.slice(reader.span(len)?),
        })
    }

    /// Bytes that [`encode`](Self::encode) appends.
    pub(crate) fn size(&self) -> usize {
        1 + varint::size(self.code) + reason_size(self.reason.len())
    }

    /// Appends the frame.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(APPLICATION_CLOSE);
        varint::encode(self.code, out);
        encode_reason(&self.reason, out);
    }
}

/// The longest start of `reason` that, with its length, fits into `room` bytes.
fn cut(reason: &str, room: usize) -> &str {
    let length_size = varint::size(reason.len().min(room) as u64);
    let mut end = reason.len().min(room.saturating_sub(length_size));
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason[..end]
}

fn reason_size(len: usize) -> usize {
    varint::size(len as u64) + len
}

fn encode_reason(reason: &[u8], out: &mut Vec<u8>) {
    varint::encode(reason.len() as u64, out);
    out.extend_from_slice(reason);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_cut_to_the_room_and_never_within_a_character() {
        let reason = "zu groß für dieses Paket: ".repeat(40);
        for room in 18..reason.len() + 20 {
            let error = TransportError::protocol_violation(reason.clone()).in_frame(0x38);
            for frame in [
                ConnectionClose::within(&error, room),
                ApplicationClose::within(7, &reason, room),
            ] {
                assert!(frame.size() <= room, "{} bytes in {room}", frame.size());
                let mut out = Vec::new();
                frame.encode(&mut out);
                assert_eq!(out.len(), frame.size());
                assert!(
                    room - out.len() < 6 || out.len() > reason.len(),
                    "{} of {room} used",
                    out.len()
                );
            }
        }
    }

    #[test]
    fn without_room_the_codes_still_go() {
        let error = TransportError::internal("long words");
        let Frame::ConnectionClose(close) = ConnectionClose::within(&error, 0) else {
            panic!("a close frame")
        };
        assert_eq!((close.error.code, &*close.error.reason), (1, ""));
    }
}
