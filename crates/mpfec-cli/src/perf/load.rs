//! The end that writes.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mpfec_core::StreamId;
use mpfec_core::net::{Connection, SendStream, WriteError};
use tokio::io::AsyncWriteExt;

use super::PerfHello;
use crate::clock;
use crate::error::CliError;

/// Writes blocks until the other end has seen enough, or has all that was asked for: then that
/// is `delivered`.
pub(super) async fn write_blocks(
    mut stream: SendStream,
    wanted: &PerfHello,
    delivered: &AtomicU64,
) -> Result<(), CliError> {
    match write_until_stopped(&mut stream, wanted, delivered).await {
        // The other end has measured long enough.
        Err(WriteError::Stopped(_)) => Ok(()),
        result => Ok(result?),
    }
}

/// Counts what the other end has of a stream, for display.
pub(super) async fn count(
    connection: &Connection,
    stream: StreamId,
    delivered: &AtomicU64,
) -> Infallible {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Some(bytes) = connection.acknowledged_bytes(stream) {
            delivered.fetch_max(bytes, Ordering::Relaxed);
        }
    }
}

async fn write_until_stopped(
    stream: &mut SendStream,
    wanted: &PerfHello,
    delivered: &AtomicU64,
) -> Result<(), WriteError> {
    let began = clock::now();
    let most = wanted.bytes.unwrap_or(u64::MAX);
    // The other end's clock counts; this is for one that never stops us.
    let longest = wanted.time().map(|time| wanted.warmup() + time + GRACE);
    let mut block = vec![0; wanted.block_bytes as usize];
    let mut total = 0;
    for number in 0_u64.. {
        if let Some(rate) = wanted.rate {
            let due = began + Duration::from_secs_f64((total as f64 / rate).min(1e9));
            // The other end may have seen enough before the next block is due.
            tokio::select! {
                () = tokio::time::sleep_until(due.into()) => {}
                result = stream.delivered() => return result,
            }
        }
        if longest.is_some_and(|longest| clock::now() - began > longest) {
            break;
        }
        let length = most.saturating_sub(total).min(wanted.block_bytes);
        let Some(block) = block
            .get_mut(..length as usize)
            .filter(|block| !block.is_empty())
        else {
            break;
        };
        let header = clock::nanos()
            .to_be_bytes()
            .into_iter()
            .chain(number.to_be_bytes());
        block
            .iter_mut()
            .zip(header)
            .for_each(|(to, from)| *to = from);
        stream.write_all(block).await?;
        if wanted.rate.is_some() {
            // Nothing follows for a while: what is left of the block shall not wait for it.
            // A stream that is over shows at the next write.
            let _ = stream.flush().await;
        }
        total += length;
    }
    stream.finish()?;
    stream.delivered().await?;
    delivered.store(total, Ordering::Relaxed);
    Ok(())
}

/// Between two looks at what has arrived: more often than progress is shown.
const TICK: Duration = Duration::from_millis(100);

/// How much later than planned the other end may stop.
const GRACE: Duration = Duration::from_secs(30);
