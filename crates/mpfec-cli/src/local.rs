//! `--path`: from names and addresses to where paths start.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use mpfec_core::net::{Interface, InterfaceKind, LocalAddress, Paths, interfaces};

use crate::client::listed;
use crate::error::CliError;

/// Every usable interface, or those that were named: each must exist and lead to one of
/// the peer's addresses.
pub(crate) fn choose(wanted: &[LocalAddress], remotes: &[SocketAddr]) -> Result<Paths, CliError> {
    if wanted.is_empty() {
        return Ok(Paths::EveryInterface);
    }
    Host::new(interfaces()).paths(wanted, remotes)
}

struct Host {
    interfaces: Vec<Interface>,
}

impl Host {
    fn new(interfaces: Vec<Interface>) -> Self {
        Self { interfaces }
    }

    fn paths(&self, wanted: &[LocalAddress], remotes: &[SocketAddr]) -> Result<Paths, CliError> {
        let remotes: Vec<IpAddr> = remotes.iter().map(|one| one.ip().to_canonical()).collect();
        let starts = wanted.iter().map(|local| {
            self.start(local, &remotes)
                .map_err(|what| CliError::usage(what, self.hint(&remotes)))
        });
        Ok(Paths::Over(starts.collect::<Result<_, _>>()?))
    }

    /// Where a path over `local` to any of `remotes` starts, or why there is none.
    fn start(&self, local: &LocalAddress, remotes: &[IpAddr]) -> Result<LocalAddress, String> {
        let known = match local {
            LocalAddress::Any => return Ok(LocalAddress::Any),
            LocalAddress::Ip(ip) => ip.is_loopback() || self.is_own(*ip),
            LocalAddress::Interface(name) => self.named(name).is_some(),
        };
        if !known {
            return Err(format!("this host has no interface or address {local}"));
        }
        let start = match local {
            LocalAddress::Interface(name) => self.named(name).and_then(|interface| {
                if interface.kind == InterfaceKind::Loopback {
                    // By its address: not every user may bind a socket to a device.
                    loopback(remotes.iter().find(|remote| self.is_here(**remote))?)
                } else {
                    let leads = |remote: &&IpAddr| {
                        !remote.is_loopback() && interface.address_towards(**remote).is_some()
                    };
                    remotes.iter().find(leads).map(|_| local.clone())
                }
            }),
            LocalAddress::Any => Some(LocalAddress::Any),
            LocalAddress::Ip(ip) => {
                let leads = |remote: &&IpAddr| {
                    remote.is_ipv4() == ip.is_ipv4()
                        && (!ip.is_loopback() || self.is_here(**remote))
                };
                remotes.iter().find(leads).map(|_| local.clone())
            }
        };
        start.ok_or_else(|| self.why_not(local, remotes))
    }

    fn why_not(&self, local: &LocalAddress, remotes: &[IpAddr]) -> String {
        let interface = match local {
            LocalAddress::Interface(name) => self.named(name),
            _ => None,
        };
        let reason = interface.filter(|interface| interface.addresses.is_empty());
        if let Some(reason) = reason.and_then(|interface| interface.why_not) {
            return format!("there is no path over {local}: it {reason}");
        }
        format!(
            "no path over {local} leads to the ticket's {}",
            listed(remotes.iter().map(ToString::to_string))
        )
    }

    /// What would do.
    fn hint(&self, remotes: &[IpAddr]) -> String {
        let fits = self.interfaces.iter().filter(|interface| {
            let name = LocalAddress::Interface(interface.name.clone());
            let is_offered = interface.is_usable() || interface.kind == InterfaceKind::Loopback;
            is_offered && self.start(&name, remotes).is_ok()
        });
        let fits = listed(fits.map(|interface| interface.name.as_str()));
        if fits.is_empty() {
            "leave out --path, or see mpfec paths for the interfaces that can be used".to_owned()
        } else {
            format!("choose among {fits}, or leave out --path to use what fits")
        }
    }

    fn named(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|one| one.name == name)
    }

    fn is_own(&self, ip: IpAddr) -> bool {
        self.interfaces
            .iter()
            .any(|one| one.addresses.contains(&ip))
    }

    /// Whether an address is one of this host.
    fn is_here(&self, ip: IpAddr) -> bool {
        ip.is_loopback() || self.is_own(ip)
    }
}

fn loopback(towards: &IpAddr) -> Option<LocalAddress> {
    Some(LocalAddress::Ip(match towards {
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    fn host() -> Host {
        let interface = |name: &str, kind, addresses: &[&str]| Interface {
            name: name.to_owned(),
            friendly_name: None,
            index: 1,
            kind,
            addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
            mtu: Some(1500),
            has_gateway: false,
            why_not: match (kind, addresses) {
                (InterfaceKind::Loopback, _) => Some(mpfec_core::net::WhyNot::Loopback),
                (_, []) => Some(mpfec_core::net::WhyNot::NoCarrier),
                _ => None,
            },
        };
        Host::new(vec![
            interface("lo", InterfaceKind::Loopback, &["127.0.0.1", "::1"]),
            interface("eth0", InterfaceKind::Ethernet, &["192.0.2.2"]),
            interface("wlan0", InterfaceKind::WiFi, &[]),
        ])
    }

    fn over(wanted: &str, remote: &str) -> Result<Vec<LocalAddress>, CliError> {
        match host().paths(&[wanted.parse().unwrap()], &[remote.parse().unwrap()])? {
            Paths::Over(starts) => Ok(starts),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn loopback_leads_to_this_host_only() {
        let v4: LocalAddress = "127.0.0.1".parse().unwrap();
        assert_eq!(over("lo", "127.0.0.1:1").unwrap()[0], v4);
        assert_eq!(over("lo", "192.0.2.2:1").unwrap(), [v4]);
        assert_eq!(over("lo", "[::1]:1").unwrap(), ["::1".parse().unwrap()]);
        for wanted in ["lo", "127.0.0.1"] {
            let error = over(wanted, "203.0.113.7:1").unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(
                error.what.contains(wanted) && error.what.contains("203.0.113.7"),
                "{error}"
            );
            assert!(error.hint.contains("among eth0,"), "{}", error.hint);
        }
    }

    #[test]
    fn a_path_that_does_not_fit_is_named_with_what_would() {
        let cases = [
            (
                "nope0",
                "127.0.0.1:1",
                "no interface or address nope0",
                "among lo,",
            ),
            (
                "eth0",
                "127.0.0.1:1",
                "over eth0 leads to the ticket's 127.0.0.1",
                "among lo,",
            ),
            ("eth0", "[2001:db8::1]:1", "2001:db8::1", "leave out --path"),
            (
                "wlan0",
                "203.0.113.7:1",
                "wlan0: it is not connected",
                "among eth0,",
            ),
            ("::1", "127.0.0.1:1", "over ::1", "among lo,"),
            (
                "192.0.2.9",
                "203.0.113.7:1",
                "address 192.0.2.9",
                "among eth0,",
            ),
        ];
        for (wanted, remote, what, hint) in cases {
            let error = over(wanted, remote).unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.what.contains(what), "{}", error.what);
            assert!(error.hint.contains(hint), "{}", error.hint);
        }
        assert!(over("eth0", "203.0.113.7:1").is_ok());
        assert!(over("192.0.2.2", "127.0.0.1:1").is_ok());
    }
}
