//! What sort of link an interface is, for people and for defaults.

use std::fmt;

use netdev::interface::types::InterfaceType;

/// What sort of link an interface is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InterfaceKind {
    /// A wire, or a virtual machine's idea of one.
    Ethernet,
    /// Wireless LAN.
    WiFi,
    /// A mobile network.
    Cellular,
    /// This host.
    Loopback,
    /// A VPN or another tunnel: what it carries goes over some other interface, too.
    Tunnel,
    /// Anything else.
    Other,
}

impl InterfaceKind {
    pub(super) fn of(raw: &netdev::Interface) -> Self {
        match raw.if_type {
            _ if raw.is_loopback() => Self::Loopback,
            InterfaceType::Loopback => Self::Loopback,
            InterfaceType::Wireless80211 | InterfaceType::PeerToPeerWireless => Self::WiFi,
            InterfaceType::Wwan
            | InterfaceType::Wwanpp
            | InterfaceType::Wwanpp2
            | InterfaceType::GenericModem => Self::Cellular,
            _ if CELLULAR_NAMES
                .iter()
                .any(|prefix| raw.name.starts_with(prefix)) =>
            {
                Self::Cellular
            }
            InterfaceType::Tunnel | InterfaceType::Ppp | InterfaceType::ProprietaryVirtual => {
                Self::Tunnel
            }
            _ if raw.is_tun()
                || TUNNEL_NAMES
                    .iter()
                    .any(|prefix| raw.name.starts_with(prefix)) =>
            {
                Self::Tunnel
            }
            InterfaceType::Ethernet
            | InterfaceType::GigabitEthernet
            | InterfaceType::FastEthernetT => Self::Ethernet,
            InterfaceType::Bridge => Self::Ethernet,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for InterfaceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ethernet => "Ethernet",
            Self::WiFi => "Wi-Fi",
            Self::Cellular => "cellular",
            Self::Loopback => "loopback",
            Self::Tunnel => "tunnel",
            Self::Other => "other",
        })
    }
}

/// Modems that some systems show as plain or point-to-point links.
const CELLULAR_NAMES: &[&str] = &["wwan", "wwp", "rmnet", "ccmni", "pdp_ip"];
/// Tunnels that look like Ethernet.
const TUNNEL_NAMES: &[&str] = &[
    "tun",
    "tap",
    "wg",
    "utun",
    "ppp",
    "tailscale",
    "zt",
    "ipsec",
];
