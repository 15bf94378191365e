//! A virtual link for tests that need an interface to come and go: needs root and `ip`.

use std::net::SocketAddr;
use std::process::Command;

/// One end of a pair of virtual links that are up, with an address; removed when dropped.
#[derive(Debug)]
pub(super) struct TestLink {
    pub(super) name: String,
    /// The first three numbers of its addresses.
    network: String,
}

impl TestLink {
    /// A link that is down and has no address. `tag` is a letter that no other test uses.
    /// `None`, and a word about it, where that is not possible.
    #[expect(clippy::print_stderr, reason = "a test that does not run says so")]
    pub(super) fn new(tag: char) -> Option<Self> {
        let (name, peer) = (
            format!("mf{}{tag}0", std::process::id()),
            format!("mf{}{tag}1", std::process::id()),
        );
        if !ip(&["link", "add", &name, "type", "veth", "peer", "name", &peer]) {
            eprintln!("skipped: cannot add a virtual link here (needs root, ip and veth)");
            return None;
        }
        // Networks for measurements (RFC 2544): another one for each test and each process,
        // as several may run at once.
        let number = (26 * std::process::id() + u32::from(tag) - u32::from('a')) % 512;
        let network = format!("198.{}.{}", 18 + number / 256, number % 256);
        let link = Self { name, network };
        assert!(ip(&["link", "set", &peer, "up"]));
        Some(link)
    }

    /// Its address once it is up, at `port`.
    pub(super) fn own(&self, port: u16) -> SocketAddr {
        self.address(1, port)
    }

    /// The neighbour at the other end, who takes everything and never answers.
    pub(super) fn neighbour(&self, port: u16) -> SocketAddr {
        self.address(2, port)
    }

    fn address(&self, host: u8, port: u16) -> SocketAddr {
        let text = format!("{}.{host}:{port}", self.network);
        text.parse().expect("an address and a port")
    }

    /// Switches it on with its address and a neighbour, the next address, who needs no asking.
    pub(super) fn up(&self) {
        let (own, neighbour) = (self.own_network(), self.neighbour(0).ip().to_string());
        assert!(ip(&["link", "set", &self.name, "up"]));
        assert!(ip(&["addr", "add", &own, "dev", &self.name]));
        let static_entry = [
            "neigh",
            "add",
            &neighbour,
            "lladdr",
            "02:00:00:00:00:02",
            "dev",
            &self.name,
        ];
        assert!(ip(&static_entry));
    }

    pub(super) fn set_mtu(&self, mtu: u16) {
        assert!(ip(&["link", "set", &self.name, "mtu", &mtu.to_string()]));
    }

    pub(super) fn down(&self) {
        assert!(ip(&["link", "set", &self.name, "down"]));
    }

    pub(super) fn remove_address(&self) {
        assert!(ip(&["addr", "del", &self.own_network(), "dev", &self.name]));
    }

    fn own_network(&self) -> String {
        format!("{}/30", self.own(0).ip())
    }

    pub(super) fn remove(&self) {
        assert!(ip(&["link", "del", &self.name]));
    }
}

impl Drop for TestLink {
    fn drop(&mut self) {
        ip(&["link", "del", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> bool {
    Command::new("ip")
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}
