//! What the client does with its connection.

use std::time::Duration;

/// What is sent over the connection whose figures are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Application {
    /// One stream, as fast as it goes.
    Bulk {
        /// All of it; without an end if absent.
        bytes: Option<u64>,
    },
    /// One stream, cut into blocks whose delay is measured, from when the first byte leaves (or
    /// is due, if they come at a rate) to the read of the last one.
    Blocks {
        /// Bytes of a block.
        block_bytes: u64,
        /// Bits per second that are written; as fast as the stream takes them if absent.
        rate: Option<u64>,
        /// Blocks, all in all; without an end if absent.
        count: Option<u64>,
    },
    /// A stream of frames at a constant rate. A frame counts if it has been read completely
    /// within the deadline.
    Video {
        /// Frames per second.
        fps: f64,
        /// Bits per second.
        rate: u64,
        /// From the write of a frame's first byte to the read of its last one.
        deadline: Duration,
    },
    /// The server asks for a page, one page after the other: first for its first object, and
    /// when it has that, for all others, each on a stream of its own.
    Web {
        /// Objects of a page.
        objects: u32,
        /// Bytes of a page, divided equally among its objects.
        page_bytes: u64,
        /// Pages; without an end if absent.
        pages: Option<u64>,
        /// Objects that may be asked for at once.
        parallel: u32,
        /// From the end of a page to the request of the next one.
        pause: Duration,
    },
}

impl Application {
    /// Whether it is done at some time.
    #[must_use]
    pub fn has_end(&self) -> bool {
        match self {
            Self::Bulk { bytes } => bytes.is_some(),
            Self::Blocks { count, .. } => count.is_some(),
            Self::Video { .. } => false,
            Self::Web { pages, .. } => pages.is_some(),
        }
    }
}
