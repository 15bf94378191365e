//! The `mpfec` command: files over every link at once, and measurements.

mod args;
mod choice;
mod client;
mod clock;
mod close;
mod context;
mod demo;
mod engine;
mod error;
mod exit;
mod explain;
mod frame;
mod input;
mod lab;
mod linked;
mod local;
mod monitor;
mod names;
mod output;
mod paths;
mod perf;
mod report;
mod service;
mod signals;
mod sim;
mod transfer;
mod units;
mod usage;

use std::process::ExitCode;
use std::time::Duration;

use clap::FromArgMatches;
use clap::error::ErrorKind;

use crate::args::{Cli, Command, Global, PerfCommand};
use crate::close::CloseCode;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;
use crate::signals::stop_signal;

fn main() -> ExitCode {
    let cli = args::command()
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match cli {
        Ok(cli) => cli,
        Err(error) => return misused(&error),
    };
    let output = Output::new(cli.global.json, cli.global.quiet);
    trace(&cli.global, &output);
    let context = Context::new(output, cli.global.expert.clone());
    let patience = match &cli.command {
        // Files that are being put in place are put there, or leave nothing behind.
        Command::Recv(_) => STORING,
        // Runs that are under way would take longer, and leave nothing behind.
        Command::Sim(_) => Duration::ZERO,
        _ => PATIENCE,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(until_stopped(&context, cli.command));
            // Whoever still waits for a disk or a terminal is not waited for.
            runtime.shutdown_timeout(patience);
            result
        }
        Err(error) => Err(CliError::other("cannot start the runtime", error)),
    };
    match result.and_then(|()| context.output.check()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            context.output.last_error(&error);
            error.exit.into()
        }
    }
}

/// Runs a command until it ends or a signal ends it; then peers are told.
async fn until_stopped(context: &Context, command: Command) -> Result<(), CliError> {
    let hint = match &command {
        Command::Recv(_) | Command::Perf(PerfCommand::Server(_)) => {
            "its ticket is void; when it is run again it prints a new one"
        }
        _ => "run the same command again",
    };
    let mut running = tokio::spawn(run(context.clone(), command));
    tokio::select! {
        ended = &mut running => ended.unwrap_or_else(|error| Err(CliError::other("the command failed", error))),
        () = stop_signal() => {
            context.output.stop();
            context.close_all(CloseCode::Interrupted, "").await;
            running.abort();
            // What it held is given back; that it was stopped is known.
            let _ = tokio::time::timeout(PATIENCE, running).await;
            Err(CliError::new(Exit::Interrupted, "interrupted", hint))
        }
    }
}

async fn run(context: Context, command: Command) -> Result<(), CliError> {
    engine::check(&context.expert)?;
    match command {
        Command::Demo(args) => demo::run(context, args).await,
        Command::Send(args) => transfer::send(context, args).await,
        Command::Recv(args) => transfer::recv(context, args).await,
        Command::Perf(command) => perf::run(context, command).await,
        Command::Lab(args) => lab::run(context, args).await,
        Command::Sim(command) => sim::run(context, command).await,
        Command::Paths => paths::run(context).await,
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut args::command(), "mpfec", &mut script);
            context.output.raw(&script);
            Ok(())
        }
        Command::Man { of } => {
            context.output.raw(&manual(&of)?);
            Ok(())
        }
    }
}

/// The manual page of a command, by the words behind `mpfec`.
fn manual(of: &[String]) -> Result<Vec<u8>, CliError> {
    let mut command = args::command();
    command.build();
    let mut command = &command;
    for word in of {
        command = command.find_subcommand(word).ok_or_else(|| {
            let what = format!("there is no command mpfec {}", of.join(" "));
            CliError::usage(what, "see mpfec --help")
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| CliError::other("cannot write the manual page", error))?;
    Ok(page)
}

/// A wrong command line in two lines; help and version as they are.
fn misused(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().any(|word| word == "--json");
    let output = Output::new(wants_json, false);
    let result = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output.wrote(error.print());
            output.check()
        }
        _ => Err(usage_error(error)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.error(&error);
            error.exit.into()
        }
    }
}

fn usage_error(error: &clap::Error) -> CliError {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(|paragraph| {
        let lines: Vec<&str> = paragraph
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let is_usage = lines
            .first()
            .is_some_and(|line| line.starts_with("Usage: "));
        lines.join(if is_usage { " or " } else { " " })
    });
    let what = paragraphs.next().unwrap_or_default();
    let what = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "no command",
        _ => what.strip_prefix("error: ").unwrap_or(&what),
    };
    let rest: Vec<String> = paragraphs.collect();
    let find = |start: &str| {
        rest.iter()
            .find_map(|paragraph| paragraph.strip_prefix(start))
    };
    let hint = match (find("tip: "), find("Usage: ")) {
        (Some(tip), _) => tip.to_owned(),
        (None, Some(usage)) => format!("usage: {usage}; more with --help"),
        (None, None) => "see mpfec --help".to_owned(),
    };
    CliError::usage(what, hint)
}

fn trace(global: &Global, output: &Output) {
    let level = match global.verbose {
        0 => return,
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = tracing_subscriber::EnvFilter::new(format!(
        "warn,mpfec_core={level},mpfec_sim={level},mpfec={level}"
    ));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(output.has_colour())
        .with_writer(std::io::stderr);
    // A second subscriber is impossible here: this runs once.
    let _ = subscriber.try_init();
}

/// Threads for tasks; each endpoint is one task.
const WORKERS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a disk may take at the end.
const STORING: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_command_line_is_explained_in_two_lines() {
        let cases: [&[&str]; 5] = [
            &["mpfec", "--frobnicate"],
            &["mpfec"],
            &["mpfec", "completions"],
            &["mpfec", "demo", "--size", "big"],
            &["mpfec", "snd"],
        ];
        for words in cases {
            let error = args::command().try_get_matches_from(words).unwrap_err();
            let error = usage_error(&error);
            assert_eq!(error.exit, Exit::Usage);
            assert!(
                !error.what.is_empty() && !error.what.contains('\n'),
                "{words:?}: {error:?}"
            );
            assert!(
                !error.hint.is_empty() && !error.hint.contains('\n'),
                "{words:?}: {error:?}"
            );
        }
    }
}
