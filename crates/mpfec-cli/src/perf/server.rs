//! `mpfec perf server`

use std::time::Duration;

use mpfec_core::CloseReason;
use mpfec_core::net::{Connection, RecvStream, SendStream};
use tokio::task::{JoinError, JoinSet};

use super::session;
use crate::args::PerfServerArgs;
use crate::close::{CloseCode, or_its_reason};
use crate::context::Context;
use crate::error::CliError;
use crate::frame::{self, Hello};
use crate::output::{Event, Output};
use crate::service::{self, Service};

/// Prints a ticket, and answers those who hold it.
pub(super) async fn run(context: Context, args: PerfServerArgs) -> Result<(), CliError> {
    let service = Service::start(&context, &args.listen)?;
    let output = &context.output;
    output.say(&format!("listening on {} UDP", service.places()));
    service.warn_if_local(output);
    output.result(&format!(
        "on the other machine:  mpfec perf client {}",
        service.ticket
    ));
    let mut handshakes = JoinSet::new();
    let mut sessions = JoinSet::new();
    let mut complete = 0;
    loop {
        tokio::select! {
            () = service.expired(), if sessions.is_empty() => {
                return service.conclude(output, complete);
            }
            connection = service.accept(&mut handshakes) => {
                let Some(connection) = connection else {
                    return service::ended(&mut sessions).await;
                };
                sessions.spawn(async move {
                    let from = connection.paths().first().map(|path| path.tuple.remote.to_string());
                    (from.unwrap_or_default(), serve(&connection, HELLO).await)
                });
            }
            Some(ended) = sessions.join_next() => {
                let result = outcome(output, ended);
                complete += u64::from(result.is_ok());
                // What is under way goes on, and one that has failed is not the one that was waited for.
                if args.once && (result.is_ok() || sessions.is_empty()) {
                    let rest = |ended| outcome(output, ended);
                    return service.finish(result, &mut sessions, rest).await;
                }
                if let Err(error) = result {
                    output.error(&error);
                }
            }
        }
    }
}

/// Tells of a measurement that went well, and returns how it went.
fn outcome(output: &Output, ended: Ended) -> Result<(), CliError> {
    let (from, result) = ended.map_err(|error| CliError::other("a measurement failed", error))?;
    result?;
    output.say(&format!("measured with {from}"));
    output.event(&Event::Complete {
        ok: true,
        from: Some(from),
    });
    Ok(())
}

/// A connection that is over: where from, and how it went.
type Ended = Result<(String, Result<(), CliError>), JoinError>;

/// One connection, from hello to close.
/// The client may take `patience` to say what it wants.
pub(super) async fn serve(connection: &Connection, patience: Duration) -> Result<(), CliError> {
    let opened = tokio::time::timeout(patience, hello(connection)).await;
    let opened = opened.unwrap_or_else(|_| Err(CliError::protocol("nothing is said")));
    // The streams stay until the connection is closed: the client would take their end for
    // an answer.
    let (result, _streams) = match opened {
        Ok((mut control, mut requests, Hello::Perf(wanted))) => {
            let answered = session::answer(connection, &mut control, &mut requests, &wanted);
            let result = match or_its_reason(connection, answered.await).await {
                // The client has what it wanted.
                Err(_) if is_done(connection) => Ok(()),
                result => result,
            };
            (result, Some((control, requests)))
        }
        Ok((control, requests, Hello::Transfer(_))) => {
            connection.close(CloseCode::WrongService.to_wire(), "mpfec perf server");
            let error = CliError::protocol("it wants to send files to mpfec perf server");
            (Err(error), Some((control, requests)))
        }
        Err(error) => (Err(error), None),
    };
    match &result {
        Ok(()) => connection.close(CloseCode::Done.to_wire(), ""),
        Err(error) => connection.close(error.close_code().to_wire(), &error.what),
    }
    result
}

/// Whether the client has said that it needs no more.
fn is_done(connection: &Connection) -> bool {
    let done = CloseCode::Done.to_wire();
    matches!(
        connection.close_reason(),
        Some(CloseReason::ApplicationClosed { code, .. }) if code == done
    )
}

async fn hello(connection: &Connection) -> Result<(SendStream, RecvStream, Hello), CliError> {
    let (control, mut requests) = connection.accept_bi().await?;
    let hello = frame::expect(&mut requests).await?;
    Ok((control, requests, hello))
}

/// How long a peer may take to say what it wants.
const HELLO: Duration = Duration::from_secs(10);
