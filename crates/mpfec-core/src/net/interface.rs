//! The host's network interfaces, and which of them can carry a path.

use std::fmt;
use std::net::IpAddr;

use super::InterfaceKind;

/// A network interface as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The system's name, such as `wlan0`.
    pub name: String,
    /// A name for people, where the system has one.
    pub friendly_name: Option<String>,
    /// The system's number.
    pub index: u32,
    /// What sort of link it is.
    pub kind: InterfaceKind,
    /// Addresses that packets can be sent from: no link-local ones, none that are still
    /// checked for duplicates, and loopback ones of a loopback interface only. IPv4 first.
    pub addresses: Vec<IpAddr>,
    /// Bytes of an IP packet at most, where the system tells.
    pub mtu: Option<u32>,
    /// Whether a route to elsewhere leads over it. Point-to-point links need no gateway.
    pub has_gateway: bool,
    /// Why it carries no path, if it cannot.
    pub why_not: Option<WhyNot>,
}

/// Why an interface is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WhyNot {
    /// It leads to this host only.
    Loopback,
    /// It is switched off.
    Down,
    /// It is on, but has no carrier: no cable, no network joined.
    NoCarrier,
    /// It has no address at all.
    NoAddress,
    /// It has none but link-local addresses: nobody answered when it asked for one.
    LinkLocalOnly,
    /// It leads to containers or virtual machines on this host.
    VirtualBridge,
}

impl Interface {
    /// Whether it can carry a path.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.why_not.is_none()
    }

    /// The address to send from towards `remote`: one of the same family.
    #[must_use]
    pub fn address_towards(&self, remote: IpAddr) -> Option<IpAddr> {
        let remote = remote.to_canonical();
        self.addresses
            .iter()
            .copied()
            .find(|address| address.is_ipv4() == remote.is_ipv4())
    }

    fn of(raw: &netdev::Interface, is_bridge: bool) -> Self {
        let kind = InterfaceKind::of(raw);
        let has_gateway = raw
            .gateway
            .as_ref()
            .is_some_and(|gateway| !gateway.ipv4.is_empty() || !gateway.ipv6.is_empty());
        let addresses = addresses(raw, kind == InterfaceKind::Loopback);
        let is_bridge = is_bridge
            || BRIDGE_NAMES
                .iter()
                .any(|prefix| raw.name.starts_with(prefix));
        let why_not = if kind == InterfaceKind::Loopback {
            Some(WhyNot::Loopback)
        } else if !raw.is_up() {
            Some(WhyNot::Down)
        } else if is_bridge && !has_gateway {
            // A bridge that holds the host's own address has the host's gateway.
            Some(WhyNot::VirtualBridge)
        } else if !raw.is_running() {
            Some(WhyNot::NoCarrier)
        } else if raw.ipv4.is_empty() && raw.ipv6.is_empty() {
            Some(WhyNot::NoAddress)
        } else if addresses.is_empty() {
            Some(WhyNot::LinkLocalOnly)
        } else {
            None
        };
        Self {
            name: raw.name.clone(),
            friendly_name: raw.friendly_name.clone(),
            index: raw.index,
            kind,
            addresses,
            mtu: raw.mtu,
            has_gateway,
            why_not,
        }
    }
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loopback => "leads to this host only",
            Self::Down => "is switched off",
            Self::NoCarrier => "is not connected",
            Self::NoAddress => "has no address",
            Self::LinkLocalOnly => "has only link-local addresses",
            Self::VirtualBridge => "leads to containers or virtual machines",
        })
    }
}

/// All interfaces of this host, usable or not, by the system's number. Asks the system,
/// which takes a few milliseconds.
#[must_use]
pub fn interfaces() -> Vec<Interface> {
    let mut all: Vec<Interface> = netdev::get_interfaces()
        .iter()
        .map(|raw| Interface::of(raw, is_bridge(&raw.name)))
        .collect();
    all.sort_by_key(|interface| interface.index);
    all
}

/// The interfaces that can carry a path: up, connected, with an address that is neither
/// loopback nor link-local, and no bridge to containers.
#[must_use]
pub fn usable_interfaces() -> Vec<Interface> {
    interfaces()
        .into_iter()
        .filter(Interface::is_usable)
        .collect()
}

fn addresses(raw: &netdev::Interface, is_loopback: bool) -> Vec<IpAddr> {
    let v4 = raw.ipv4_addrs().into_iter().filter(|ip| {
        !((ip.is_loopback() && !is_loopback)
            || ip.is_link_local()
            || ip.is_unspecified()
            || ip.is_multicast()
            || ip.is_broadcast())
    });
    let flags = raw
        .ipv6_addr_flags
        .iter()
        .copied()
        .chain(std::iter::repeat(Default::default()));
    let v6 = raw
        .ipv6_addrs()
        .into_iter()
        .zip(flags)
        .filter(|(ip, flags)| {
            let ours = !((ip.is_loopback() && !is_loopback)
                || ip.is_unicast_link_local()
                || ip.is_unspecified()
                || ip.is_multicast());
            ours && !(flags.tentative || flags.duplicated || flags.deprecated)
        });
    v4.map(IpAddr::V4)
        .chain(v6.map(|(ip, _)| IpAddr::V6(ip)))
        .collect()
}

#[cfg(target_os = "linux")]
fn is_bridge(name: &str) -> bool {
    std::path::Path::new("/sys/class/net")
        .join(name)
        .join("bridge")
        .exists()
}

#[cfg(not(target_os = "linux"))]
fn is_bridge(_: &str) -> bool {
    false
}

/// Bridges of container engines and hypervisors.
const BRIDGE_NAMES: &[&str] = &[
    "docker", "br-", "virbr", "lxcbr", "lxdbr", "incusbr", "podman", "cni", "vmnet", "vboxnet",
    "bridge",
];

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use netdev::NetworkDevice;
    use netdev::interface::flags::{
        IFF_BROADCAST, IFF_LOOPBACK, IFF_POINTOPOINT, IFF_RUNNING, IFF_UP,
    };
    use netdev::interface::types::InterfaceType;
    use netdev::ipnet::{Ipv4Net, Ipv6Net};

    use super::*;

    const CONNECTED: u32 = (IFF_UP | IFF_RUNNING | IFF_BROADCAST) as u32;

    fn raw(name: &str, flags: u32, addresses: &[&str]) -> netdev::Interface {
        let (v4, v6): (Vec<IpAddr>, Vec<IpAddr>) = addresses
            .iter()
            .map(|address| address.parse::<IpAddr>().unwrap())
            .partition(IpAddr::is_ipv4);
        let mut raw = netdev::Interface::dummy();
        raw.name = name.to_owned();
        raw.if_type = InterfaceType::Ethernet;
        raw.flags = flags;
        raw.ipv4 = v4
            .iter()
            .map(|ip| Ipv4Net::new(ip.to_string().parse().unwrap(), 24).unwrap())
            .collect();
        raw.ipv6 = v6
            .iter()
            .map(|ip| Ipv6Net::new(ip.to_string().parse().unwrap(), 64).unwrap())
            .collect();
        raw.ipv6_addr_flags = vec![Default::default(); raw.ipv6.len()];
        raw
    }

    fn why_not(raw: &netdev::Interface) -> Option<WhyNot> {
        Interface::of(raw, false).why_not
    }

    fn with_gateway(mut raw: netdev::Interface) -> netdev::Interface {
        let mut gateway = NetworkDevice::new();
        gateway.ipv4.push([192, 168, 1, 1].into());
        raw.gateway = Some(gateway);
        raw
    }

    #[test]
    fn a_connected_interface_with_an_address_is_usable_and_any_less_has_its_reason() {
        assert_eq!(why_not(&raw("eth0", CONNECTED, &["192.168.1.7"])), None);
        assert_eq!(why_not(&raw("eth0", CONNECTED, &["2001:db8::7"])), None);
        assert_eq!(
            why_not(&raw("eth0", CONNECTED, &[])),
            Some(WhyNot::NoAddress)
        );
        let local = raw("eth0", CONNECTED, &["169.254.3.4", "fe80::1"]);
        assert_eq!(why_not(&local), Some(WhyNot::LinkLocalOnly));
        assert_eq!(
            why_not(&raw("eth0", IFF_UP as u32, &["192.168.1.7"])),
            Some(WhyNot::NoCarrier)
        );
        assert_eq!(
            why_not(&raw("eth0", 0, &["192.168.1.7"])),
            Some(WhyNot::Down)
        );
        let lo = raw("lo", CONNECTED | IFF_LOOPBACK as u32, &["127.0.0.1", "::1"]);
        assert_eq!(why_not(&lo), Some(WhyNot::Loopback));
        let own: [IpAddr; 2] = ["127.0.0.1", "::1"].map(|ip| ip.parse().unwrap());
        assert_eq!(Interface::of(&lo, false).addresses, own);
    }

    #[test]
    fn addresses_that_packets_cannot_leave_from_are_left_out() {
        let mut eth = raw(
            "eth0",
            CONNECTED,
            &[
                "fe80::1",
                "2001:db8::1",
                "2001:db8::2",
                "10.0.0.7",
                "fd00::9",
            ],
        );
        eth.ipv6_addr_flags[1].tentative = true;
        let interface = Interface::of(&eth, false);
        let expected: [IpAddr; 3] =
            ["10.0.0.7", "2001:db8::2", "fd00::9"].map(|ip| ip.parse().unwrap());
        assert_eq!(interface.addresses, expected);
        let (v4, v6) = ([8, 8, 8, 8].into(), IpAddr::V6(Ipv6Addr::from([9; 16])));
        assert_eq!(interface.address_towards(v4), Some(expected[0]));
        assert_eq!(interface.address_towards(v6), Some(expected[1]));
        let mapped = "::ffff:8.8.8.8".parse().unwrap();
        assert_eq!(interface.address_towards(mapped), Some(expected[0]));
        assert_eq!(
            Interface::of(&raw("eth0", CONNECTED, &["10.0.0.7"]), false).address_towards(v6),
            None
        );
    }

    #[test]
    fn bridges_to_containers_are_not_used_but_a_bridge_with_the_hosts_gateway_is() {
        for name in ["docker0", "br-1c2d3e4f5a6b", "virbr0", "podman0", "vmnet8"] {
            assert_eq!(
                why_not(&raw(name, CONNECTED, &["172.17.0.1"])),
                Some(WhyNot::VirtualBridge),
                "{name}"
            );
        }
        let br0 = raw("br0", CONNECTED, &["192.168.1.7"]);
        assert_eq!(
            Interface::of(&br0, true).why_not,
            Some(WhyNot::VirtualBridge)
        );
        assert_eq!(Interface::of(&with_gateway(br0), true).why_not, None);
        // The inner end of a container's link is the container's only way out.
        assert_eq!(why_not(&raw("veth1", CONNECTED, &["10.0.0.2"])), None);
    }

    #[test]
    fn kinds_are_told_apart() {
        let kind = |raw: &netdev::Interface| Interface::of(raw, false).kind;
        let typed = |name, if_type| netdev::Interface {
            if_type,
            ..raw(name, CONNECTED, &["10.0.0.1"])
        };
        assert_eq!(
            kind(&typed("eth0", InterfaceType::Ethernet)),
            InterfaceKind::Ethernet
        );
        assert_eq!(
            kind(&typed("wlan0", InterfaceType::Wireless80211)),
            InterfaceKind::WiFi
        );
        assert_eq!(
            kind(&typed("wwan0", InterfaceType::Wwan)),
            InterfaceKind::Cellular
        );
        assert_eq!(
            kind(&typed("rmnet_data0", InterfaceType::UnknownWithValue(519))),
            InterfaceKind::Cellular
        );
        assert_eq!(
            kind(&typed("wg0", InterfaceType::UnknownWithValue(65534))),
            InterfaceKind::Tunnel
        );
        assert_eq!(
            kind(&typed("can0", InterfaceType::Can)),
            InterfaceKind::Other
        );
        let point_to_point = (IFF_UP | IFF_RUNNING | IFF_POINTOPOINT) as u32;
        assert_eq!(
            kind(&raw("vpn0", point_to_point, &["10.8.0.2"])),
            InterfaceKind::Tunnel
        );
    }

    #[test]
    fn this_host_has_a_loopback_interface_that_is_not_used() {
        let all = interfaces();
        let loopback = all
            .iter()
            .find(|interface| interface.kind == InterfaceKind::Loopback);
        assert_eq!(
            loopback.map(|interface| interface.why_not),
            Some(Some(WhyNot::Loopback))
        );
        assert!(
            usable_interfaces()
                .iter()
                .all(|interface| !interface.addresses.is_empty())
        );
    }
}
