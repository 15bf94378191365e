//! A relay's thread as its owner sees it: commands go in, statistics come out.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use super::RelayStats;
use super::worker::{Carrier, Command, Worker};
use crate::{Change, Direction, Setup};

/// The thread stops when this is dropped.
#[derive(Debug)]
pub(super) struct Handle {
    commands: Option<mpsc::UnboundedSender<Command>>,
    stats: Arc<Mutex<Vec<RelayStats>>>,
    thread: Option<JoinHandle<()>>,
}

impl Handle {
    /// Checks the setup, opens its paths inside a runtime, asks them for `facts`, and gives
    /// them a thread.
    pub(super) fn start<C: Carrier, T>(
        setup: &Setup,
        open: impl FnOnce() -> io::Result<Vec<C>>,
        facts: impl FnOnce(&[C]) -> io::Result<T>,
    ) -> io::Result<(Self, T)> {
        setup
            .check()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let entered = runtime.enter();
        let paths = open()?;
        let facts = facts(&paths)?;
        let stats = Arc::new(Mutex::new(vec![RelayStats::default(); paths.len()]));
        let (commands, inbox) = mpsc::unbounded_channel();
        let mut worker = Worker::new(paths, &setup.changes, inbox, Arc::clone(&stats));
        drop(entered);
        let thread = std::thread::Builder::new()
            .name("mpfec-relay".to_owned())
            .spawn(move || runtime.block_on(std::future::poll_fn(|cx| worker.poll(cx))))?;
        let handle = Self {
            commands: Some(commands),
            stats,
            thread: Some(thread),
        };
        Ok((handle, facts))
    }

    pub(super) fn apply(&self, path: usize, direction: Direction, change: Change) {
        self.command(Command::Apply {
            path,
            direction,
            change,
        });
    }

    pub(super) fn command(&self, command: Command) {
        if let Some(commands) = &self.commands {
            // The worker only ends when this sender is gone.
            let _ = commands.send(command);
        }
    }

    pub(super) fn stats(&self) -> Vec<RelayStats> {
        self.stats
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
