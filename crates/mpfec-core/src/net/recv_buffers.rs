//! Memory for datagrams that arrive: what the kernel writes to, and what is handed on.

use std::io::{self, IoSliceMut};

use bytes::BytesMut;
use quinn_udp::{BATCH_SIZE, RecvMeta};

/// Buffers for one batch of messages; one value serves all sockets of a task.
///
/// The kernel always writes to the same few pages, which stay in the cache. A message goes
/// from there to a block of [`BLOCK`] bytes, of which each datagram gets its own part that
/// can be decrypted in place; a block is used again once all its parts are dropped. The one
/// copy costs less than clearing memory before each call, and keeps a datagram of 50 bytes
/// from holding on to the 64 KiB that a message may have.
#[derive(Debug)]
pub(crate) struct RecvBuffers {
    slots: Box<[u8]>,
    meta: [RecvMeta; BATCH_SIZE],
    block: BytesMut,
}

impl RecvBuffers {
    /// Buffers of about 2 MiB, most of which is never touched where traffic is light.
    pub(crate) fn new() -> Self {
        Self {
            slots: vec![0; SLOT * BATCH_SIZE].into_boxed_slice(),
            meta: [RecvMeta::default(); BATCH_SIZE],
            block: BytesMut::new(),
        }
    }

    /// Lets `receive` fill buffers and say how many, then hands each datagram to `sink`.
    /// Returns their number.
    pub(super) fn receive(
        &mut self,
        receive: impl FnOnce(&mut [IoSliceMut<'_>], &mut [RecvMeta]) -> io::Result<usize>,
        mut sink: impl FnMut(&RecvMeta, BytesMut),
    ) -> io::Result<usize> {
        let mut chunks = self.slots.chunks_exact_mut(SLOT);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
        let messages = receive(&mut slices, &mut self.meta)?.min(BATCH_SIZE);
        let mut datagrams = 0;
        for (meta, slot) in self
            .meta
            .iter()
            .zip(self.slots.chunks_exact(SLOT))
            .take(messages)
        {
            let mut message = copy(&mut self.block, &slot[..meta.len.min(SLOT)]);
            // A message of no bytes is a datagram, too, but says nothing.
            while !message.is_empty() {
                let size = if meta.stride == 0 {
                    message.len()
                } else {
                    meta.stride.min(message.len())
                };
                sink(meta, message.split_to(size));
                datagrams += 1;
            }
        }
        Ok(datagrams)
    }
}

/// A part of `block` with the bytes of `message`.
fn copy(block: &mut BytesMut, message: &[u8]) -> BytesMut {
    if block.capacity() < message.len() && !block.try_reclaim(BLOCK) {
        *block = BytesMut::with_capacity(BLOCK);
    }
    block.extend_from_slice(message);
    block.split()
}

/// The largest UDP payload, also of several datagrams merged by the kernel (GRO).
const SLOT: usize = 64 << 10;
const BLOCK: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(buffers: &mut RecvBuffers, messages: &[(&[u8], usize)]) -> Vec<BytesMut> {
        let mut datagrams = Vec::new();
        let count = buffers.receive(
            |slices, meta| {
                for ((slice, meta), (bytes, stride)) in slices.iter_mut().zip(meta).zip(messages) {
                    slice[..bytes.len()].copy_from_slice(bytes);
                    (meta.len, meta.stride) = (bytes.len(), *stride);
                }
                Ok(messages.len())
            },
            |_, datagram| datagrams.push(datagram),
        );
        assert_eq!(count.unwrap(), datagrams.len());
        datagrams
    }

    #[test]
    fn merged_datagrams_are_taken_apart() {
        let mut buffers = RecvBuffers::new();
        let got = receive(
            &mut buffers,
            &[(b"aaabbbcc", 3), (b"dddd", 4), (b"", 0), (b"e", 0)],
        );
        assert_eq!(got, [&b"aaa"[..], b"bbb", b"cc", b"dddd", b"e"]);
    }

    #[test]
    fn a_block_is_used_again_when_its_datagrams_are_dropped() {
        let mut buffers = RecvBuffers::new();
        let message = vec![7; 60_000];
        let first = receive(&mut buffers, &[(&message, 1200)])
            .remove(0)
            .as_ptr();
        for _ in 0..3 {
            receive(&mut buffers, &[(&message, 1200)]);
        }
        assert_eq!(
            receive(&mut buffers, &[(&message, 1200)])[0].as_ptr(),
            first
        );
    }

    #[test]
    fn what_is_kept_is_not_overwritten() {
        let mut buffers = RecvBuffers::new();
        let kept: Vec<BytesMut> = (0..40)
            .flat_map(|fill| receive(&mut buffers, &[(&vec![fill; 50_000], 0)]))
            .collect();
        assert!(
            (0..40)
                .zip(&kept)
                .all(|(fill, datagram)| datagram.iter().all(|byte| *byte == fill))
        );
    }
}
