//! The codes with which the program closes a connection, and what they mean to the peer.

use std::time::Duration;

use mpfec_core::CloseReason;
use mpfec_core::net::Connection;

use crate::error::CliError;
use crate::exit::Exit;

/// Why one end's program ended the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseCode {
    /// Everything is done.
    Done,
    /// The user stopped the program.
    Interrupted,
    /// The user does not want the transfer.
    Refused,
    /// The ticket is no longer valid.
    Expired,
    /// The other end expects another command.
    WrongService,
    /// Something that the program's protocol does not allow.
    Protocol,
    /// The program failed for a reason of its own.
    Failed,
    /// A code that a later version may use.
    Unknown(u64),
}

impl CloseCode {
    const KNOWN: [(u64, Self); 7] = [
        (0, Self::Done),
        (1, Self::Interrupted),
        (2, Self::Refused),
        (3, Self::Expired),
        (4, Self::WrongService),
        (5, Self::Protocol),
        (6, Self::Failed),
    ];

    /// The number that is sent.
    pub(crate) fn to_wire(self) -> u64 {
        match self {
            Self::Unknown(code) => code,
            _ => Self::KNOWN
                .iter()
                .find(|(_, code)| *code == self)
                .map_or(0, |(number, _)| *number),
        }
    }

    pub(crate) fn from_wire(number: u64) -> Self {
        Self::KNOWN
            .iter()
            .find(|(known, _)| *known == number)
            .map_or(Self::Unknown(number), |(_, code)| *code)
    }

    /// What it means to the end that did not close.
    pub(crate) fn error(self, reason: &str) -> CliError {
        let reason = if reason.is_empty() {
            String::new()
        } else {
            format!(": {reason}")
        };
        match self {
            Self::Interrupted => CliError::new(
                Exit::Network,
                format!("the other end was stopped{reason}"),
                "start it again there; a receiver or server prints a new ticket then",
            ),
            Self::Refused => CliError::new(
                Exit::Refused,
                format!("the receiver refused{reason}"),
                "ask the person at the other end",
            ),
            Self::Expired => CliError::new(
                Exit::Authentication,
                format!("the ticket has expired{reason}"),
                "ask for a new ticket: each run of mpfec recv or mpfec perf server prints its own",
            ),
            Self::WrongService => CliError::new(
                Exit::Refused,
                format!("the other end runs another command{reason}"),
                "mpfec send goes with mpfec recv, mpfec perf client with mpfec perf server",
            ),
            Self::Protocol => CliError::new(
                Exit::Refused,
                format!("the other end did not understand{reason}"),
                "use the same version of mpfec on both ends",
            ),
            Self::Done | Self::Failed | Self::Unknown(_) => CliError::new(
                Exit::Network,
                format!("the other end gave up{reason}"),
                "see what it says there, then run the same command again",
            ),
        }
    }
}

/// Streams end when the other end fails, a moment before it says why: then that is the error.
pub(crate) async fn or_its_reason<T>(
    connection: &Connection,
    result: Result<T, CliError>,
) -> Result<T, CliError> {
    match result {
        Err(error) if error.exit == Exit::Refused => {
            match tokio::time::timeout(MOMENT, connection.closed()).await {
                // Ours follows from the error.
                Ok(CloseReason::LocallyClosed(_)) | Err(_) => Err(error),
                Ok(reason) => Err(reason.into()),
            }
        }
        result => result,
    }
}

impl CliError {
    /// The code that tells the peer of this error.
    pub(crate) fn close_code(&self) -> CloseCode {
        match self.exit {
            Exit::Refused => CloseCode::Protocol,
            Exit::Interrupted => CloseCode::Interrupted,
            _ => CloseCode::Failed,
        }
    }
}

/// Between the end of a stream and the reason for it.
const MOMENT: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_survive_the_wire() {
        for (_, code) in CloseCode::KNOWN {
            assert_eq!(CloseCode::from_wire(code.to_wire()), code);
        }
        assert_eq!(CloseCode::from_wire(77), CloseCode::Unknown(77));
        assert_eq!(CloseCode::Unknown(77).to_wire(), 77);
    }

    #[test]
    fn nobody_is_told_to_use_a_ticket_again_that_is_void() {
        for code in [CloseCode::Interrupted, CloseCode::Expired] {
            let hint = code.error("").hint;
            assert!(hint.contains("new ticket"), "{hint}");
            assert!(!hint.contains("same command"), "{hint}");
        }
    }
}
