//! Flow control (RFC 9000 §4): how far the peer may go, and how far we may.

use crate::error::TransportError;

/// What we may send, of a stream or of all. Data count when they are written into blocks, so
/// everything in a block may leave.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SendCredit {
    used: u64,
    limit: u64,
}

impl SendCredit {
    pub(super) fn new(limit: u64) -> Self {
        Self { used: 0, limit }
    }

    /// Bytes that may still be written.
    pub(super) fn left(&self) -> u64 {
        self.limit - self.used
    }

    /// Bytes written.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    pub(super) fn take(&mut self, bytes: u64) {
        self.used = self.limit.min(self.used + bytes);
    }

    /// Takes a new limit unless it is lower than the known one. Returns whether it rose.
    pub(super) fn raise(&mut self, limit: u64) -> bool {
        let rose = limit > self.limit;
        self.limit = self.limit.max(limit);
        rose
    }
}

/// What the peer may send, of a stream or of all.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiveCredit {
    window: u64,
    /// The limit that the peer was told.
    limit: u64,
    /// Bytes up to the furthest that the peer has used.
    received: u64,
    /// Bytes that the application has read or that were thrown away.
    consumed: u64,
}

impl ReceiveCredit {
    pub(super) fn new(window: u64) -> Self {
        Self {
            window,
            limit: window,
            received: 0,
            consumed: 0,
        }
    }

    /// Bytes up to the furthest that the peer has used.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Bytes that were read or thrown away.
    pub(super) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// The peer went `bytes` further.
    pub(super) fn receive(&mut self, bytes: u64) -> Result<(), TransportError> {
        if bytes > self.limit - self.received {
            return Err(TransportError::flow_control("data beyond what was allowed"));
        }
        self.received += bytes;
        Ok(())
    }

    /// The application took `bytes`. Returns whether the peer should be told by now.
    pub(super) fn consume(&mut self, bytes: u64) -> bool {
        self.consumed = self.received.min(self.consumed + bytes);
        self.is_update_due()
    }

    /// Whether the peer should be told a higher limit by now.
    pub(super) fn is_update_due(&self) -> bool {
        self.next_limit() - self.limit >= self.window / UPDATES_PER_WINDOW
    }

    /// Whether the peer can be told a higher limit.
    pub(super) fn has_more(&self) -> bool {
        self.next_limit() > self.limit
    }

    /// The limit to tell the peer now.
    pub(super) fn advertise(&mut self) -> u64 {
        self.limit = self.next_limit();
        self.limit
    }

    fn next_limit(&self) -> u64 {
        self.limit
            .max((self.consumed + self.window).min(MAX_OFFSET))
    }
}

/// The peer hears of a new limit when it has risen by this part of the window.
const UPDATES_PER_WINDOW: u64 = 8;
/// Offsets have 62 bits (RFC 9000 §16).
const MAX_OFFSET: u64 = (1 << 62) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_is_told_when_an_eighth_of_the_window_was_read() {
        let mut credit = ReceiveCredit::new(800);
        credit.receive(800).unwrap();
        assert_eq!(
            credit.receive(1).unwrap_err().code,
            TransportError::FLOW_CONTROL_ERROR
        );
        assert!(!credit.consume(99));
        assert!(credit.consume(1));
        assert_eq!(credit.advertise(), 900);
        credit.receive(100).unwrap();
        assert!(credit.receive(1).is_err());
    }

    #[test]
    fn a_limit_never_goes_down() {
        let mut credit = SendCredit::new(100);
        credit.take(60);
        assert!(!credit.raise(50));
        assert_eq!(credit.left(), 40);
        assert!(credit.raise(101));
        assert_eq!(credit.left(), 41);
    }
}
