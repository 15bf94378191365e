//! The applications at both ends, and what they note down.

mod stream;
mod web;

use std::time::Instant;

use mpfec_core::{CloseReason, Connection, Event, StreamEvent};

use self::stream::{Reader, Writer};
pub(super) use self::web::Page;
use self::web::{Browser, Publisher};
use crate::scenario::Application;

/// One end of a connection under test, or of one that competes with it.
#[derive(Debug)]
pub(super) struct Peer {
    role: Role,
    connected_at: Option<Instant>,
    closed: Option<CloseReason>,
}

#[derive(Debug)]
enum Role {
    /// Writes one stream.
    Writer(Writer),
    /// Reads what a writer writes.
    Reader(Reader),
    /// Answers requests with objects.
    Publisher(Publisher),
    /// Asks for pages.
    Browser(Browser),
}

impl Peer {
    /// The end that connects, and has the data.
    pub(super) fn client(application: Application) -> Self {
        Self::new(match application {
            Application::Web { .. } => Role::Publisher(Publisher::default()),
            _ => Role::Writer(Writer::new(application)),
        })
    }

    /// The end that wants the data.
    pub(super) fn server(application: Application) -> Self {
        Self::new(match application {
            Application::Web {
                objects,
                page_bytes,
                pages,
                parallel,
                pause,
            } => Role::Browser(Browser::new(objects, page_bytes, pages, parallel, pause)),
            _ => Role::Reader(Reader::new(application)),
        })
    }

    fn new(role: Role) -> Self {
        Self {
            role,
            connected_at: None,
            closed: None,
        }
    }

    /// Sends nothing more, not even what is written already.
    pub(super) fn halt(&mut self, connection: &mut Connection) {
        if let Role::Writer(writer) = &mut self.role {
            writer.halt(connection);
        }
    }

    /// Why the connection ended, if it did.
    pub(super) fn closed(&self) -> Option<&CloseReason> {
        self.closed.as_ref()
    }

    /// Bytes read, of all streams.
    pub(super) fn read(&self) -> u64 {
        match &self.role {
            Role::Reader(reader) => reader.read(),
            Role::Browser(browser) => browser.read(),
            Role::Writer(_) | Role::Publisher(_) => 0,
        }
    }

    /// When everything that there is had been read.
    pub(super) fn done_at(&self) -> Option<Instant> {
        match &self.role {
            Role::Reader(reader) => reader.done_at(),
            Role::Browser(browser) => browser.done_at(),
            Role::Writer(_) | Role::Publisher(_) => None,
        }
    }

    /// When each block began to be written.
    pub(super) fn began(&self) -> &[Instant] {
        match &self.role {
            Role::Writer(writer) => writer.began(),
            _ => &[],
        }
    }

    /// When each block was read to its end.
    pub(super) fn ended(&self) -> &[Instant] {
        match &self.role {
            Role::Reader(reader) => reader.ended(),
            _ => &[],
        }
    }

    /// Pages that were read.
    pub(super) fn pages(&self) -> &[Page] {
        match &self.role {
            Role::Browser(browser) => browser.pages(),
            _ => &[],
        }
    }
}

impl crate::Application for Peer {
    fn on_event(&mut self, now: Instant, _connection: &mut Connection, event: Event) {
        match (event, &mut self.role) {
            (Event::Connected, _) => self.connected_at = Some(now),
            (Event::Closed(reason), _) => self.closed = Some(reason),
            (Event::Stream(StreamEvent::Writable { .. }), Role::Writer(writer)) => writer.unblock(),
            (Event::Stream(StreamEvent::Writable { stream }), Role::Publisher(publisher)) => {
                publisher.unblock(stream);
            }
            (Event::Stream(StreamEvent::Readable { stream }), Role::Publisher(publisher)) => {
                publisher.unblock(stream);
            }
            (Event::Stream(StreamEvent::Readable { .. }), Role::Reader(reader)) => {
                reader.unblock();
            }
            (Event::Stream(StreamEvent::Readable { stream }), Role::Browser(browser)) => {
                browser.unblock(stream);
            }
            _ => {}
        }
    }

    fn poll(&mut self, now: Instant, connection: &mut Connection) {
        let Some(connected_at) = self.connected_at else {
            return;
        };
        match &mut self.role {
            Role::Writer(writer) => writer.poll(now, connected_at, connection),
            Role::Reader(reader) => reader.poll(now, connection),
            Role::Publisher(publisher) => publisher.poll(connection),
            Role::Browser(browser) => browser.poll(now, connection),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.connected_at?;
        match &self.role {
            Role::Writer(writer) => writer.poll_timeout(),
            Role::Browser(browser) => browser.poll_timeout(),
            Role::Reader(_) | Role::Publisher(_) => None,
        }
    }
}

/// What is written, as much at a time as most blocks hold: nobody looks at it.
static CONTENT: [u8; 96 << 10] = {
    let mut bytes = [0; 96 << 10];
    let mut index = 0;
    while index < bytes.len() {
        bytes[index] = (index ^ (index >> 8)) as u8;
        index += 1;
    }
    bytes
};
