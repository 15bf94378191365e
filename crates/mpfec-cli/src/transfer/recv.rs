//! `mpfec recv`

use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use mpfec_core::net::{Connection, RecvStream, SendStream};
use tokio::task::{JoinError, JoinSet};

use super::message::VERSION;
use super::name::plain_text;
use super::{Counters, Destination, Received, TransferHello, receive};
use crate::args::RecvArgs;
use crate::clock;
use crate::close::{CloseCode, or_its_reason};
use crate::context::Context;
use crate::engine;
use crate::error::CliError;
use crate::exit::Exit;
use crate::frame::{self, Hello};
use crate::monitor::{Monitor, Watched};
use crate::names::Names;
use crate::output::{Event, LeftOverReport, Output};
use crate::report;
use crate::service::{self, Service};
use crate::units;

/// Prints a ticket, and receives from those who hold it.
pub(crate) async fn run(context: Context, args: RecvArgs) -> Result<(), CliError> {
    let destination = Destination::new(&args.dir, args.overwrite)
        .map_err(|error| CliError::destination(&args.dir, &error))?;
    let service = Service::start(&context, &args.listen)?;
    mention_left_over(&context.output, &destination);
    invite(&context.output, &service, &destination);
    let receiver = Receiver {
        context,
        destination,
        ask: !args.yes,
        once: args.once,
    };
    let mut handshakes = JoinSet::new();
    let mut transfers = JoinSet::new();
    let mut complete = 0;
    loop {
        tokio::select! {
            () = service.expired(), if transfers.is_empty() => {
                return service.conclude(&receiver.context.output, complete);
            }
            connection = service.accept(&mut handshakes) => {
                let Some(connection) = connection else {
                    return service::ended(&mut transfers).await;
                };
                transfers.spawn(receiver.clone().serve(connection));
            }
            Some(ended) = transfers.join_next() => {
                let result = match outcome(ended) {
                    Ok(Outcome::NoTransfer) => continue,
                    Ok(Outcome::Complete) => {
                        complete += 1;
                        Ok(())
                    }
                    Err(error) => Err(error),
                };
                // Others that are under way may be another attempt at what has failed.
                if args.once && (result.is_ok() || transfers.is_empty()) {
                    let rest = |ended| outcome(ended).map(|_| ());
                    return service.finish(result, &mut transfers, rest).await;
                }
                if let Err(error) = result {
                    receiver.context.output.error(&error);
                }
            }
        }
    }
}

fn outcome(ended: Result<Result<Outcome, CliError>, JoinError>) -> Result<Outcome, CliError> {
    ended.unwrap_or_else(|error| Err(CliError::other("a transfer failed", error)))
}

fn invite(output: &Output, service: &Service, destination: &Destination) {
    output.say(&format!(
        "listening on {} UDP, saving to {}",
        service.places(),
        destination.root().display()
    ));
    service.warn_if_local(output);
    output.result(&format!(
        "on the other machine:  mpfec send {} FILE",
        service.ticket
    ));
}

/// Tells of files that a receiver has left which was killed.
fn mention_left_over(output: &Output, destination: &Destination) {
    for left in destination.left_over() {
        let age = left
            .age
            .map(|age| format!(", last written {} ago", units::time(age)));
        output.say(&format!(
            "left over from a receiver that was killed, unless another is writing it now: {} ({}{})",
            plain_text(&left.path.display().to_string()),
            units::size(left.bytes),
            age.unwrap_or_default()
        ));
        output.event(&Event::LeftOver(LeftOverReport {
            path: left.path.display().to_string(),
            bytes: left.bytes,
            age_seconds: left.age.map(|age| age.as_secs()),
        }));
    }
}

#[derive(Debug, Clone)]
struct Receiver {
    context: Context,
    destination: Destination,
    ask: bool,
    once: bool,
}

enum Outcome {
    Complete,
    /// The peer went away before it said what it wanted.
    NoTransfer,
}

impl Receiver {
    /// One connection, from hello to close.
    async fn serve(self, connection: Connection) -> Result<Outcome, CliError> {
        let opened = tokio::time::timeout(HELLO, hello(&connection)).await;
        let Ok(Ok((mut control, listen, hello))) = opened else {
            connection.close(CloseCode::Protocol.to_wire(), "no hello");
            return Ok(Outcome::NoTransfer);
        };
        let hello = match hello {
            Hello::Transfer(hello) if hello.version == VERSION => hello,
            Hello::Transfer(hello) => {
                let reason = format!(
                    "transfer protocol {}, this receiver speaks {VERSION}",
                    hello.version
                );
                connection.close(CloseCode::Protocol.to_wire(), &reason);
                return Ok(Outcome::NoTransfer);
            }
            Hello::Perf(_) => {
                connection.close(CloseCode::WrongService.to_wire(), "mpfec recv");
                return Ok(Outcome::NoTransfer);
            }
        };
        let result = self.transfer(&connection, &mut control, &hello).await;
        let result = or_its_reason(&connection, result).await;
        match &result {
            // The sender closes when it has read the summary.
            Ok(()) => {
                let _ = tokio::time::timeout(FAREWELL, connection.closed()).await;
                connection.close(CloseCode::Done.to_wire(), "");
            }
            Err(error) => connection.close(error.close_code().to_wire(), &error.what),
        }
        // Not before: the sender would take the end of a stream for an answer.
        drop((control, listen));
        result.map(|()| Outcome::Complete)
    }

    async fn transfer(
        &self,
        connection: &Connection,
        control: &mut SendStream,
        hello: &TransferHello,
    ) -> Result<(), CliError> {
        let output = &self.context.output;
        let label = shortened(&plain_text(&hello.label));
        let from = connection
            .paths()
            .first()
            .map(|path| path.tuple.remote.ip().to_canonical());
        let what = describe(&label, hello.bytes, from);
        if self.ask && output.can_ask() && !confirmed(&what).await? {
            connection.close(CloseCode::Refused.to_wire(), "");
            return Err(CliError::new(
                Exit::Refused,
                "you refused the transfer",
                "run the command again to receive",
            ));
        }
        output.say(&format!("receiving {what}"));
        let started = clock::now();
        let counters = Arc::new(Counters::default());
        let watched = Watched {
            names: Names::of_interfaces(),
            label,
            done: Arc::clone(&counters.bytes),
            total: hello.bytes,
            is_sender: false,
            patience: engine::PATIENCE,
            explain: false,
        };
        let monitor = Monitor::start(connection.clone(), output.clone(), watched);
        let result = receive(connection, control, &self.destination, &counters).await;
        let elapsed = clock::now() - started;
        let paths = monitor.finish().await;
        let Received {
            files,
            bytes,
            hash,
            failed,
            failure,
        } = result?;
        if let Some((name, failure)) = failure {
            return Err(failure.error(&name, failed));
        }
        let longest_pause = counters.longest_pause();
        let finished = report::Finished {
            files,
            bytes,
            hash,
            elapsed,
            longest_pause,
            best_mbps: None,
        };
        report::done(output, &finished, None, paths);
        if !self.once {
            output.say("waiting for the next; ctrl-c to end");
        }
        Ok(())
    }
}

async fn hello(connection: &Connection) -> Result<(SendStream, RecvStream, Hello), CliError> {
    let (control, mut listen) = connection.accept_bi().await?;
    let hello = frame::expect(&mut listen).await?;
    Ok((control, listen, hello))
}

/// The beginning of a text, so that it fits on a line.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(LABEL) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn describe(label: &str, bytes: Option<u64>, from: Option<IpAddr>) -> String {
    let size = bytes
        .map(|bytes| format!(", {}", units::size(bytes)))
        .unwrap_or_default();
    let from = from
        .map(|from| format!(", from {from}"))
        .unwrap_or_default();
    format!("{label}{size}{from}")
}

/// Whether a line means yes: an empty one does, the end of the input does not.
fn agrees(line: &str) -> bool {
    !line.is_empty() && !line.trim().to_ascii_lowercase().starts_with('n')
}

/// Asks on the terminal.
async fn confirmed(what: &str) -> Result<bool, CliError> {
    let question = format!("receive {what}? [Y/n] ");
    let asked = tokio::task::spawn_blocking(move || {
        let mut terminal = std::io::stderr().lock();
        terminal.write_all(question.as_bytes())?;
        terminal.flush()?;
        drop(terminal);
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        Ok::<bool, std::io::Error>(agrees(&answer))
    });
    let answer = asked
        .await
        .map_err(|error| CliError::other("cannot ask", error))?;
    answer.map_err(|error| CliError::other("cannot ask", error))
}

/// How long a peer may take to say what it wants.
const HELLO: Duration = Duration::from_secs(10);
/// How long to wait for the peer at the end.
const FAREWELL: Duration = Duration::from_secs(2);
/// Letters of what a sender calls its transfer.
const LABEL: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sender_calls_its_transfer_fits_on_a_line() {
        assert_eq!(shortened("photos (3 files)"), "photos (3 files)");
        assert_eq!(shortened(&"ü".repeat(81)), format!("{}...", "ü".repeat(80)));
    }

    #[test]
    fn an_empty_line_agrees_and_the_end_of_the_input_does_not() {
        for (line, is_yes) in [("\n", true), ("y\n", true), (" No\n", false), ("", false)] {
            assert_eq!(agrees(line), is_yes, "{line:?}");
        }
    }

    #[test]
    fn a_transfer_is_described_by_what_is_known_of_it() {
        let from = Some(IpAddr::from([192, 0, 2, 1]));
        assert_eq!(
            describe("x", Some(2048), from),
            "x, 2.0 KiB, from 192.0.2.1"
        );
        assert_eq!(describe("stdin", None, None), "stdin");
    }
}
