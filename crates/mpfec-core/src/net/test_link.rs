//! A virtual link for tests that need an interface to come and go: needs root and `ip`.

use std::process::Command;

/// One end of a pair of virtual links that are up, with an address; removed when dropped.
#[derive(Debug)]
pub(super) struct TestLink {
    pub(super) name: String,
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
        let link = Self { name };
        assert!(ip(&["link", "set", &peer, "up"]));
        Some(link)
    }

    /// Switches it on with an address of a /30 network and a neighbour, the next address,
    /// who needs no asking.
    pub(super) fn up(&self, network: &str) {
        let (own, neighbour) = (format!("{network}.1/30"), format!("{network}.2"));
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

    pub(super) fn remove_address(&self, network: &str) {
        assert!(ip(&[
            "addr",
            "del",
            &format!("{network}.1/30"),
            "dev",
            &self.name
        ]));
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
