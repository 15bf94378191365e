//! What applications do with streams and datagrams, sensible or not.

use std::time::Duration;

use bytes::Bytes;
use mpfec_core::{Connection, DatagramOptions, DatagramRedundancy, Dir, Side, StreamId};
use mpfec_sim::Peer;

use super::World;
use crate::drawn::{self, with};
use crate::ms;

/// What was drawn for one action.
#[derive(Debug, Clone, Copy)]
struct Drawn {
    dir: Dir,
    bytes: u64,
    action: u64,
    code: u64,
    pick: u64,
    deadline: Duration,
    priority: i32,
}

impl World {
    /// An application does something.
    pub(super) fn act(&mut self) {
        let side = drawn::side(&mut self.rng);
        let rng = &mut self.rng;
        let dir = if rng.chance(0.3) { Dir::Bi } else { Dir::Uni };
        let magnitude = rng.up_to(17);
        let bytes = rng.up_to(1 << magnitude);
        let (action, code) = (rng.up_to(30), rng.up_to(100));
        let drawn = Drawn {
            dir,
            bytes,
            action,
            code,
            pick: rng.next_u64(),
            deadline: ms(rng.up_to(500)),
            priority: rng.up_to(5) as i32 - 2,
        };
        match action {
            20..=23 => self.send_datagrams(side, &drawn),
            24..=28 => self.on_paths(side),
            _ => with(&mut self.net, side, |peer, connection| {
                drawn.on_streams(peer, connection);
            }),
        }
    }

    fn send_datagrams(&mut self, side: Side, drawn: &Drawn) {
        let now = self.net.now();
        let pick = drawn.pick;
        let first = self.next_datagram;
        let count = if pick.is_multiple_of(5) { 30 } else { 1 };
        self.next_datagram += count;
        let sent = &mut self.sent[usize::from(side == Side::Server)];
        with(&mut self.net, side, |_, connection| {
            let Some(max) = connection.max_datagram_size() else {
                return;
            };
            for number in first..first + count {
                // One byte too many at times.
                let size = (8 + (pick >> 8) as usize % max).min(max + 1);
                let redundancies = [
                    DatagramRedundancy::Never,
                    DatagramRedundancy::InTime,
                    DatagramRedundancy::Always,
                ];
                let options = DatagramOptions {
                    deadline: pick.is_multiple_of(2).then_some(drawn.deadline),
                    redundancy: redundancies[(pick >> 3) as usize % 3],
                };
                let data = datagram(number, size);
                if connection.send_datagram_with(now, data, &options).is_ok() {
                    sent.insert(number, size);
                }
            }
        });
    }
}

impl Drawn {
    fn on_streams(&self, peer: &mut Peer, connection: &mut Connection) {
        let Self {
            dir,
            bytes,
            code,
            pick,
            ..
        } = *self;
        let outgoing = self.one_of(peer.outgoing().keys());
        let incoming = self.one_of(peer.incoming().keys());
        match (self.action, outgoing, incoming) {
            (0..=6, ..) => peer.send(dir, bytes),
            (7, ..) => (0..pick % 20).for_each(|_| peer.send(dir, bytes % 2000)),
            (8, ..) => peer.answer_with(bytes / 4),
            (9, ..) => peer.pause(),
            (10, ..) => peer.resume(),
            (11 | 12, ..) => {
                if let Some(stream) = connection.open_stream(Dir::Uni) {
                    peer.write(stream, bytes, false);
                }
            }
            (13 | 14, Some(stream), _) if !peer.outgoing()[&stream].ends => {
                peer.write(stream, bytes % 5000, pick % 7 == 0);
                if pick % 3 == 0 {
                    connection.flush(stream);
                }
            }
            (15, Some(stream), _) => peer.reset(connection, stream, code),
            (16, _, Some(stream)) => peer.stop(connection, stream, code),
            (17, ..) => connection.update_keys(),
            (18, Some(stream), _) => {
                let deadline = (pick % 3 != 0).then_some(self.deadline);
                connection.set_deadline(stream, deadline);
            }
            (19, Some(stream), _) => connection.set_priority(stream, self.priority),
            // What nobody should do: it has no effect.
            (29, Some(stream), _) => {
                connection.stop(stream, code);
                connection.flush(stream);
                let _ = connection.write(stream, &[]);
            }
            (30, _, Some(stream)) => {
                connection.flush(stream);
                let _ = connection.read(stream, 0);
                let _ = connection.acknowledged_bytes(stream);
            }
            _ => {}
        }
    }

    fn one_of<'a>(&self, mut ids: impl ExactSizeIterator<Item = &'a StreamId>) -> Option<StreamId> {
        let index = self.pick.checked_rem(ids.len() as u64)?;
        ids.nth(index as usize).copied()
    }
}

/// The one with this number: it begins with it.
pub(super) fn datagram(number: u64, size: usize) -> Bytes {
    let mut data = number.to_be_bytes().to_vec();
    data.resize(size.max(8), number as u8);
    data.into()
}
