//! Connecting to the peer of a ticket.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use mpfec_core::net::{Connecting, Connection, Endpoint, LocalAddress};
use mpfec_core::{ClientConfig, ClientTls, CloseReason, Ticket};

use crate::args::PeerArgs;
use crate::clock;
use crate::context::Context;
use crate::engine;
use crate::error::{CliError, NEW_TICKET};
use crate::exit::Exit;
use crate::input;
use crate::local;

/// The ticket that was given as a word or in a file. What is no ticket at all is a wrong
/// argument; one that is damaged does not open the door.
pub(crate) fn ticket(word: Option<&str>, file: Option<&Path>) -> Result<Ticket, CliError> {
    let (text, place) = match (word, file) {
        (Some(word), _) => (word.to_owned(), format!("{word:?}")),
        (None, Some(file)) => {
            let text =
                input::read(file, LONGEST_FILE).map_err(|error| CliError::source(file, &error))?;
            let text = String::from_utf8_lossy(&text).trim().to_owned();
            (text, file.display().to_string())
        }
        (None, None) => {
            return Err(CliError::usage(
                "no ticket",
                "give the ticket that the other end prints, or the file it wrote with --ticket-file",
            ));
        }
    };
    if !looks_like_ticket(&text) {
        return Err(CliError::usage(
            format!(
                "{} is no ticket: a ticket starts with mpfec1:",
                shortened(&place)
            ),
            "copy the whole text that the other end prints, from mpfec1: to its end",
        ));
    }
    let ticket: Ticket = text.parse().map_err(|error| {
        CliError::new(
            Exit::Authentication,
            format!("not a valid ticket: {error}"),
            "copy the whole text that the other end prints, from mpfec1: to its end",
        )
    })?;
    let now = clock::since_1970().as_secs();
    if ticket.is_expired(now) {
        let ago = ticket
            .expires()
            .map_or(0, |expires| now.saturating_sub(expires));
        return Err(CliError::new(
            Exit::Authentication,
            format!(
                "the ticket expired {} ago",
                crate::units::time(Duration::from_secs(ago))
            ),
            "ask for a new ticket; if it is new, set the clocks of both ends",
        ));
    }
    Ok(ticket)
}

/// Whether a word is meant as a ticket, of whatever version: `mpfec`, a number, a colon.
pub(crate) fn looks_like_ticket(word: &str) -> bool {
    let lower = word.trim_start().to_ascii_lowercase();
    let version = lower
        .strip_prefix("mpfec")
        .and_then(|rest| rest.split_once(':'));
    version.is_some_and(|(version, _)| {
        !version.is_empty() && version.bytes().all(|digit| digit.is_ascii_digit())
    })
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_WORD) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Connects over the paths that were asked for.
pub(crate) async fn connect(
    context: &Context,
    ticket: &Ticket,
    peer: &PeerArgs,
) -> Result<(Endpoint, Connection), CliError> {
    let paths = local::choose(&peer.path, ticket.addresses())?;
    let endpoint =
        Endpoint::client().map_err(|error| CliError::other("cannot open an endpoint", error))?;
    context.note(&endpoint);
    let config = ClientConfig::new(ClientTls::pinned(ticket.fingerprint()))
        .with_secret(ticket.secret())
        .with_transport(engine::remote_transport(&context.expert));
    let connecting = endpoint.connect_over(config, paths, ticket.addresses());
    let connection = within(connecting, ANSWER).await?;
    Ok((endpoint, connection))
}

/// The error of a connection that is lost. A server that does not accept the secret says so, but
/// what it says may get lost as everything else may: then all that comes is a reset.
pub(crate) async fn lost(connection: &Connection, error: CliError) -> CliError {
    let is_reset = matches!(connection.close_reason(), Some(CloseReason::Reset));
    if is_reset && connection.handshake_confirmed().await.is_err() {
        return CliError::new(
            Exit::Network,
            "the other end does not know this connection: it did not take the ticket's secret, heard too little of the handshake, or was restarted just now",
            NEW_TICKET,
        );
    }
    error
}

/// Waits for the handshake, and says who did not answer and over what.
async fn within(mut connecting: Connecting, patience: Duration) -> Result<Connection, CliError> {
    let routes = connecting.routes();
    match tokio::time::timeout(patience, &mut connecting).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(unreachable(&routes, patience)),
    }
}

fn unreachable(routes: &[(LocalAddress, SocketAddr)], patience: Duration) -> CliError {
    let remotes = listed(
        routes
            .iter()
            .map(|(_, remote)| format!("{} UDP {}", remote.ip(), remote.port())),
    );
    let locals = listed(routes.iter().map(|(local, remote)| match local {
        LocalAddress::Any if remote.ip().is_loopback() => "loopback".to_owned(),
        local => local.to_string(),
    }));
    let is_local = routes.iter().all(|(local, _)| *local == LocalAddress::Any);
    let hint = if is_local {
        "start mpfec recv or mpfec perf server on this host first, and use the ticket that it prints"
    } else {
        "open the port on the receiver, or check the ticket's addresses"
    };
    CliError::new(
        Exit::Network,
        format!(
            "no answer from {remotes} over {locals} in {} s",
            patience.as_secs()
        ),
        hint,
    )
}

/// Each once, in order.
pub(crate) fn listed<T: Display + Ord + Clone>(items: impl Iterator<Item = T>) -> String {
    let mut seen = BTreeSet::new();
    let once: Vec<String> = items
        .filter(|item| seen.insert(item.clone()))
        .map(|item| item.to_string())
        .collect();
    once.join(", ")
}

/// A peer that is there answers sooner.
const ANSWER: Duration = Duration::from_secs(3);
/// No file with a ticket is longer.
const LONGEST_FILE: usize = 1 << 16;
/// Letters of a wrong word that are told.
const LONGEST_WORD: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_each_address_and_interface_once() {
        let remote = "203.0.113.7:47800".parse().unwrap();
        let routes = [
            (LocalAddress::Interface("wlan0".to_owned()), remote),
            (LocalAddress::Interface("wwan0".to_owned()), remote),
        ];
        let error = unreachable(&routes, ANSWER);
        assert_eq!(
            error.what,
            "no answer from 203.0.113.7 UDP 47800 over wlan0, wwan0 in 3 s"
        );
        assert_eq!(
            error.hint,
            "open the port on the receiver, or check the ticket's addresses"
        );
        assert_eq!(error.exit, Exit::Network);
    }

    #[test]
    fn a_damaged_ticket_fails_as_authentication_and_other_words_as_usage() {
        let error = ticket(Some("mpfec1:abc"), None).unwrap_err();
        assert_eq!(error.exit, Exit::Authentication);
        assert_eq!(
            ticket(Some("film.mkv"), None).unwrap_err().exit,
            Exit::Usage
        );
        assert_eq!(ticket(None, None).unwrap_err().exit, Exit::Usage);
        let missing = ticket(None, Some(Path::new("/nonexistent/ticket"))).unwrap_err();
        assert_eq!(missing.exit, Exit::Source);
    }
}
