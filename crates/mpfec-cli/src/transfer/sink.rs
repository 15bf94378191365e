//! Takes the data stream apart and stores what is in it, on a thread that may block.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc as blocking;

use blake3::{Hash, Hasher};
use tokio::runtime::Handle;
use tokio::sync::mpsc::Sender;

use super::layout::{self, ABANDONED, COMPLETE, Head, MAX_CHUNK};
use super::message::{EntryResult, Failure, FailureKind};
use super::name::{SafePath, to_bytes};
use super::place::{Destination, Pending, sync_directory};
use super::pull::Pull;
use super::receiver::Counters;
use crate::error::CliError;

/// One hash for a whole transfer: of a single file its own, of several that of their paths
/// and hashes in order.
#[derive(Debug, Default)]
pub(crate) struct Digest {
    first: Option<Hash>,
    all: Hasher,
    files: u64,
}

impl Digest {
    pub(super) fn add<T: AsRef<[u8]>>(&mut self, path: &[T], hash: Hash) {
        self.first.get_or_insert(hash);
        for name in path {
            self.all.update(name.as_ref()).update(b"/");
        }
        self.all.update(b"\0").update(hash.as_bytes());
        self.files += 1;
    }

    pub(super) fn files(&self) -> u64 {
        self.files
    }

    pub(super) fn hash(&self) -> Hash {
        match self.first {
            Some(hash) if self.files == 1 => hash,
            _ => self.all.finalize(),
        }
    }
}

/// What became of all entries.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) files: u64,
    pub(super) hash: Hash,
    /// Entries that are not in place.
    pub(super) failed: u64,
    /// The first of them, by its name.
    pub(super) failure: Option<(String, Failure)>,
}

/// Stores everything from `pull`, and tells `results` of each file.
pub(super) fn store(
    pull: Pull,
    destination: &Destination,
    counters: &Arc<Counters>,
    results: &Sender<EntryResult>,
    runtime: &Handle,
) -> Result<Stored, CliError> {
    let (finished, finishing) = blocking::channel();
    let mut sink = Sink {
        pull,
        destination,
        counters,
        results,
        runtime,
        finished,
        finishing,
        unfinished: 0,
        touched: BTreeSet::new(),
        digest: Digest::default(),
        failed: 0,
        failure: None,
    };
    sink.entries()?;
    Ok(Stored {
        files: sink.digest.files(),
        hash: sink.digest.hash(),
        failed: sink.failed,
        failure: sink.failure,
    })
}

struct Sink<'a> {
    pull: Pull,
    destination: &'a Destination,
    counters: &'a Arc<Counters>,
    results: &'a Sender<EntryResult>,
    runtime: &'a Handle,
    /// Files are given their names beside the stream: waiting for the disk takes long.
    finished: blocking::Sender<Finished>,
    finishing: blocking::Receiver<Finished>,
    unfinished: usize,
    /// Directories with new names in them.
    touched: BTreeSet<PathBuf>,
    digest: Digest,
    failed: u64,
    failure: Option<(String, Failure)>,
}

struct Finished {
    index: u64,
    name: String,
    hash: Hash,
    result: std::io::Result<PathBuf>,
}

/// Tells the sink of a file, also if the runtime ends before the file has got its name.
struct Announced {
    to: blocking::Sender<Finished>,
    finished: Option<Finished>,
}

impl Drop for Announced {
    fn drop(&mut self) {
        if let Some(finished) = self.finished.take() {
            // The sink is gone only if the transfer has failed.
            let _ = self.to.send(finished);
        }
    }
}

impl Sink<'_> {
    fn entries(&mut self) -> Result<(), CliError> {
        for index in 0_u64.. {
            match layout::take_head(&mut self.pull)? {
                Head::End => break,
                Head::Directory { path } => {
                    let made = path
                        .as_ref()
                        .map_err(|error| Failure::new(FailureKind::Name, error.to_string()))
                        .and_then(|path| {
                            self.destination
                                .make_directory(path)
                                .map_err(|error| Failure::of(&error))
                        });
                    let failure = made.err();
                    let name = path.map(|path| path.display()).unwrap_or_default();
                    self.report(index, &name, None, failure);
                }
                Head::File {
                    path,
                    is_executable,
                } => match path {
                    Ok(path) => self.file(index, &path, is_executable)?,
                    Err(error) => {
                        let failure = Failure::new(FailureKind::Name, error.to_string());
                        self.report(index, "a file", None, Some(failure));
                        // Its end may well say that the sender has given up: that was asked for.
                        let _ = self.content(index, "", &mut None)?;
                    }
                },
            }
        }
        while self.unfinished > 0 {
            self.take_finished();
        }
        self.sync_touched();
        if self.pull.is_at_end() {
            Ok(())
        } else {
            Err(CliError::protocol("data behind the last entry"))
        }
    }

    fn file(&mut self, index: u64, path: &SafePath, is_executable: bool) -> Result<(), CliError> {
        let name = path.display();
        let mut pending = match self.destination.start(path, is_executable) {
            Ok(pending) => Some(pending),
            Err(error) => {
                self.report(index, &name, None, Some(Failure::of(&error)));
                None
            }
        };
        let end = self.content(index, &name, &mut pending)?;
        // What failed on the way was reported then, so that the sender could stop sending it.
        let Some(pending) = pending else {
            return Ok(());
        };
        match end {
            Ok(hash) => {
                let components: Vec<Vec<u8>> = path
                    .components()
                    .iter()
                    .map(|name| to_bytes(name))
                    .collect();
                self.digest.add(&components, hash);
                self.finish(index, name, hash, pending);
            }
            Err(failure) => self.report(index, &name, None, Some(failure)),
        }
        Ok(())
    }

    /// Reads the content of a file up to its end, whatever becomes of it: `pending` is gone
    /// if it cannot be stored.
    fn content(
        &mut self,
        index: u64,
        name: &str,
        pending: &mut Option<Pending>,
    ) -> Result<Result<Hash, Failure>, CliError> {
        let mut hasher = Hasher::new();
        loop {
            let length = u32::from_be_bytes(self.pull.array()?);
            match length {
                COMPLETE => {
                    let claimed = Hash::from_bytes(self.pull.array()?);
                    let hash = hasher.finalize();
                    let reason = || {
                        format!(
                            "its BLAKE3 is {} and should be {}",
                            short(&hash),
                            short(&claimed)
                        )
                    };
                    let is_same = hash == claimed;
                    return Ok(is_same
                        .then_some(hash)
                        .ok_or_else(|| Failure::new(FailureKind::Corrupt, reason())));
                }
                ABANDONED => {
                    return Ok(Err(Failure::new(
                        FailureKind::Abandoned,
                        "the sender could not read all of it",
                    )));
                }
                length if length > MAX_CHUNK => {
                    return Err(CliError::protocol(&format!("a chunk of {length} bytes")));
                }
                length => {
                    let mut left = length as usize;
                    while left > 0 {
                        let bytes = self.pull.some(left)?;
                        left -= bytes.len();
                        self.counters.add(bytes.len() as u64);
                        let Some(file) = pending else { continue };
                        hasher.update(&bytes);
                        if let Err(error) = file.write(&bytes) {
                            *pending = None;
                            self.report(index, name, None, Some(Failure::of(&error)));
                        }
                    }
                }
            }
        }
    }

    /// Gives a file its name, beside the stream.
    fn finish(&mut self, index: u64, name: String, hash: Hash, pending: Pending) {
        while self.unfinished >= MAX_UNFINISHED {
            self.take_finished();
        }
        self.unfinished += 1;
        let mut announced = Announced {
            to: self.finished.clone(),
            finished: Some(Finished {
                index,
                name,
                hash,
                result: Err(ErrorKind::Interrupted.into()),
            }),
        };
        self.runtime.spawn_blocking(move || {
            if let Some(finished) = &mut announced.finished {
                finished.result = pending.finish();
            }
        });
    }

    fn take_finished(&mut self) {
        let Ok(finished) = self.finishing.recv() else {
            return;
        };
        self.unfinished -= 1;
        match finished.result {
            Ok(dir) => {
                self.touched.insert(dir);
                if self.touched.len() > MAX_TOUCHED {
                    self.sync_touched();
                }
                self.report(finished.index, &finished.name, Some(finished.hash), None);
            }
            Err(error) => self.report(
                finished.index,
                &finished.name,
                None,
                Some(Failure::of(&error)),
            ),
        }
    }

    fn sync_touched(&mut self) {
        for dir in std::mem::take(&mut self.touched) {
            if let Err(error) = sync_directory(&dir) {
                tracing::warn!(dir = %dir.display(), %error, "cannot sync the directory");
            }
        }
    }

    fn report(&mut self, index: u64, name: &str, hash: Option<Hash>, failure: Option<Failure>) {
        if let Some(failure) = &failure {
            self.failed += 1;
            self.failure
                .get_or_insert_with(|| (name.to_owned(), failure.clone()));
        }
        let blake3 = hash.map(|hash| hash.to_hex().to_string());
        // Nobody listens only if the transfer has failed.
        let _ = self.results.blocking_send(EntryResult {
            index,
            blake3,
            failure,
        });
    }
}

/// Enough of a hash to tell two apart.
fn short(hash: &Hash) -> String {
    hash.to_hex().chars().take(16).collect()
}

/// Files that wait for the disk at once.
const MAX_UNFINISHED: usize = 32;
/// Directories that wait for the disk.
const MAX_TOUCHED: usize = 1024;
