//! `mpfec perf`: how much arrives, and how long blocks take.
//!
//! The client opens a bidirectional stream and says what it wants. Where the two ends have
//! different clocks they compare them. Then one end writes blocks on a unidirectional
//! stream, each beginning with the time of its write, and the other measures.

mod client;
mod delay;
pub(crate) mod links;
mod load;
mod local;
mod measure;
mod server;
mod session;

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::args::{LoadArgs, PerfCommand};
use crate::context::Context;
use crate::error::CliError;
use crate::output::BlockDelay;

pub(crate) async fn run(context: Context, command: PerfCommand) -> Result<(), CliError> {
    match command {
        PerfCommand::Server(args) => server::run(context, args).await,
        PerfCommand::Client(args) => client::run(context, args).await,
        PerfCommand::Local(args) => local::run(context, args).await,
    }
}

/// What the client wants.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PerfHello {
    /// Of this protocol.
    version: u32,
    /// The server writes, the client measures.
    reverse: bool,
    warmup_ms: u64,
    /// How long to measure after the warm-up.
    time_ms: Option<u64>,
    /// How much to write in all.
    bytes: Option<u64>,
    /// Bytes per second; as much as possible if absent.
    rate: Option<f64>,
    block_bytes: u64,
    /// Both ends are in one process.
    same_clock: bool,
    /// The client tells what it decides; no matter of the server's.
    #[serde(skip)]
    explain: bool,
}

impl PerfHello {
    fn new(args: &LoadArgs, same_clock: bool) -> Self {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let default_warmup = if args.bytes.is_some() {
            Duration::ZERO
        } else {
            WARMUP
        };
        let time = args.bytes.is_none().then(|| args.time.unwrap_or(TIME));
        Self {
            version: VERSION,
            reverse: args.reverse,
            warmup_ms: ms(args.warmup.unwrap_or(default_warmup)),
            time_ms: time.map(ms),
            bytes: args.bytes,
            rate: args.rate,
            block_bytes: args.block_bytes,
            same_clock,
            explain: args.explain,
        }
    }

    /// Whether it can be done; it may come from anybody who holds the ticket.
    fn check(&self) -> Result<(), CliError> {
        let is_ok = BLOCK_BYTES.contains(&self.block_bytes)
            && self.rate.is_none_or(|rate| rate.is_finite() && rate > 0.0)
            && self.time_ms.unwrap_or_default() <= LONGEST_MS
            && self.warmup_ms <= LONGEST_MS
            && (self.time_ms.is_some() || self.bytes.is_some());
        match (self.version, is_ok) {
            (VERSION, true) => Ok(()),
            (VERSION, false) => Err(CliError::protocol("a measurement that makes no sense")),
            (version, _) => Err(CliError::protocol(&format!(
                "measurement protocol {version}, this server speaks {VERSION}"
            ))),
        }
    }

    fn warmup(&self) -> Duration {
        Duration::from_millis(self.warmup_ms)
    }

    fn time(&self) -> Option<Duration> {
        self.time_ms.map(Duration::from_millis)
    }
}

/// What the receiving end measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Measured {
    /// After the warm-up.
    bytes: u64,
    seconds: f64,
    delay: Option<BlockDelay>,
    longest_pause_ms: f64,
    /// Payload of symbols that told nothing new.
    duplicate_bytes: u64,
}

/// What a block may have: room for the time of its write and its number.
pub(crate) const BLOCK_BYTES: RangeInclusive<u64> = 16..=16 << 20;
const VERSION: u32 = 1;
const WARMUP: Duration = Duration::from_secs(2);
const TIME: Duration = Duration::from_secs(10);
/// About a year.
const LONGEST_MS: u64 = 366 * 86_400 * 1000;
