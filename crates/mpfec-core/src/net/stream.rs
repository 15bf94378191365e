//! The two ends of a stream, as `AsyncWrite` and `AsyncRead` and with methods of their own.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection::{Guard, wait};
use super::shared::ConnectionState;
use crate::connection::CloseReason;
use crate::id::StreamId;
use crate::stream::{ReadError as StreamReadError, WriteError as StreamWriteError};

/// Why nothing more can be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The peer does not want to read more, and says why.
    #[error("the peer stopped reading (code {0})")]
    Stopped(u64),
    /// The stream was finished or reset before.
    #[error("the stream is finished or was reset")]
    Finished,
    /// The connection is over.
    #[error("connection lost: {0}")]
    ConnectionLost(CloseReason),
}

/// Why nothing more can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The peer abandoned the stream, and says why.
    #[error("the peer reset the stream (code {0})")]
    Reset(u64),
    /// Reading was stopped before.
    #[error("reading was stopped")]
    Stopped,
    /// The stream holds more than was to be read.
    #[error("more than {limit} bytes arrived")]
    TooLong {
        /// What was asked for.
        limit: usize,
    },
    /// The connection is over.
    #[error("connection lost: {0}")]
    ConnectionLost(CloseReason),
}

/// Why a buffer could not be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadExactError {
    /// The stream ended after so many bytes.
    #[error("the stream ended after {0} bytes")]
    FinishedEarly(usize),
    /// The stream could not be read.
    #[error(transparent)]
    ReadError(#[from] ReadError),
}

/// The writing end of a stream. Dropped without [`finish`](Self::finish), it is finished: to
/// the peer that is a clean end. [`reset`](Self::reset) it if it is not.
#[derive(Debug)]
pub struct SendStream {
    handle: StreamHandle,
    end: SendEnd,
}

/// How far a writer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SendEnd {
    /// It may write.
    Open,
    /// It has said that this was all.
    Finished,
    /// It has taken back what it wrote.
    Reset,
}

impl SendStream {
    pub(super) fn new(guard: Arc<Guard>, id: StreamId) -> Self {
        Self {
            handle: StreamHandle::new(guard, id),
            end: SendEnd::Open,
        }
    }

    /// Its number within the connection.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.handle.id
    }

    /// Writes some of `data`, waiting while buffers are full; returns how much.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn write(&mut self, data: &[u8]) -> Result<usize, WriteError> {
        poll_fn(|cx| self.poll_write_some(cx, data)).await
    }

    /// Writes all of `data`. Given up, it does not tell how much was written.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn write_all(&mut self, mut data: &[u8]) -> Result<(), WriteError> {
        while !data.is_empty() {
            let written = self.write(data).await?;
            data = data.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Says that nothing more will be written. What was written is still on its way: await
    /// [`delivered`](Self::delivered) before the connection is closed or dropped.
    ///
    /// # Errors
    /// If the peer stopped reading, the stream was ended before, or the connection is over.
    pub fn finish(&mut self) -> Result<(), WriteError> {
        if self.end == SendEnd::Open {
            self.end = SendEnd::Finished;
        }
        let shared = &self.handle.guard.0;
        let mut state = shared.lock();
        let result = match state.closed {
            Some(_) => Err(StreamWriteError::Closed),
            None => state.connection.finish(self.handle.id),
        };
        let result = result.map_err(|error| write_error(error, &mut state, self.handle.id));
        drop(state);
        shared.wake_driver();
        result
    }

    /// Waits until the peer's application has read everything up to the end. The future stands for
    /// itself: the stream may be written, and dropped, while somebody waits. Like the stream it
    /// keeps the connection open.
    ///
    /// # Errors
    /// If the peer stopped reading, the connection was lost before, or the stream was
    /// [reset](Self::reset): then [`WriteError::Finished`].
    pub fn delivered(
        &self,
    ) -> impl Future<Output = Result<(), WriteError>> + Send + Sync + use<> + 'static {
        let handle = self.handle.clone();
        async move { handle.end().await }
    }

    /// Abandons the stream; the peer's reader sees `code`, which is at most 2^62 - 1: instead of
    /// a larger one it sees that.
    pub fn reset(&mut self, code: u64) {
        self.end = SendEnd::Reset;
        let shared = &self.handle.guard.0;
        let mut state = shared.lock();
        state.connection.reset(self.handle.id, code);
        state.stream(self.handle.id).is_reset = true;
        drop(state);
        shared.notify.stream_end.notify_waiters();
        shared.wake_driver();
    }

    /// Waits until the peer stops reading, or has read everything: then `None`, as after a
    /// reset. The future stands for itself, as that of [`delivered`](Self::delivered).
    ///
    /// # Errors
    /// If the connection is lost before.
    pub fn stopped(
        &self,
    ) -> impl Future<Output = Result<Option<u64>, CloseReason>> + Send + Sync + use<> + 'static
    {
        let delivered = self.delivered();
        async move {
            match delivered.await {
                Ok(()) | Err(WriteError::Finished) => Ok(None),
                Err(WriteError::Stopped(code)) => Ok(Some(code)),
                Err(WriteError::ConnectionLost(reason)) => Err(reason),
            }
        }
    }

    /// Data of streams with a higher priority go first; 0 from the start.
    pub fn set_priority(&mut self, priority: i32) {
        self.handle
            .guard
            .0
            .lock()
            .connection
            .set_priority(self.handle.id, priority);
    }

    /// What is written from now on should be read by the peer within `deadline`: see
    /// [`Connection::set_deadline`](crate::Connection::set_deadline).
    pub fn set_deadline(&mut self, deadline: Option<Duration>) {
        self.handle
            .guard
            .0
            .lock()
            .connection
            .set_deadline(self.handle.id, deadline);
        self.handle.guard.0.wake_driver();
    }

    fn poll_write_some(
        &mut self,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<Result<usize, WriteError>> {
        let shared = &self.handle.guard.0;
        let mut state = shared.lock();
        let result = match state.closed {
            Some(_) => Err(StreamWriteError::Closed),
            None => state.connection.write(self.handle.id, data),
        };
        match result {
            Ok(written) => {
                drop(state);
                shared.wake_driver();
                Poll::Ready(Ok(written))
            }
            Err(StreamWriteError::Blocked) => {
                state.stream(self.handle.id).writer = Some(cx.waker().clone());
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(write_error(error, &mut state, self.handle.id))),
        }
    }
}

/// A stream that the peer stopped is forgotten by the connection sooner than by its writer.
fn write_error(error: StreamWriteError, state: &mut ConnectionState, id: StreamId) -> WriteError {
    match (error, state.stream(id).stopped, state.closed.clone()) {
        (StreamWriteError::Stopped(code), _, _) | (_, Some(code), _) => WriteError::Stopped(code),
        (_, _, Some(reason)) => WriteError::ConnectionLost(reason),
        _ => WriteError::Finished,
    }
}

impl AsyncWrite for SendStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_some(cx, data).map_err(Into::into)
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.handle.guard.0.lock().connection.flush(self.handle.id);
        self.handle.guard.0.wake_driver();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.end != SendEnd::Open {
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(self.finish().map_err(Into::into))
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        if self.end == SendEnd::Open {
            // It may have been stopped by the peer; then there is nothing left to finish.
            let _ = self.finish();
        }
    }
}

/// The reading end of a stream. Dropped before its end, it tells the peer to stop.
#[derive(Debug)]
pub struct RecvStream {
    handle: StreamHandle,
    /// How it ended, once a read has shown it: every later read shows the same.
    end: Option<Result<(), ReadError>>,
    /// What [`read_to_end`](Self::read_to_end) has taken and not yet handed out.
    collected: BytesMut,
}

impl RecvStream {
    pub(super) fn new(guard: Arc<Guard>, id: StreamId) -> Self {
        Self {
            handle: StreamHandle::new(guard, id),
            end: None,
            collected: BytesMut::new(),
        }
    }

    /// Its number within the connection.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.handle.id
    }

    /// Waits for the next bytes, at most `max`, without copying them; `None` at the end, and
    /// at every read behind it.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn read_chunk(&mut self, max: usize) -> Result<Option<Bytes>, ReadError> {
        poll_fn(|cx| self.poll_read_chunk(cx, max)).await
    }

    /// Reads some bytes into `buf`; `None` at the end. An empty buffer is full at once.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn read(&mut self, buf: &mut [u8]) -> Result<Option<usize>, ReadError> {
        if buf.is_empty() {
            return Ok(Some(0));
        }
        let Some(chunk) = self.read_chunk(buf.len()).await? else {
            return Ok(None);
        };
        if let Some(target) = buf.get_mut(..chunk.len()) {
            target.copy_from_slice(&chunk);
        }
        Ok(Some(chunk.len()))
    }

    /// Fills `buf`. Given up, it does not tell how much of it was filled.
    ///
    /// # Errors
    /// If the stream ends before, or cannot be read; what was read until then is in `buf`.
    pub async fn read_exact(&mut self, buf: &mut [u8]) -> Result<(), ReadExactError> {
        let mut filled = 0;
        while let Some(rest) = buf.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.read(rest).await? {
                Some(read) => filled += read,
                None => return Err(ReadExactError::FinishedEarly(filled)),
            }
        }
        Ok(())
    }

    /// Reads up to the end, if that comes within `limit` bytes. Given up, or if there is
    /// more, nothing is lost: the next read begins where this one did.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn read_to_end(&mut self, limit: usize) -> Result<Vec<u8>, ReadError> {
        while self.collected.len() <= limit {
            match poll_fn(|cx| self.poll_new_chunk(cx, usize::MAX)).await? {
                Some(chunk) => self.collected.extend_from_slice(&chunk),
                None => return Ok(std::mem::take(&mut self.collected).into()),
            }
        }
        Err(ReadError::TooLong { limit })
    }

    /// Reads no more; the peer's writer sees `code`, which is at most 2^62 - 1: instead of a
    /// larger one it sees that.
    pub fn stop(&mut self, code: u64) {
        self.end.get_or_insert(Err(ReadError::Stopped));
        self.handle
            .guard
            .0
            .lock()
            .connection
            .stop(self.handle.id, code);
        self.handle.guard.0.wake_driver();
    }

    fn poll_read_chunk(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
    ) -> Poll<Result<Option<Bytes>, ReadError>> {
        if self.collected.is_empty() {
            return self.poll_new_chunk(cx, max);
        }
        let length = self.collected.len().min(max);
        Poll::Ready(Ok(Some(self.collected.split_to(length).freeze())))
    }

    fn poll_new_chunk(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
    ) -> Poll<Result<Option<Bytes>, ReadError>> {
        if let Some(end) = &self.end {
            return Poll::Ready(end.clone().map(|()| None));
        }
        let shared = &self.handle.guard.0;
        let mut state = shared.lock();
        let end = match state.connection.read(self.handle.id, max) {
            Ok(Some(chunk)) => {
                let news = state.connection.has_stream_news();
                drop(state);
                if news {
                    shared.wake_driver();
                }
                return Poll::Ready(Ok(Some(chunk)));
            }
            Ok(None) => Ok(()),
            Err(StreamReadError::Blocked) => match state.closed.clone() {
                Some(reason) => Err(ReadError::ConnectionLost(reason)),
                None => {
                    state.stream(self.handle.id).reader = Some(cx.waker().clone());
                    let news = state.connection.has_stream_news();
                    drop(state);
                    if news {
                        shared.wake_driver();
                    }
                    return Poll::Pending;
                }
            },
            Err(StreamReadError::Reset(code)) => Err(ReadError::Reset(code)),
            Err(_) => Err(state
                .closed
                .clone()
                .map_or(ReadError::Stopped, ReadError::ConnectionLost)),
        };
        drop(state);
        self.end = Some(end.clone());
        self.handle.guard.0.wake_driver();
        Poll::Ready(end.map(|()| None))
    }
}

impl AsyncRead for RecvStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let max = buf.remaining();
        if max == 0 {
            return Poll::Ready(Ok(()));
        }
        match self.poll_read_chunk(cx, max) {
            Poll::Ready(Ok(chunk)) => {
                buf.put_slice(&chunk.unwrap_or_default());
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        if self.end.is_none() {
            self.stop(0);
        }
    }
}

/// Keeps what is known of a stream, and its connection, as long as somebody may ask.
#[derive(Debug)]
struct StreamHandle {
    guard: Arc<Guard>,
    id: StreamId,
}

impl StreamHandle {
    fn new(guard: Arc<Guard>, id: StreamId) -> Self {
        guard.0.lock().add_handle(id);
        Self { guard, id }
    }

    /// Waits until what was written has come to its end, one way or another.
    async fn end(&self) -> Result<(), WriteError> {
        let shared = &self.guard.0;
        wait(&shared.notify.stream_end, || {
            let mut state = shared.lock();
            let closed = state.closed.clone();
            let stream = state.stream(self.id);
            match (stream.delivered, stream.stopped) {
                (true, _) => Some(Ok(())),
                (_, Some(code)) => Some(Err(WriteError::Stopped(code))),
                // Nothing more is heard of it.
                _ if stream.is_reset => Some(Err(WriteError::Finished)),
                _ => closed.map(|reason| Err(WriteError::ConnectionLost(reason))),
            }
        })
        .await
    }
}

impl Clone for StreamHandle {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.guard), self.id)
    }
}

impl Drop for StreamHandle {
    fn drop(&mut self) {
        self.guard.0.lock().drop_handle(self.id);
    }
}
