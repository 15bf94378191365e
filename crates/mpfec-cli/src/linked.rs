//! Connections between two ends of this process, over links with names: nobody has a ticket,
//! and who does not answer is a link.

use std::net::SocketAddr;
use std::time::Duration;

use mpfec_core::CloseReason;
use mpfec_core::net::{Connecting, ConnectingError, Connection};

use crate::clock;
use crate::engine;
use crate::error::CliError;
use crate::exit::Exit;
use crate::monitor::SILENT;
use crate::output::{Output, Progress, Silence};

/// Links by their names, each with the address that leads over it.
pub(crate) type Links = [(String, SocketAddr)];

/// Waits for the handshake, tells while nothing answers, and at the end over which links.
pub(crate) async fn connect(
    mut connecting: Connecting,
    links: &Links,
    label: &str,
    output: &Output,
) -> Result<Connection, CliError> {
    let began = clock::now();
    let mut ticks = tokio::time::interval_at((began + SILENT).into(), INTERVAL);
    let mut is_told = false;
    let connected = loop {
        tokio::select! {
            biased;
            connected = &mut connecting => break connected.map_err(|error| match error {
                ConnectingError::TimedOut { .. } => unreachable(links),
                error => error.into(),
            }),
            _ = ticks.tick() => {
                if !std::mem::replace(&mut is_told, true) {
                    output.say(&format!("no answer over {} yet", names(links)));
                }
                output.progress(&waiting(label, clock::now() - began));
            }
        }
    };
    output.end_progress();
    connected
}

fn waiting(label: &str, silent: Duration) -> Progress {
    Progress {
        label: label.to_owned(),
        bytes: 0,
        total: None,
        seconds: 0.0,
        rate_mbps: 0.0,
        seconds_left: None,
        silence: Some(Silence {
            peer: "the other end",
            silent_seconds: silent.as_secs(),
            gives_up_in_seconds: ANSWER.saturating_sub(silent).as_secs(),
        }),
        paths: Vec::new(),
    }
}

/// The error of a connection that is lost, told by its links if they are the reason.
pub(crate) fn lost(connection: &Connection, links: &Links, error: CliError) -> CliError {
    match connection.close_reason() {
        Some(CloseReason::TimedOut) => dead("nothing came", links),
        // It gave up first, and then something came.
        Some(CloseReason::Reset) => CliError::new(
            Exit::Network,
            format!(
                "the other end gave up over {}: it heard nothing for {} s, or not all of the handshake in {} s",
                names(links),
                engine::LOCAL_PATIENCE.as_secs(),
                ANSWER.as_secs()
            ),
            HINT,
        ),
        _ => error,
    }
}

fn unreachable(links: &Links) -> CliError {
    CliError::new(
        Exit::Network,
        format!("no answer over {} in {} s", names(links), ANSWER.as_secs()),
        HINT,
    )
}

fn dead(what: &str, links: &Links) -> CliError {
    CliError::new(
        Exit::Network,
        format!(
            "{what} over {} for {} s",
            names(links),
            engine::LOCAL_PATIENCE.as_secs()
        ),
        HINT,
    )
}

fn names(links: &Links) -> String {
    let names: Vec<&str> = links.iter().map(|(name, _)| name.as_str()).collect();
    names.join(", ")
}

/// Links may be long and lossy.
pub(crate) const ANSWER: Duration = Duration::from_secs(20);
/// Below ten reports a second.
const INTERVAL: Duration = Duration::from_millis(125);
const HINT: &str = "see what these links lose, how long they take, and when they are cut: one of them must carry packets both ways";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_named_and_nobody_is_sent_for_a_ticket() {
        let address = "127.0.0.1:1".parse().unwrap();
        let links = [("wifi".to_owned(), address), ("lte".to_owned(), address)];
        for (error, what) in [
            (unreachable(&links), "no answer over wifi, lte in 20 s"),
            (
                dead("nothing came", &links),
                "nothing came over wifi, lte for 30 s",
            ),
        ] {
            assert_eq!((error.exit, error.what.as_str()), (Exit::Network, what));
            assert!(!error.hint.contains("ticket"), "{}", error.hint);
        }
    }
}
