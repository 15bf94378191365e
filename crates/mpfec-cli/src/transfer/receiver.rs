//! The receiving end of a transfer.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use blake3::Hash;
use bytes::{Bytes, BytesMut};
use mpfec_core::net::{Connection, RecvStream, SendStream};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::message::{Answer, EntryResult, Failure, MAX_RESULTS};
use super::place::Destination;
use super::pull::Pull;
use super::sink::{self, Stored};
use crate::clock;
use crate::error::CliError;
use crate::frame;
use crate::units::{ms, rounded};

/// How far a transfer is at the receiver.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Bytes of files.
    pub(crate) bytes: Arc<AtomicU64>,
    /// Longest time in which nothing arrived, in microseconds.
    longest_pause: AtomicU64,
}

impl Counters {
    pub(super) fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn note_pause(&self, pause: Duration) {
        let micros = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        self.longest_pause.fetch_max(micros, Ordering::Relaxed);
    }

    /// Longest time between two arrivals.
    pub(crate) fn longest_pause(&self) -> Duration {
        Duration::from_micros(self.longest_pause.load(Ordering::Relaxed))
    }
}

/// A transfer that came to its end.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) hash: Hash,
    /// Entries that are not in place, and the first of them by its name.
    pub(crate) failed: u64,
    pub(crate) failure: Option<(String, Failure)>,
}

/// Receives everything the peer sends after its hello, and tells it what became of it.
pub(crate) async fn receive(
    connection: &Connection,
    control: &mut SendStream,
    destination: &Destination,
    counters: &Arc<Counters>,
) -> Result<Received, CliError> {
    let data = connection.accept_uni().await?;
    let (feed, chunks) = mpsc::channel(QUEUE);
    // Bounded: a sender that does not listen gets no further.
    let (results, mut outcomes) = mpsc::channel(MAX_RESULTS);
    let storing = {
        let (destination, counters, runtime) =
            (destination.clone(), Arc::clone(counters), Handle::current());
        tokio::task::spawn_blocking(move || {
            sink::store(
                Pull::new(chunks),
                &destination,
                &counters,
                &results,
                &runtime,
            )
        })
    };
    let stored = async {
        let fed = feed_all(data, feed, counters).await;
        let stored = storing
            .await
            .map_err(|error| CliError::other("storing failed", error))?;
        // A lost connection is the cause; data that are cut off are its effect.
        fed.and(stored)
    };
    let stored = {
        let mut stored = pin!(stored);
        let mut ticks = tokio::time::interval(PROGRESS);
        let mut told = 0;
        loop {
            tokio::select! {
                biased;
                stored = &mut stored => break stored?,
                Some(first) = outcomes.recv() => tell(control, first, &mut outcomes).await?,
                _ = ticks.tick() => {
                    let bytes = counters.bytes.load(Ordering::Relaxed);
                    if std::mem::replace(&mut told, bytes) != bytes {
                        frame::write(control, &Answer::Progress { bytes }).await?;
                    }
                }
            }
        }
    };
    while let Ok(first) = outcomes.try_recv() {
        tell(control, first, &mut outcomes).await?;
    }
    conclude(control, &stored, counters).await?;
    Ok(Received {
        files: stored.files,
        bytes: counters.bytes.load(Ordering::Relaxed),
        hash: stored.hash,
        failed: stored.failed,
        failure: stored.failure,
    })
}

/// Tells the results that there are, in one message.
async fn tell(
    control: &mut SendStream,
    first: EntryResult,
    others: &mut mpsc::Receiver<EntryResult>,
) -> Result<(), CliError> {
    let mut results = vec![first];
    while results.len() < MAX_RESULTS {
        let Ok(next) = others.try_recv() else { break };
        results.push(next);
    }
    frame::write(control, &Answer::Results { results }).await
}

/// The last word; waits until the sender has it.
async fn conclude(
    control: &mut SendStream,
    stored: &Stored,
    counters: &Counters,
) -> Result<(), CliError> {
    let summary = Answer::Summary {
        stored: stored.files,
        failed: stored.failed,
        longest_pause_ms: rounded(ms(counters.longest_pause())),
    };
    frame::write(control, &summary).await?;
    control.finish()?;
    // Everything is in place; whether the sender hears of it changes nothing here.
    let _ = tokio::time::timeout(LAST_WORD, control.delivered()).await;
    Ok(())
}

/// Passes on what arrives, in pieces of a size that is worth waking another thread for.
async fn feed_all(
    mut data: RecvStream,
    feed: mpsc::Sender<Bytes>,
    counters: &Counters,
) -> Result<(), CliError> {
    let mut last: Option<Instant> = None;
    while let Some(first) = data.read_chunk(PIECE).await? {
        let now = clock::now();
        if let Some(last) = last {
            counters.note_pause(now - last);
        }
        let piece = gather(&mut data, first);
        if feed.send(piece).await.is_err() {
            // The other thread has found something wrong and says what.
            data.stop(0);
            return Ok(());
        }
        last = Some(clock::now());
    }
    Ok(())
}

/// Adds what is there already.
fn gather(data: &mut RecvStream, first: Bytes) -> Bytes {
    let Some(second) = at_once(data, PIECE) else {
        return first;
    };
    let mut all = BytesMut::with_capacity(PIECE);
    all.extend_from_slice(&first);
    all.extend_from_slice(&second);
    while all.len() < PIECE {
        let Some(next) = at_once(data, PIECE - all.len()) else {
            break;
        };
        all.extend_from_slice(&next);
    }
    all.freeze()
}

/// The next chunk, if no waiting is needed. An end or an error shows again at the next read.
fn at_once(data: &mut RecvStream, max: usize) -> Option<Bytes> {
    let chunk = pin!(data.read_chunk(max));
    match chunk.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(chunk)) => chunk,
        Poll::Ready(Err(_)) | Poll::Pending => None,
    }
}

/// Bytes that are handed over at once.
const PIECE: usize = 256 << 10;
/// Pieces that wait for the disk.
const QUEUE: usize = 16;
/// Between two words about progress.
const PROGRESS: Duration = Duration::from_millis(100);
/// How long the sender may take to read the last word.
const LAST_WORD: Duration = Duration::from_secs(5);
