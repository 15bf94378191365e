//! How a connection ends.

use std::time::{Duration, Instant};

use super::Connection;
use super::event::{EndpointEvent, Event};
use super::state::{CloseFrame, CloseReason};
use crate::error::TransportError;

impl Connection {
    pub(super) fn close_locally(&mut self, now: Instant, code: u64, reason: &str) {
        let reason: String = reason.chars().take(MAX_REASON).collect();
        let frame = CloseFrame::Application { code, reason };
        if self.state.close(now, self.closing_period(), frame) {
            self.events
                .push_back(Event::Closed(CloseReason::LocallyClosed(code)));
        }
    }

    /// The peer did something that ends the connection.
    pub(super) fn fail(&mut self, now: Instant, error: TransportError) {
        tracing::debug!(%error, "closing the connection");
        let frame = CloseFrame::Transport(error.clone());
        if self.state.close(now, self.closing_period(), frame) {
            self.events
                .push_back(Event::Closed(CloseReason::TransportError(error)));
        }
    }

    /// The peer says that the connection is over.
    pub(super) fn peer_closed(&mut self, now: Instant, reason: CloseReason) {
        let was_open = self.state.is_open();
        if self.state.drain(now + self.closing_period()) && was_open {
            self.events.push_back(Event::Closed(reason));
        }
    }

    /// The connection is over and there is nobody to tell.
    pub(super) fn vanish(&mut self, reason: CloseReason) {
        if self.state.is_open() {
            self.events.push_back(Event::Closed(reason));
        }
        if !self.state.is_drained() {
            self.state.end();
            self.on_drained();
        }
    }

    pub(super) fn on_drained(&mut self) {
        self.endpoint_events.push_back(EndpointEvent::Drained);
    }

    /// Three times the largest PTO (RFC 9000 §10.2).
    fn closing_period(&self) -> Duration {
        let pto = self.paths.iter().map(|path| path.pto_base()).max();
        3 * pto.unwrap_or(MIN_CLOSING).max(MIN_CLOSING)
    }
}

const MIN_CLOSING: Duration = Duration::from_millis(50);
/// Characters of an application's reason that are sent.
const MAX_REASON: usize = 256;
