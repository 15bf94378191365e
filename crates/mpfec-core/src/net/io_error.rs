//! The errors of streams, connections, paths and messages as those of `std::io`, so that `?` does
//! in functions that return these.

use std::io;

use super::connection::{ConnectingError, PathError};
use super::stream::{ReadError, ReadExactError, WriteError};
use crate::connection::{ClosePathError, CloseReason, OpenPathError, SendDatagramError};

impl From<ReadExactError> for io::Error {
    fn from(error: ReadExactError) -> Self {
        match error {
            ReadExactError::FinishedEarly(_) => Self::new(io::ErrorKind::UnexpectedEof, error),
            ReadExactError::ReadError(error) => error.into(),
        }
    }
}

impl From<WriteError> for io::Error {
    fn from(error: WriteError) -> Self {
        let kind = match &error {
            WriteError::Stopped(_) => io::ErrorKind::ConnectionReset,
            WriteError::Finished => io::ErrorKind::BrokenPipe,
            WriteError::ConnectionLost(reason) => kind(reason),
        };
        Self::new(kind, error)
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        let kind = match &error {
            ReadError::Reset(_) => io::ErrorKind::ConnectionReset,
            ReadError::Stopped => io::ErrorKind::BrokenPipe,
            ReadError::TooLong { .. } => io::ErrorKind::InvalidData,
            ReadError::ConnectionLost(reason) => kind(reason),
        };
        Self::new(kind, error)
    }
}

impl From<CloseReason> for io::Error {
    fn from(reason: CloseReason) -> Self {
        Self::new(kind(&reason), reason)
    }
}

impl From<ConnectingError> for io::Error {
    fn from(error: ConnectingError) -> Self {
        let kind = match error {
            ConnectingError::Closed(reason) => return reason.into(),
            ConnectingError::TimedOut { .. } => io::ErrorKind::TimedOut,
            ConnectingError::Connect(_) | ConnectingError::NoSocket { .. } => {
                io::ErrorKind::AddrNotAvailable
            }
            ConnectingError::EndpointClosed => io::ErrorKind::NotConnected,
        };
        Self::new(kind, error)
    }
}

impl From<PathError> for io::Error {
    fn from(error: PathError) -> Self {
        let kind = match error {
            PathError::ConnectionLost(reason) => return reason.into(),
            PathError::NoSocket { .. } => io::ErrorKind::AddrNotAvailable,
            PathError::Refused(OpenPathError::Duplicate(_)) => io::ErrorKind::AlreadyExists,
            PathError::Refused(_) => io::ErrorKind::Unsupported,
        };
        Self::new(kind, error)
    }
}

impl From<ClosePathError> for io::Error {
    fn from(error: ClosePathError) -> Self {
        Self::new(io::ErrorKind::Unsupported, error)
    }
}

impl From<SendDatagramError> for io::Error {
    fn from(error: SendDatagramError) -> Self {
        let kind = match error {
            SendDatagramError::Unsupported => io::ErrorKind::Unsupported,
            SendDatagramError::TooLarge { .. } => io::ErrorKind::InvalidInput,
            SendDatagramError::Blocked => io::ErrorKind::WouldBlock,
            SendDatagramError::Closed => io::ErrorKind::NotConnected,
        };
        Self::new(kind, error)
    }
}

/// How a connection that is over, or never was, fails whoever uses it.
fn kind(reason: &CloseReason) -> io::ErrorKind {
    match reason {
        CloseReason::TimedOut => io::ErrorKind::TimedOut,
        reason if reason.is_authentication() => io::ErrorKind::PermissionDenied,
        reason if reason.is_refusal() => io::ErrorKind::ConnectionRefused,
        _ => io::ErrorKind::NotConnected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::TransportError;

    #[test]
    fn what_an_application_waits_for_fails_with_errors_of_io_that_say_why() {
        let secret = TransportError::authentication_failed("no secret");
        let lost = WriteError::ConnectionLost(CloseReason::PeerError(secret));
        let refused = CloseReason::PeerError(TransportError::connection_refused("full"));
        let errors: [(io::Error, io::ErrorKind); 7] = [
            (lost.into(), io::ErrorKind::PermissionDenied),
            (
                ConnectingError::Closed(refused).into(),
                io::ErrorKind::ConnectionRefused,
            ),
            (CloseReason::TimedOut.into(), io::ErrorKind::TimedOut),
            (
                ConnectingError::TimedOut { tried: Vec::new() }.into(),
                io::ErrorKind::TimedOut,
            ),
            (
                PathError::Refused(OpenPathError::Duplicate(3)).into(),
                io::ErrorKind::AlreadyExists,
            ),
            (
                ClosePathError::LastPath(0).into(),
                io::ErrorKind::Unsupported,
            ),
            (SendDatagramError::Blocked.into(), io::ErrorKind::WouldBlock),
        ];
        for (error, kind) in errors {
            assert_eq!(error.kind(), kind);
            assert!(error.get_ref().is_some(), "{error}");
        }
    }
}
