//! The links of a setup between real sockets.

mod path;
mod worker;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use self::path::RelayPath;
use self::worker::{Command, Worker};
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
    commands: Option<mpsc::UnboundedSender<Command>>,
    stats: Arc<Mutex<Vec<RelayStats>>>,
    thread: Option<JoinHandle<()>>,
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
        setup
            .check()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let entered = runtime.enter();
        let links = setup
            .paths
            .iter()
            .map(|path| RelayPath::open(path, server, seed))
            .collect::<io::Result<Vec<_>>>()?;
        let names = setup.paths.iter().map(|path| path.name.clone());
        let addresses = links
            .iter()
            .map(RelayPath::client_address)
            .collect::<io::Result<Vec<_>>>()?;
        let paths = names.zip(addresses).collect();
        let stats = Arc::new(Mutex::new(vec![RelayStats::default(); links.len()]));
        let (commands, inbox) = mpsc::unbounded_channel();
        let mut worker = Worker::new(links, &setup.changes, inbox, Arc::clone(&stats));
        drop(entered);
        let thread = std::thread::Builder::new()
            .name("mpfec-relay".to_owned())
            .spawn(move || runtime.block_on(std::future::poll_fn(|cx| worker.poll(cx))))?;
        Ok(Self {
            paths,
            commands: Some(commands),
            stats,
            thread: Some(thread),
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
        self.command(Command::Apply {
            path,
            direction,
            change,
        });
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
        self.command(Command::Rebind { path });
    }

    /// What each path has done so far, in the order of the setup.
    #[must_use]
    pub fn stats(&self) -> Vec<RelayStats> {
        self.stats
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn command(&self, command: Command) {
        if let Some(commands) = &self.commands {
            // The worker only ends when this sender is gone.
            let _ = commands.send(command);
        }
    }
}

impl Drop for UdpRelay {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
