//! The paths of a setup between two hosts.

use std::net::{Ipv4Addr, SocketAddr};

use super::{Action, HostId, LinkId, Network};
use crate::{Direction, Host, Setup};

/// Where a path of a setup begins and ends in a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathEnds {
    /// The client's address of this path.
    pub client: SocketAddr,
    /// The server's address, the same for all paths of the setup.
    pub server: SocketAddr,
    /// The link from client to server.
    pub forward: LinkId,
    /// The link from server to client.
    pub backward: LinkId,
}

impl<H: Host> Network<H> {
    /// Joins two hosts by the paths of `setup`, whose changes count from now. The client
    /// gets an address per path, the server one for all.
    ///
    /// # Panics
    /// If a setup has been joined 200 times before, or this one is not
    /// [valid](Setup::check).
    pub fn join(&mut self, setup: &Setup, client: HostId, server: HostId) -> Vec<PathEnds> {
        if let Err(error) = setup.check() {
            panic!("the setup {} is not valid: {error}", setup.name);
        }
        assert!(self.joined < MOST_JOINED, "more setups than addresses");
        let number = self.joined;
        self.joined += 1;
        // The first one's links are those of a relay with the same seed.
        let prefix = if number == 0 {
            String::new()
        } else {
            format!("{number} ")
        };
        let server_address = SocketAddr::from((Ipv4Addr::new(10, number, 255, 1), SERVER_PORT));
        self.add_address(server, server_address);
        let mut ends = Vec::new();
        for (path, index) in setup.paths.iter().zip(0u8..) {
            let end = PathEnds {
                client: SocketAddr::from((Ipv4Addr::new(10, number, index, 1), CLIENT_PORT)),
                server: server_address,
                forward: self.add_link(
                    &format!("{prefix}{} forward", path.name),
                    path.forward.clone(),
                ),
                backward: self.add_link(
                    &format!("{prefix}{} backward", path.name),
                    path.backward.clone(),
                ),
            };
            self.add_address(client, end.client);
            self.add_route(end.client, end.server, &[end.forward]);
            self.add_route(end.server, end.client, &[end.backward]);
            ends.push(end);
        }
        for timed in &setup.changes {
            let end = ends[timed.path];
            if timed.direction != Direction::Backward {
                self.schedule(timed.at, Action::Link(end.forward, timed.change));
            }
            if timed.direction != Direction::Forward {
                self.schedule(timed.at, Action::Link(end.backward, timed.change));
            }
        }
        ends
    }
}

const MOST_JOINED: u8 = 200;

const SERVER_PORT: u16 = 47_800;

const CLIENT_PORT: u16 = 50_000;
