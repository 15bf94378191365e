//! What applications do to paths.

use mpfec_core::{ClosePathError, Side};
use mpfec_sim::PathSetup;

use super::World;
use super::start::link;
use crate::drawn::{is_connected, with};

impl World {
    /// An application opens, closes or changes a path, or a path's interface comes or goes.
    pub(super) fn on_paths(&mut self, side: Side) {
        let path = self.some_path();
        let now = self.net.now();
        if [Side::Client, Side::Server].map(|side| is_connected(&self.net, side)) != [true; 2] {
            return;
        }
        let kind = self.rng.up_to(9);
        let id = self.rng.up_to(6) as u32;
        match kind {
            0 if (side == Side::Server) == self.server_closes => {
                with(&mut self.net, side, |_, connection| {
                    let closed = connection.close_path(now, id);
                    assert!(matches!(closed, Ok(()) | Err(ClosePathError::LastPath(_))));
                });
            }
            // It may be refused, as below.
            1 | 2 => drop(self.net.open_path(&path)),
            3 | 4 => {
                let backup = self.rng.chance(0.6);
                with(&mut self.net, side, |_, connection| {
                    connection.set_backup(id, backup);
                });
            }
            // The server could close the others meanwhile.
            5 if !self.server_closes => {
                self.net.remove_interface(&path);
                self.removed.push(path);
            }
            6 => {
                let rho = self.rng.up_to(400) as f64 / 100.0;
                with(&mut self.net, side, |_, connection| {
                    connection.set_path_share(id, rho);
                });
            }
            7 => {
                let size = 1100 + self.rng.up_to(400) as usize;
                with(&mut self.net, side, |_, connection| {
                    for tuple in connection.tuples() {
                        connection.datagram_too_big(now, &tuple, size);
                    }
                });
            }
            8 if self.addresses.len() < 3 && self.rng.chance(0.3) => {
                let address = self.net.add_server_address(&path);
                self.addresses.push(address);
                with(&mut self.net, Side::Server, |_, connection| {
                    connection.advertise_address(address);
                });
                drop(self.net.open_path_to(&path, address));
            }
            9 if self.paths.len() < 6 && self.rng.chance(0.5) => {
                let name = format!("p{}", self.paths.len());
                let (forward, backward) = (link(&mut self.rng), link(&mut self.rng));
                self.net.add_interface(PathSetup {
                    name: name.clone(),
                    forward,
                    backward,
                });
                drop(self.net.open_path(&name));
                self.paths.push(name);
            }
            _ => {}
        }
    }
}
