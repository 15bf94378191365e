//! Messages on a control stream: four bytes of length, big-endian, and JSON.

use mpfec_core::net::{RecvStream, SendStream};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;

use crate::error::CliError;
use crate::perf::PerfHello;
use crate::transfer::TransferHello;

/// The first message on the first bidirectional stream of the client's: what it wants.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "service", rename_all = "snake_case")]
pub(crate) enum Hello {
    /// `mpfec send`
    Transfer(TransferHello),
    /// `mpfec perf client`
    Perf(PerfHello),
}

/// Sends a message at once.
pub(crate) async fn write<T: Serialize + Sync>(
    stream: &mut SendStream,
    message: &T,
) -> Result<(), CliError> {
    let body = serde_json::to_vec(message)
        .map_err(|error| CliError::other("cannot write a message", error))?;
    let length = u32::try_from(body.len())
        .ok()
        .filter(|length| *length <= LONGEST);
    let length =
        length.ok_or_else(|| CliError::other("cannot write a message", "it is too long"))?;
    let mut frame = Vec::with_capacity(4 + body.len());
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(&body);
    stream.write_all(&frame).await?;
    // A connection that is lost shows at the next message.
    let _ = stream.flush().await;
    Ok(())
}

/// Waits for a message; `None` at the end of the stream.
pub(crate) async fn read<T: DeserializeOwned>(
    stream: &mut RecvStream,
) -> Result<Option<T>, CliError> {
    let mut length = [0; 4];
    match fill(stream, &mut length).await? {
        0 => return Ok(None),
        4 => {}
        _ => return Err(CliError::protocol("a message is cut off")),
    }
    let length = u32::from_be_bytes(length);
    if length > LONGEST {
        return Err(CliError::protocol(&format!("a message of {length} bytes")));
    }
    let mut body = vec![0; length as usize];
    if fill(stream, &mut body).await? < body.len() {
        return Err(CliError::protocol("a message is cut off"));
    }
    let message = serde_json::from_slice(&body);
    message
        .map(Some)
        .map_err(|error| CliError::protocol(&format!("a message cannot be read: {error}")))
}

/// The same where the end of the stream comes too early.
pub(crate) async fn expect<T: DeserializeOwned>(stream: &mut RecvStream) -> Result<T, CliError> {
    read(stream)
        .await?
        .ok_or_else(|| CliError::protocol("a message is missing"))
}

/// Reads until `buffer` is full or the stream ends; returns how much.
async fn fill(stream: &mut RecvStream, buffer: &mut [u8]) -> Result<usize, CliError> {
    let mut filled = 0;
    while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
        match stream.read(room).await? {
            Some(bytes) => filled += bytes,
            None => break,
        }
    }
    Ok(filled)
}

/// No message is longer.
const LONGEST: u32 = 1 << 18;
