//! When the handshake has to do something by itself: say that a packet is lost, probe, acknowledge.

use std::time::{Duration, Instant};

use super::HandshakeSpaces;
use crate::id::Side;

impl HandshakeSpaces {
    /// When a packet of the handshake counts as lost or must be probed for: not while nothing
    /// may be sent, because all routes are gone or at their limit (RFC 9002 §6.2.2.1).
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        if self.confirmed || !self.routes.may_send() {
            return None;
        }
        let spaces = || [&self.initial, &self.handshake].into_iter().flatten();
        let loss = spaces().filter_map(|space| space.packets.loss_time()).min();
        let pto = self.probe_at();
        let ack = spaces()
            .filter_map(|space| space.received.ack_timer())
            .min();
        [loss, pto, ack].into_iter().flatten().min()
    }

    /// When to probe for what is unacknowledged. A client of which everything was acknowledged goes
    /// on as well until the handshake is complete: the server may be silent because it has sent as
    /// much as it may to an address that is not validated (RFC 9002 §6.2.2.1).
    fn probe_at(&self) -> Option<Instant> {
        let unanswered = [&self.initial, &self.handshake]
            .into_iter()
            .flatten()
            .filter(|space| space.packets.ack_eliciting_in_flight())
            .filter_map(|space| space.packets.last_ack_eliciting_sent())
            .max();
        let waits = self.side == Side::Client && !self.complete;
        let sent = unanswered.or(self.last_built.filter(|_| waits))?;
        Some(sent + self.pto.wait(self.pto_base(), MAX_PTO))
    }

    fn pto_base(&self) -> Duration {
        self.rtt.pto_base()
    }

    pub(crate) fn on_wake(&mut self, now: Instant) {
        self.rtt.on_wake(now);
    }

    pub(crate) fn on_timeout(&mut self, now: Instant) {
        if self.confirmed {
            return;
        }
        let loss_delay =
            (self.rtt.smoothed().max(self.rtt.latest()) * 9 / 8).max(Duration::from_millis(1));
        let mut lost = false;
        for space in [&mut self.initial, &mut self.handshake]
            .into_iter()
            .flatten()
        {
            lost |= space.detect_lost(now, loss_delay);
        }
        let overdue = self.probe_at().is_some_and(|at| now >= at);
        if overdue && !lost {
            self.pto.on_timeout();
            for space in [&mut self.initial, &mut self.handshake]
                .into_iter()
                .flatten()
            {
                space.probe(now);
            }
        }
    }
}

const MAX_PTO: Duration = Duration::from_secs(2);
