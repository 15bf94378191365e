//! The sending end of a transfer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use blake3::Hash;
use mpfec_core::net::{Connection, RecvStream, SendStream, WriteError};
use tokio::sync::mpsc;

use super::message::{Answer, EntryResult, Failure, FailureKind, TransferHello, VERSION};
use super::produce::{Ledger, produce};
use super::source::{self, Item};
use crate::close::or_its_reason;
use crate::error::CliError;
use crate::exit::Exit;
use crate::frame::{self, Hello};

/// A transfer that the receiver has verified and stored.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) hash: Hash,
    /// Longest time in which nothing arrived at the receiver.
    pub(crate) longest_pause: Duration,
}

/// Sends `items`; `done` follows what the receiver has.
///
/// # Errors
/// Unless the receiver has verified and stored every one of them.
pub(crate) async fn send_all(
    connection: &Connection,
    items: Vec<Item>,
    done: &AtomicU64,
) -> Result<Sent, CliError> {
    let items: Arc<[Item]> = items.into();
    let (mut control, mut answers) = connection.open_bi().await?;
    let hello = TransferHello {
        version: VERSION,
        entries: items.len() as u64,
        bytes: source::total(&items),
        label: source::label(&items),
    };
    frame::write(&mut control, &Hello::Transfer(hello)).await?;
    let ledger = Ledger::default();
    let (out, pieces) = mpsc::channel(QUEUE);
    let producing = {
        let (items, ledger) = (Arc::clone(&items), ledger.clone());
        tokio::task::spawn_blocking(move || produce(&items, &ledger, &out))
    };
    let data = connection.open_uni().await?;
    let mut conclusion = Conclusion {
        items: &items,
        ledger: &ledger,
        done,
        failed: 0,
        failure: None,
    };
    let told = tokio::try_join!(write(data, pieces), conclusion.listen(&mut answers));
    let ((), longest_pause) = or_its_reason(connection, told).await?;
    let Conclusion {
        failed, failure, ..
    } = conclusion;
    let produced = producing
        .await
        .map_err(|error| CliError::other("reading failed", error))?;
    if let Some(error) = produced.failure {
        return Err(error);
    }
    if let Some((name, failure)) = failure {
        return Err(failure.error(&name, failed));
    }
    done.store(produced.bytes, Ordering::Relaxed);
    Ok(Sent {
        files: produced.files,
        bytes: produced.bytes,
        hash: produced.hash,
        longest_pause,
    })
}

async fn write(mut data: SendStream, mut pieces: mpsc::Receiver<Vec<u8>>) -> Result<(), CliError> {
    while let Some(piece) = pieces.recv().await {
        match data.write_all(&piece).await {
            // The receiver says why on the control stream.
            Err(WriteError::Stopped(_)) => return Ok(()),
            result => result?,
        }
    }
    match data.finish() {
        Err(WriteError::Stopped(_)) => Ok(()),
        result => Ok(result?),
    }
}

/// What the receiver has said so far.
struct Conclusion<'a> {
    items: &'a [Item],
    ledger: &'a Ledger,
    done: &'a AtomicU64,
    failed: u64,
    failure: Option<(String, Failure)>,
}

impl Conclusion<'_> {
    /// Up to the summary; returns the longest pause.
    async fn listen(&mut self, answers: &mut RecvStream) -> Result<Duration, CliError> {
        loop {
            match frame::expect(answers).await? {
                Answer::Progress { bytes } => self.done.store(bytes, Ordering::Relaxed),
                Answer::Results { results } => {
                    results.into_iter().for_each(|result| self.note(result))
                }
                Answer::Summary {
                    stored,
                    failed,
                    longest_pause_ms,
                } => {
                    self.check(stored, failed)?;
                    let pause =
                        Duration::try_from_secs_f64(longest_pause_ms / 1e3).unwrap_or_default();
                    return match frame::read::<Answer>(answers).await? {
                        None => Ok(pause),
                        Some(_) => Err(CliError::protocol("an answer behind the summary")),
                    };
                }
            }
        }
    }

    fn note(&mut self, result: EntryResult) {
        let ours = self
            .ledger
            .take_hash(result.index)
            .map(|hash| hash.to_hex().to_string());
        let failure = match (result.failure, result.blake3, ours) {
            (Some(failure), _, _) => {
                self.ledger.reject(result.index);
                Some(failure)
            }
            (None, theirs, ours) if theirs != ours => Some(Failure::new(
                FailureKind::Corrupt,
                "the receiver has another BLAKE3",
            )),
            _ => None,
        };
        let Some(failure) = failure else { return };
        self.failed += 1;
        if self.failure.is_none() {
            let item = usize::try_from(result.index)
                .ok()
                .and_then(|index| self.items.get(index));
            self.failure = Some((item.map(Item::display).unwrap_or_default(), failure));
        }
    }

    /// Whether the summary agrees with the results. A hash that nobody confirmed was not stored.
    fn check(&self, stored: u64, failed: u64) -> Result<(), CliError> {
        let files = self.ledger.unconfirmed();
        if files > 0 || failed > self.failed {
            return Err(CliError::new(
                Exit::Integrity,
                format!("the receiver stored {stored} files and said nothing about {files}"),
                "send them again with the same version of mpfec on both ends",
            ));
        }
        Ok(())
    }
}

/// Pieces that are read ahead.
const QUEUE: usize = 8;
