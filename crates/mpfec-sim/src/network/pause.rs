//! Hosts that stand still for a while, for others have their processor: what arrives waits in
//! their sockets, and their timers are late.

use std::time::Instant;

use crate::Packet;

/// Those that stand still, by position.
#[derive(Debug, Default)]
pub(super) struct Pauses(Vec<Option<Pause>>);

#[derive(Debug)]
struct Pause {
    until: Instant,
    waiting: Vec<Packet>,
}

impl Pauses {
    /// A further host.
    pub(super) fn add_host(&mut self) {
        self.0.push(None);
    }

    /// A host stands still, or does so for longer.
    pub(super) fn begin(&mut self, host: usize, until: Instant) {
        let pause = self.0[host].get_or_insert_with(|| Pause {
            until,
            waiting: Vec::new(),
        });
        pause.until = pause.until.max(until);
    }

    /// When a host goes on, if it stands still.
    pub(super) fn until(&self, host: usize) -> Option<Instant> {
        self.0[host].as_ref().map(|pause| pause.until)
    }

    /// A packet for a host: returned unless that stands still.
    pub(super) fn hold(&mut self, host: usize, packet: Packet) -> Option<Packet> {
        match &mut self.0[host] {
            Some(pause) => {
                pause.waiting.push(packet);
                None
            }
            None => Some(packet),
        }
    }

    /// A host that goes on by now, and what has come for it meanwhile.
    pub(super) fn end(&mut self, now: Instant) -> Option<(usize, Vec<Packet>)> {
        let mut pauses = self.0.iter_mut().enumerate();
        pauses.find_map(|(host, pause)| {
            let ended = pause.take_if(|pause| pause.until <= now)?;
            Some((host, ended.waiting))
        })
    }
}
