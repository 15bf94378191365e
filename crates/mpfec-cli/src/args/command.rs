//! The command line as a whole: which commands take which flags, and whose help mentions them.

use clap::{Arg, CommandFactory};

use super::Cli;
use super::help::EXIT_CODES;

/// The whole command line. Flags that say nothing to a command are taken, as scripts may
/// give them to all of them, but its help does not mention them.
pub(crate) fn command() -> clap::Command {
    let mut root = Cli::command();
    let experts: Vec<Arg> = root
        .get_arguments()
        .filter(|arg| EXPERT.contains(&arg.get_id().as_str()))
        .cloned()
        .collect();
    let seed: Vec<Arg> = experts
        .iter()
        .filter(|arg| arg.get_id() == "seed")
        .cloned()
        .collect();
    for name in ["paths", "completions", "man"] {
        root = root.mut_subcommand(name, |command| hiding(command, &experts));
    }
    // Of them, what runs in a lab may have its own.
    let transport: Vec<Arg> = experts
        .iter()
        .filter(|arg| arg.get_id() != "seed")
        .cloned()
        .collect();
    root = root.mut_subcommand("lab", |command| hiding(command, &transport));
    for name in ["send", "recv"] {
        root = root.mut_subcommand(name, |command| hiding(command, &seed));
    }
    root = root.mut_subcommand("perf", |mut perf| {
        for name in ["server", "client"] {
            perf = perf.mut_subcommand(name, |command| hiding(command, &seed));
        }
        perf
    });
    // A scenario says how large blocks and buffers are.
    let sizes: Vec<Arg> = experts
        .iter()
        .filter(|arg| ["block_symbols", "recv_buffer"].contains(&arg.get_id().as_str()))
        .cloned()
        .collect();
    root = root.mut_subcommand("sim", |sim| {
        hiding(sim, &sizes)
            .mut_subcommand("list", |command| hiding(command, &experts))
            .mut_subcommand("run", |command| {
                let seeds = seed.iter().cloned().map(|arg| {
                    arg.hide_short_help(false)
                        .help("Seed of the first run; the next ones count on [default: 1]")
                });
                hiding(command, &sizes).args(seeds)
            })
    });
    let names: Vec<String> = root
        .get_subcommands()
        .map(|one| one.get_name().to_owned())
        .collect();
    for name in names {
        root = root.mut_subcommand(name, with_exit_codes);
    }
    root
}

/// Gives a command hidden copies of global flags, in place of those that it would inherit.
fn hiding(command: clap::Command, flags: &[Arg]) -> clap::Command {
    command.args(flags.iter().cloned().map(|flag| flag.hide(true)))
}

/// Adds the exit codes to the long help of a command and of those below it.
fn with_exit_codes(mut command: clap::Command) -> clap::Command {
    let own = command
        .get_after_long_help()
        .or_else(|| command.get_after_help());
    let own = own.map(|text| format!("{text}\n\n")).unwrap_or_default();
    command = command.after_long_help(format!("{own}{EXIT_CODES}"));
    let below: Vec<String> = command
        .get_subcommands()
        .map(|one| one.get_name().to_owned())
        .collect();
    for name in below {
        command = command.mut_subcommand(name, with_exit_codes);
    }
    command
}

const EXPERT: [&str; 8] = [
    "profile",
    "codec",
    "scheduler",
    "congestion",
    "redundancy",
    "block_symbols",
    "recv_buffer",
    "seed",
];
