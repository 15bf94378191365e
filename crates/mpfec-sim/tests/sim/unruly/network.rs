//! What happens to links and hosts, and how all of it heals.

use std::net::SocketAddr;
use std::time::Duration;

use mpfec_core::Side;
use mpfec_sim::{Action, Change, Direction, QueueLimit};

use super::World;
use crate::drawn::{self, with};
use crate::{mbit, ms};

impl World {
    pub(super) fn some_path(&mut self) -> String {
        let last = self.paths.len() as u64 - 1;
        self.paths[self.rng.up_to(last) as usize].clone()
    }

    /// Something happens to a path or a host.
    pub(super) fn disturb(&mut self) {
        let path = self.some_path();
        let rng = &mut self.rng;
        let direction = drawn::direction(rng);
        let change = match rng.up_to(15) {
            kind @ 0..=8 => drawn::change(kind, rng),
            9 if self.narrow => Some(Change::Mtu(100 + rng.up_to(1127) as u32)),
            10 => Some(Change::Rate(Some(30_000 + rng.up_to(300_000)))),
            11 => return self.stand_still(),
            12 | 13 if self.rebinds => return self.rebind(&path),
            _ => None,
        };
        if let Some(change) = change {
            self.net.at(Duration::ZERO, &path, direction, change);
        }
    }

    /// A host does nothing for a while.
    fn stand_still(&mut self) {
        let host = match self.rng.chance(0.5) {
            true => self.net.client_host(),
            false => self.net.server_host(),
        };
        let most = if self.rng.chance(0.2) { 5000 } else { 500 };
        let time = ms(self.rng.up_to(most));
        self.net.network().act(Action::Pause(host, time));
    }

    /// A NAT forgets its mapping.
    fn rebind(&mut self, path: &str) {
        self.next_port += 1;
        let inside = self.net.ends(path).client;
        let outside = SocketAddr::new(inside.ip(), self.next_port);
        self.net.network().act(Action::Rebind { inside, outside });
    }

    /// Links work as they should, or nearly, and applications go on and end what they began.
    pub(super) fn heal(&mut self) {
        let is_gentle = self.rng.chance(0.5);
        for path in &self.paths {
            drawn::heal(&mut self.net, path);
            let mtu = drawn::mtu(&mut self.rng);
            let mut changes = vec![
                Change::Rate(Some(mbit(20))),
                Change::Delay(ms(1 + self.rng.up_to(80))),
                Change::Mtu(mtu),
                Change::Queue(QueueLimit::Packets(100)),
            ];
            if is_gentle {
                changes.extend(faultless());
                changes.push(Change::Mtu(1500));
            }
            for change in changes {
                self.net.at(Duration::ZERO, path, Direction::Both, change);
            }
        }
        for side in [Side::Client, Side::Server] {
            with(&mut self.net, side, |peer, _| {
                peer.resume();
                let streams = peer.outgoing().iter();
                let open = streams.filter(|(_, stream)| !stream.ends);
                for stream in open.map(|(id, _)| *id).collect::<Vec<_>>() {
                    peer.write(stream, 0, true);
                }
                peer.answer_with(5);
            });
        }
    }

    /// From now on links lose nothing.
    pub(super) fn clear(&mut self) {
        for path in &self.paths {
            for change in faultless() {
                self.net.at(Duration::ZERO, path, Direction::Both, change);
            }
        }
    }
}

fn faultless() -> [Change; 3] {
    [
        Change::Loss(0.0),
        Change::Duplicate(0.0),
        Change::Reorder {
            share: 0.0,
            delay: Duration::ZERO,
        },
    ]
}
