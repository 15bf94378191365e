//! Connecting to the peer of a ticket.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use mpfec_core::net::{Connecting, Connection, Endpoint, LocalAddress, Paths, interfaces};
use mpfec_core::{ClientConfig, ClientTls, Ticket};

use crate::args::PeerArgs;
use crate::clock;
use crate::context::Context;
use crate::engine;
use crate::error::CliError;
use crate::exit::Exit;

/// The ticket that was given as a word or in a file.
pub(crate) fn ticket(word: Option<&str>, file: Option<&Path>) -> Result<Ticket, CliError> {
    let text = match (word, file) {
        (Some(word), _) => word.to_owned(),
        (None, Some(file)) => {
            std::fs::read_to_string(file).map_err(|error| CliError::source(file, &error))?
        }
        (None, None) => {
            return Err(CliError::usage(
                "no ticket",
                "give the ticket that the other end prints, or the file it wrote with --ticket-file",
            ));
        }
    };
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

/// Connects over the paths that were asked for.
pub(crate) async fn connect(
    context: &Context,
    ticket: &Ticket,
    peer: &PeerArgs,
) -> Result<(Endpoint, Connection), CliError> {
    let paths = paths(&peer.path)?;
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

/// Waits for the handshake, and says who did not answer and over what.
pub(crate) async fn within(
    mut connecting: Connecting,
    patience: Duration,
) -> Result<Connection, CliError> {
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
        "start the receiver on this host first, and use the ticket it prints"
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
fn listed<T: Display + Ord + Clone>(items: impl Iterator<Item = T>) -> String {
    let mut seen = BTreeSet::new();
    let once: Vec<String> = items
        .filter(|item| seen.insert(item.clone()))
        .map(|item| item.to_string())
        .collect();
    once.join(", ")
}

/// Every usable interface, or those that were named and exist.
fn paths(wanted: &[LocalAddress]) -> Result<Paths, CliError> {
    if wanted.is_empty() {
        return Ok(Paths::EveryInterface);
    }
    let all = interfaces();
    for local in wanted {
        let known = match local {
            LocalAddress::Any => true,
            LocalAddress::Ip(ip) => {
                ip.is_loopback() || all.iter().any(|interface| interface.addresses.contains(ip))
            }
            LocalAddress::Interface(name) => all.iter().any(|interface| interface.name == *name),
        };
        if !known {
            let names = listed(
                all.iter()
                    .filter(|one| one.is_usable())
                    .map(|one| one.name.as_str()),
            );
            return Err(CliError::usage(
                format!("this host has no interface or address {local}"),
                format!(
                    "choose among {}",
                    if names.is_empty() {
                        "none: see mpfec paths"
                    } else {
                        &names
                    }
                ),
            ));
        }
    }
    Ok(Paths::Over(wanted.to_vec()))
}

/// A peer that is there answers sooner.
const ANSWER: Duration = Duration::from_secs(3);

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
    fn text_that_is_no_ticket_fails_as_authentication() {
        let error = ticket(Some("mpfec1:abc"), None).unwrap_err();
        assert_eq!(error.exit, Exit::Authentication);
        assert_eq!(ticket(None, None).unwrap_err().exit, Exit::Usage);
        let missing = ticket(None, Some(Path::new("/nonexistent/ticket"))).unwrap_err();
        assert_eq!(missing.exit, Exit::Source);
    }

    #[test]
    fn an_interface_that_does_not_exist_is_a_wrong_argument() {
        let error = paths(&[LocalAddress::Interface("nosuch0".to_owned())]).unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
        assert!(error.what.contains("nosuch0"));
    }
}
