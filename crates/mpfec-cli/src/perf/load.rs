//! The end that writes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mpfec_core::net::{SendStream, WriteError};
use tokio::io::AsyncWriteExt;

use super::PerfHello;
use crate::clock;
use crate::error::CliError;

/// Writes blocks until the other end has seen enough, or all that was asked for is written.
pub(super) async fn write_blocks(
    mut stream: SendStream,
    wanted: &PerfHello,
    written: &AtomicU64,
) -> Result<(), CliError> {
    match write_until_stopped(&mut stream, wanted, written).await {
        // The other end has measured long enough.
        Err(WriteError::Stopped(_)) => Ok(()),
        result => Ok(result?),
    }
}

async fn write_until_stopped(
    stream: &mut SendStream,
    wanted: &PerfHello,
    written: &AtomicU64,
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
        written.store(total, Ordering::Relaxed);
    }
    stream.finish()?;
    stream.delivered().await
}

/// How much later than planned the other end may stop.
const GRACE: Duration = Duration::from_secs(30);
