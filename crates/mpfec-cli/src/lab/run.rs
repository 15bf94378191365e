//! The course of a lab: namespaces, links, the server's command, the client's, the end.

use std::ffi::OsString;
use std::future::Future;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mpfec_sim::{PacketEnds, PacketRelay, Setup};
use tokio::process::Command;

use super::namespace::Namespace;
use super::plan::{Plan, Side};
use super::{processes, report};
use crate::args::LabArgs;
use crate::context::Context;
use crate::error::{CliError, plain};
use crate::exit::Exit;
use crate::output::Event;

/// What exists while a lab runs. The namespaces are told to end together, before each is
/// waited for.
struct Lab {
    client: Namespace,
    server: Namespace,
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.client.end();
        self.server.end();
    }
}

/// Makes a lab, runs the commands in it, and removes it.
pub(super) async fn start(context: Context, args: LabArgs, setup: Setup) -> Result<(), CliError> {
    let output = &context.output;
    let plan = Arc::new(Plan::new(&setup));
    let (client, near) = Namespace::make(Side::Client, &plan).await?;
    let (server, far) = Namespace::make(Side::Server, &plan).await?;
    let lab = Lab { client, server };
    let ends = near.into_iter().zip(far);
    let ends = ends.map(|(client, server)| PacketEnds { client, server });
    let seed = context.expert.seed.unwrap_or(1);
    let relay = PacketRelay::start(&setup, ends.collect(), seed)
        .map_err(|error| CliError::other("cannot emulate the links", error))?;
    let [client, server] = [&lab.client, &lab.server].map(|side| side.thread_id.as_raw());
    report::ready(output, &setup, &plan, client, server);
    if let Some(words) = &args.server {
        serve(&lab, &plan, words).await?;
    }
    let result = match words(args.command) {
        None => std::future::pending().await,
        Some(words) => ask(&lab, &plan, words).await,
    };
    report::crossed(output, &plan, &relay.stats());
    drop(lab);
    result?;
    output.event(&Event::Complete {
        ok: true,
        from: None,
    });
    Ok(())
}

/// What to run: without a word a shell, if somebody is there to use it.
fn words(given: Vec<OsString>) -> Option<Vec<OsString>> {
    if !given.is_empty() {
        return Some(given);
    }
    let shell = || std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    io::stdin().is_terminal().then(|| vec![shell()])
}

/// Starts the server's command and gives it time to be ready.
async fn serve(lab: &Lab, plan: &Plan, words: &str) -> Result<(), CliError> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(words).envs(plan.variables());
    // Standard output is the client's.
    let errors = io::stderr().as_fd().try_clone_to_owned();
    let errors = errors.map_err(|error| CliError::other("cannot run the server", error))?;
    command.stdin(Stdio::null()).stdout(errors).process_group(0);
    let ended = lab.server.run(command, true);
    let is_ready = async {
        let mut before = Vec::new();
        loop {
            // A program that starts may try out sockets before it opens those that stay.
            let now = processes::listeners(lab.server.thread_id);
            if !now.is_empty() && now == before {
                break;
            }
            before = now;
            tokio::time::sleep(GLANCE).await;
        }
    };
    tokio::select! {
        ended = ended => judge("the server's command", ended),
        () = is_ready => Ok(()),
        // It may wait for something else than a port.
        () = tokio::time::sleep(PATIENCE) => Ok(()),
    }
}

/// Runs the client's command to its end.
fn ask(
    lab: &Lab,
    plan: &Plan,
    words: Vec<OsString>,
) -> impl Future<Output = Result<(), CliError>> + use<> {
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let name = program.to_string_lossy().into_owned();
    let mut command = Command::new(program);
    command.args(words).envs(plan.variables());
    let ended = lab.client.run(command, false);
    async move { judge(&name, ended.await) }
}

/// What the end of a command means.
fn judge(name: &str, ended: io::Result<ExitStatus>) -> Result<(), CliError> {
    let status = ended.map_err(|error| {
        let what = format!("cannot run {name}: {}", plain(&error));
        CliError::new(
            Exit::Command(NOT_RUN),
            what,
            "check its name, or install it",
        )
    })?;
    let (what, code) = match (status.code(), status.signal()) {
        (Some(0), _) => return Ok(()),
        (Some(code), _) => (
            format!("{name} ended with exit code {code}"),
            u8::try_from(code).unwrap_or(u8::MAX),
        ),
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            let code = u8::try_from(128 + signal).unwrap_or(u8::MAX);
            (format!("{name} was ended by signal {signal}"), code)
        }
    };
    Err(CliError::new(
        Exit::Command(code),
        what,
        "what it has said itself tells why",
    ))
}

/// What shells say of a command that cannot be run.
const NOT_RUN: u8 = 127;
/// How long a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks whether it does.
const GLANCE: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_of_a_command_is_passed_on_as_a_shell_does() {
        let of = |raw| judge("it", Ok(ExitStatus::from_raw(raw)));
        assert!(of(0).is_ok());
        assert_eq!(of(3 << 8).unwrap_err().exit.code(), 3);
        assert_eq!(of(15).unwrap_err().exit.code(), 143);
        let missing = judge("it", Err(io::ErrorKind::NotFound.into()));
        assert_eq!(missing.unwrap_err().exit.code(), 127);
    }
}
