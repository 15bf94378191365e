//! The links of a setup between real sockets.

mod handle;
#[cfg(unix)]
mod packet;
mod path;
mod worker;

use std::io;
use std::net::SocketAddr;

use self::handle::Handle;
#[cfg(unix)]
pub use self::packet::{PacketEnds, PacketRelay};
use self::path::RelayPath;
use self::worker::Command;
use crate::{Change, Direction, LinkCounters, Setup};

/// The links of a setup between real UDP sockets on loopback, without root.
///
/// Each path has a socket for clients. What arrives there crosses the path's forward link
/// and goes on to the server from a socket of the client's own; what the server answers
/// to that socket crosses the backward link and goes back to the client. To the server
/// each client on each path looks like an address of its own, as behind a NAT. A path
/// serves 64 clients at a time; one more takes the place of the longest silent.
///
/// ECN marks do not pass. Deliveries are late by up to about a millisecond, the
/// resolution of the timer; rates are exact, as links keep their own time.
///
/// The relay works on a thread of its own, so that a busy transfer in the same process
/// does not distort it, and stops when dropped.
#[derive(Debug)]
pub struct UdpRelay {
    paths: Vec<(String, SocketAddr)>,
    handle: Handle,
}

/// What one path of a relay has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RelayStats {
    /// Client to server.
    pub forward: LinkCounters,
    /// Server to client.
    pub backward: LinkCounters,
    /// Clients that have a socket towards the server now.
    pub clients: usize,
    /// Datagrams dropped before they reached a link: the relay could not open a socket for their
    /// client.
    pub refused: u64,
    /// Datagrams that crossed a link and that the operating system would not send on.
    pub unsent: u64,
}

impl UdpRelay {
    /// Starts relaying to `server` over the paths of `setup`, with faults that repeat from
    /// `seed` as far as the datagrams do. The times of the setup's changes count from the
    /// first datagram of a client.
    ///
    /// # Errors
    /// If the setup is not valid ([`io::ErrorKind::InvalidInput`]), or the operating system has no
    /// socket or thread to give.
    pub fn start(setup: &Setup, server: SocketAddr, seed: u64) -> io::Result<Self> {
        let open = || {
            let paths = setup.paths.iter();
            paths
                .map(|path| RelayPath::open(path, server, seed))
                .collect::<io::Result<Vec<_>>>()
        };
        let addresses = |links: &[RelayPath]| {
            let addresses = links.iter().map(RelayPath::client_address);
            addresses.collect::<io::Result<Vec<_>>>()
        };
        let (handle, addresses) = Handle::start(setup, open, addresses)?;
        let names = setup.paths.iter().map(|path| path.name.clone());
        Ok(Self {
            paths: names.zip(addresses).collect(),
            handle,
        })
    }

    /// Name of each path and the address where clients reach the server over it, in the
    /// order of the setup.
    #[must_use]
    pub fn paths(&self) -> &[(String, SocketAddr)] {
        &self.paths
    }

    /// The position of the path called `name`.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<usize> {
        self.paths.iter().position(|(path, _)| path == name)
    }

    /// Changes a path, by its position, as soon as the relay's thread gets to it. Nothing
    /// happens if there is no such path.
    pub fn apply(&self, path: usize, direction: Direction, change: Change) {
        self.handle.apply(path, direction, change);
    }

    /// Makes everything on a path vanish, both ways, until it is restored.
    pub fn cut(&self, path: usize) {
        self.apply(path, Direction::Both, Change::Cut);
    }

    /// Ends a cut.
    pub fn restore(&self, path: usize) {
        self.apply(path, Direction::Both, Change::Restore);
    }

    /// Gives every client of a path another address towards the server, as a NAT does
    /// that has lost its state. Answers to the old ones vanish.
    pub fn rebind(&self, path: usize) {
        self.handle.command(Command::Rebind { path });
    }

    /// What each path has done so far, in the order of the setup.
    #[must_use]
    pub fn stats(&self) -> Vec<RelayStats> {
        self.handle.stats()
    }
}

/// Datagrams taken from a socket before others get their turn.
const BATCH: usize = 64;

#[cfg(test)]
mod tests;
