//! What is due when.

use std::time::{Duration, Instant};

use super::Connection;
use super::event::PathChange;
use super::state::CloseReason;
use crate::error::TransportError;
use crate::id::Side;
use crate::path::{MIN_PROBE_INTERVAL, Path, PathReason};

/// Names a timer for logs and livelock reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The close is said again, or the closing or draining period ends.
    Close,
    /// Nothing arrived for too long.
    Idle,
    /// No path was opened for too long after the peer had closed the last one.
    Deserted,
    /// Something must be sent so that the peer does not time out.
    KeepAlive,
    /// A packet of the handshake is lost or must be probed for.
    Handshake,
    /// An acknowledgement may be held back no longer.
    AckDelay(u32),
    /// A packet of the path is old enough to be lost.
    Loss(u32),
    /// The peer fell silent on a path: a client asks whether it still knows its address.
    Silence(u32),
    /// A path's answer is overdue.
    Pto(u32),
    /// A suspected path is probed.
    Probe(u32),
    /// The pacer of a path with something to send lets the next packet out.
    Pacing(u32),
    /// A packet of a path with something to send holds no place in its full window any more.
    Overdue(u32),
    /// A block that waited for the peer's credit is ended without.
    Block,
    /// A parity over what was sent on the path is due.
    Parity(u32),
    /// An address must be challenged again, or has not answered.
    Validation(u32),
    /// The keys of before an update are forgotten.
    OldKeys,
}

impl Connection {
    /// The timer that fires next, and when.
    #[must_use]
    pub fn next_timer(&self) -> Option<(Instant, Timer)> {
        if let Some(until) = self.state.next_timeout() {
            return Some((until, Timer::Close));
        }
        if self.state.is_drained() {
            return None;
        }
        let mut next = Earliest::default();
        next.add(self.idle_deadline(), Timer::Idle);
        next.add(self.handshake_deadline(), Timer::Idle);
        next.add(self.deserted_until, Timer::Deserted);
        next.add(self.keep_alive_deadline(), Timer::KeepAlive);
        next.add(self.handshake.next_timeout(), Timer::Handshake);
        next.add(
            self.keys.as_ref().and_then(|keys| keys.next_timeout()),
            Timer::OldKeys,
        );
        let block = self.streams.next_block_close();
        let block = block.filter(|_| self.handshake.is_usable());
        next.add(block, Timer::Block);
        // Acknowledgements wait until there is a path that may carry them.
        let carries_acks = self.paths.iter().any(|path| path.validation.is_validated());
        for path in self.paths.iter() {
            let ack = path.received.ack_timer().filter(|_| carries_acks);
            next.add(ack, Timer::AckDelay(path.id));
            next.add(path.space.loss_time(), Timer::Loss(path.id));
            next.add(self.pto_deadline(path), Timer::Pto(path.id));
            let probe = path.liveness.next_probe();
            let probe = probe.filter(|_| path.validation.is_validated());
            next.add(probe, Timer::Probe(path.id));
            next.add(path.ask_at(), Timer::Silence(path.id));
            let parity = path.parity_due_at();
            next.add(parity, Timer::Parity(path.id));
            let validation = path.validation.next_timeout(self.may_challenge(path));
            next.add(validation, Timer::Validation(path.id));
        }
        for (at, timer) in self.sending_deadlines() {
            next.add(Some(at), timer);
        }
        next.0
    }

    pub(super) fn on_timeout(&mut self, now: Instant) {
        if self.state.on_timeout(now) {
            self.on_drained();
            return;
        }
        if !self.state.is_open() {
            return;
        }
        let overdue = |at: Option<Instant>| at.is_some_and(|at| now >= at);
        if overdue(self.idle_deadline()) || overdue(self.handshake_deadline()) {
            self.vanish(CloseReason::TimedOut);
            return;
        }
        if overdue(self.deserted_until) {
            let error = TransportError::no_viable_path("the peer closed the last path");
            self.vanish(CloseReason::TransportError(error));
            return;
        }
        self.handshake.on_timeout(now);
        if let Some(keys) = &mut self.keys {
            keys.on_timeout(now);
        }
        let mut index = 0;
        while let Some(id) = self.paths.at(index).map(|path| path.id) {
            self.on_path_timeout(now, index);
            // A path may have been closed; then the next one has its position.
            index += usize::from(self.paths.at(index).is_some_and(|path| path.id == id));
        }
        // What counts as lost by now is no longer waited for.
        let keep_alive = self.config.keep_alive;
        for path in self.paths.iter_mut() {
            path.is_to_be_asked |= path.keep_alive_at(keep_alive).is_some_and(|at| now >= at);
            if path.ask_at().is_some_and(|at| now >= at) {
                // Where all that was begun has ended, silence means nothing.
                path.is_to_be_asked |= self.streams.expects_data();
                path.quiet.on_asked();
            }
        }
    }

    fn on_path_timeout(&mut self, now: Instant, index: usize) {
        // A client that has lost its other paths cannot hear on them that this one is closed, and
        // one that has not closes it itself.
        let is_heard = |path: &Path| self.side == Side::Client || path.was_heard_lately(now);
        let is_good =
            |path: &Path| path.validation.is_validated() && !path.mtu.is_narrow() && is_heard(path);
        let has_good = self.paths.iter().any(is_good);
        let patience = self.patience();
        let Some(path) = self.paths.at_mut(index) else {
            return;
        };
        let id = path.id;
        let goes_on = !has_good || path.validation.is_untried();
        if goes_on && path.validation.is_overdue(now) && path.previous_tuple.is_none() {
            // There is nothing else to hope for, and no path on which to say that it is over.
            path.validation.go_on(now, patience);
        }
        if path.validation.on_timeout(now) {
            match path.previous_tuple.take() {
                Some(previous) => {
                    // RFC 9000 §9.3.2: the new address never answered, the old one did.
                    path.tuple = previous;
                    path.validation.confirm();
                }
                None => return self.drop_path(now, id, PathReason::NeverAnswered),
            }
        }
        if path.space.loss_time().is_some_and(|at| now >= at) {
            self.detect_lost(now, index);
        }
        let Some(path) = self.paths.at(index) else {
            return;
        };
        if self.pto_deadline(path).is_some_and(|at| now >= at) {
            self.on_pto(now, index);
        }
    }

    /// When the path counts as silent: a PTO after the oldest unanswered packet if there is
    /// another path to move to, a PTO with back-off after the last one if there is none.
    fn pto_deadline(&self, path: &Path) -> Option<Instant> {
        if path.liveness.is_suspected() || !path.validation.is_validated() {
            return None;
        }
        let base = path.pto_base();
        let longest = match path.rtt.has_sample() {
            true => MAX_PTO,
            false => MAX_PTO_UNMEASURED,
        };
        if self.has_other_usable(path.id) {
            path.silent_at()
        } else {
            let goes_on = self.sends_through_silence(path);
            let round_trip = match goes_on {
                true => base,
                false => path.srtt().max(MIN_PROBE_INTERVAL),
            };
            let wait = match self.bears_bursts(path) {
                true => path.pto.wait_through_bursts(base, round_trip, longest),
                false => path.pto.wait(base, longest),
            };
            // What goes on leaves all the time.
            let sent = match (goes_on, path.pto.count()) {
                (true, 0) => path.silent_since(self.last_now),
                (true, _) => path.space.oldest_unacked(),
                (false, _) => path.space.last_ack_eliciting_sent(),
            };
            sent.map(|sent| sent + wait)
        }
        .filter(|_| path.space.ack_eliciting_in_flight())
    }

    /// Whether a silence of the path is most likely a burst of losses of its own, which ends the
    /// sooner the more is sent into it. That is done for the sake of data, not of a keep-alive.
    pub(super) fn bears_bursts(&self, path: &Path) -> bool {
        path.is_noisy() && self.streams.has_undelivered()
    }

    /// Whether data go on into it, as far as the controller lets them.
    fn sends_through_silence(&self, path: &Path) -> bool {
        self.bears_bursts(path)
            && path.loss.get() > LOSSY
            && path.controller.sends_through_silence()
    }

    pub(super) fn has_other_usable(&self, id: u32) -> bool {
        self.paths
            .iter()
            .any(|path| path.id != id && path.is_usable())
    }

    fn on_pto(&mut self, now: Instant, index: usize) {
        let Some(path) = self.paths.at(index) else {
            return;
        };
        if self.has_other_usable(path.id) {
            // Others carry what they carried; what left later may still be answered.
            if let Some(overdue) = path.overdue_since(now) {
                self.give_up_sent_by(now, index, overdue);
            }
            let Some(path) = self.paths.at_mut(index) else {
                return;
            };
            if path.is_silence_certain() {
                self.suspect(now, index);
            } else if !path.space.ack_eliciting_in_flight() {
                // A few packets at most: the path is asked.
                path.pto.on_timeout();
                path.probes = 1;
            }
            return;
        }
        let goes_on = self.sends_through_silence(path);
        let Some(path) = self.paths.at_mut(index) else {
            return;
        };
        path.pto.on_timeout();
        path.probes = path.probes_at_once();
        path.controller.on_timeout(now, path.pto.count());
        if goes_on {
            self.give_up_in_flight(now, index);
        }
    }

    pub(super) fn on_probe_sent(&mut self, now: Instant, index: usize) {
        let Some(path) = self.paths.at(index) else {
            return;
        };
        let burst = self.bears_bursts(path).then(|| path.window_packets());
        let Some(path) = self.paths.at_mut(index) else {
            return;
        };
        path.probes = path.probes.saturating_sub(1);
        let srtt = path.srtt();
        path.liveness.on_probe(now, srtt, burst);
        if path.liveness.is_suspected() {
            // Nobody may wait for what it carries: the others replace it at once.
            self.give_up_in_flight(now, index);
        }
    }

    /// A path went silent: what it carried counts as lost, and it is probed.
    pub(super) fn suspect(&mut self, now: Instant, index: usize) {
        let Some(path) = self.paths.at_mut(index) else {
            return;
        };
        path.liveness.suspect(now, path.rtt.smoothed());
        path.pto.on_timeout();
        path.controller.on_timeout(now, path.pto.count());
        let id = path.id;
        self.give_up_in_flight(now, index);
        tracing::debug!(path = id, "path suspected");
        self.announce(id, PathChange::Suspected, PathReason::Silent);
    }

    /// A peer that neither completes the handshake nor proves what it must goes, however much
    /// it sends.
    fn handshake_deadline(&self) -> Option<Instant> {
        let deadline = self.started.checked_add(self.config.handshake_timeout);
        deadline.filter(|_| !self.handshake.is_usable())
    }

    fn idle_deadline(&self) -> Option<Instant> {
        if self.idle_timeout.is_zero() {
            return None;
        }
        // RFC 9000 §10.1: never shorter than three PTOs, or one loss would end it.
        let pto = self.paths.iter().map(|path| path.pto_base()).min();
        let patience = self.idle_timeout.max(3 * pto.unwrap_or_default());
        self.idle_since.checked_add(patience)
    }

    fn keep_alive_deadline(&self) -> Option<Instant> {
        let paths = self.paths.iter();
        paths
            .filter_map(|path| path.keep_alive_at(self.config.keep_alive))
            .min()
    }
}

/// The smallest of several deadlines.
#[derive(Default)]
struct Earliest(Option<(Instant, Timer)>);

impl Earliest {
    fn add(&mut self, at: Option<Instant>, timer: Timer) {
        if let Some(at) = at
            && self.0.is_none_or(|(earliest, _)| at < earliest)
        {
            self.0 = Some((at, timer));
        }
    }
}

/// Share of loss above which a burst may well take a whole window.
const LOSSY: f64 = 0.02;
/// Back-off of probes stops here: a path that returns must be noticed soon.
const MAX_PTO: Duration = Duration::from_millis(400);
/// Where it is not known how long a round trip takes.
const MAX_PTO_UNMEASURED: Duration = Duration::from_secs(1);
