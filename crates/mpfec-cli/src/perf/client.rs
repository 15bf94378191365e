//! `mpfec perf client`, and what it shares with `perf local`.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use mpfec_core::net::Connection;

use super::PerfHello;
use super::session;
use crate::args::PerfClientArgs;
use crate::client;
use crate::close::{CloseCode, or_its_reason};
use crate::context::Context;
use crate::engine;
use crate::error::CliError;
use crate::monitor::{Monitor, Watched};
use crate::names::Names;
use crate::output::{Event, Output, ParityCounts, PathReport, PerfResult};
use crate::units::{self, mbps, rounded};
use crate::usage::usage;

/// Measures towards the server of a ticket.
pub(super) async fn run(context: Context, args: PerfClientArgs) -> Result<(), CliError> {
    let ticket = client::ticket(args.ticket.as_deref(), args.peer.ticket_file.as_deref())?;
    let (endpoint, connection) = client::connect(&context, &ticket, &args.peer).await?;
    let wanted = PerfHello::new(&args.load, false);
    let result = measure(
        &context,
        &connection,
        &wanted,
        Names::of_interfaces(),
        &Links::default(),
    )
    .await;
    // The server has said all there was to say.
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await;
    match result {
        Ok(result) => show(&context.output, result),
        Err(error) => return Err(client::lost(&connection, error).await),
    }
    Ok(())
}

/// The emulated links, if there are any.
#[derive(Debug, Default, Clone)]
pub(super) struct Links {
    pub(super) name: Option<String>,
    /// What their paths can carry.
    pub(super) limit_mbps: Option<f64>,
}

/// Measures over a connection, and closes it.
pub(super) async fn measure(
    context: &Context,
    connection: &Connection,
    wanted: &PerfHello,
    names: Names,
    links: &Links,
) -> Result<PerfResult, CliError> {
    let moved = Arc::new(AtomicU64::new(0));
    let watched = Watched {
        names,
        label: LABEL.to_owned(),
        done: Arc::clone(&moved),
        total: wanted.bytes,
        is_sender: !wanted.reverse,
        patience: if wanted.same_clock {
            engine::LOCAL_PATIENCE
        } else {
            engine::PATIENCE
        },
        explain: wanted.explain,
    };
    let monitor = Monitor::start(connection.clone(), context.output.clone(), watched);
    let outcome = session::ask(connection, wanted, &moved).await;
    let outcome = or_its_reason(connection, outcome).await;
    let mut paths = monitor.finish().await;
    match &outcome {
        Ok(_) => connection.close(CloseCode::Done.to_wire(), ""),
        Err(error) => connection.close(error.close_code().to_wire(), &error.what),
    }
    let outcome = outcome?;
    outcome.complete(&mut paths);
    let measured = &outcome.measured;
    let usage = usage();
    Ok(PerfResult {
        profile: engine::profile(&context.expert).to_string(),
        links: links.name.clone(),
        reverse: wanted.reverse,
        seconds: rounded(measured.seconds),
        bytes: measured.bytes,
        goodput_mbps: rounded(goodput(measured.bytes, measured.seconds)),
        limit_mbps: links.limit_mbps.map(rounded),
        block_delay_ms: measured.delay,
        clock: if wanted.same_clock {
            "same"
        } else {
            "estimated"
        },
        longest_pause_ms: measured.longest_pause_ms,
        repair_ratio: outcome.repair_ratio,
        coefficient_bytes: outcome.coefficient_bytes,
        duplicate_bytes: measured.duplicate_bytes,
        cpu_seconds: rounded(usage.cpu.as_secs_f64()),
        peak_rss_bytes: usage.peak_rss_bytes,
        paths,
    })
}

fn goodput(bytes: u64, seconds: f64) -> f64 {
    Duration::try_from_secs_f64(seconds).map_or(0.0, |time| mbps(bytes, time))
}

/// Prints the result.
pub(super) fn show(output: &Output, result: PerfResult) {
    for path in &result.paths {
        output.result(&path_line(path));
        if let Some(line) = path.parity.as_ref().and_then(ParityCounts::line) {
            output.result(&format!("{:>12}  {line}", ""));
        }
    }
    for line in lines(&result) {
        output.result(&line);
    }
    output.event(&Event::Result(Box::new(result)));
}

fn path_line(path: &PathReport) -> String {
    let lost = 100.0 * path.lost_packets as f64 / path.sent_packets.max(1) as f64;
    format!(
        "{:>12}  delivered {:>10}  lost {lost:>4.1} %  RTT {:>6.1} ms (min {:.1})  {}",
        path.name,
        units::size(path.delivered_bytes),
        path.srtt_ms,
        path.min_rtt_ms,
        path.state
    )
}

fn lines(result: &PerfResult) -> Vec<String> {
    let share = result.limit_mbps.filter(|limit| *limit > 0.0).map(|limit| {
        format!(
            ", {:.0} % of the {} that the links can carry",
            100.0 * result.goodput_mbps / limit,
            units::rate(limit)
        )
    });
    let mut lines = vec![format!(
        "{} in {:.1} s: {}{}",
        units::size(result.bytes),
        result.seconds,
        units::rate(result.goodput_mbps),
        share.unwrap_or_default()
    )];
    if let Some(delay) = &result.block_delay_ms {
        let estimated = if result.clock == "same" {
            ""
        } else {
            " (clocks compared)"
        };
        lines.push(format!(
            "block delay mean {:.1} ms, median {:.1}, p99 {:.1}, max {:.1}, jitter {:.1}{estimated}",
            delay.mean, delay.p50, delay.p99, delay.max, delay.jitter
        ));
    }
    let repair = match result.repair_ratio {
        Some(ratio) => format!("repair {:.1} %", 100.0 * ratio),
        None => "no report of the server's on what it sent".to_owned(),
    };
    lines.push(format!(
        "{repair}, {} arrived in vain, longest pause {:.0} ms, {:.1} s of processor, {} of memory",
        units::size(result.duplicate_bytes),
        result.longest_pause_ms,
        result.cpu_seconds,
        units::size(result.peak_rss_bytes)
    ));
    lines
}

/// What is transferred, for people.
pub(super) const LABEL: &str = "perf";
const FAREWELL: Duration = Duration::from_secs(1);
