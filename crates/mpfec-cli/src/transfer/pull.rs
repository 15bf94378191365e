//! Reads what another task has received, on a thread that may block.

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::error::CliError;

/// The bytes of a stream in order.
#[derive(Debug)]
pub(super) struct Pull {
    chunks: mpsc::Receiver<Bytes>,
    current: Bytes,
}

impl Pull {
    pub(super) fn new(chunks: mpsc::Receiver<Bytes>) -> Self {
        Self {
            chunks,
            current: Bytes::new(),
        }
    }

    /// Some bytes, at least one and at most `max`.
    pub(super) fn some(&mut self, max: usize) -> Result<Bytes, CliError> {
        if self.is_at_end() {
            return Err(CliError::protocol("the data end in the middle of an entry"));
        }
        Ok(self.current.split_to(max.min(self.current.len())))
    }

    /// Fills `out`.
    pub(super) fn fill(&mut self, out: &mut [u8]) -> Result<(), CliError> {
        let mut filled = 0;
        while let Some(room) = out.get_mut(filled..).filter(|room| !room.is_empty()) {
            let some = self.some(room.len())?;
            room.iter_mut()
                .zip(&some)
                .for_each(|(to, from)| *to = *from);
            filled += some.len();
        }
        Ok(())
    }

    /// The next `N` bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], CliError> {
        let mut out = [0; N];
        self.fill(&mut out)?;
        Ok(out)
    }

    /// Passes over `bytes` bytes.
    pub(super) fn skip(&mut self, mut bytes: usize) -> Result<(), CliError> {
        while bytes > 0 {
            bytes -= self.some(bytes)?.len();
        }
        Ok(())
    }

    /// Whether nothing follows; waits until that is certain.
    pub(super) fn is_at_end(&mut self) -> bool {
        while self.current.is_empty() {
            match self.chunks.blocking_recv() {
                Some(chunk) => self.current = chunk,
                None => return true,
            }
        }
        false
    }

    #[cfg(test)]
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        let (_, chunks) = mpsc::channel(1);
        Self {
            chunks,
            current: bytes.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_does_not_depend_on_how_the_bytes_were_cut() {
        let (feed, chunks) = mpsc::channel(10);
        for chunk in ["a", "", "bcd", "ef"] {
            feed.try_send(Bytes::from(chunk)).unwrap();
        }
        drop(feed);
        let mut pull = Pull::new(chunks);
        assert_eq!(pull.array().unwrap(), *b"ab");
        pull.skip(1).unwrap();
        assert_eq!(pull.some(10).unwrap(), "d");
        assert!(!pull.is_at_end());
        assert_eq!(pull.array().unwrap(), *b"ef");
        assert!(pull.is_at_end());
        assert!(pull.array::<1>().is_err());
    }
}
