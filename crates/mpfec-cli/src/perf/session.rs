//! One measurement, seen from the client and from the server.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use mpfec_core::net::{Connection, RecvStream, SendStream};
use mpfec_core::{CloseReason, ConnectionStats};
use serde::{Deserialize, Serialize};

use super::load::{count, write_blocks};
use super::measure::read_blocks;
use super::{Measured, PerfHello};
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::frame::{self, Hello};
use crate::linked::ANSWER;
use crate::monitor::SILENT;
use crate::output::{LossReport, ParityCounts, PathReport};
use crate::report::{coefficient_bytes, repair_ratio};
use crate::units::{self, ms, rounded};

/// The client's messages after its hello.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
enum Request {
    /// What does your clock say?
    Clock,
    /// Begin. The server's clock is this many nanoseconds ahead of the client's.
    Begin { offset: i64 },
}

/// The server's messages.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
enum Answer {
    /// Its clock.
    Clock { nanos: u64 },
    /// The end of the measurement.
    Report(Report),
}

/// What the server knows at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Report {
    /// If it measured.
    measured: Option<Measured>,
    /// If it wrote.
    repair_ratio: Option<f64>,
    #[serde(default)]
    coefficient_bytes: Option<u64>,
    /// If it wrote, by path.
    paths: Vec<SenderPath>,
}

/// The figures of a path at the end that writes.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SenderPath {
    id: u32,
    srtt_ms: f64,
    min_rtt_ms: f64,
    sent_packets: u64,
    lost_packets: u64,
    delivered_bytes: u64,
    sent_bytes: u64,
    cwnd_bytes: u64,
    #[serde(default)]
    losses: LossReport,
    #[serde(default)]
    parity: Option<ParityCounts>,
}

/// What a measurement yields at the client.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) measured: Measured,
    /// Only the end that wrote knows it, and its report may not come in time.
    pub(super) repair_ratio: Option<f64>,
    pub(super) coefficient_bytes: Option<u64>,
    sender_paths: Vec<SenderPath>,
}

impl Outcome {
    /// Puts the figures of the end that wrote in place of ours, if that was the server.
    pub(super) fn complete(&self, paths: &mut [PathReport]) {
        for path in paths {
            let Some(theirs) = self.sender_paths.iter().find(|theirs| theirs.id == path.id) else {
                continue;
            };
            path.srtt_ms = theirs.srtt_ms;
            path.min_rtt_ms = theirs.min_rtt_ms;
            path.sent_packets = theirs.sent_packets;
            path.lost_packets = theirs.lost_packets;
            path.delivered_bytes = theirs.delivered_bytes;
            path.sent_bytes = theirs.sent_bytes;
            path.cwnd_bytes = theirs.cwnd_bytes;
            path.losses = theirs.losses.clone();
            path.parity = theirs.parity.clone();
        }
    }
}

/// Asks the server for a measurement. `moved` counts the bytes that have
/// arrived, for display.
pub(super) async fn ask(
    connection: &Connection,
    wanted: &PerfHello,
    moved: &AtomicU64,
) -> Result<Outcome, CliError> {
    confirmed(connection).await?;
    let (mut control, mut answers) = connection.open_bi().await?;
    control.set_priority(CONTROL);
    frame::write(&mut control, &Hello::Perf(wanted.clone())).await?;
    let offset = if wanted.same_clock {
        0
    } else {
        compare_clocks(&mut control, &mut answers).await?
    };
    frame::write(&mut control, &Request::Begin { offset }).await?;
    if wanted.reverse {
        let measured = read_blocks(connection, wanted, offset, moved).await?;
        check_figures(&measured, wanted)?;
        let report = writers_report(connection, wanted, &mut answers).await?;
        return Ok(Outcome {
            measured,
            repair_ratio: report.as_ref().and_then(|report| report.repair_ratio),
            coefficient_bytes: report.as_ref().and_then(|report| report.coefficient_bytes),
            sender_paths: report.map(|report| report.paths).unwrap_or_default(),
        });
    }
    let stream = connection.open_uni().await?;
    let counting = count(connection, stream.id(), moved);
    let report = tokio::select! {
        report = expect_report(&mut answers) => report?,
        error = failure(write_blocks(stream, wanted, moved)) => return Err(error),
        error = overdue(wanted) => return Err(error),
        never = counting => match never {},
    };
    let measured = report
        .measured
        .ok_or_else(|| CliError::protocol("a report without figures"))?;
    check_figures(&measured, wanted)?;
    let stats = connection.stats().streams;
    Ok(Outcome {
        measured,
        repair_ratio: Some(rounded(repair_ratio(&stats))),
        coefficient_bytes: coefficient_bytes(&stats),
        sender_paths: Vec::new(),
    })
}

/// Waits until the server has the connection as well. Before, blocks would only fill the links'
/// queues, in which the rest of the handshake and what is asked for would wait, or get lost.
async fn confirmed(connection: &Connection) -> Result<(), CliError> {
    // The server itself waits no longer, from an earlier moment on.
    match tokio::time::timeout(ANSWER, connection.handshake_confirmed()).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(CliError::new(
            Exit::Network,
            format!(
                "the other end has answered, but not heard the rest of the handshake in {} s",
                ANSWER.as_secs()
            ),
            "the paths there are too slow even for that, or dead: measure over better ones",
        )),
    }
}

/// Why something fails; never, if it does not.
async fn failure(doing: impl Future<Output = Result<(), CliError>>) -> CliError {
    match doing.await {
        Ok(()) => std::future::pending().await,
        Err(error) => error,
    }
}

/// A measurement of nothing has failed.
fn check_figures(measured: &Measured, wanted: &PerfHello) -> Result<(), CliError> {
    if measured.bytes > 0 {
        return Ok(());
    }
    let warmup = match wanted.warmup() {
        Duration::ZERO => String::new(),
        warmup => format!(" after a warm-up of {}", units::time(warmup)),
    };
    Err(match (wanted.time(), wanted.bytes) {
        (Some(time), _) => CliError::new(
            Exit::Network,
            format!("nothing arrived in {}{warmup}", units::time(time)),
            "see whether the links are cut; slow ones, and a low --rate, need a longer --warmup and --time",
        ),
        (None, bytes) => CliError::usage(
            format!(
                "nothing is left to measure{warmup}: all {} arrived before",
                units::size(bytes.unwrap_or_default())
            ),
            "take more --bytes, or a shorter --warmup",
        ),
    })
}

/// What the server knows of what it wrote. Over slow links that may take longer than the figures
/// are worth; but if nothing comes at all, the links or the server may be dead.
async fn writers_report(
    connection: &Connection,
    wanted: &PerfHello,
    answers: &mut RecvStream,
) -> Result<Option<Report>, CliError> {
    let mut report = pin!(expect_report(answers));
    if wanted.time().is_none() {
        return report.await.map(Some);
    }
    let mut heard = connection.stats().received_bytes;
    for turn in 1..=PATIENCE.as_secs() / SILENT.as_secs() {
        if let Ok(report) = tokio::time::timeout(SILENT, &mut report).await {
            return report.map(Some);
        }
        let before = std::mem::replace(&mut heard, connection.stats().received_bytes);
        // What came in the first turn may have been under way when the other end died.
        if turn > 1 && heard > before {
            return Ok(None);
        }
    }
    Err(no_report())
}

/// When a server should have reported long ago, that it has not.
async fn overdue(wanted: &PerfHello) -> CliError {
    let Some(time) = wanted.time() else {
        return std::future::pending().await;
    };
    tokio::time::sleep(wanted.warmup() + time + PATIENCE).await;
    no_report()
}

fn no_report() -> CliError {
    CliError::new(
        Exit::Network,
        format!(
            "no report of the measurement, {} s after it should have ended",
            PATIENCE.as_secs()
        ),
        "the paths are too slow even for that: measure for longer, or over better ones",
    )
}

/// Does what the client asks for.
pub(super) async fn answer(
    connection: &Connection,
    control: &mut SendStream,
    requests: &mut RecvStream,
    wanted: &PerfHello,
) -> Result<(), CliError> {
    wanted.check()?;
    control.set_priority(CONTROL);
    let offset = loop {
        match frame::expect(requests).await? {
            Request::Clock => {
                frame::write(
                    control,
                    &Answer::Clock {
                        nanos: clock::nanos(),
                    },
                )
                .await?
            }
            Request::Begin { offset } => break offset,
        }
    };
    let moved = AtomicU64::new(0);
    let report = if wanted.reverse {
        let stream = connection.open_uni().await?;
        write_blocks(stream, wanted, &moved).await?;
        let stats = connection.stats();
        Report {
            measured: None,
            repair_ratio: Some(rounded(repair_ratio(&stats.streams))),
            coefficient_bytes: coefficient_bytes(&stats.streams),
            paths: sender_paths(&stats),
        }
    } else {
        // Ahead of the client is behind the server.
        let measured = read_blocks(connection, wanted, offset.saturating_neg(), &moved).await?;
        Report {
            measured: Some(measured),
            repair_ratio: None,
            coefficient_bytes: None,
            paths: Vec::new(),
        }
    };
    frame::write(control, &Answer::Report(report)).await?;
    control.finish()?;
    match tokio::time::timeout(PATIENCE, control.delivered()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(error.into()),
        Err(_) => return Err(CloseReason::TimedOut.into()),
    }
    let _ = tokio::time::timeout(LAST_WORD, connection.closed()).await;
    Ok(())
}

async fn expect_report(answers: &mut RecvStream) -> Result<Report, CliError> {
    match frame::expect(answers).await? {
        Answer::Report(report) => Ok(report),
        Answer::Clock { .. } => Err(CliError::protocol("an answer without a question")),
    }
}

/// How far the server's clock is ahead of ours: its answer was given, as well as we can
/// tell, in the middle of the shortest round trip (RFC 5905 §8).
async fn compare_clocks(
    control: &mut SendStream,
    answers: &mut RecvStream,
) -> Result<i64, CliError> {
    let began = clock::now();
    let mut best: Option<(u64, i64)> = None;
    for _ in 0..CLOCK_ROUNDS {
        let asked = clock::nanos();
        frame::write(control, &Request::Clock).await?;
        let Answer::Clock { nanos } = frame::expect(answers).await? else {
            return Err(CliError::protocol("a report before the measurement"));
        };
        let answered = clock::nanos();
        let round_trip = answered - asked;
        let offset = i128::from(nanos) - (i128::from(asked) + i128::from(answered)) / 2;
        let offset =
            i64::try_from(offset).map_err(|_| CliError::protocol("a clock beyond all bounds"))?;
        if best.is_none_or(|(shortest, _)| round_trip < shortest) {
            best = Some((round_trip, offset));
        }
        if clock::now() - began > CLOCK_PATIENCE {
            break;
        }
    }
    Ok(best.map_or(0, |(_, offset)| offset))
}

fn sender_paths(stats: &ConnectionStats) -> Vec<SenderPath> {
    stats
        .paths
        .iter()
        .map(|path| SenderPath {
            id: path.id,
            srtt_ms: rounded(ms(path.srtt)),
            min_rtt_ms: rounded(ms(path.min_rtt)),
            sent_packets: path.sent_packets,
            lost_packets: path.lost_packets,
            delivered_bytes: path.delivered_bytes,
            sent_bytes: path.sent_bytes,
            cwnd_bytes: path.cwnd_bytes,
            losses: LossReport::from(path),
            parity: ParityCounts::of(path),
        })
        .collect()
}

/// Messages go before blocks: on slow links the end of a measurement would come late.
const CONTROL: i32 = 1;
const CLOCK_ROUNDS: usize = 16;
/// After this long the best answer so far must do.
const CLOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How long a report may be on its way, over links that come back.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take to close then.
const LAST_WORD: Duration = Duration::from_secs(5);
