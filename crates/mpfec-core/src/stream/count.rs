//! How many streams there may be (RFC 9000 §4.6).

use crate::id::{Dir, StreamId};

/// Streams of one direction that we open.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LocalStreams {
    pub(super) opened: u64,
    pub(super) limit: u64,
    /// The application wanted one more.
    pub(super) is_blocked: bool,
}

/// Streams of one direction that the peer opens.
#[derive(Debug, Clone, Copy)]
pub(super) struct RemoteStreams {
    /// Streams at once.
    max: u64,
    pub(super) opened: u64,
    /// Those that the application took.
    accepted: u64,
    closed: u64,
    /// What the peer was told.
    limit: u64,
    /// The application has to be told of new ones.
    is_news: bool,
}

impl LocalStreams {
    /// The number of one more stream.
    pub(super) fn open(&mut self) -> Option<u64> {
        if self.opened >= self.limit {
            return None;
        }
        self.opened += 1;
        Some(self.opened - 1)
    }

    /// The application wanted one more than there may be. Returns whether the peer is to be
    /// told: once for each limit, however often the application asks.
    pub(super) fn block(&mut self) -> bool {
        !std::mem::replace(&mut self.is_blocked, true) && self.limit > 0
    }

    /// Takes the peer's limit unless it is lower. Returns whether the application waits for it.
    pub(super) fn raise(&mut self, limit: u64) -> bool {
        self.limit = self.limit.max(limit);
        self.opened < self.limit && std::mem::take(&mut self.is_blocked)
    }
}

impl RemoteStreams {
    pub(super) fn new(max: u64) -> Self {
        Self {
            max,
            opened: 0,
            accepted: 0,
            closed: 0,
            limit: max,
            is_news: false,
        }
    }

    /// Streams that the peer may open in all, as far as it knows.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Notes that the peer opened all streams up to number `index`.
    pub(super) fn open_up_to(&mut self, index: u64) {
        self.opened = self.opened.max(index + 1);
        self.is_news = true;
    }

    /// The number of the next stream that the application has not taken.
    pub(super) fn accept(&mut self) -> Option<u64> {
        if self.accepted >= self.opened {
            return None;
        }
        self.accepted += 1;
        Some(self.accepted - 1)
    }

    /// Whether the application has taken the stream of that number.
    pub(super) fn was_accepted(&self, index: u64) -> bool {
        index < self.accepted
    }

    /// Whether the application has to be told of new streams; said once.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.is_news)
    }

    /// One of them is over on both halves. Returns whether the peer should be told by now.
    pub(super) fn close(&mut self) -> bool {
        self.closed += 1;
        let unused = self.limit - self.opened;
        self.has_more()
            && (unused * 2 <= self.max || (self.next_limit() - self.limit) * 8 >= self.max)
    }

    /// Whether the peer can be told a higher limit.
    pub(super) fn has_more(&self) -> bool {
        self.next_limit() > self.limit
    }

    /// The limit to tell the peer now.
    pub(super) fn advertise(&mut self) -> u64 {
        self.limit = self.next_limit();
        self.limit
    }

    fn next_limit(&self) -> u64 {
        (self.max + self.closed).min(crate::wire::frame::MAX_STREAM_COUNT)
    }
}

/// Values by direction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ByDir<T> {
    pub(super) bi: T,
    pub(super) uni: T,
}

impl<T> ByDir<T> {
    pub(super) fn get_mut(&mut self, dir: Dir) -> &mut T {
        match dir {
            Dir::Bi => &mut self.bi,
            Dir::Uni => &mut self.uni,
        }
    }

    pub(super) fn of(&mut self, id: StreamId) -> &mut T {
        self.get_mut(id.dir())
    }
}
