//! From addresses and interfaces to the routes on which a connection is tried.

use std::net::{IpAddr, SocketAddr};

use super::interface::{Interface, interfaces};

/// Where a path starts on this host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LocalAddress {
    /// Wherever the routing table says.
    Any,
    /// This address.
    Ip(IpAddr),
    /// The interface of this name, whatever its addresses are.
    Interface(String),
}

impl std::fmt::Display for LocalAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Any => f.write_str("any interface"),
            Self::Ip(ip) => write!(f, "{ip}"),
            Self::Interface(name) => f.write_str(name),
        }
    }
}

impl std::str::FromStr for LocalAddress {
    type Err = std::convert::Infallible;

    /// An address, or else the name of an interface.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text
            .parse()
            .map_or_else(|_| Self::Interface(text.to_owned()), Self::Ip))
    }
}

/// Which paths a connection is to have, for as long as it lives: where one cannot be opened, is
/// not answered on or loses its interface or address, it is tried again, after 5 minutes at most.
#[derive(Debug, Clone)]
pub enum Paths {
    /// One over each usable interface, as they come and go.
    EveryInterface,
    /// One over each of these, to whichever of the peer's addresses answers first there.
    Over(Vec<LocalAddress>),
    /// Exactly these, each from somewhere to one address of the peer's.
    Exactly(Vec<(LocalAddress, SocketAddr)>),
}

/// One way to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) local: LocalAddress,
    pub(super) remote: SocketAddr,
    /// Routes with the same number are alternatives for one path.
    pub(super) group: usize,
}

/// The routes to `remotes`, best alternatives first.
pub(super) fn plan(paths: &Paths, remotes: &[SocketAddr]) -> Vec<Route> {
    match paths {
        Paths::EveryInterface => every_interface(&interfaces(), remotes),
        Paths::Over(locals) => {
            let interfaces = interfaces();
            let groups = locals.iter().enumerate();
            groups
                .flat_map(|(group, local)| alternatives(local, group, &interfaces, remotes))
                .collect()
        }
        Paths::Exactly(pairs) => pairs
            .iter()
            .enumerate()
            .map(|(group, (local, remote))| Route {
                local: local.clone(),
                remote: *remote,
                group,
            })
            .collect(),
    }
}

fn every_interface(interfaces: &[Interface], remotes: &[SocketAddr]) -> Vec<Route> {
    let is_own = |ip: IpAddr| {
        interfaces
            .iter()
            .any(|interface| interface.addresses.contains(&ip))
    };
    // What is on this host is reached without any link.
    let (own, others): (Vec<SocketAddr>, Vec<SocketAddr>) = remotes
        .iter()
        .partition(|remote| remote.ip().is_loopback() || is_own(remote.ip()));
    let mut routes: Vec<Route> = own
        .into_iter()
        .map(|remote| Route {
            local: LocalAddress::Any,
            remote,
            group: 0,
        })
        .collect();
    let usable = interfaces.iter().filter(|interface| interface.is_usable());
    for (group, interface) in usable.enumerate() {
        let local = LocalAddress::Interface(interface.name.clone());
        routes.extend(alternatives(&local, group + 1, interfaces, &others));
    }
    if routes.is_empty() {
        routes.extend(others.into_iter().map(|remote| Route {
            local: LocalAddress::Any,
            remote,
            group: 0,
        }));
    }
    routes
}

/// The routes from one place, to the nearest address first.
fn alternatives(
    local: &LocalAddress,
    group: usize,
    interfaces: &[Interface],
    remotes: &[SocketAddr],
) -> Vec<Route> {
    let mut found: Vec<(u32, SocketAddr)> = remotes
        .iter()
        .filter_map(|remote| Some((distance(local, interfaces, remote.ip())?, *remote)))
        .collect();
    found.sort_by_key(|(distance, _)| *distance);
    found
        .into_iter()
        .map(|(_, remote)| Route {
            local: local.clone(),
            remote,
            group,
        })
        .collect()
}

/// Leading bits in which the addresses differ, fewest first; `None` if of another family.
fn distance(local: &LocalAddress, interfaces: &[Interface], remote: IpAddr) -> Option<u32> {
    match local {
        LocalAddress::Any => Some(0),
        LocalAddress::Ip(ip) => differing(*ip, remote),
        LocalAddress::Interface(name) => {
            let interface = interfaces.iter().find(|interface| interface.name == *name);
            match interface {
                Some(interface) => interface
                    .addresses
                    .iter()
                    .filter_map(|ip| differing(*ip, remote))
                    .min(),
                // Unknown here; the attempt to bind to it will say so.
                None => Some(0),
            }
        }
    }
}

fn differing(a: IpAddr, b: IpAddr) -> Option<u32> {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => Some(32 - (a.to_bits() ^ b.to_bits()).leading_zeros()),
        (IpAddr::V6(a), IpAddr::V6(b)) => Some(128 - (a.to_bits() ^ b.to_bits()).leading_zeros()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::interface_kind::InterfaceKind;

    fn interface(name: &str, address: &str) -> Interface {
        Interface {
            name: name.to_owned(),
            friendly_name: None,
            index: 1,
            kind: InterfaceKind::Ethernet,
            addresses: vec![address.parse().unwrap()],
            mtu: Some(1500),
            has_gateway: true,
            why_not: None,
        }
    }

    #[test]
    fn each_interface_tries_the_address_of_its_own_network_first() {
        let interfaces = [
            interface("eth0", "10.0.1.2"),
            interface("wlan0", "10.0.2.2"),
        ];
        let remotes = [
            "10.0.1.1:47800".parse().unwrap(),
            "10.0.2.1:47800".parse().unwrap(),
        ];
        let routes = every_interface(&interfaces, &remotes);
        assert_eq!(routes.len(), 4);
        assert_eq!(routes[0].remote, remotes[0]);
        assert_eq!(routes[2].remote, remotes[1]);
        assert_ne!(routes[0].group, routes[2].group);
    }

    #[test]
    fn a_peer_on_this_host_is_reached_without_a_link() {
        let interfaces = [interface("eth0", "10.0.1.2")];
        let remotes = [
            "10.0.1.2:47800".parse().unwrap(),
            "127.0.0.1:47800".parse().unwrap(),
        ];
        let routes = every_interface(&interfaces, &remotes);
        assert!(
            routes
                .iter()
                .all(|route| route.local == LocalAddress::Any && route.group == 0)
        );
    }

    #[test]
    fn families_do_not_mix() {
        let interfaces = [interface("eth0", "10.0.1.2")];
        assert!(
            alternatives(
                &LocalAddress::Interface("eth0".to_owned()),
                0,
                &interfaces,
                &["[2001:db8::1]:1".parse().unwrap()]
            )
            .is_empty()
        );
    }
}
