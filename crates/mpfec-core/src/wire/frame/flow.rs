//! How much data and how many streams the peer may send (RFC 9000 §4, §19.9 to §19.14).

use super::field::{Field, plain_frame};
use super::{MAX_STREAM_DATA, MAX_STREAMS_BIDI, STREAM_DATA_BLOCKED, STREAMS_BLOCKED_BIDI};
use crate::id::{Dir, StreamId};
use crate::wire::reader::{Malformed, Reader};
use crate::wire::varint;

plain_frame! {
    /// The peer may send a stream up to this position.
    MaxStreamData = MAX_STREAM_DATA => {
        stream: StreamId,
        /// Bytes from the start of the stream.
        limit: u64,
    }
}

plain_frame! {
    /// A stream has more to send than it may.
    StreamDataBlocked = STREAM_DATA_BLOCKED => {
        stream: StreamId,
        /// The limit that is in the way.
        limit: u64,
    }
}

/// The peer may open this many streams of a direction in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MaxStreams {
    pub(crate) dir: Dir,
    /// At most 2^60.
    pub(crate) limit: u64,
}

/// More streams would be opened than may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamsBlocked {
    pub(crate) dir: Dir,
    /// The limit that is in the way, at most 2^60.
    pub(crate) limit: u64,
}

macro_rules! stream_count_frame {
    ($name:ident, $bidi:expr) => {
        impl $name {
            pub(super) fn parse(dir: Dir, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                Ok(Self {
                    dir,
                    limit: read_stream_count(reader)?,
                })
            }

            /// Type on the wire: it tells the direction.
            pub(super) fn ty(&self) -> u8 {
                $bidi + u8::from(self.dir == Dir::Uni)
            }

            /// Bytes that [`encode`](Self::encode) appends.
            pub(crate) fn size(&self) -> usize {
                1 + varint::size(self.limit)
            }

            /// Appends the frame.
            pub(crate) fn encode(&self, out: &mut Vec<u8>) {
                out.push(self.ty());
                self.limit.write(out);
            }
        }
    };
}

stream_count_frame!(MaxStreams, MAX_STREAMS_BIDI);
stream_count_frame!(StreamsBlocked, STREAMS_BLOCKED_BIDI);

fn read_stream_count(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    let count = reader.varint()?;
    if count > MAX_STREAM_COUNT {
        return Err(Malformed("more streams than have numbers"));
    }
    Ok(count)
}

/// With more streams than this, their IDs would not fit (RFC 9000 §4.6).
pub(crate) const MAX_STREAM_COUNT: u64 = 1 << 60;
