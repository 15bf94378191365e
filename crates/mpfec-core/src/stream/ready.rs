//! Bytes in order that wait to be read.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// What can be read, in order. Small pieces are put together, so that many small blocks that
/// nobody reads occupy little more than their bytes.
#[derive(Debug, Default)]
pub(super) struct ReadyQueue {
    chunks: VecDeque<Bytes>,
    /// Comes after all chunks.
    small: BytesMut,
    /// Bytes in both.
    bytes: u64,
}

impl ReadyQueue {
    /// Bytes that wait.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn push(&mut self, chunk: Bytes) {
        self.bytes += chunk.len() as u64;
        if chunk.len() < SMALL && (!self.chunks.is_empty() || !self.small.is_empty()) {
            self.small.extend_from_slice(&chunk);
            return;
        }
        if !self.small.is_empty() {
            self.chunks
                .push_back(std::mem::take(&mut self.small).freeze());
        }
        self.chunks.push_back(chunk);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.small.is_empty()
    }

    pub(super) fn take(&mut self, max: usize) -> Option<Bytes> {
        if self.chunks.is_empty() && !self.small.is_empty() {
            self.chunks.push_back(self.small.split().freeze());
        }
        let front = self.chunks.front_mut()?;
        let chunk = front.split_to(front.len().min(max));
        if front.is_empty() {
            self.chunks.pop_front();
        }
        self.bytes -= chunk.len() as u64;
        Some(chunk)
    }
}

/// Chunks below this size are put together while others wait to be read.
const SMALL: usize = 4096;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_come_out_in_order_and_small_pieces_together(
            sizes in prop::collection::vec(prop_oneof![1_usize..10, 3000_usize..6000], 0..60),
            max in 1_usize..9000,
        ) {
            let mut queue = ReadyQueue::default();
            let mut all = Vec::new();
            for (index, size) in sizes.iter().enumerate() {
                all.extend(std::iter::repeat_n(index as u8, *size));
                queue.push(Bytes::from(vec![index as u8; *size]));
            }
            let large = sizes.iter().filter(|size| **size >= SMALL).count();
            prop_assert!(queue.chunks.len() <= 2 * large + 1);
            prop_assert_eq!(queue.bytes(), all.len() as u64);
            let mut out = Vec::new();
            while let Some(chunk) = queue.take(max) {
                prop_assert!(!chunk.is_empty() && chunk.len() <= max);
                out.extend_from_slice(&chunk);
            }
            prop_assert!(queue.is_empty() && queue.bytes() == 0);
            prop_assert_eq!(out, all);
        }
    }
}
