//! `mpfec send`

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::{Item, Sent, scan, send_all, source};
use crate::args::SendArgs;
use crate::client;
use crate::clock;
use crate::close::CloseCode;
use crate::context::Context;
use crate::engine;
use crate::error::CliError;
use crate::monitor::{Monitor, Watched};
use crate::names::Names;
use crate::report;

/// Sends and reports.
pub(crate) async fn run(context: Context, args: SendArgs) -> Result<(), CliError> {
    let (ticket, sources) = split(&args.words, args.peer.ticket_file.is_some())?;
    let ticket = client::ticket(ticket.as_deref(), args.peer.ticket_file.as_deref())?;
    let items = {
        let (name, output) = (args.name.clone(), context.output.clone());
        let scanning = tokio::task::spawn_blocking(move || scan(&sources, &name, &output));
        scanning
            .await
            .map_err(|error| CliError::other("cannot look at the sources", error))??
    };
    let (endpoint, connection) = client::connect(&context, &ticket, &args.peer).await?;
    let started = clock::now();
    let done = Arc::new(AtomicU64::new(0));
    let watched = watch(&items, &done);
    let monitor = Monitor::start(connection.clone(), context.output.clone(), watched);
    let result = send_all(&connection, items, &done).await;
    let elapsed = clock::now() - started;
    let stats = connection.stats();
    let paths = monitor.finish().await;
    match &result {
        Ok(_) => connection.close(CloseCode::Done.to_wire(), ""),
        Err(error) => connection.close(error.close_code().to_wire(), &error.what),
    }
    let Sent {
        files,
        bytes,
        hash,
        longest_pause,
    } = match result {
        Ok(sent) => sent,
        Err(error) => {
            farewell(&endpoint).await;
            return Err(client::lost(&connection, error).await);
        }
    };
    let finished = report::Finished {
        files,
        bytes,
        hash,
        elapsed,
        longest_pause,
        best_mbps: None,
    };
    report::done(&context.output, &finished, Some(&stats.streams), paths);
    farewell(&endpoint).await;
    Ok(())
}

fn watch(items: &[Item], done: &Arc<AtomicU64>) -> Watched {
    Watched {
        names: Names::of_interfaces(),
        label: source::label(items),
        done: Arc::clone(done),
        total: source::total(items),
        is_sender: true,
        patience: engine::PATIENCE,
        explain: false,
    }
}

/// Lets the peer hear that it is over.
async fn farewell(endpoint: &mpfec_core::net::Endpoint) {
    // Everything that matters was said: a peer that does not hear this notices by itself.
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await;
}

/// The ticket, unless it is in a file, and the rest: it is the word that looks like one,
/// or else the first.
fn split(words: &[OsString], has_file: bool) -> Result<(Option<String>, Vec<OsString>), CliError> {
    let looks = |word: &OsStr| word.to_str().is_some_and(client::looks_like_ticket);
    let found = words.iter().position(|word| looks(word));
    if has_file {
        return match (words, found) {
            ([], _) => Err(CliError::usage(
                "nothing to send",
                "name at least one file or directory, or - for standard input: mpfec send --ticket-file F FILE",
            )),
            (_, Some(at)) if !exists(words.get(at)) => Err(CliError::usage(
                "a ticket, and --ticket-file as well",
                "leave out one of them",
            )),
            _ => Ok((None, words.to_vec())),
        };
    }
    if words.is_empty() {
        return Err(CliError::usage(
            "no ticket and nothing to send",
            "give the ticket and at least one file or directory, or - for standard input: mpfec send TICKET FILE",
        ));
    }
    let at = found.unwrap_or(0);
    let ticket = words
        .get(at)
        .map(|word| word.to_string_lossy().into_owned());
    let sources: Vec<OsString> = words
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != at)
        .map(|(_, word)| word.clone())
        .collect();
    if sources.is_empty() {
        return Err(CliError::usage(
            "nothing to send",
            "give the ticket and at least one file or directory, or - for standard input: mpfec send TICKET FILE",
        ));
    }
    Ok((ticket, sources))
}

fn exists(word: Option<&OsString>) -> bool {
    word.is_some_and(|word| Path::new(word).symlink_metadata().is_ok())
}

const FAREWELL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_ticket_is_found_wherever_it_stands() {
        let expected = (Some("mpfec1:abc".to_owned()), words(&["x", "y"]));
        for order in [
            ["mpfec1:abc", "x", "y"],
            ["x", "mpfec1:abc", "y"],
            ["x", "y", "mpfec1:abc"],
        ] {
            assert_eq!(split(&words(&order), false).unwrap(), expected);
        }
        assert_eq!(
            split(&words(&["x", "y"]), true).unwrap(),
            (None, words(&["x", "y"]))
        );
        assert_eq!(
            split(&words(&["mistyped", "y"]), false)
                .unwrap()
                .0
                .as_deref(),
            Some("mistyped")
        );
    }

    #[test]
    fn a_ticket_alone_is_not_enough_and_two_are_too_many() {
        assert!(split(&[], false).is_err() && split(&[], true).is_err());
        assert!(split(&words(&["mpfec1:abc", "x"]), true).is_err());
        assert!(split(&words(&["mpfec1:abc"]), false).is_err());
    }
}
