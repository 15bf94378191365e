//! What a receiver announces of the links that its relays lend (UC §7.2.1).

use std::collections::{BTreeMap, BTreeSet};

use crate::component::FrameWriter;
use crate::recovery::Token;
use crate::wire::frame::{Frame, PathShare};

/// The latest share of each path, and of which paths the peer has not been told.
#[derive(Debug, Default)]
pub(super) struct Shares {
    latest: BTreeMap<u32, PathShare>,
    due: BTreeSet<u32>,
}

impl Shares {
    /// The peer is to be told of an open path's share.
    pub(super) fn announce(&mut self, path: u32, rho: f64) {
        let share = PathShare::of(rho);
        let latest = self.latest.entry(path).or_insert(PathShare {
            path,
            sequence: 0,
            share,
        });
        latest.sequence += 1;
        latest.share = share;
        self.due.insert(path);
    }

    /// A path is closed.
    pub(super) fn forget(&mut self, path: u32) {
        self.latest.remove(&path);
        self.due.remove(&path);
    }

    pub(super) fn has_frames(&self) -> bool {
        !self.due.is_empty()
    }

    /// Writes what fits.
    pub(super) fn write(&mut self, writer: &mut FrameWriter<'_>) {
        while let Some(path) = self.due.first().copied() {
            if let Some(frame) = self.latest.get(&path)
                && !writer.push(&Frame::PathShare(*frame), Some(Token::PathShare { path }))
            {
                return;
            }
            self.due.remove(&path);
        }
    }

    /// The latest word takes the place of one that was lost.
    pub(super) fn on_lost(&mut self, path: u32) {
        if self.latest.contains_key(&path) {
            self.due.insert(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(shares: &mut Shares, room: usize) -> Vec<u8> {
        let mut out = Vec::new();
        shares.write(&mut FrameWriter::new(&mut out, room));
        out
    }

    #[test]
    fn a_lost_share_is_replaced_by_the_latest_until_the_path_is_closed() {
        let mut shares = Shares::default();
        shares.announce(3, 1.25);
        assert_eq!(
            written(&mut shares, 100),
            [0x23, 3, 1, 0x80, 0x01, 0x40, 0x00]
        );
        assert!(!shares.has_frames());
        shares.announce(3, 1.0);
        shares.on_lost(3);
        assert_eq!(
            written(&mut shares, 100),
            [0x23, 3, 2, 0x80, 0x01, 0x00, 0x00]
        );
        shares.forget(3);
        shares.on_lost(3);
        assert!(!shares.has_frames());
    }

    #[test]
    fn what_does_not_fit_waits() {
        let mut shares = Shares::default();
        shares.announce(3, 1.25);
        assert_eq!(written(&mut shares, 6), []);
        assert!(shares.has_frames());
    }
}
