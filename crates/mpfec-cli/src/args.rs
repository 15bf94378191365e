//! The command line: what can be said. `args/command.rs` decides which help mentions what, and
//! `args/help.rs` has the longer texts.

mod command;
mod help;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use mpfec_core::net::LocalAddress;
use mpfec_core::{CodecKind, ControllerKind, Profile, SchedulerKind};

pub(crate) use self::command::command;
use self::help::{EXIT_CODES, help_of, lab_help, links_help, scenario_help};
#[cfg(test)]
pub(crate) use self::help::{LINKS_EXAMPLE, SCENARIO_EXAMPLE};
use crate::choice::{self, Redundancy};
use crate::units::{parse_rate, parse_size, parse_time};

/// Files over every link at once: multipath, fountain-coded, encrypted.
#[derive(Debug, Parser)]
#[command(name = "mpfec", version, propagate_version = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// What can be said with every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Print one JSON object per line on standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print nothing but errors and results
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Trace what happens on standard error; -vv for more
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(flatten)]
    pub(crate) expert: Expert,
}

/// What nobody needs to set; `-h` does not mention it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "For experts")]
pub(crate) struct Expert {
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "P",
        value_parser = choice::profile,
        help = help_of("Codec, scheduler, congestion control and redundancy by one name; auto if nothing is said", choice::profiles())
    )]
    pub(crate) profile: Option<Profile>,
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_parser = choice::codec,
        help = help_of("The code, instead of the profile's", choice::names(&CodecKind::ALL))
    )]
    pub(crate) codec: Option<CodecKind>,
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_parser = choice::scheduler,
        help = help_of("Which symbol goes on which path, instead of the profile's", choice::names(&SchedulerKind::ALL))
    )]
    pub(crate) scheduler: Option<SchedulerKind>,
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_parser = choice::congestion,
        help = help_of("How much may be in flight, instead of the profile's", choice::names(&ControllerKind::ALL))
    )]
    pub(crate) congestion: Option<ControllerKind>,
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "KIND[:KEY=VALUE,...]",
        value_parser = choice::redundancy,
        help = help_of("How much repair, instead of the profile's; none is codec uncoded, where lost symbols are sent again", choice::redundancies())
    )]
    pub(crate) redundancy: Option<Redundancy>,
    /// Source symbols in a block at most, 1 to 1024 [default: 64]
    #[arg(long, global = true, hide_short_help = true, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) block_symbols: Option<u16>,
    /// Bytes that may wait at this end to be read, at most: 16KiB to 4GiB [default: 64MiB]
    #[arg(long, global = true, hide_short_help = true, value_name = "BYTES", value_parser = parse_buffer)]
    pub(crate) recv_buffer: Option<u64>,
    /// What is random about emulated links follows from this number [default: 1]
    #[arg(long, global = true, hide_short_help = true, value_name = "N", value_parser = parse_seed)]
    pub(crate) seed: Option<u64>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Watch a file cross three bad links at once, on this machine, without root
    Demo(DemoArgs),
    /// Send files, directories or standard input to a receiver
    Send(SendArgs),
    /// Receive files; prints the ticket that the sender needs
    Recv(RecvArgs),
    /// Measure throughput and delay
    #[command(subcommand)]
    Perf(PerfCommand),
    /// Run any program across emulated links, between two network namespaces (Linux, root)
    Lab(LabArgs),
    /// Run scenarios in virtual time: what the papers say, and whether it holds
    #[command(subcommand)]
    Sim(SimCommand),
    /// Show which interfaces would be used, and why the others are not
    Paths,
    /// Print a completion script for a shell
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of mpfec, or of one of its commands, in roff
    Man {
        /// Such as `send` or `perf client`
        #[arg(value_name = "COMMAND")]
        of: Vec<String>,
    },
}

/// `mpfec demo`
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// How much to transfer; the links' rates are scaled so that 16MiB to 1GiB take about 20
    /// seconds, less takes less and more takes longer
    #[arg(long, default_value = "64MiB", value_parser = parse_size)]
    pub(crate) size: u64,
    /// Keep the received file under this name
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,
}

/// `mpfec recv`
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Files arrive under names such as .mpfec-Ab12Cd.part and get their own when they \
                  are complete and verified. A receiver that is killed leaves such a file behind; \
                  the next one in that directory tells of it and does not touch it."
)]
pub(crate) struct RecvArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Where to save
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
    /// End after one transfer, with its exit code
    #[arg(long)]
    pub(crate) once: bool,
    /// Do not ask before a transfer
    #[arg(long)]
    pub(crate) yes: bool,
    /// Replace files that exist
    #[arg(long)]
    pub(crate) overwrite: bool,
}

/// Where a server listens, and what its ticket is like.
#[derive(Debug, Clone, Args)]
pub(crate) struct ListenArgs {
    /// Listen on this address instead of on all; may be repeated; port 0 takes any
    #[arg(long, value_name = "IP:PORT", value_parser = parse_address)]
    pub(crate) listen: Vec<SocketAddr>,
    /// Also write the ticket to this file, readable by this user only; of files that exist,
    /// only one with a ticket in it is replaced
    #[arg(long, value_name = "F")]
    pub(crate) ticket_file: Option<PathBuf>,
    /// Take no new connections after this long, such as 30m, 1h, 2d or 90 for seconds, and end
    /// when nothing is under way any more; the ticket says so
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) expires: Option<Duration>,
}

/// `mpfec send`
#[derive(Debug, Clone, Args)]
#[command(
    override_usage = "mpfec send [OPTIONS] <TICKET> <FILE|DIR|->...\n       \
                      mpfec send [OPTIONS] --ticket-file <F> <FILE|DIR|->...",
    after_help = "Symbolic links named here are followed; those within directories are left out, and told. \
                  Of a file's mode, whether it is executable is kept."
)]
pub(crate) struct SendArgs {
    /// The ticket that `mpfec recv` printed, unless --ticket-file says where it is, and what to
    /// send: files, directories, - for standard input
    #[arg(value_name = "TICKET|FILE|DIR|-")]
    pub(crate) words: Vec<OsString>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// What standard input is called at the receiver
    #[arg(long, default_value = "stdin")]
    pub(crate) name: String,
}

/// Which peer, and how to get there.
#[derive(Debug, Clone, Args)]
pub(crate) struct PeerArgs {
    /// Read the ticket from this file
    #[arg(long, value_name = "F")]
    pub(crate) ticket_file: Option<PathBuf>,
    /// Use this interface or local address only; may be repeated
    #[arg(long, value_name = "IFACE|IP")]
    pub(crate) path: Vec<LocalAddress>,
}

/// `mpfec perf`
#[derive(Debug, Subcommand)]
pub(crate) enum PerfCommand {
    /// Answer measurements; prints the ticket that the client needs
    Server(PerfServerArgs),
    /// Measure towards a server
    Client(PerfClientArgs),
    /// Measure in one process over emulated links, without root
    Local(PerfLocalArgs),
}

/// `mpfec perf server`
#[derive(Debug, Clone, Args)]
pub(crate) struct PerfServerArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// End after one measurement, with its exit code
    #[arg(long)]
    pub(crate) once: bool,
}

/// `mpfec perf client`
#[derive(Debug, Clone, Args)]
#[command(override_usage = "mpfec perf client [OPTIONS] <TICKET>\n       \
                      mpfec perf client [OPTIONS] --ticket-file <F>")]
pub(crate) struct PerfClientArgs {
    /// The ticket that `mpfec perf server` printed, unless --ticket-file says where it is
    #[arg(value_name = "TICKET")]
    pub(crate) ticket: Option<String>,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
}

/// `mpfec perf local`
#[derive(Debug, Clone, Args)]
#[command(after_long_help = links_help())]
pub(crate) struct PerfLocalArgs {
    /// A built-in set-up, a TOML file (see below), `none` for loopback itself, or `list`
    #[arg(long, value_name = "NAME|FILE", default_value = "none")]
    pub(crate) links: String,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
}

/// What is transferred.
#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArgs {
    /// How long to measure after the warm-up, whatever arrives [default: 10]
    #[arg(long, value_name = "S", value_parser = parse_some_time, conflicts_with = "bytes")]
    pub(crate) time: Option<Duration>,
    /// Transfer this much instead, the warm-up included
    #[arg(long, value_name = "N", value_parser = parse_some_bytes)]
    pub(crate) bytes: Option<u64>,
    /// Do not count what arrives this early [default: 2 with --time, 0 with --bytes]
    #[arg(long, value_name = "S", value_parser = parse_time)]
    pub(crate) warmup: Option<Duration>,
    /// Write blocks at this rate in Mbit/s instead of as fast as possible
    #[arg(long, value_name = "MBIT", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
    /// Bytes of one write, whose delay is measured: 16 to 16 MiB
    #[arg(long, value_name = "N", value_parser = parse_block, default_value = "32768")]
    pub(crate) block_bytes: u64,
    /// The server sends, the client receives
    #[arg(long)]
    pub(crate) reverse: bool,
    /// Say what is measured on each path and what is chosen, a line per decision
    #[arg(long, conflicts_with = "reverse")]
    pub(crate) explain: bool,
}

/// `mpfec lab`
#[derive(Debug, Clone, Args)]
#[command(after_long_help = lab_help())]
pub(crate) struct LabArgs {
    /// A built-in set-up, a TOML file (see below), or `list`
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) links: String,
    /// Run this with sh in the server's namespace; COMMAND begins once this listens at a port, or
    /// after 3 seconds, and when COMMAND has ended, this is ended
    #[arg(long, value_name = "COMMAND")]
    pub(crate) server: Option<String>,
    /// What to run in the client's namespace; mpfec ends with its exit code. If nothing is said,
    /// that is a shell on a terminal; without a terminal the lab is there until mpfec is stopped
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// `mpfec sim`
#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
    /// List the built-in scenarios
    List,
    /// Run scenarios: mean figures with 95 % confidence intervals, and which claims hold
    Run(SimRunArgs),
}

/// `mpfec sim run`
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "What comes out depends on the scenario, the profiles and the seeds alone, not on \
                  the machine or the number of threads.",
    after_long_help = scenario_help()
)]
pub(crate) struct SimRunArgs {
    /// Built-in scenarios (see mpfec sim list), TOML files, or all
    #[arg(value_name = "SCENARIO|FILE|all", required = true)]
    pub(crate) scenarios: Vec<String>,
    /// Run these profiles instead of what the scenarios compare; may be repeated
    #[arg(
        long,
        value_name = "P",
        value_parser = choice::profile,
        help = help_of("Run this profile instead of what the scenarios compare; may be repeated", choice::profiles())
    )]
    pub(crate) profile: Vec<Profile>,
    /// Runs of each variant in each case, each with the next seed, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = RUNS, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// How many runs are under way at a time, 1 to 1024; as many as there are cores if absent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Write a page with charts, Markdown and CSV files into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    pub(crate) overwrite: bool,
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "an address is IP:PORT, such as 192.0.2.7:47800 or [2001:db8::7]:47800".to_owned()
    })
}

fn parse_some_bytes(text: &str) -> Result<u64, String> {
    match parse_size(text) {
        Ok(0) => Err("no bytes show nothing".to_owned()),
        result => result.map_err(|error| error.to_string()),
    }
}

fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

fn parse_some_time(text: &str) -> Result<Duration, String> {
    match parse_time(text) {
        Ok(Duration::ZERO) => Err("no time shows nothing".to_owned()),
        result => result.map_err(|error| error.to_string()),
    }
}

fn parse_block(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text).map_err(|error| error.to_string())?;
    if crate::perf::BLOCK_BYTES.contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!("{bytes} bytes; a block has 16 bytes to 16 MiB"))
    }
}

fn parse_buffer(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text).map_err(|error| error.to_string())?;
    if BUFFER_BYTES.contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!("{bytes} bytes; a buffer has 16 KiB to 4 GiB"))
    }
}

/// Runs of each variant in each case unless something else is said.
pub(crate) const RUNS: u32 = 10;

/// What the transport takes as a window.
const BUFFER_BYTES: RangeInclusive<u64> = 16 << 10..=1 << 32;
