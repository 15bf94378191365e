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
            interfaces: BTreeMap::new(),
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
            name: interface.clone().unwrap_or_else(|| format!("path {path}")),
            local: address
                .map(|address| address.to_string())
                .unwrap_or_default(),
            remote: tuple.remote.to_string(),
            interface,
        }
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
