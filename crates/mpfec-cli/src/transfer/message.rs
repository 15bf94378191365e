//! What sender and receiver say on the control stream.

use std::io;

use serde::{Deserialize, Serialize};

use crate::error::CliError;
use crate::exit::Exit;

/// The sender announces what follows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TransferHello {
    /// Of this protocol.
    pub(crate) version: u32,
    /// Files and directories.
    pub(crate) entries: u64,
    /// Bytes in all files, if known.
    pub(crate) bytes: Option<u64>,
    /// For people: the name of what is sent.
    pub(crate) label: String,
}

/// The receiver answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub(crate) enum Answer {
    /// How much has arrived.
    Progress {
        /// Bytes of files.
        bytes: u64,
    },
    /// What became of some entries.
    Results {
        /// At most [`MAX_RESULTS`].
        results: Vec<EntryResult>,
    },
    /// All entries are dealt with.
    Summary {
        /// Files that are in place.
        stored: u64,
        /// Entries that are not.
        failed: u64,
        /// Longest time in which nothing arrived.
        longest_pause_ms: f64,
    },
}

/// What became of an entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EntryResult {
    /// Its position on the data stream, from 0.
    pub(crate) index: u64,
    /// BLAKE3 of a file that is verified and in place, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) blake3: Option<String>,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) failure: Option<Failure>,
}

/// Why an entry is not in place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    /// For people, without the entry's name.
    pub(crate) reason: String,
}

/// What sort of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailureKind {
    /// There is a file of that name.
    Exists,
    /// What has that name is never replaced: a directory by a file, or anything by a directory.
    Taken,
    /// The disk or quota is full.
    Full,
    /// A name that the receiver does not take.
    Name,
    /// Another failure of the receiver's disk.
    Storage,
    /// What arrived is not what was sent.
    Corrupt,
    /// The sender could not read all of it.
    Abandoned,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            reason: reason.into(),
        }
    }

    /// Why something could not be stored.
    pub(crate) fn of(error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::AlreadyExists => FailureKind::Exists,
            io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => FailureKind::Taken,
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => FailureKind::Full,
            _ => FailureKind::Storage,
        };
        let reason = match kind {
            FailureKind::Exists => "it exists".to_owned(),
            FailureKind::Taken if error.kind() == io::ErrorKind::IsADirectory => {
                "a directory has its name".to_owned()
            }
            FailureKind::Taken => {
                "something that is no directory has its name, or that of one above".to_owned()
            }
            _ => crate::error::plain(error),
        };
        Self { kind, reason }
    }

    /// The same as an error of the command; `name` is the first of `failed` entries.
    pub(crate) fn error(&self, name: &str, failed: u64) -> CliError {
        let more = match failed {
            0 | 1 => String::new(),
            2 => ", nor was one more".to_owned(),
            failed => format!(", nor were {} more", failed - 1),
        };
        let hint = match self.kind {
            FailureKind::Exists => {
                "move it away, choose another --dir, or pass --overwrite to mpfec recv"
            }
            FailureKind::Taken => "move away what is there, or choose another --dir",
            FailureKind::Full => "make room on the receiver, or choose a --dir on another disk",
            FailureKind::Name => "rename it at the sender",
            FailureKind::Storage => "check the receiver's directory and its disk",
            FailureKind::Corrupt => {
                "send it again; if it persists, check the memory of both machines"
            }
            FailureKind::Abandoned => "see what the sender says",
        };
        let exit = match self.kind {
            FailureKind::Corrupt => Exit::Integrity,
            FailureKind::Abandoned => Exit::Source,
            _ => Exit::Destination,
        };
        CliError::new(
            exit,
            format!("{name} was not stored: {}{more}", self.reason),
            hint,
        )
    }
}

/// Of this protocol.
pub(crate) const VERSION: u32 = 1;
/// Entries whose results are told in one message.
pub(super) const MAX_RESULTS: usize = 128;
