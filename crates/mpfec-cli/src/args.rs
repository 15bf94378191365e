//! The command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args, CommandFactory, Parser, Subcommand};
use mpfec_core::net::LocalAddress;
use mpfec_core::{CodecKind, ControllerKind, Profile, SchedulerKind};

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
        help = help_of("Codec, scheduler, congestion control and redundancy by one name, if not auto", choice::profiles())
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
        help = help_of("How much repair, instead of the profile's; none: lost symbols are sent again", choice::redundancies())
    )]
    pub(crate) redundancy: Option<Redundancy>,
    /// Source symbols in a block at most, 1 to 1024
    #[arg(long, global = true, hide_short_help = true, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) block_symbols: Option<u16>,
    /// Bytes that may wait at this end to be read, at most: 16KiB to 4GiB, not 64MiB
    #[arg(long, global = true, hide_short_help = true, value_name = "BYTES", value_parser = parse_buffer)]
    pub(crate) recv_buffer: Option<u64>,
    /// Repeat the faults of emulated links
    #[arg(long, global = true, hide_short_help = true, value_name = "N")]
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
        /// bash, zsh, fish, elvish or powershell
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
    /// How much to transfer; the links' rates are scaled so that it takes about 20 seconds
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
    #[arg(long, value_name = "IP:PORT")]
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
    /// End after one measurement
    #[arg(long)]
    pub(crate) once: bool,
}

/// `mpfec perf client`
#[derive(Debug, Clone, Args)]
#[command(override_usage = "mpfec perf client [OPTIONS] <TICKET>\n       \
                      mpfec perf client [OPTIONS] --ticket-file <F>")]
pub(crate) struct PerfClientArgs {
    /// What `mpfec perf server` printed
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
    /// How long to measure after the warm-up [default: 10]
    #[arg(long, value_name = "S", value_parser = parse_time, conflicts_with = "bytes")]
    pub(crate) time: Option<Duration>,
    /// Transfer this much instead, the warm-up included
    #[arg(long, value_name = "N", value_parser = parse_size)]
    pub(crate) bytes: Option<u64>,
    /// Do not count what arrives this early [default: 2 with --time, 0 with --bytes]
    #[arg(long, value_name = "S", value_parser = parse_time)]
    pub(crate) warmup: Option<Duration>,
    /// Send this much per second instead of as much as possible
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
    /// Run this with sh in the server's namespace; COMMAND begins once it listens at a port, or
    /// after 3 seconds, and ends it
    #[arg(long, value_name = "COMMAND")]
    pub(crate) server: Option<String>,
    /// What to run in the client's namespace: by default a shell on a terminal, and nothing
    /// without one until the program is stopped. Its exit code is that of mpfec
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
        sim.mut_subcommand("list", |command| hiding(command, &experts))
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

/// Help of a flag whose value is one of a list.
fn help_of(what: &str, known: impl IntoIterator<Item = String>) -> String {
    let known: Vec<String> = known.into_iter().collect();
    format!("{what}: {}", known.join(", "))
}

fn links_help() -> String {
    format!(
        "A file with links, of which everything but the path and its name may be left out:\n\n{LINKS_EXAMPLE}\n{LINKS_KEYS}"
    )
}

fn lab_help() -> String {
    format!("{LAB_HELP}\n\n{}", links_help())
}

fn scenario_help() -> String {
    format!(
        "A scenario file:\n\n{SCENARIO_EXAMPLE}\n{SCENARIO_KEYS}\n\nOf a link: {}",
        LINKS_KEYS.trim_start_matches("Of a link, each way: ")
    )
}

/// Runs of each variant in each case unless something else is said.
pub(crate) const RUNS: u32 = 10;

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

/// What the transport takes as a window.
const BUFFER_BYTES: RangeInclusive<u64> = 16 << 10..=1 << 32;

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 other; 2 usage; 3 source missing or unreadable; 4 destination (exists, full, \
permission); 5 network, run the same command again; 6 authentication; 7 integrity; 9 refused or \
another version; 130 interrupted.";

const LAB_HELP: &str = "\
Path number 1 leads from 10.77.1.1, the client, to 10.77.1.2, the server, path 2 from 10.77.2.1 \
to 10.77.2.2, and so on. The client's address decides which links a packet crosses, both ways: a \
program chooses a path by binding to that address, and may then reach any of the server's. Each \
interface is called as its path. COMMAND finds this in MPFEC_LAB (the name of the set-up), \
MPFEC_CLIENTS, MPFEC_SERVERS and MPFEC_INTERFACES (one word for each path), and MPFEC_CLIENT and \
MPFEC_SERVER (those of the first path). For example:

  mpfec lab --links fmtcp-3 -- ping -c 5 10.77.2.2
  mpfec lab --links dfec-l3-r25 --server 'iperf3 -s' -- sh -c 'iperf3 -c $MPFEC_SERVER'
  mpfec lab --links pnc --server 'mpfec perf server --ticket-file t' -- mpfec perf client --ticket-file t";

pub(crate) const LINKS_EXAMPLE: &str = r#"  name = "kitchen"             # or else as the file is called
  [[path]]                     # 1 to 8
  name = "wifi"
  both = { rate_mbps = 20, delay_ms = 12.5 }
  forward = { loss_percent = 3 }           # client to server, on top of both
  backward = { queue_packets = 100 }       # server to client
  [[path]]
  name = "phone"
  both = { rate_mbps = 10, delay_ms = 30, jitter_ms = 5 }
  [[change]]
  at_s = 5
  path = "wifi"
  direction = "both"           # or forward, backward
  cut = true                   # cut = false ends it
  [[change]]
  at_s = 10
  path = "wifi"
  cut = false
  set = { rate_mbps = 5 }
"#;

const LINKS_KEYS: &str = "\
Of a link, each way: rate_mbps, delay_ms, jitter_ms, jitter_reorders (true, false), loss_percent, \
burst = { percent, length }, gilbert = { enter, leave, good_loss, bad_loss } (0 to 1), \
reorder_percent, reorder_ms, duplicate_percent, corrupt_percent, mtu (bytes), overhead (bytes a \
packet), and one of queue_bdp (default 1), queue_bytes, queue_packets.";

pub(crate) const SCENARIO_EXAMPLE: &str = r#"  name = "kitchen"
  paper = "FMTCP Fig. 8"       # what it repeats, if it does
  summary = "goodput against the loss of the second path"
  duration_s = 20              # measured time at most
  warmup_s = 2
  recv_buffer_kib = 128
  application = { kind = "blocks", block_bytes = 32768 }   # or bulk, video, web
  [[path]]
  name = "A"
  both = { rate_mbps = 10, delay_ms = 10 }
  [[path]]
  name = "B"
  both = { rate_mbps = 10, delay_ms = 40 }
  [[variant]]                  # what is compared
  profile = "fmtcp"
  [[variant]]
  profile = "mptcp"
  [[case]]                     # points on the x axis
  name = "1 %"
  x = 1
  set = { "path.B.forward.loss_percent" = 1 }
  [[case]]
  name = "10 %"
  x = 10
  set = { "path.B.forward.loss_percent" = 10 }
  [[chart]]
  title = "Goodput"
  metric = "goodput_mbps"      # or series = "goodput_mbps", over time
  y_label = "Mbit/s"
  [[claim]]
  text = "FMTCP loses only little as the loss of path B grows"
  check = { fall = "goodput_mbps", of = "fmtcp", below_percent = 25 }
"#;

const SCENARIO_KEYS: &str = "\
Also [[link]] for bottlenecks that paths share, [[change]] for what happens when, [[traffic]] for \
flows beside the connection (newreno, cubic, aimd, udp, on-off, connection). Checks of a claim: fall, \
ratio, bound, order. The scenarios in crates/mpfec-sim/scenarios are examples, and the module \
mpfec_sim::scenario::format documents every key and metric.";

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
        command().debug_assert();
    }

    #[test]
    fn expert_flags_are_in_the_long_help_of_the_commands_they_apply_to() {
        let help = |words: &[&str], flag: &str| {
            let words = words.iter().chain([&flag]);
            let error = command().try_get_matches_from(words).unwrap_err();
            assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp);
            error.to_string()
        };
        let commands: [&[&str]; 7] = [
            &["mpfec"],
            &["mpfec", "demo"],
            &["mpfec", "send"],
            &["mpfec", "recv"],
            &["mpfec", "perf", "client"],
            &["mpfec", "perf", "local"],
            &["mpfec", "sim", "run"],
        ];
        for words in commands {
            let (short, long) = (help(words, "-h"), help(words, "--help"));
            assert!(!short.contains("scheduler"), "{short}");
            assert!(
                long.contains("scheduler") && long.contains("Exit codes"),
                "{long}"
            );
            let is_seeded = !["send", "recv", "client"].contains(words.last().unwrap());
            assert_eq!(long.contains("--seed"), is_seeded, "{words:?}");
        }
        let without: [&[&str]; 5] = [
            &["mpfec", "lab"],
            &["mpfec", "paths"],
            &["mpfec", "completions"],
            &["mpfec", "man"],
            &["mpfec", "sim", "list"],
        ];
        for words in without {
            assert!(!help(words, "--help").contains("scheduler"), "{words:?}");
        }
        let run = help(&["mpfec", "sim", "run"], "--help");
        assert!(!run.contains("--recv-buffer"), "{run}");
        assert_eq!(run.matches("--profile").count(), 1, "{run}");
        let local = help(&["mpfec", "perf", "local"], "--help");
        assert!(
            local.contains("[[path]]") && local.contains("gilbert"),
            "{local}"
        );
    }

    #[test]
    fn a_buffer_out_of_range_is_refused_with_the_range() {
        for size in ["10", "5GiB"] {
            let words = ["mpfec", "recv", "--recv-buffer", size];
            let error = Cli::try_parse_from(words).unwrap_err().to_string();
            assert!(error.contains("16 KiB to 4 GiB"), "{error}");
        }
        assert!(Cli::try_parse_from(["mpfec", "recv", "--recv-buffer", "16k"]).is_ok());
    }

    #[test]
    fn expert_flags_are_taken_behind_any_command() {
        let cli = Cli::try_parse_from([
            "mpfec",
            "demo",
            "--profile",
            "mptcp",
            "--json",
            "--seed",
            "7",
        ])
        .unwrap();
        assert_eq!(cli.global.expert.profile, Some(Profile::MPTCP));
        assert!(cli.global.json);
        assert_eq!(cli.global.expert.seed, Some(7));
    }

    #[test]
    fn several_profiles_are_for_scenarios_only() {
        let words = ["mpfec", "sim", "run", "all", "--profile", "mptcp"];
        let run = |words: &[&str]| {
            let matches = command().try_get_matches_from(words).unwrap();
            match Cli::from_arg_matches(&matches).unwrap().command {
                Command::Sim(SimCommand::Run(args)) => args.profile,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(run(&words[..4]), []);
        assert_eq!(run(&words), [Profile::MPTCP]);
        let two = [words.as_slice(), &["--profile", "auto"]].concat();
        assert_eq!(run(&two), [Profile::MPTCP, Profile::AUTO]);
        let elsewhere = ["mpfec", "demo", "--profile", "mptcp", "--profile", "auto"];
        assert!(command().try_get_matches_from(elsewhere).is_err());
    }

    #[test]
    fn what_runs_in_a_lab_keeps_its_own_flags() {
        let words = ["mpfec", "lab", "--links", "pnc", "--server", "nc -l 9"];
        let lab = |words: &[&str]| match Cli::try_parse_from(words).unwrap().command {
            Command::Lab(args) => args,
            other => panic!("{other:?}"),
        };
        let alone = lab(&words);
        assert!(alone.command.is_empty());
        let with = lab(&[words.as_slice(), &["--", "ping", "--json", "-c", "3"]].concat());
        assert_eq!(with.links, "pnc");
        assert_eq!(with.server.as_deref(), Some("nc -l 9"));
        assert_eq!(with.command, ["ping", "--json", "-c", "3"]);
        assert!(Cli::try_parse_from(["mpfec", "lab", "--", "ping"]).is_err());
        assert!(Cli::try_parse_from(["mpfec", "lab", "--links", "pnc", "ping"]).is_err());
    }

    #[test]
    fn time_and_bytes_exclude_each_other() {
        let both = ["mpfec", "perf", "local", "--time", "5", "--bytes", "1M"];
        assert!(Cli::try_parse_from(both).is_err());
        assert!(Cli::try_parse_from(["mpfec", "perf", "local", "--block-bytes", "15"]).is_err());
    }
}
