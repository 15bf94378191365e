//! Pages of several objects, each on a stream of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mpfec_core::{Connection, Dir, ReadError, StreamId};

use super::CONTENT;

/// The client, which has the objects. A request says how large its object is.
#[derive(Debug, Default)]
pub(super) struct Publisher {
    answers: BTreeMap<StreamId, Answer>,
    /// Streams that may go on.
    ready: BTreeSet<StreamId>,
}

#[derive(Debug)]
enum Answer {
    /// What has come of the request.
    Asked(Vec<u8>),
    /// Bytes of the object that are not written yet.
    Writing(u64),
}

impl Publisher {
    pub(super) fn unblock(&mut self, stream: StreamId) {
        self.ready.insert(stream);
    }

    pub(super) fn poll(&mut self, connection: &mut Connection) {
        while let Some(stream) = connection.accept_stream(Dir::Bi) {
            self.answers.insert(stream, Answer::Asked(Vec::new()));
            self.ready.insert(stream);
        }
        while let Some(stream) = self.ready.pop_first() {
            let Some(answer) = self.answers.get_mut(&stream) else {
                continue;
            };
            if answer.go_on(stream, connection) {
                self.answers.remove(&stream);
            }
        }
    }
}

impl Answer {
    /// Reads and writes what it can; whether it is done.
    fn go_on(&mut self, stream: StreamId, connection: &mut Connection) -> bool {
        while let Self::Asked(request) = self {
            match connection.read(stream, usize::MAX) {
                Ok(Some(bytes)) => request.extend_from_slice(&bytes),
                Ok(None) => {
                    let size = request
                        .first_chunk()
                        .map_or(0, |size| u64::from_be_bytes(*size));
                    *self = Self::Writing(size);
                }
                Err(ReadError::Blocked) => return false,
                Err(_) => return true,
            }
        }
        let Self::Writing(left) = self else {
            return false;
        };
        while *left > 0 {
            let size = (*left).min(CONTENT.len() as u64) as usize;
            match connection.write(stream, &CONTENT[..size]) {
                Ok(taken) => *left -= taken as u64,
                Err(_) => return false,
            }
        }
        connection.finish(stream).is_ok()
    }
}

/// The server, which asks for one page after the other.
#[derive(Debug)]
pub(super) struct Browser {
    objects: u32,
    page_bytes: u64,
    pages_left: Option<u64>,
    parallel: u32,
    pause: Duration,
    /// Of the page under way: when it began, objects asked for, and objects that are here.
    began: Option<Instant>,
    asked: u32,
    complete: u32,
    open: BTreeSet<StreamId>,
    /// Streams that may have something to read.
    ready: BTreeSet<StreamId>,
    next_page_at: Option<Instant>,
    pages: Vec<Page>,
    read: u64,
}

/// A page that was read.
#[derive(Debug, Clone, Copy)]
pub(in crate::scenario::run) struct Page {
    /// When its last object was here.
    pub(in crate::scenario::run) ended: Instant,
    /// From the request of its first object to then.
    pub(in crate::scenario::run) took: Duration,
}

impl Browser {
    pub(super) fn new(
        objects: u32,
        page_bytes: u64,
        pages: Option<u64>,
        parallel: u32,
        pause: Duration,
    ) -> Self {
        Self {
            objects,
            page_bytes,
            pages_left: pages,
            parallel,
            pause,
            began: None,
            asked: 0,
            complete: 0,
            open: BTreeSet::new(),
            ready: BTreeSet::new(),
            next_page_at: None,
            pages: Vec::new(),
            read: 0,
        }
    }

    pub(super) fn read(&self) -> u64 {
        self.read
    }

    pub(super) fn pages(&self) -> &[Page] {
        &self.pages
    }

    pub(super) fn done_at(&self) -> Option<Instant> {
        let last = self.pages.last()?;
        (self.pages_left == Some(0)).then_some(last.ended)
    }

    pub(super) fn unblock(&mut self, stream: StreamId) {
        self.ready.insert(stream);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.next_page_at.filter(|_| self.began.is_none())
    }

    pub(super) fn poll(&mut self, now: Instant, connection: &mut Connection) {
        while let Some(stream) = self.ready.pop_first() {
            self.read_from(stream, connection);
        }
        if let Some(began) = self.began.filter(|_| self.complete == self.objects) {
            self.pages.push(Page {
                ended: now,
                took: now - began,
            });
            self.pages_left = self.pages_left.map(|left| left.saturating_sub(1));
            self.began = None;
            self.next_page_at = (self.pages_left != Some(0)).then_some(now + self.pause);
        }
        let is_first = self.pages.is_empty() && self.began.is_none();
        if is_first || self.poll_timeout().is_some_and(|at| at <= now) {
            self.began = Some(now);
            (self.asked, self.complete) = (0, 0);
        }
        while self.may_ask() {
            if !self.ask(connection) {
                break;
            }
        }
    }

    /// All but the first object are known when the first one is here.
    fn may_ask(&self) -> bool {
        self.began.is_some()
            && self.asked < self.objects
            && (self.open.len() as u32) < self.parallel
            && (self.asked == 0 || self.complete > 0)
    }

    fn ask(&mut self, connection: &mut Connection) -> bool {
        let Some(stream) = connection.open_stream(Dir::Bi) else {
            return false;
        };
        let objects = u64::from(self.objects);
        let mut size = self.page_bytes / objects;
        if self.asked == 0 {
            size += self.page_bytes % objects;
        }
        let mut request = [0; REQUEST_SIZE];
        request[..8].copy_from_slice(&size.to_be_bytes());
        // The smallest send buffer takes more than that.
        let is_written = connection.write(stream, &request) == Ok(REQUEST_SIZE)
            && connection.finish(stream).is_ok();
        self.open.insert(stream);
        self.asked += 1;
        is_written
    }

    fn read_from(&mut self, stream: StreamId, connection: &mut Connection) {
        loop {
            match connection.read(stream, usize::MAX) {
                Ok(Some(bytes)) => self.read += bytes.len() as u64,
                Err(ReadError::Blocked) => return,
                Ok(None) | Err(_) => {
                    if self.open.remove(&stream) {
                        self.complete += 1;
                    }
                    return;
                }
            }
        }
    }
}

/// Bytes of a request: about those of HTTP/2 with its headers compressed.
const REQUEST_SIZE: usize = 200;
