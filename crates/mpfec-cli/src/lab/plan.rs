//! Names and addresses in a lab.

use std::net::Ipv4Addr;

use mpfec_sim::{LinkConfig, PacketRelay, Setup};

/// Which of the two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// What a lab is like.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub(super) links: String,
    pub(super) paths: Vec<PathPlan>,
}

/// One path: an interface on each side, called the same.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathPlan {
    /// In the set-up.
    pub(super) name: String,
    pub(super) interface: String,
    pub(super) client: Ipv4Addr,
    pub(super) server: Ipv4Addr,
    /// Largest packet from the client to the server, and back.
    pub(super) mtu: [u32; 2],
    /// Routing table for what is sent from the client's address.
    pub(super) table: u32,
}

impl Plan {
    pub(super) fn new(setup: &Setup) -> Self {
        let keeps_names = setup.paths.iter().all(|path| is_interface_name(&path.name));
        let paths = setup.paths.iter().zip(1..).map(|(path, number)| PathPlan {
            name: path.name.clone(),
            interface: if keeps_names {
                path.name.clone()
            } else {
                format!("link-{number}")
            },
            client: Ipv4Addr::new(10, 77, number, 1),
            server: Ipv4Addr::new(10, 77, number, 2),
            mtu: [mtu(&path.forward), mtu(&path.backward)],
            table: FIRST_TABLE + u32::from(number),
        });
        Self {
            links: setup.name.clone(),
            paths: paths.collect(),
        }
    }

    /// What commands find in their environment.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let each =
            |of: fn(&PathPlan) -> String| -> Vec<String> { self.paths.iter().map(of).collect() };
        let clients = each(|path| path.client.to_string());
        let servers = each(|path| path.server.to_string());
        let first = |words: &[String]| words.first().cloned().unwrap_or_default();
        vec![
            ("MPFEC_LAB", self.links.clone()),
            ("MPFEC_CLIENT", first(&clients)),
            ("MPFEC_SERVER", first(&servers)),
            ("MPFEC_CLIENTS", clients.join(" ")),
            ("MPFEC_SERVERS", servers.join(" ")),
            (
                "MPFEC_INTERFACES",
                each(|path| path.interface.clone()).join(" "),
            ),
        ]
    }
}

impl PathPlan {
    pub(super) fn address(&self, side: Side) -> Ipv4Addr {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }

    /// Largest packet that leaves a side.
    pub(super) fn mtu(&self, side: Side) -> u32 {
        let [forward, backward] = self.mtu;
        match side {
            Side::Client => forward,
            Side::Server => backward,
        }
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

/// Of a link as an interface has it: what IPv4 and the kernel allow.
fn mtu(link: &LinkConfig) -> u32 {
    PacketRelay::mtu(link).clamp(68, 65_535)
}

/// Whether the kernel, and those who write scripts, take a set-up's name for an interface.
fn is_interface_name(name: &str) -> bool {
    // `all` and `default` are files beside those of the interfaces in /proc/sys/net.
    let is_taken = ["lo", "all", "default", ".", ".."].contains(&name);
    name.len() <= LONGEST_NAME && !is_taken
}

/// IFNAMSIZ without the zero at the end.
const LONGEST_NAME: usize = 15;

/// Far from the tables that the kernel has.
const FIRST_TABLE: u32 = 7700;

#[cfg(test)]
mod tests {
    use mpfec_sim::PathSetup;

    use super::*;

    fn setup(names: &[&str]) -> Setup {
        let path = |name: &&str| {
            PathSetup::symmetric(name, 1_000_000, std::time::Duration::from_millis(10), 0.0)
        };
        Setup {
            name: "test".to_owned(),
            summary: String::new(),
            paths: names.iter().map(path).collect(),
            changes: Vec::new(),
        }
    }

    #[test]
    fn paths_are_numbered_from_one_in_the_addresses_and_interfaces_called_as_they_are() {
        let plan = Plan::new(&setup(&["wifi", "lte"]));
        let [wifi, lte] = &plan.paths[..] else {
            panic!("{plan:?}")
        };
        assert_eq!(
            (wifi.interface.as_str(), lte.interface.as_str()),
            ("wifi", "lte")
        );
        assert_eq!(wifi.address(Side::Client), Ipv4Addr::new(10, 77, 1, 1));
        assert_eq!(lte.address(Side::Server), Ipv4Addr::new(10, 77, 2, 2));
        assert_ne!(wifi.table, lte.table);
        assert_eq!(wifi.mtu(Side::Client), 1500);
    }

    #[test]
    fn names_that_are_none_for_an_interface_are_replaced_together() {
        for name in ["lo", "all", "a-name-too-long-"] {
            let plan = Plan::new(&setup(&[name, "link-1"]));
            let interfaces: Vec<&str> = plan.paths.iter().map(|p| p.interface.as_str()).collect();
            assert_eq!(interfaces, ["link-1", "link-2"], "{name}");
        }
    }

    #[test]
    fn an_interface_has_the_mtu_of_its_link_within_what_there_can_be() {
        let mut setup = setup(&["a"]);
        setup.paths[0].forward.mtu = 1280;
        setup.paths[0].backward.mtu = 20;
        let plan = Plan::new(&setup);
        assert_eq!(plan.paths[0].mtu, [1280, 68]);
    }

    #[test]
    fn commands_are_told_every_address() {
        let plan = Plan::new(&setup(&["wifi", "lte"]));
        let variables = plan.variables();
        let of = |name| {
            &variables
                .iter()
                .find(|(other, _)| *other == name)
                .unwrap()
                .1
        };
        assert_eq!(of("MPFEC_SERVERS"), "10.77.1.2 10.77.2.2");
        assert_eq!(of("MPFEC_SERVER"), "10.77.1.2");
        assert_eq!(of("MPFEC_CLIENTS"), "10.77.1.1 10.77.2.1");
        assert_eq!(of("MPFEC_INTERFACES"), "wifi lte");
    }
}
