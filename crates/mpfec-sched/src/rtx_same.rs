//! Lowest RTT first, where a path sends again itself what it has lost: multipath TCP of
//! independent subflows.
//!
//! What CMT-SCTP calls RTX-SAME (Iyengar et al., 2006), and what FMTCP §III and §V-C say of
//! IETF-MPTCP: "a packet will continuously be transmitted over the same subflow until it is
//! successfully received".

use crate::in_order::InOrder;
use crate::lowest_rtt::better_is_free;
use crate::scheduler::{Assignment, Scheduler, SymbolKind};
use crate::view::{BlockView, MAX_PATHS, View};

/// Lowest RTT first. A path sends what it lost itself, as a subflow of TCP has to; only what a
/// path lost that is silent or gone goes to others.
#[derive(Debug, Default)]
pub struct RtxSame {
    order: InOrder,
    version: u64,
    /// Every block before this one needs nothing until the version changes.
    cursor: usize,
}

impl RtxSame {
    /// A scheduler without history.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What `paths[path]` carries in order: what it lost itself, and unless a better path can
    /// send now, what nobody else will send, and new data.
    pub(crate) fn next(
        &mut self,
        path: usize,
        view: &View<'_>,
    ) -> Option<(usize, SymbolKind, u32)> {
        let has_turn = !better_is_free(path, view);
        if view.has_repair {
            // Of a code, a new symbol is as good on any path.
            return if has_turn {
                self.order.next(view)
            } else {
                None
            };
        }
        if self.version != view.version {
            self.version = view.version;
            self.cursor = 0;
        }
        for (index, block) in view.blocks.iter().enumerate().skip(self.cursor) {
            if let Some((symbol, count)) = lost_by(path, block, view)
                .or_else(|| has_turn.then(|| abandoned(block, view)).flatten())
            {
                return Some((index, symbol, count));
            }
            if has_turn && block.unsent > 0 && !view.window_closed {
                return Some((index, SymbolKind::Source, block.unsent));
            }
            let is_settled = block.unsent == 0 && block.deficit() == 0;
            if is_settled && self.cursor == index {
                self.cursor += 1;
            }
        }
        None
    }
}

impl Scheduler for RtxSame {
    fn select(&mut self, path: usize, budget: u32, view: &View<'_>) -> Option<Assignment> {
        if budget == 0 || !view.is_usable(path) {
            return None;
        }
        let (block, symbol, wanted) = self.next(path, view)?;
        Some(Assignment {
            block,
            symbol,
            count: wanted.min(budget),
        })
    }

    fn on_sent(&mut self, _path: usize, _assignment: &Assignment, _view: &View<'_>) {}
}

/// What `paths[path]` lost of a block.
fn lost_by(path: usize, block: &BlockView, view: &View<'_>) -> Option<(SymbolKind, u32)> {
    let of = view.paths[path].slot;
    let lost = count_on(&block.lost_on, of);
    (lost > 0).then_some((SymbolKind::Retransmission { of }, lost))
}

/// What is lost of a block and no path will send by itself.
fn abandoned(block: &BlockView, view: &View<'_>) -> Option<(SymbolKind, u32)> {
    let deficit = block.deficit();
    if deficit == 0 {
        return None;
    }
    if block.lost_on == [0; MAX_PATHS] {
        return Some((SymbolKind::Repair, deficit));
    }
    let is_orphan =
        |of: &usize| block.lost_on[*of] > 0 && !view.usable().any(|(_, path)| path.slot == *of);
    let of = (0..MAX_PATHS).find(is_orphan)?;
    let lost = u32::from(block.lost_on[of]);
    Some((SymbolKind::Retransmission { of }, lost))
}

/// Symbols of a block counted for the path of `slot`.
pub(crate) fn count_on(counts: &[u16; MAX_PATHS], slot: usize) -> u32 {
    counts.get(slot).map_or(0, |&count| u32::from(count))
}
