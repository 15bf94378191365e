//! What the process's exit code says.

use std::process::ExitCode;

/// How a command ended. Scripts rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Anything without a code of its own.
    Other,
    /// Flags or arguments make no sense.
    Usage,
    /// What is to be sent is missing or cannot be read.
    Source,
    /// It cannot be stored: exists, no room, no permission.
    Destination,
    /// The peer cannot be reached, or no longer; the same command may be run again.
    Network,
    /// One end could not prove who it is: wrong or expired ticket.
    Authentication,
    /// What arrived is not what was sent.
    Integrity,
    /// The peer did not want it, or speaks another version.
    Refused,
    /// Stopped by a signal.
    Interrupted,
    /// A command that was run has failed, with this code.
    Command(u8),
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Other => 1,
            Self::Usage => 2,
            Self::Source => 3,
            Self::Destination => 4,
            Self::Network => 5,
            Self::Authentication => 6,
            Self::Integrity => 7,
            Self::Refused => 9,
            Self::Interrupted => 130,
            Self::Command(code) => code,
        }
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
            Self::Command(_) => "command",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
