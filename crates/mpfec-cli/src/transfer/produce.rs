//! Reads files and writes the data stream, on a thread that may block.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use blake3::{Hash, Hasher};
use tokio::sync::mpsc;

use super::layout::{self, ABANDONED, COMPLETE, END};
use super::sink::Digest;
use super::source::{Content, Item};
use crate::error::CliError;

/// What reader and sender tell each other.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    /// Files that the receiver does not want the rest of.
    rejected: BTreeSet<u64>,
    /// Of files that were read and of which the receiver has said nothing yet.
    hashes: BTreeMap<u64, Hash>,
}

impl Ledger {
    /// The receiver does not want the rest of an entry.
    pub(super) fn reject(&self, index: u64) {
        let mut entries = self.lock();
        entries.rejected.insert(index);
        entries.hashes.remove(&index);
    }

    /// The hash of a file that was read.
    pub(super) fn take_hash(&self, index: u64) -> Option<Hash> {
        self.lock().hashes.remove(&index)
    }

    /// Files that were read and of which the receiver has said nothing.
    pub(super) fn unconfirmed(&self) -> usize {
        self.lock().hashes.len()
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was read.
#[derive(Debug)]
pub(super) struct Produced {
    /// Bytes of files.
    pub(super) bytes: u64,
    pub(super) files: u64,
    /// See [`Digest`].
    pub(super) hash: Hash,
    /// The first source that could not be read to its end.
    pub(super) failure: Option<CliError>,
}

/// Hands the whole data stream to `out` in pieces. Ends early if nobody takes them.
pub(super) fn produce(items: &[Item], ledger: &Ledger, out: &mpsc::Sender<Vec<u8>>) -> Produced {
    let mut producer = Producer {
        buffer: Vec::with_capacity(PIECE + SLACK),
        out,
        ledger,
        bytes: 0,
    };
    let mut digest = Digest::default();
    let mut failure = None;
    for (index, item) in items.iter().enumerate() {
        match producer.item(index as u64, item) {
            Ok(Step::File(hash)) => digest.add(&item.path, hash),
            Ok(Step::Nothing) => {}
            Ok(Step::NobodyListens) => break,
            Err(error) => {
                failure.get_or_insert(error);
            }
        }
    }
    producer.buffer.push(END);
    producer.hand_over();
    Produced {
        bytes: producer.bytes,
        files: digest.files(),
        hash: digest.hash(),
        failure,
    }
}

struct Producer<'a> {
    buffer: Vec<u8>,
    out: &'a mpsc::Sender<Vec<u8>>,
    ledger: &'a Ledger,
    bytes: u64,
}

enum Step {
    File(Hash),
    Nothing,
    NobodyListens,
}

impl Producer<'_> {
    fn item(&mut self, index: u64, item: &Item) -> Result<Step, CliError> {
        match &item.content {
            Content::Directory => {
                layout::put_directory(&mut self.buffer, &item.path);
                Ok(self.unless_deaf(Step::Nothing))
            }
            Content::File {
                source,
                size,
                is_executable,
            } => {
                layout::put_file(&mut self.buffer, &item.path, *is_executable, Some(*size));
                let file = File::open(source).map_err(|error| self.give_up(source, &error))?;
                let mut whole = Whole::new(file, *size);
                self.content(index, &mut whole, source, false)
            }
            Content::Stdin => {
                layout::put_file(&mut self.buffer, &item.path, false, None);
                self.content(
                    index,
                    &mut io::stdin().lock(),
                    Path::new("standard input"),
                    true,
                )
            }
        }
    }

    /// The chunks of a file and its hash.
    fn content(
        &mut self,
        index: u64,
        reader: &mut dyn Read,
        source: &Path,
        at_once: bool,
    ) -> Result<Step, CliError> {
        let mut hasher = Hasher::new();
        loop {
            if self.ledger.lock().rejected.contains(&index) {
                self.buffer.extend_from_slice(&ABANDONED.to_be_bytes());
                return Ok(self.unless_deaf(Step::Nothing));
            }
            let head = self.buffer.len();
            let read = self.chunk(reader).map_err(|error| {
                self.buffer.truncate(head);
                self.give_up(source, &error)
            })?;
            if read == 0 {
                break;
            }
            hasher.update(self.buffer.get(head + 4..).unwrap_or_default());
            self.bytes += read as u64;
            if !(if at_once {
                self.hand_over()
            } else {
                self.hand_over_if_full()
            }) {
                return Ok(Step::NobodyListens);
            }
        }
        let hash = hasher.finalize();
        {
            // What was rejected meanwhile is not waited for.
            let mut ledger = self.ledger.lock();
            if !ledger.rejected.contains(&index) {
                ledger.hashes.insert(index, hash);
            }
        }
        self.buffer.extend_from_slice(&COMPLETE.to_be_bytes());
        self.buffer.extend_from_slice(hash.as_bytes());
        Ok(self.unless_deaf(Step::File(hash)))
    }

    /// Appends what one read gives; nothing at the end of the file.
    fn chunk(&mut self, reader: &mut dyn Read) -> io::Result<usize> {
        let start = self.buffer.len() + 4;
        let room = (PIECE + SLACK)
            .saturating_sub(start)
            .clamp(SMALLEST_READ, layout::MAX_CHUNK as usize);
        self.buffer.resize(start + room, 0);
        let read = loop {
            match reader.read(self.buffer.get_mut(start..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        if read == 0 {
            self.buffer.truncate(start - 4);
            return Ok(0);
        }
        self.buffer.truncate(start + read);
        if let Some(length) = self.buffer.get_mut(start - 4..start) {
            length.copy_from_slice(&(read as u32).to_be_bytes());
        }
        Ok(read)
    }

    /// Tells the receiver that the rest of a file will not come.
    fn give_up(&mut self, source: &Path, error: &io::Error) -> CliError {
        self.buffer.extend_from_slice(&ABANDONED.to_be_bytes());
        CliError::source(source, error)
    }

    fn unless_deaf(&mut self, step: Step) -> Step {
        if self.hand_over_if_full() {
            step
        } else {
            Step::NobodyListens
        }
    }

    fn hand_over_if_full(&mut self) -> bool {
        self.buffer.len() < PIECE || self.hand_over()
    }

    /// Whether there is still somebody to take it.
    fn hand_over(&mut self) -> bool {
        let piece = std::mem::replace(&mut self.buffer, Vec::with_capacity(PIECE + SLACK));
        self.out.blocking_send(piece).is_ok()
    }
}

/// A file that ends where it was to end, or later: what is left of one that was cut off meanwhile
/// must not pass for it.
struct Whole {
    file: File,
    size: u64,
    read: u64,
}

impl Whole {
    fn new(file: File, size: u64) -> Self {
        Self {
            file,
            size,
            read: 0,
        }
    }
}

impl Read for Whole {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read += read as u64;
        // Files of the kernel's own may always hold less than they claim.
        if read == 0 && self.read < self.size && self.file.metadata()?.len() < self.size {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "it became shorter while it was sent",
            ));
        }
        Ok(read)
    }
}

/// Bytes that are handed over at once.
const PIECE: usize = 256 << 10;
/// What the last read may add.
const SLACK: usize = 64 << 10;
const SMALLEST_READ: usize = 32 << 10;

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::exit::Exit;
    use crate::output::Output;
    use crate::transfer::scan;

    /// All pieces as one, with what `produce` says; `heed` is called for each piece.
    fn run(items: &[Item], ledger: &Ledger, heed: impl Fn()) -> (Produced, Vec<u8>) {
        let (out, mut pieces) = mpsc::channel(1);
        std::thread::scope(|scope| {
            let producing = scope.spawn(move || produce(items, ledger, &out));
            let mut all = Vec::new();
            while let Some(piece) = pieces.blocking_recv() {
                all.extend(piece);
                heed();
            }
            (producing.join().unwrap(), all)
        })
    }

    fn items(dir: &Path, files: &[(&str, usize)]) -> Vec<Item> {
        let write = |(name, size): &(&str, usize)| -> PathBuf {
            let path = dir.join(name);
            std::fs::write(&path, vec![7; *size]).unwrap();
            path
        };
        let sources: Vec<_> = files
            .iter()
            .map(|file| write(file).into_os_string())
            .collect();
        scan(&sources, "stdin", &Output::new(false, true)).unwrap()
    }

    #[test]
    fn small_files_share_a_piece_and_all_of_them_wait_for_an_answer() {
        let dir = tempfile::tempdir().unwrap();
        let items = items(dir.path(), &[("a", 100), ("b", 0), ("c", 300)]);
        let (ledger, pieces) = (Ledger::default(), std::cell::Cell::new(0));
        let (produced, _) = run(&items, &ledger, || pieces.set(pieces.get() + 1));
        assert_eq!((produced.files, produced.bytes, pieces.get()), (3, 400, 1));
        assert_eq!(ledger.unconfirmed(), 3);
        assert_eq!(ledger.take_hash(1), Some(blake3::hash(b"")));
    }

    #[test]
    fn a_file_that_becomes_shorter_is_abandoned_and_the_others_are_sent() {
        let dir = tempfile::tempdir().unwrap();
        let items = items(dir.path(), &[("a", 100), ("b", 9000), ("c", 300)]);
        let b = File::options().write(true).open(dir.path().join("b"));
        b.unwrap().set_len(500).unwrap();
        let (produced, all) = run(&items, &Ledger::default(), || {});
        let error = produced.failure.unwrap();
        assert_eq!(error.exit, Exit::Source);
        assert!(
            error
                .what
                .ends_with("b: it became shorter while it was sent")
        );
        assert!(error.hint.contains("again"), "{}", error.hint);
        assert_eq!(produced.files, 2);
        let abandoned = ABANDONED.to_be_bytes();
        assert_eq!(all.windows(4).filter(|four| *four == abandoned).count(), 1);
    }

    #[test]
    fn the_rest_of_a_file_that_the_receiver_rejects_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let items = items(dir.path(), &[("large", 8 << 20), ("small", 10)]);
        let ledger = Ledger::default();
        let (produced, all) = run(&items, &ledger, || ledger.reject(0));
        assert!(all.len() < 4 << 20, "{} bytes", all.len());
        assert_eq!(produced.files, 1);
        assert_eq!(
            ledger.unconfirmed(),
            1,
            "nobody waits for what was rejected"
        );
    }

    #[test]
    fn a_file_that_is_rejected_at_its_very_end_is_not_waited_for_either() {
        let dir = tempfile::tempdir().unwrap();
        let items = items(dir.path(), &[("x", 10)]);
        let (early, late) = (Ledger::default(), Ledger::default());
        early.reject(0);
        run(&items, &early, || {});
        assert_eq!(early.unconfirmed(), 0);
        run(&items, &late, || {});
        late.reject(0);
        assert_eq!(late.unconfirmed(), 0);
    }

    #[test]
    fn a_file_that_is_gone_does_not_stop_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let items = items(dir.path(), &[("gone", 10), ("here", 10)]);
        std::fs::remove_file(dir.path().join("gone")).unwrap();
        let (produced, _) = run(&items, &Ledger::default(), || {});
        assert_eq!(produced.files, 1);
        assert_eq!(produced.failure.unwrap().exit, Exit::Source);
    }
}
