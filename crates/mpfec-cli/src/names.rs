//! What the paths of a connection are called.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use mpfec_core::FourTuple;
use mpfec_core::net::{Connection, LocalAddress, interfaces};

/// The names of paths, by interface or by emulated link.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// Emulated links by the address that leads over them.
    links: Vec<(String, SocketAddr)>,
    /// Which interface has an address, as far as that was asked.
    interfaces: BTreeMap<IpAddr, Option<String>>,
    /// Which path has which name.
    taken: BTreeMap<String, u32>,
}

/// The two ends of a path, for reports.
#[derive(Debug, Clone)]
pub(crate) struct Ends {
    /// Interface or link, or else the peer's address.
    pub(crate) name: String,
    pub(crate) local: String,
    pub(crate) remote: String,
    pub(crate) interface: Option<String>,
}

impl Names {
    /// Of paths over real interfaces.
    pub(crate) fn of_interfaces() -> Self {
        Self::default()
    }

    /// Of paths over emulated links, each with the address that leads over it.
    pub(crate) fn of_links(links: &[(String, SocketAddr)]) -> Self {
        Self {
            links: links.to_vec(),
            ..Self::default()
        }
    }

    /// What a path is called, and where it begins and ends.
    pub(crate) fn ends(&mut self, connection: &Connection, path: u32, tuple: &FourTuple) -> Ends {
        let socket = connection.local_socket(tuple.socket);
        let address = socket.as_ref().map(|socket| {
            let ip = tuple.local_ip.unwrap_or(socket.address.ip());
            SocketAddr::new(ip, socket.address.port())
        });
        let link = self
            .links
            .iter()
            .find(|(_, address)| *address == tuple.remote)
            .map(|(name, _)| name.clone());
        let interface = link.or_else(|| match socket.and_then(|socket| socket.made_for) {
            Some(LocalAddress::Interface(name)) => Some(name),
            _ => self.interface(address?.ip().to_canonical(), tuple.remote.ip()),
        });
        Ends {
            name: self.distinct(interface.as_deref(), path, address),
            local: address
                .map(|address| address.to_string())
                .unwrap_or_default(),
            remote: tuple.remote.to_string(),
            interface,
        }
    }

    /// A path is closed: another may have its name.
    pub(crate) fn free(&mut self, path: u32) {
        self.taken.retain(|_, owner| *owner != path);
    }

    /// The interface, or if another path has that name, with the address as well.
    fn distinct(
        &mut self,
        interface: Option<&str>,
        path: u32,
        address: Option<SocketAddr>,
    ) -> String {
        let last = format!("path {path}");
        let Some(interface) = interface else {
            return last;
        };
        let with =
            |address: Option<String>| address.map(|address| format!("{interface} {address}"));
        let names = [
            Some(interface.to_owned()),
            with(address.map(|address| address.ip().to_canonical().to_string())),
            with(address.map(|address| address.to_string())),
        ];
        let mut names = names.into_iter().flatten();
        let is_free = |name: &String| self.taken.get(name).is_none_or(|owner| *owner == path);
        let name = names.find(is_free).unwrap_or(last);
        self.taken.insert(name.clone(), path);
        name
    }

    /// The interface with this address. A socket without one talks to this host, or goes
    /// where the routing table says.
    fn interface(&mut self, local: IpAddr, remote: IpAddr) -> Option<String> {
        let ip = if local.is_unspecified() {
            remote
        } else {
            local
        };
        self.interfaces
            .entry(ip)
            .or_insert_with(|| {
                if ip.is_loopback() {
                    return Some("loopback".to_owned());
                }
                interfaces()
                    .into_iter()
                    .find(|known| known.addresses.contains(&ip))
                    .map(|known| known.name)
            })
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_paths_over_one_interface_have_two_names() {
        let mut names = Names::of_interfaces();
        let at = |text: &str| Some(text.parse().unwrap());
        let mut name = |path, address| names.distinct(Some("loopback"), path, at(address));
        assert_eq!(name(0, "127.0.0.1:1000"), "loopback");
        assert_eq!(name(1, "127.0.0.2:1001"), "loopback 127.0.0.2");
        assert_eq!(name(2, "127.0.0.2:1002"), "loopback 127.0.0.2:1002");
        assert_eq!(name(0, "127.0.0.1:1000"), "loopback", "and keep them");
        names.free(0);
        assert_eq!(names.distinct(Some("loopback"), 3, None), "loopback");
        assert_eq!(names.distinct(None, 4, None), "path 4");
    }
}
