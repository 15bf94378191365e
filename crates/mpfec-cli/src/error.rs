//! Errors as people see them: what is wrong with its facts, and what to try.

use std::io;
use std::path::Path;

use mpfec_core::net::{ConnectingError, ReadError, WriteError};
use mpfec_core::{CloseReason, TransportError};

use crate::close::CloseCode;
use crate::exit::Exit;

/// Why a command failed. Both lines are one line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub(crate) struct CliError {
    /// Decides the exit code.
    pub(crate) exit: Exit,
    /// What is wrong, with its facts.
    pub(crate) what: String,
    /// What to try.
    pub(crate) hint: String,
}

impl CliError {
    pub(crate) fn new(exit: Exit, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            exit,
            what: one_line(what.into()),
            hint: one_line(hint.into()),
        }
    }

    pub(crate) fn usage(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what, hint)
    }

    /// The peer says something that its protocol does not allow.
    pub(crate) fn protocol(what: &str) -> Self {
        Self::new(
            Exit::Refused,
            format!("the peer does not follow the protocol: {what}"),
            "use the same version of mpfec on both ends",
        )
    }

    /// A source that cannot be read.
    pub(crate) fn source(path: &Path, error: &io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "check the name, or the directory the command runs in",
            io::ErrorKind::PermissionDenied => "run as a user who may read it",
            io::ErrorKind::InvalidData => "it must be a text, in UTF-8",
            io::ErrorKind::IsADirectory => "name a file",
            io::ErrorKind::UnexpectedEof => "send it again when nothing writes to it any more",
            _ => "check that it can be read with other programs",
        };
        Self::new(
            Exit::Source,
            format!("cannot read {}: {}", named(path), plain(error)),
            hint,
        )
    }

    /// A destination that cannot be written.
    pub(crate) fn destination(path: &Path, error: &io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::AlreadyExists => {
                "move it away, choose another --dir, or pass --overwrite"
            }
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => "make room, or choose a --dir on another disk",
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "choose a --dir that you may write to"
            }
            io::ErrorKind::NotFound => "make the directory, or choose another --dir",
            io::ErrorKind::NotADirectory => "choose a --dir that is a directory",
            _ => "check the directory and its disk",
        };
        Self::new(
            Exit::Destination,
            format!("cannot write {}: {}", path.display(), plain(error)),
            hint,
        )
    }

    /// A local failure without an exit code of its own.
    pub(crate) fn other(what: impl Into<String>, error: impl std::fmt::Display) -> Self {
        Self::new(
            Exit::Other,
            format!("{}: {error}", what.into()),
            "run it again with -v to see more",
        )
    }

    /// A socket that cannot be bound.
    pub(crate) fn listen(address: std::net::SocketAddr, error: &io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "stop the other program, or choose another port with --listen IP:PORT"
            }
            io::ErrorKind::AddrNotAvailable => "choose an address of this host: see mpfec paths",
            io::ErrorKind::PermissionDenied => "choose a port above 1023 with --listen IP:PORT",
            _ => "choose another address with --listen IP:PORT",
        };
        Self::new(
            Exit::Network,
            format!("cannot listen on {address} UDP: {}", plain(error)),
            hint,
        )
    }
}

impl From<CloseReason> for CliError {
    fn from(reason: CloseReason) -> Self {
        if let CloseReason::PeerError(error) = &reason
            && error.code == TransportError::AUTHENTICATION_FAILED
        {
            return Self::new(
                Exit::Authentication,
                "the peer does not know the ticket's secret",
                NEW_TICKET,
            );
        }
        if reason.is_authentication()
            && let CloseReason::PeerError(error) | CloseReason::TransportError(error) = &reason
        {
            return Self::new(
                Exit::Authentication,
                format!("who answers is not who made the ticket: {}", words(error)),
                NEW_TICKET,
            );
        }
        if let CloseReason::PeerError(error) = &reason
            && reason.is_refusal()
        {
            return Self::new(
                Exit::Refused,
                format!("the peer refused the connection: {}", words(error)),
                "try again later, or start the other end again for a new ticket",
            );
        }
        match reason {
            CloseReason::TimedOut => Self::new(
                Exit::Network,
                "the peer stopped answering: nothing arrived from it on any path",
                "check the network and the other end, then run the same command again",
            ),
            CloseReason::Reset => Self::new(
                Exit::Network,
                "the peer no longer knows this connection: it was restarted",
                "ask for a new ticket and run the command again",
            ),
            CloseReason::ApplicationClosed { code, reason } => {
                CloseCode::from_wire(code).error(&reason)
            }
            CloseReason::LocallyClosed(_) | CloseReason::EndpointGone => Self::new(
                Exit::Interrupted,
                "the connection was closed at this end",
                "run the same command again",
            ),
            CloseReason::PeerError(error) if error.code == TransportError::APPLICATION_ERROR => {
                Self::new(
                    Exit::Network,
                    "the other end was stopped, or gave up, before the connection was made",
                    "see what it says there; a receiver or server that is started again prints a new ticket",
                )
            }
            CloseReason::PeerError(error) | CloseReason::TransportError(error) => Self::new(
                Exit::Network,
                format!("the connection broke: {error}"),
                "run the same command again; if it persists, use the same version of mpfec on both ends",
            ),
            CloseReason::VersionMismatch { .. } => Self::new(
                Exit::Refused,
                reason.to_string(),
                "use the same version of mpfec on both ends",
            ),
        }
    }
}

impl From<ConnectingError> for CliError {
    fn from(error: ConnectingError) -> Self {
        match error {
            ConnectingError::Closed(reason) => reason.into(),
            ConnectingError::TimedOut { .. } => Self::new(
                Exit::Network,
                error.to_string(),
                "start the other end first, open its port, or check the ticket's addresses",
            ),
            ConnectingError::Connect(_) | ConnectingError::NoSocket { .. } => Self::new(
                Exit::Network,
                format!("cannot start a connection: {error}"),
                "see mpfec paths for the interfaces that can be used",
            ),
            ConnectingError::EndpointClosed => Self::other("cannot connect", error),
        }
    }
}

impl From<ReadError> for CliError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::ConnectionLost(reason) => reason.into(),
            error => Self::protocol(&error.to_string()),
        }
    }
}

impl From<WriteError> for CliError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::ConnectionLost(reason) => reason.into(),
            error => Self::protocol(&error.to_string()),
        }
    }
}

/// What to do about a ticket that does not open the door.
pub(crate) const NEW_TICKET: &str =
    "ask for a new ticket: each run of mpfec recv or mpfec perf server prints its own";

/// A path as people can see it, even if nothing is there.
fn named(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        "\"\"".to_owned()
    } else {
        path.display().to_string()
    }
}

/// The message of an error of the operating system without its number, and without the name of
/// a temporary file that may follow that. What we found out ourselves reads as if the system had.
pub(crate) fn plain(error: &io::Error) -> String {
    let is_bare = error.raw_os_error().is_none() && error.get_ref().is_none();
    match error.kind() {
        io::ErrorKind::NotFound if is_bare => return "no such file or directory".to_owned(),
        io::ErrorKind::AlreadyExists if is_bare => return "file exists".to_owned(),
        _ => {}
    }
    let text = error.to_string();
    let Some((text, _)) = text.split_once(" (os error") else {
        return text;
    };
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_lowercase().chain(letters).collect())
        .unwrap_or_default()
}

/// What a peer or we found wrong, without the number that stands for it on the wire.
fn words(error: &TransportError) -> String {
    if error.reason.is_empty() {
        error.to_string()
    } else {
        error.reason.to_string()
    }
}

fn one_line(text: String) -> String {
    if text.chars().any(char::is_control) {
        text.chars()
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .collect()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use tempfile::NamedTempFile;

    use super::*;

    #[test]
    fn what_a_peer_says_stays_on_one_line() {
        let reason = CloseReason::ApplicationClosed {
            code: 2,
            reason: "no\nthank\u{1b}[2Jyou".to_owned(),
        };
        let error = CliError::from(reason);
        assert_eq!(error.exit, Exit::Refused);
        assert!(
            !error.what.chars().any(char::is_control),
            "{:?}",
            error.what
        );
    }

    #[test]
    fn who_made_another_ticket_is_told_without_numbers_and_with_what_to_do() {
        let error = TransportError::crypto(49, "the certificate is another one");
        let error = CliError::from(CloseReason::TransportError(error));
        assert_eq!(error.exit, Exit::Authentication);
        assert_eq!(
            error.what,
            "who answers is not who made the ticket: the certificate is another one"
        );
        assert!(error.hint.contains("new ticket"), "{}", error.hint);
        // RFC 9000 §10.2.3: during the handshake an application's reason is not told.
        let silent = TransportError::application("");
        let error = CliError::from(CloseReason::PeerError(silent));
        assert_eq!(error.exit, Exit::Network);
        assert!(!error.what.contains("code"), "{}", error.what);
    }

    #[test]
    fn messages_of_the_system_lose_their_number() {
        let error = io::Error::from_raw_os_error(2);
        assert_eq!(plain(&error), "no such file or directory");
        let dir = tempfile::tempdir().unwrap();
        let error = NamedTempFile::new_in(dir.path().join("gone")).unwrap_err();
        assert_eq!(plain(&error), "no such file or directory", "and its name");
        let error = io::ErrorKind::AlreadyExists.into();
        assert_eq!(plain(&error), "file exists", "and no entity");
    }

    #[test]
    fn a_full_disk_and_an_existing_file_are_problems_of_the_destination() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::AlreadyExists] {
            let error = CliError::destination(Path::new("/x/y"), &kind.into());
            assert_eq!(error.exit, Exit::Destination);
            assert!(error.what.contains("/x/y"));
        }
    }
}
