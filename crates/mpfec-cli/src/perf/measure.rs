//! The end that reads and measures.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mpfec_core::net::Connection;

use super::delay::Delays;
use super::{Measured, PerfHello};
use crate::clock;
use crate::error::CliError;
use crate::units::{ms, rounded};

/// Reads what the other end writes. `offset` is how many nanoseconds its clock is ahead of
/// ours. A measurement of some time begins now and ends in time, whatever arrives; one of some
/// bytes begins with the first of them.
pub(super) async fn read_blocks(
    connection: &Connection,
    wanted: &PerfHello,
    offset: i64,
    read: &AtomicU64,
) -> Result<Measured, CliError> {
    let is_timed = wanted.time().is_some();
    let mut meter = is_timed.then(|| Meter::new(clock::now(), wanted, offset));
    let end = meter.as_ref().and_then(|meter| meter.end);
    let mut stream = until(end, connection.accept_uni()).await.transpose()?;
    while let Some(stream) = &mut stream {
        let chunk = until(end, stream.read_chunk(CHUNK)).await.transpose()?;
        let Some(chunk) = chunk.flatten() else { break };
        let now = clock::now();
        let meter = meter.get_or_insert_with(|| Meter::new(now, wanted, offset));
        if meter.end.is_some_and(|end| now >= end) {
            break;
        }
        meter.add(now, clock::nanos(), &chunk);
        read.fetch_add(chunk.len() as u64, Ordering::Relaxed);
    }
    let Some(meter) = meter else {
        return Err(CliError::protocol("the stream of blocks is empty"));
    };
    let measured = meter.finish(clock::now(), connection.stats().streams.redundant_bytes);
    if let Some(stream) = &mut stream {
        stream.stop(0);
    }
    Ok(measured)
}

/// What comes before a time, if one is set.
async fn until<T>(end: Option<Instant>, coming: impl Future<Output = T>) -> Option<T> {
    match end {
        Some(end) => tokio::time::timeout_at(end.into(), coming).await.ok(),
        None => Some(coming.await),
    }
}

/// Counts between the end of the warm-up and the end.
#[derive(Debug)]
struct Meter {
    start: Instant,
    end: Option<Instant>,
    last: Instant,
    bytes: u64,
    longest_pause: Duration,
    blocks: Blocks,
}

impl Meter {
    fn new(first: Instant, wanted: &PerfHello, offset: i64) -> Self {
        let start = first + wanted.warmup();
        Self {
            start,
            end: wanted.time().map(|time| start + time),
            last: first,
            bytes: 0,
            longest_pause: Duration::ZERO,
            blocks: Blocks::new(wanted.block_bytes as usize, offset),
        }
    }

    fn add(&mut self, now: Instant, nanos: u64, chunk: &[u8]) {
        let counts = now >= self.start;
        if counts {
            self.bytes += chunk.len() as u64;
            self.longest_pause = self.longest_pause.max(now - self.last.max(self.start));
        }
        self.last = now;
        self.blocks.add(nanos, chunk, counts);
    }

    fn finish(self, now: Instant, duplicate_bytes: u64) -> Measured {
        // At the end of the time nothing may have come for a while; that counts.
        let until = self.end.filter(|end| now >= *end).unwrap_or(self.last);
        let seconds = until.saturating_duration_since(self.start).as_secs_f64();
        let pause = self
            .longest_pause
            .max(until.saturating_duration_since(self.last.max(self.start)));
        Measured {
            bytes: self.bytes,
            seconds,
            delay: self.blocks.delays.summary(),
            longest_pause_ms: rounded(ms(pause)),
            duplicate_bytes,
        }
    }
}

/// Finds the blocks in the stream.
#[derive(Debug)]
struct Blocks {
    size: usize,
    offset: i64,
    /// Bytes of the current block that were read.
    position: usize,
    /// The time of its write.
    written: [u8; 8],
    delays: Delays,
}

impl Blocks {
    fn new(size: usize, offset: i64) -> Self {
        Self {
            size,
            offset,
            position: 0,
            written: [0; 8],
            delays: Delays::new(),
        }
    }

    fn add(&mut self, nanos: u64, mut chunk: &[u8], counts: bool) {
        while !chunk.is_empty() {
            let (now, later) = chunk.split_at(chunk.len().min(self.size - self.position));
            if let Some(room) = self.written.get_mut(self.position..) {
                room.iter_mut().zip(now).for_each(|(to, from)| *to = *from);
            }
            self.position += now.len();
            chunk = later;
            if self.position == self.size {
                self.position = 0;
                if counts {
                    let written =
                        i128::from(u64::from_be_bytes(self.written)) - i128::from(self.offset);
                    self.delays.add((i128::from(nanos) - written) as f64 / 1e6);
                }
            }
        }
    }
}

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn block(written_ms: u64, size: usize) -> Vec<u8> {
        let mut block = vec![0; size];
        block[..8].copy_from_slice(&(written_ms * 1_000_000).to_be_bytes());
        block
    }

    #[test]
    fn a_blocks_delay_runs_to_its_last_byte_however_it_is_cut() {
        let stream: Vec<u8> = [block(10, 20), block(30, 20)].concat();
        for cut in 1..stream.len() {
            let mut blocks = Blocks::new(20, 0);
            blocks.add(50_000_000, &stream[..cut], true);
            blocks.add(70_000_000, &stream[cut..], true);
            let max = if cut >= 20 { 40.0 } else { 60.0 };
            assert_eq!(blocks.delays.summary().unwrap().max, max, "cut at {cut}");
        }
    }

    #[test]
    fn the_senders_clock_is_set_to_ours() {
        let mut blocks = Blocks::new(20, 5_000_000);
        blocks.add(50_000_000, &block(35, 20), true);
        assert_eq!(blocks.delays.summary().unwrap().max, 20.0);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn only_what_arrives_after_the_warm_up_counts() {
        let wanted = PerfHello {
            version: 1,
            reverse: false,
            warmup_ms: 1000,
            time_ms: Some(2000),
            bytes: None,
            rate: None,
            block_bytes: 100,
            same_clock: true,
            explain: false,
        };
        let first = Instant::now();
        let at = |ms| first + Duration::from_millis(ms);
        let mut meter = Meter::new(first, &wanted, 0);
        meter.add(at(0), 0, &[0; 100]);
        meter.add(at(999), 0, &[0; 100]);
        meter.add(at(1500), 0, &[0; 100]);
        meter.add(at(2000), 0, &[0; 100]);
        let measured = meter.finish(at(3000), 0);
        assert_eq!((measured.bytes, measured.seconds), (200, 2.0));
        assert_eq!(measured.longest_pause_ms, 1000.0);
    }
}
