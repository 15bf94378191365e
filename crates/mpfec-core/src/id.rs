//! Who started what: sides, directions and stream identifiers (RFC 9000 §2.1).

use std::fmt;

/// Which end of the connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The end that started the connection.
    Client,
    /// The end that accepted it.
    Server,
}

impl Side {
    /// The other end.
    #[must_use]
    pub fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Whether data flows both ways on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dir {
    /// Both ends write.
    Bi,
    /// Only the end that opened the stream writes.
    Uni,
}

/// Names a stream within its connection (RFC 9000 §2.1): bit 0 is the side that
/// opened it, bit 1 its direction, the rest counts from 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub(crate) u64);

impl StreamId {
    /// The `index`th stream of a direction opened by `side`.
    #[must_use]
    pub fn new(side: Side, dir: Dir, index: u64) -> Self {
        Self(index << 2 | u64::from(dir == Dir::Uni) << 1 | u64::from(side == Side::Server))
    }

    /// The side that opened the stream.
    #[must_use]
    pub fn initiator(self) -> Side {
        if self.0 & 1 == 0 {
            Side::Client
        } else {
            Side::Server
        }
    }

    /// Whether both ends write to it.
    #[must_use]
    pub fn dir(self) -> Dir {
        if self.0 & 2 == 0 { Dir::Bi } else { Dir::Uni }
    }

    /// Its position among the streams of the same side and direction, from 0.
    #[must_use]
    pub fn index(self) -> u64 {
        self.0 >> 2
    }

    /// The number on the wire.
    #[must_use]
    pub fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} {:?} stream {}",
            self.initiator(),
            self.dir(),
            self.index()
        )
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
