//! Where a connection is to have paths from for as long as it lives.

use std::net::SocketAddr;

use super::interface::Interface;
use super::route::{LocalAddress, Paths};

/// The paths that a connection is to have, whatever comes and goes.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// The peer's addresses.
    remotes: Vec<SocketAddr>,
    /// `None`: one over each interface that there is.
    listed: Option<Vec<Place>>,
}

/// One of these paths.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) local: LocalAddress,
    /// Where it leads; `None`: to whichever of the peer's addresses answers.
    pub(super) remote: Option<SocketAddr>,
}

impl Places {
    /// Those among which there can be a way at all: between addresses of one family.
    pub(super) fn new(paths: &Paths, remotes: &[SocketAddr]) -> Self {
        let listed: Option<Vec<Place>> = match paths {
            Paths::EveryInterface => None,
            Paths::Over(locals) => Some(locals.iter().map(Place::anywhere).collect()),
            Paths::Exactly(pairs) => {
                let place = |(local, remote): &(LocalAddress, SocketAddr)| Place {
                    local: local.clone(),
                    remote: Some(*remote),
                };
                Some(pairs.iter().map(place).collect())
            }
        };
        let mut places = Self {
            remotes: remotes.to_vec(),
            listed: None,
        };
        places.listed = listed.map(|mut listed| {
            listed.retain(|place| places.have_way(place));
            listed
        });
        places
    }

    fn have_way(&self, place: &Place) -> bool {
        match place.local {
            LocalAddress::Ip(ip) => {
                let mut remotes = self.remotes(place).iter();
                remotes.any(|remote| remote.is_ipv4() == ip.is_ipv4())
            }
            LocalAddress::Any | LocalAddress::Interface(_) => true,
        }
    }

    /// Whether the application named them: then it is no matter what other interfaces do.
    pub(super) fn are_listed(&self) -> bool {
        self.listed.is_some()
    }

    /// Those that the application named.
    pub(super) fn listed(&self) -> &[Place] {
        self.listed.as_deref().unwrap_or_default()
    }

    /// Where a path from there may lead.
    pub(super) fn remotes<'a>(&'a self, place: &'a Place) -> &'a [SocketAddr] {
        match &place.remote {
            Some(remote) => std::slice::from_ref(remote),
            None => &self.remotes,
        }
    }

    /// Those that an interface may lead to.
    pub(super) fn over(&self, interface: &Interface) -> Vec<Place> {
        let Some(listed) = &self.listed else {
            let local = LocalAddress::Interface(interface.name.clone());
            return vec![Place::anywhere(&local)];
        };
        let is_over = |place: &&Place| match &place.local {
            LocalAddress::Any => true,
            LocalAddress::Ip(ip) => interface.addresses.contains(ip),
            LocalAddress::Interface(name) => *name == interface.name,
        };
        listed.iter().filter(is_over).cloned().collect()
    }

    /// The one that a path from `local` to `remote` belongs to, unless an application opened it
    /// beside them.
    pub(super) fn of(&self, local: &LocalAddress, remote: SocketAddr) -> Option<Place> {
        match &self.listed {
            Some(listed) => listed
                .iter()
                .find(|place| place.is_of(local, remote))
                .cloned(),
            None => {
                let is_interface = matches!(local, LocalAddress::Interface(_));
                is_interface.then(|| Place::anywhere(local))
            }
        }
    }

    /// The application does not want the one that it named any more.
    pub(super) fn forget(&mut self, place: &Place) {
        if let Some(listed) = &mut self.listed {
            listed.retain(|other| other != place);
        }
    }
}

impl Place {
    fn anywhere(local: &LocalAddress) -> Self {
        Self {
            local: local.clone(),
            remote: None,
        }
    }

    /// Whether a path from `local` to `remote` is one from here.
    pub(super) fn is_of(&self, local: &LocalAddress, remote: SocketAddr) -> bool {
        self.local == *local && self.remote.is_none_or(|own| own == remote)
    }
}
