//! How large symbols and messages may be, so that they fit into packets.

use mpfec_codec::batch::MAX_BATCH;

use super::Connection;
use crate::parity;
use crate::path::MIN_MTU;
use crate::wire::TAG_LEN;

impl Connection {
    /// Symbols of new blocks must fit every open path that is known to work, with room for
    /// what else every packet carries now; those of blocks under way must fit at least one, and
    /// are cut anew when another path is to carry them.
    pub(super) fn update_symbol_size(&mut self) {
        let room = self.symbol_overhead();
        let sizes = || {
            let usable = self
                .paths
                .iter()
                .filter(|path| path.validation.is_validated());
            usable.map(|path| path.mtu.current() - room)
        };
        let smallest = sizes().min().unwrap_or(MIN_MTU - room);
        let largest = sizes().max().unwrap_or(smallest);
        self.streams.set_symbol_size(smallest);
        self.streams.limit_symbol_size(largest);
    }

    /// Whether the symbols of a block fit into no packet of the path at `index`.
    pub(super) fn is_too_large(&self, index: usize, block: usize) -> bool {
        let room = self.symbol_room(index);
        room.is_some_and(|room| self.streams.has_larger_symbols(block, room))
    }

    /// Cuts a block anew whose symbols are larger than the path at `index` carries, which was
    /// chosen for it. Returns whether there is something else to be chosen now.
    pub(super) fn cut_to_fit(&mut self, index: usize, block: usize) -> bool {
        let room = self.symbol_room(index);
        room.is_some_and(|room| self.streams.cut_to_fit(block, room))
    }

    /// Bytes of the largest symbol that the path at `index` carries.
    fn symbol_room(&self, index: usize) -> Option<u16> {
        let path = self.paths.at(index)?;
        Some(path.mtu.current() - self.symbol_overhead())
    }

    /// What a full packet holds besides a symbol.
    fn symbol_overhead(&self) -> u16 {
        let coefficients = if self.config.profile.codec.is_batch() {
            MAX_BATCH as u16
        } else {
            0
        };
        HEADER_ROOM
            + TAG_LEN as u16
            + SYMBOL_HEADER_ROOM
            + self.proof_size()
            + self.parity_room()
            + coefficients
    }

    /// The largest message that fits into a packet now, if the peer takes any.
    #[must_use]
    pub fn max_datagram_size(&self) -> Option<usize> {
        let limit = self.handshake.peer()?.max_datagram_frame_size;
        if limit == 0 {
            return None;
        }
        let frame = usize::try_from(limit).unwrap_or(usize::MAX);
        Some(
            self.datagram_room(self.usable_mtus().min())
                .min(frame.saturating_sub(DATAGRAM_HEADER))
                .min(self.datagrams.limit()),
        )
    }

    fn usable_mtus(&self) -> impl Iterator<Item = u16> {
        let usable = self.paths.iter().filter(|path| path.is_usable());
        usable.map(|path| path.mtu.current())
    }

    pub(super) fn datagram_room(&self, mtu: Option<u16>) -> usize {
        let room = mtu.unwrap_or(MIN_MTU) - HEADER_ROOM - self.proof_size() - self.parity_room();
        usize::from(room) - TAG_LEN - DATAGRAM_HEADER
    }

    /// What a parity over full packets needs beyond their payload.
    fn parity_room(&self) -> u16 {
        if self.config.profile.redundancy.is_parity() {
            parity::HEADER_ROOM
        } else {
            0
        }
    }

    fn proof_size(&self) -> u16 {
        if self.control.authenticate.is_some() {
            AUTHENTICATE_SIZE
        } else {
            0
        }
    }
}

/// First byte, connection ID and the longest packet number.
const HEADER_ROOM: u16 = 1 + 8 + 4;
/// Type, stream, SBN, offset, ESI, K and what the last symbol is short of, as long as they are
/// with fewer than 2^30 streams and blocks.
const SYMBOL_HEADER_ROOM: u16 = 1 + 4 + 4 + 8 + 2 + 2 + 2;
const DATAGRAM_HEADER: usize = 3;
const AUTHENTICATE_SIZE: u16 = 33;
