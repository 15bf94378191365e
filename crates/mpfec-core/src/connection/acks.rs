//! Which path carries acknowledgements, and when.

use std::time::{Duration, Instant};

use super::Connection;
use crate::component::FrameWriter;
use crate::path::Path;
use crate::recovery::Token;
use crate::wire::frame::{Ack, AckFacts};

impl Connection {
    /// Whether an acknowledgement is due and this is the path that takes it.
    pub(super) fn acks_to_write(&self, now: Instant, index: usize) -> bool {
        let path = self.paths.at(index);
        path.is_some_and(|path| owes_itself(path) || owes_copy(path))
            || (self.paths.iter().any(|path| path.received.ack_due(now))
                && self.ack_path(now) == Some(index))
    }

    /// The path on which acknowledgements arrive soonest, of those that were heard of lately.
    fn ack_path(&self, now: Instant) -> Option<usize> {
        self.paths.best_validated(|path| {
            let is_heard = path.was_heard_lately(now) && !path.liveness.is_suspected();
            is_heard.then(|| path.srtt())
        })
    }

    /// Writes what every path has to acknowledge.
    pub(super) fn write_acks(&mut self, now: Instant, index: usize, writer: &mut FrameWriter<'_>) {
        let Some(carrier) = self.paths.at(index) else {
            return;
        };
        let packet_time = carrier.packet_time();
        let (srtt, copies) = (carrier.srtt(), owes_copy(carrier));
        let carrier = Some(carrier.id);
        let clock = Some(self.started).filter(|_| self.tells_times);
        for path in self.paths.iter_mut() {
            let own = Some(path.id) == carrier;
            if own {
                path.repeats_acks = false;
            } else if !copies {
                path.repeats_acks = was_way_before(path, srtt, now);
            }
            let owes = own && owes_itself(path);
            if !path.received.has_unsent() && !owes && !copies {
                continue;
            }
            let Some(largest) = path.received.largest() else {
                continue;
            };
            let ecn = Some(path.received.ecn()).filter(|counts| counts.any());
            let facts = AckFacts {
                path: Some(path.id),
                delay: path.received.ack_delay(now),
                received: clock.and_then(|clock| path.received.largest_at(clock)),
                ecn,
            };
            let ranges = path.received.ranges();
            let told = Ack::encode(&facts, ranges, writer.room(), writer.buf());
            if told == 0 {
                continue;
            }
            writer.wrote_ack(Token::Ack {
                path: path.id,
                largest,
            });
            if copies {
                continue;
            }
            path.received.on_ack_sent(told);
            path.received.set_packet_time(packet_time);
            path.acks_elsewhere = if own {
                0
            } else {
                path.acks_elsewhere.saturating_add(1)
            };
        }
    }
}

/// Whether what arrived on the path was acknowledged elsewhere so often that the path has
/// to carry a copy itself.
fn owes_itself(path: &Path) -> bool {
    path.validation.is_validated() && path.acks_elsewhere >= OWN_ACK_INTERVAL
}

/// Whether acknowledgements took this path until it fell silent, and those on a path of `srtt` are
/// not there yet, or something arrives on it all the same. Without a copy the peer would hear nothing
/// and give up what it has sent on all paths; and what lost one host's packets may let the other's
/// through.
fn was_way_before(path: &Path, srtt: Duration, now: Instant) -> bool {
    let is_of_use = |silent| path.was_heard_lately(now) || silent < srtt;
    path.srtt() < srtt && path.silent_for(now).is_some_and(is_of_use)
}

/// Whether a copy of acknowledgements that left elsewhere is due on the path.
fn owes_copy(path: &Path) -> bool {
    path.validation.is_validated() && path.repeats_acks
}

/// Every so many acknowledgements one takes the path that it speaks of, in case the other
/// way is dead.
const OWN_ACK_INTERVAL: u8 = 4;
