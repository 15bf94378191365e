//! Where a host's packets have gone before: addresses and routes are looked up once.

use std::net::SocketAddr;
use std::sync::Arc;

use super::{HostId, LinkId};

/// How packets from one address to another one travel.
#[derive(Debug, Clone)]
pub(super) struct Way {
    /// Addresses as the sender writes them.
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    /// What the receiver sees as their source.
    pub(super) outside: SocketAddr,
    pub(super) route: Arc<[LinkId]>,
    /// None for what an attacker sends: it is looked up on arrival.
    pub(super) receiver: Option<Receiver>,
}

/// Whom an address leads to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Receiver {
    /// Its own address.
    pub(super) address: SocketAddr,
    pub(super) host: HostId,
    /// Of addresses and routes when this was looked up: it holds as long as they do not change.
    pub(super) generation: u32,
}

/// The ways of one host.
#[derive(Debug, Default)]
pub(super) struct Ways {
    known: Vec<Arc<Way>>,
    generation: u32,
}

impl Ways {
    /// The way between two addresses, which `look_up` finds if it is new.
    pub(super) fn find(
        &mut self,
        (from, to): (SocketAddr, SocketAddr),
        generation: u32,
        look_up: impl FnOnce() -> Option<Way>,
    ) -> Option<Arc<Way>> {
        if self.generation != generation || self.known.len() > MOST {
            self.known.clear();
            self.generation = generation;
        }
        let is_it = |way: &Arc<Way>| way.to == to && way.from == from;
        let index = match self.known.iter().position(is_it) {
            Some(index) => index,
            None => {
                self.known.push(Arc::new(look_up()?));
                self.known.len() - 1
            }
        };
        self.known.get(index).cloned()
    }
}

/// Ways of one host that are kept: more than a scenario has.
const MOST: usize = 512;
