//! Further addresses of an endpoint: ADD_ADDRESS and REMOVE_ADDRESS (after RFC 8684 §3.4).

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use crate::component::FrameWriter;
use crate::error::TransportError;
use crate::recovery::Token;
use crate::wire::frame::{AddAddress, Frame, RemoveAddress};

/// What we advertise and what the peer advertised.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    local: BTreeMap<u64, SocketAddr>,
    next_id: u64,
    announce: BTreeSet<u64>,
    withdraw: BTreeSet<u64>,
    remote: BTreeMap<u64, SocketAddr>,
    /// Withdrawn IDs below or at this are not added again by late frames.
    removed: BTreeSet<u64>,
}

impl Addresses {
    /// Tells the peer where else this end can be reached. False beyond 16 addresses.
    pub(crate) fn advertise(&mut self, address: SocketAddr) -> bool {
        if self.local.values().any(|known| *known == address) {
            return true;
        }
        if self.local.len() >= MAX_ADDRESSES {
            return false;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.local.insert(id, address);
        self.announce.insert(id);
        true
    }

    /// Tells the peer that an advertised address no longer reaches this end.
    pub(crate) fn withdraw(&mut self, address: SocketAddr) {
        let Some(id) = self
            .local
            .iter()
            .find(|(_, known)| **known == address)
            .map(|(id, _)| *id)
        else {
            return;
        };
        self.local.remove(&id);
        self.announce.remove(&id);
        self.withdraw.insert(id);
    }

    /// Where the peer says that it can be reached as well.
    pub(crate) fn remote(&self) -> impl Iterator<Item = SocketAddr> {
        self.remote.values().copied()
    }

    /// The peer advertised an address. Returns whether that was news.
    pub(crate) fn on_add(&mut self, frame: &AddAddress) -> Result<bool, TransportError> {
        if self.removed.contains(&frame.id) {
            return Ok(false);
        }
        match self.remote.get(&frame.id) {
            Some(known) if *known == frame.address => Ok(false),
            Some(_) => Err(TransportError::protocol_violation("address ID used twice")),
            None if self.remote.len() >= MAX_ADDRESSES => Err(TransportError::protocol_violation(
                "more addresses than a peer may advertise",
            )),
            None => {
                self.remote.insert(frame.id, frame.address);
                Ok(true)
            }
        }
    }

    /// The peer withdrew an address. Returns whether that was news.
    pub(crate) fn on_remove(&mut self, frame: &RemoveAddress) -> bool {
        if self.removed.len() >= MAX_REMEMBERED {
            self.removed.pop_first();
        }
        self.removed.insert(frame.id);
        self.remote.remove(&frame.id).is_some()
    }

    pub(crate) fn has_frames(&self) -> bool {
        !self.announce.is_empty() || !self.withdraw.is_empty()
    }

    pub(crate) fn write(&mut self, writer: &mut FrameWriter<'_>) {
        while let Some(id) = self.announce.first().copied() {
            let Some(address) = self.local.get(&id) else {
                self.announce.remove(&id);
                continue;
            };
            let frame = Frame::AddAddress(AddAddress {
                id,
                address: *address,
            });
            if !writer.push(&frame, Some(Token::AddAddress { id })) {
                return;
            }
            self.announce.remove(&id);
        }
        while let Some(id) = self.withdraw.first().copied() {
            let frame = Frame::RemoveAddress(RemoveAddress { id });
            if !writer.push(&frame, Some(Token::RemoveAddress { id })) {
                return;
            }
            self.withdraw.remove(&id);
        }
    }

    pub(crate) fn on_lost(&mut self, token: &Token) {
        match token {
            Token::AddAddress { id } if self.local.contains_key(id) => {
                self.announce.insert(*id);
            }
            Token::RemoveAddress { id } => {
                self.withdraw.insert(*id);
            }
            _ => {}
        }
    }
}

const MAX_ADDRESSES: usize = 16;
const MAX_REMEMBERED: usize = 64;
