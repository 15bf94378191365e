//! Which host has which address, and which address others see.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::HostId;

/// Addresses of hosts, and the NATs in front of them.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    owners: BTreeMap<SocketAddr, HostId>,
    /// What others see instead of an address, where a NAT has changed it.
    outside: BTreeMap<SocketAddr, SocketAddr>,
    inside: BTreeMap<SocketAddr, SocketAddr>,
}

impl Addresses {
    /// False if the address is taken.
    pub(super) fn add(&mut self, host: HostId, address: SocketAddr) -> bool {
        let is_new = !self.owners.contains_key(&address) && !self.inside.contains_key(&address);
        if is_new {
            self.owners.insert(address, host);
        }
        is_new
    }

    pub(super) fn owner(&self, inside: SocketAddr) -> Option<HostId> {
        self.owners.get(&inside).copied()
    }

    /// Lets others see `outside` in place of `inside`, and nothing else any more.
    pub(super) fn rebind(&mut self, inside: SocketAddr, outside: SocketAddr) {
        if let Some(before) = self.outside.insert(inside, outside) {
            self.inside.remove(&before);
        }
        self.inside.insert(outside, inside);
    }

    pub(super) fn outside_of(&self, inside: SocketAddr) -> SocketAddr {
        self.outside.get(&inside).copied().unwrap_or(inside)
    }

    /// The address behind what others see, if it leads anywhere.
    pub(super) fn inside_of(&self, outside: SocketAddr) -> Option<SocketAddr> {
        if let Some(&inside) = self.inside.get(&outside) {
            return Some(inside);
        }
        // An address behind a NAT is not to be reached by its own name.
        (self.owners.contains_key(&outside) && !self.outside.contains_key(&outside))
            .then_some(outside)
    }
}
