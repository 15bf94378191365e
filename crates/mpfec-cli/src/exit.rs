//! What the process's exit code says.

use std::process::ExitCode;

/// How a command ended. Scripts rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Anything without a code of its own.
    Other = 1,
    /// Flags or arguments make no sense.
    Usage = 2,
    /// What is to be sent is missing or cannot be read.
    Source = 3,
    /// It cannot be stored: exists, no room, no permission.
    Destination = 4,
    /// The peer cannot be reached, or no longer; the same command may be run again.
    Network = 5,
    /// One end could not prove who it is: wrong or expired ticket.
    Authentication = 6,
    /// What arrived is not what was sent.
    Integrity = 7,
    /// The peer did not want it, or speaks another version.
    Refused = 9,
    /// Stopped by a signal.
    Interrupted = 130,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Usage => "usage",
            Self::Source => "source",
            Self::Destination => "destination",
            Self::Network => "network",
            Self::Authentication => "authentication",
            Self::Integrity => "integrity",
            Self::Refused => "refused",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
